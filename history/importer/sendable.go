package importer

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// unsendable returns a note for each place at which a request of the recorded conversation could not be sent as the session shows it: the
// messages before each answer that somebody asked for, by the rules that every provider shares. It is one pass over the path:
// what precedes an answer stays as it is. lineOf holds the lines of the entries to look at.
func unsendable(ctx context.Context, s *history.Session, lineOf map[string]int) (notes []Note, _ error) {
	var sent []chat.Message
	var from []string // the entry of each message
	note := func(id, what string) {
		if line, ok := lineOf[id]; ok {
			notes = append(notes, Note{Line: line, Count: 1, Kind: Unsendable, What: what})
		}
	}
	add := func(id string, messages ...chat.Message) {
		for _, m := range messages {
			sent, from = append(sent, m), append(from, id)
		}
	}
	for turn, err := range history.Turns(s.PathTo(ctx, s.Leaf())) {
		if err != nil {
			return notes, fmt.Errorf("importer: %w", err)
		}
		if m, says := turn.Message(); says {
			add(turn.Start.ID, m)
		}
		for i, r := range turn.Rounds {
			asked := i == 0 && turn.Start.ID != ""
			if n := len(sent); asked && (n == 0 || sent[n-1].Role == chat.RoleAssistant) {
				note(r.Assistant.ID, "the user says nothing before the answer")
			}
			add(r.Assistant.ID, r.Messages()...)
		}
	}
	sent = append(sent, chat.UserMessage("What comes next."))
	if invalid, ok := errors.AsType[*chat.ValidationError](chat.Validate(sent)); ok {
		for _, v := range invalid.Violations {
			note(from[v.Index], fmt.Sprintf("%s: %s", v.Rule, v.Detail))
		}
	}
	return notes, nil
}
