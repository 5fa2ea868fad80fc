// Command conformance renders prompt trees written as JSON, one case a line on standard input, and prints one result a
// line, so that the renderer can be compared with another:
//
//	go run ./bench/conformance < cases.jsonl > results.jsonl
//
// The result of a case that cannot be rendered has the error "invalid" and the reason.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/visible"
	"github.com/promptree-go/promptree/render"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(visible.Writer(os.Stderr), "conformance:", err)
		os.Exit(1)
	}
}

// testCase is one line of input.
type testCase struct {
	Name      string          `json:"name"`
	Tokenizer string          `json:"tokenizer"`
	Budget    budgets         `json:"budget"`
	As        string          `json:"as"`
	Root      json.RawMessage `json:"root"`
}

// budgets is a number or a list of numbers.
type budgets []int

func (b *budgets) UnmarshalJSON(data []byte) error {
	var one int
	if err := json.Unmarshal(data, &one); err == nil {
		*b = budgets{one}
		return nil
	}
	return json.Unmarshal(data, (*[]int)(b))
}

// caseResult is one line of output.
type caseResult struct {
	Name    string   `json:"name"`
	Results []result `json:"results"`
}

// result of one budget: an error, or the rendered prompt.
type result struct {
	Budget int             `json:"budget"`
	Error  string          `json:"error,omitempty"`
	Detail string          `json:"detail,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
	*rendered
}

type rendered struct {
	Messages          []messageJSON `json:"messages"`
	TokenCount        int           `json:"tokenCount"`
	Metadata          []string      `json:"metadata"`
	References        []string      `json:"references"`
	OmittedReferences []string      `json:"omittedReferences"`
}

func run(in io.Reader, out io.Writer) error {
	tokenizers := newTokenizers()
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	r := bufio.NewReader(in)
	for line := 1; ; line++ {
		data, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(data)) > 0 {
			var c testCase
			if err := json.Unmarshal(data, &c); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
			opaque := bytes.Contains(data, []byte(`"opaque"`)) || bytes.Contains(data, []byte(`"tokenUsage"`))
			t, err := tokenizers.named(c.Tokenizer, opaque)
			if err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
			if err := enc.Encode(renderCase(c, t)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func renderCase(c testCase, t chat.Tokenizer) caseResult {
	out := caseResult{Name: c.Name}
	root, broken := treeOf(c.Root) // the elements are shared; each budget lays them out again
	for _, budget := range c.Budget {
		r, err := result{Budget: budget}, broken
		// Compatible accepts mistakes that are errors only for Go callers.
		opts := render.Options{Budget: budget, Tokenizer: t, Compatible: true}
		var res *render.Result
		switch {
		case err != nil:
		case c.As == "json":
			r.Data, err = render.Transfer(context.Background(), root, opts)
		case c.As != "":
			err = fmt.Errorf("unknown form %q", c.As)
		default:
			res, err = render.Render(context.Background(), root, opts)
		}
		var exceeded *render.BudgetExceededError
		switch {
		case errors.As(err, &exceeded):
			r.Error = "budgetExceeded"
		case err != nil:
			r.Error, r.Detail = "invalid", err.Error()
		case res != nil:
			r.rendered = renderedOf(res)
		}
		out.Results = append(out.Results, r)
	}
	return out
}

// named is the metadata of a case.
type named string

func renderedOf(res *render.Result) *rendered {
	out := &rendered{
		TokenCount: res.Tokens, Messages: []messageJSON{}, Metadata: []string{},
		References: names(res.References), OmittedReferences: names(res.OmittedReferences),
	}
	for _, m := range res.Messages {
		out.Messages = append(out.Messages, messageOf(m))
	}
	for _, n := range elements.AllMeta[named](res.Metadata) {
		out.Metadata = append(out.Metadata, string(n))
	}
	return out
}

func names(refs []elements.Reference) []string {
	list := []string{}
	for _, r := range refs {
		list = append(list, r.Name)
	}
	return list
}

// messageJSON is a message as the reference writes it.
type messageJSON struct {
	chat.Message
	ToolCalls []callSpec `json:"toolCalls,omitempty"`
	Content   chat.Parts `json:"content"`
}

type functionJSON struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func messageOf(m chat.Message) messageJSON {
	out := messageJSON{Message: m}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, callSpec{ID: c.ID, Function: functionJSON{Name: c.Name, Arguments: c.Arguments}})
	}
	for _, p := range m.Content {
		if value, ok := p.(chat.Opaque); ok {
			p = chat.Opaque{Value: value.Value} // the reference does not repeat its tokens
		}
		out.Content = append(out.Content, p)
	}
	return out
}
