package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
)

// SkipSignature is the signature that Gemini documents for calls that its model did not make, or whose own signature
// was lost. The model then goes on without the thoughts behind the call.
const SkipSignature = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=" // skip_thought_signature_validator

// callPart converts a valid tool call. If written is set, its arguments are a text (raw.go).
func callPart(call chat.ToolCall, written bool) *genai.Part {
	args := map[string]any{argumentsKey: cmp.Or(call.Arguments, "{}")}
	if !written {
		args, _ = readArguments(call.Arguments)
	}
	part := &genai.Part{FunctionCall: &genai.FunctionCall{ID: call.ID, Name: call.Name, Args: args}}
	if call.Signature != "" {
		part.ThoughtSignature, _ = readSignature(call.Signature)
	}
	return part
}

// readArguments reads the arguments of a call. An empty text is an empty object.
func readArguments(arguments string) (map[string]any, error) {
	if arguments == "" {
		return map[string]any{}, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	d.UseNumber()
	var args map[string]any
	if err := d.Decode(&args); err != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("the arguments are more than one JSON value")
	}
	if args == nil {
		return nil, errors.New("the arguments are null, not a JSON object")
	}
	for key, v := range args {
		args[key] = exactNumbers(v)
	}
	return args, nil
}

// exactNumbers returns a value that does not change in the SDK, which stores all numbers as float64: other numbers
// become strings.
func exactNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			v[key] = exactNumbers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = exactNumbers(x)
		}
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		if whole, ok := new(big.Int).SetString(v.String(), 10); ok {
			if back, exact := big.NewFloat(f).Int(nil); exact != big.Exact || back.Cmp(whole) != 0 {
				return v.String()
			}
		}
		return f
	}
	return v
}

// tools converts valid definitions of tools, nil if there are none.
func tools(tools []chat.Tool) []*genai.Tool {
	if len(tools) == 0 {
		return nil
	}
	declarations := make([]*genai.FunctionDeclaration, len(tools))
	for i, t := range tools {
		declarations[i] = &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if schema := t.Schema(); schema != nil {
			declarations[i].ParametersJsonSchema = schema
		}
	}
	return []*genai.Tool{{FunctionDeclarations: declarations}}
}
