package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
)

const (
	// maxArguments is the largest size of a call's arguments, in bytes.
	maxArguments = 1 << 20
	// maxDepth is the largest number of objects and arrays within each other in arguments.
	maxDepth = 64
)

// Function is a tool that is a function of Go, made by [Tool]. It is a [chat.Toolbox]. Set the fields before use.
type Function struct {
	// Alone says that its calls are answered one at a time. By default up to eight are at once.
	Alone bool
	// Again says that it is safe to answer a call again of which nobody knows whether it was answered, because the process
	// ended ([Agent.Run]): for example because the function only reads. Off by default.
	Again bool

	tool chat.Tool
	run  func(ctx context.Context, arguments []byte) (chat.Message, error)
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Tool returns a tool that calls a function. The fields of In, a struct, are its parameters: they are named as
// encoding/json names them, required unless they are omitempty or omitzero, and described by a tag:
//
//	type place struct {
//		City string `json:"city" jsonschema:"name of the city"`
//		Days int    `json:"days,omitempty" jsonschema:"number of days; 1 if left out"`
//	}
//
// Arguments that do not fit them are answered by a failed result that says so, as are more than 1 MiB of arguments or more
// than 64 levels. What the function returns becomes the result: a text or a part such as a [chat.Image] as it is, several
// parts as [chat.Parts], a [chat.Message] for a failed result with content, and anything else as JSON. An error becomes a
// failed result that holds its text.
//
// The error is about a name that providers do not take, or names the field of In whose type no schema describes, such as a
// type that contains itself.
func Tool[In, Out any](name, description string, run func(context.Context, In) (Out, error)) (*Function, error) {
	if !toolName.MatchString(name) {
		return nil, fmt.Errorf("agent: the name of a tool is %q: give it 1 to 64 letters, digits, hyphens and underscores", plaintext.Cut(name, 100))
	}
	schema, resolved, err := schemaOf[In]()
	var parameters []byte
	if err == nil {
		parameters, err = json.Marshal(schema)
	}
	if err != nil {
		return nil, fmt.Errorf("agent: tool %s: %w", name, err)
	}
	f := &Function{tool: chat.Tool{Name: name, Description: description, Parameters: parameters}}
	f.run = func(ctx context.Context, arguments []byte) (chat.Message, error) {
		var in In
		if err := decode(arguments, resolved, &in); err != nil {
			return chat.Message{}, chat.WrongArguments("agent", "the arguments of %s %v", name, err)
		}
		out, err := run(ctx, in)
		if err != nil {
			return chat.Message{}, err
		}
		return messageOf(out)
	}
	return f, nil
}

// Declared returns the tool.
func (f *Function) Declared() []chat.Tool { return []chat.Tool{f.tool} }

// CallRules returns the rules of Alone and Again.
func (f *Function) CallRules(call chat.ToolCall) chat.CallRules {
	if call.Name != f.tool.Name {
		return chat.CallRules{}
	}
	return chat.CallRules{Alone: f.Alone, Again: f.Again}
}

// Answer calls the function, and returns false for a call of another tool. The error is a [*chat.ArgumentError] if the
// arguments do not fit, or the function's.
func (f *Function) Answer(ctx context.Context, call chat.ToolCall) (result chat.Message, ok bool, err error) {
	if call.Name != f.tool.Name {
		return result, false, nil
	}
	result, err = f.run(ctx, []byte(call.Arguments))
	if err == nil {
		result.Role, result.ToolCallID = chat.RoleTool, call.ID
	}
	return result, true, err
}

// decode checks arguments against a schema and decodes them. The error goes on after "the arguments of f".
func decode(arguments []byte, schema *jsonschema.Resolved, in any) error {
	arguments = bytes.TrimSpace(arguments)
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	var object map[string]any
	switch {
	case len(arguments) > maxArguments:
		return fmt.Errorf("have %d bytes: give at most %d", len(arguments), maxArguments)
	case plainjson.Depth(arguments) > maxDepth:
		return fmt.Errorf("have more than %d levels of objects and arrays: give fewer", maxDepth)
	case json.Unmarshal(arguments, &object) != nil:
		return errors.New("are not a JSON object: write texts in quotes and numbers without")
	}
	// Decoding may call methods of the arguments' types; a panic in one is about the arguments too.
	err := callback.Do(context.Background(), func(context.Context) error {
		if err := schema.Validate(object); err != nil {
			return err
		}
		return json.Unmarshal(arguments, in)
	})
	if err != nil {
		return fmt.Errorf("do not fit its schema: %w", err)
	}
	return nil
}

// messageOf returns what a function returned as a message.
func messageOf(out any) (chat.Message, error) {
	switch out := out.(type) {
	case chat.Message:
		return out, nil
	case chat.Parts:
		return chat.Message{Role: chat.RoleTool, Content: out}, nil
	case chat.Part:
		return chat.Message{Role: chat.RoleTool, Content: chat.Parts{out}}, nil
	case string:
		return chat.ToolResult("", out), nil
	}
	data, err := plainjson.Marshal(out)
	if err != nil {
		return chat.Message{}, fmt.Errorf("the result of the tool is not JSON: %w", err)
	}
	return chat.ToolResult("", string(data)), nil
}
