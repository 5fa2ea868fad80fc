package apitest

import (
	"fmt"
	"slices"
	"strings"
)

// Asked is the part of a request that all APIs have.
type Asked struct {
	System string
	Turns  []Turn
	Tools  []Tool
	// Body is the whole request.
	Body    JSON
	mayCall bool
}

// Tool is a declared tool.
type Tool struct {
	Name   string
	Schema JSON
}

// Turn is a turn of a conversation. Neighbours of one role, other than the assistant's, are merged.
type Turn struct {
	Role    string   // user, assistant or results
	Text    string   // of a user and the assistant
	Calls   []string // ids
	Results []Result
}

// Result is the result of the call with an id.
type Result struct{ ID, Text string }

// Last returns the last turn.
func (a *Asked) Last() *Turn { return &a.Turns[len(a.Turns)-1] }

func (a *Asked) add(more Turn) {
	if len(a.Turns) > 0 && a.Last().Role == more.Role && more.Role != "assistant" {
		a.Last().Text += more.Text
		a.Last().Results = append(a.Last().Results, more.Results...)
		return
	}
	a.Turns = append(a.Turns, more)
}

// declare adds the tools of a list, whose names and schemas are at paths.
func (a *Asked) declare(list JSON, name string, schemas ...string) {
	for _, t := range list.List() {
		tool := Tool{Name: t.Get(name).String()}
		for _, path := range schemas {
			if s := t.Get(path); s.Exists() {
				tool.Schema = s
			}
		}
		a.Tools = append(a.Tools, tool)
	}
}

// Summary reports whether a summary is asked for.
func (a *Asked) Summary() bool {
	last := a.Last()
	return !a.mayCall || last.Role == "user" && (strings.Contains(last.Text, "<summary") || strings.Contains(last.Text, "is being compacted"))
}

// judge says which rule a conversation breaks; "" where it breaks none.
func (a *Asked) judge() string {
	if len(a.Turns) == 0 || a.Turns[0].Role != "user" {
		return "the conversation does not begin with the user"
	}
	var open []string
	for i, t := range a.Turns {
		for _, r := range t.Results {
			k := slices.Index(open, r.ID)
			switch {
			case k < 0:
				return fmt.Sprintf("result %q has no call", r.ID)
			case strings.TrimSpace(r.Text) == "":
				return fmt.Sprintf("result %q is blank", r.ID)
			}
			open = slices.Delete(open, k, k+1)
		}
		if t.Role != "results" && strings.TrimSpace(t.Text) == "" && len(t.Calls) == 0 {
			return fmt.Sprintf("turn %d says nothing", i)
		}
		if len(open) > 0 {
			return fmt.Sprintf("no results for %q", open)
		}
		open = slices.Clone(t.Calls)
	}
	if a.Last().Role == "assistant" {
		return "there is nothing to answer"
	}
	return ""
}
