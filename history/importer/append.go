package importer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
)

// AppendTo adds the recording, with all its branches, to a session, and leaves the session at the recording's leaf. The
// session may be new and have the recording's Header; in a session with entries, the recording starts a new root.
//
// A record without a time has that of the record before, or the first that is known, else the time of the import: that no time
// passes says that it is not known how much did.
//
// Records keep their ids, unless the session has an entry with that id. Usage that was reported with a message, and its
// cost, follow it as an entry, and so do records noted aside. What the session refuses, such as a result without its
// call or a compaction at an invalid cut, becomes an [entry.Custom] named "refused" with the reason. If the JSON of
// such a record is nested too deep ([entry.DepthError]), it is stored as a text.
//
// What the session then shows before an answer, and no provider takes, is a note ([Unsendable]): the session is whole, but
// to go on from there, or to replay it, fails.
//
// An error comes from the session's store; what was added before stays.
func (r *Recording) AppendTo(ctx context.Context, s *history.Session) ([]Note, error) {
	a := appender{
		session: s, records: map[string]*Record{}, ids: map[string]string{}, after: map[string]string{},
		cuts: map[string]string{}, lineOf: map[string]int{}, tried: map[string]int{}, own: r.Format == formatPromptree,
		time: r.Header.Time,
	}
	for i, rec := range r.Records {
		a.records[rec.ID] = &r.Records[i]
		if a.time.IsZero() {
			a.time = rec.Time
		}
	}
	if a.time.IsZero() {
		a.time = time.Now()
	}
	for i := range r.Records {
		if err := a.record(ctx, &r.Records[i]); err != nil {
			return a.notes, err
		}
	}
	if err := a.flush(ctx); err != nil {
		return a.notes, err
	}
	if leaf := a.after[r.Leaf]; leaf != "" && leaf != s.Leaf() {
		if err := s.Branch(ctx, leaf); err != nil {
			return a.notes, fmt.Errorf("importer: %w", err)
		}
	}
	left, err := unsendable(ctx, s, a.lineOf)
	return append(a.notes, left...), err
}

// appender adds records to a session.
type appender struct {
	session *history.Session
	records map[string]*Record // by id
	ids     map[string]string  // of entries, by record
	after   map[string]string  // id of the entry that a child of the record follows, by record
	cuts    map[string]string  // by result: the record at which a compaction that keeps it first may cut
	tried   map[string]int     // how often an id was tried
	batch   []entry.Entry
	lineOf  map[string]int // by entry
	begun   bool           // a record of the tree was added
	own     bool           // usage has records of its own
	time    time.Time      // of the record before, for those without one
	notes   []Note
}

// batchSize is the number of entries that are added at a time.
const batchSize = 256

func (a *appender) record(ctx context.Context, rec *Record) error {
	e := rec.Entry
	if e.Time.IsZero() {
		e.Time = a.time
	}
	a.time = e.Time
	switch {
	case rec.Parent != "":
		e.Parent = a.after[rec.Parent]
	case a.begun && !rec.Aside, len(a.ids) == 0 && a.session.Leaf() != "":
		if err := a.flush(ctx); err != nil {
			return err
		}
		if err := a.session.Branch(ctx, ""); err != nil {
			return fmt.Errorf("importer: %w", err)
		}
		if rec.Type() == entry.TypeBranch { // Branch has just added the same entry
			leaf := a.session.Leaf()
			a.begun, a.ids[rec.ID], a.after[rec.ID] = true, leaf, leaf
			return nil
		}
	}
	switch taken, err := a.session.Has(ctx, e.ID); {
	case err != nil:
		return fmt.Errorf("importer: %w", err)
	case taken:
		if e.ID, err = a.free(ctx, e.ID); err != nil {
			return err
		}
	}
	e.Of, e.Body = a.now(e.Of), a.linked(e, rec)
	a.begun = a.begun || !rec.Aside
	a.ids[rec.ID], a.after[rec.ID] = e.ID, e.ID
	if err := a.add(ctx, rec.Line, e); err != nil {
		return err
	}
	if !a.own && (rec.Usage != (chat.Usage{}) || rec.Cost != 0) {
		id, err := a.free(ctx, rec.ID+".usage")
		if err != nil {
			return err
		}
		usage := entry.Entry{ID: id, Parent: e.ID, Time: e.Time, Body: entry.Usage{Of: e.ID, Usage: rec.Usage, Cost: rec.Cost}}
		a.after[rec.ID] = usage.ID
		if err := a.add(ctx, rec.Line, usage); err != nil {
			return err
		}
	}
	if rec.Aside && rec.Parent != "" { // its parent's children follow it
		a.after[rec.Parent] = e.ID
	}
	return nil
}

// free returns an id that neither the session nor the recording uses.
func (a *appender) free(ctx context.Context, id string) (string, error) {
	if len(id) > entry.MaxID-8 {
		id = strings.ToValidUTF8(id[:entry.MaxID-8], "")
	}
	for n := a.tried[id] + 1; ; n++ {
		a.tried[id] = n
		try := id
		if n > 1 {
			try = fmt.Sprintf("%s.%d", id, n)
		}
		taken, err := a.session.Has(ctx, try)
		if err != nil {
			return "", fmt.Errorf("importer: %w", err)
		}
		if _, added := a.lineOf[try]; a.records[try] == nil && !taken && !added {
			return try, nil
		}
	}
}

// linked returns the body of an entry with the recording's ids replaced by the session's.
func (a *appender) linked(e entry.Entry, rec *Record) entry.Body {
	switch b := e.Body.(type) {
	case entry.Compaction:
		b.FirstKept, b.LastCovered, b.Plan = a.ids[a.cut(b.FirstKept)], a.ids[b.LastCovered], a.ids[b.Plan]
		return b
	case entry.Label:
		b.Target = a.now(b.Target)
		return b
	case entry.Pin:
		id := a.ids[b.ID]
		if id == "" { // what it pins is not in the recording
			return entry.Custom{Name: string(entry.TypePin)}
		}
		b.Ref = entry.Ref{ID: id}
		return b
	case entry.BranchSummary:
		b.From = a.now(b.From)
		return b
	case entry.Branch:
		b.From = a.now(b.From)
		return b
	case entry.Usage:
		b.Of = a.ids[b.Of]
		return b
	case entry.Clearing:
		cleared := func(c *entry.Cleared) { c.Entry = a.now(c.Entry) }
		b.Results, b.Arguments = changed(b.Results, cleared), changed(b.Arguments, cleared)
		return b
	case entry.Plan:
		b.FirstKept = a.ids[b.FirstKept]
		return b
	case entry.PlanEnd:
		b.Plan = a.ids[b.Plan]
		b.Finished = changed(b.Finished, func(s *entry.SummaryAnswer) { s.From, s.To = a.now(s.From), a.now(s.To) })
		return b
	case entry.Refusal:
		b.Held = changed(b.Held, func(h *entry.Held) { h.Entry = a.now(h.Entry) })
		return b
	case entry.Erasure:
		for _, ids := range []*[]string{&b.Entries, &b.Copies, &b.Holders, &b.Summaries} {
			*ids = changed(*ids, func(id *string) { *id = a.now(*id) })
		}
		return b
	case entry.Unknown: // the line holds its own id and parent
		if e.ID != rec.ID || e.Parent != rec.Parent {
			return entry.Custom{Name: string(b.Kind), Data: b.Line}
		}
	}
	return e.Body
}

// now returns the session's id of a record, and the same id if it is not of the recording.
func (a *appender) now(id string) string { return cmp.Or(a.ids[id], id) }

// changed returns a copy of a list in which each element was changed.
func changed[T any](list []T, change func(*T)) []T {
	list = slices.Clone(list)
	for i := range list {
		change(&list[i])
	}
	return list
}

// cut returns the record at which a compaction may cut that keeps the given one first, so that no tool result is
// separated from its call.
func (a *appender) cut(id string) string {
	var passed []string // results, which are not checked again
	for rec := a.records[id]; rec != nil && rec.Message().Role == chat.RoleTool; rec = a.records[id] {
		if to, ok := a.cuts[id]; ok {
			id = to
			break
		}
		passed = append(passed, id)
		id = rec.Parent
	}
	for _, result := range passed {
		a.cuts[result] = id
	}
	return id
}

func (a *appender) add(ctx context.Context, line int, e entry.Entry) error {
	a.batch = append(a.batch, e)
	a.lineOf[e.ID] = line
	if len(a.batch) < batchSize {
		return nil
	}
	return a.flush(ctx)
}

func (a *appender) flush(ctx context.Context) error {
	err := a.take(ctx, a.batch)
	a.batch = a.batch[:0]
	return err
}

// take adds entries. If the session refuses some, it adds each half separately, down to the single entry that is
// refused.
func (a *appender) take(ctx context.Context, entries []entry.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	_, err := a.session.Add(ctx, entries...)
	if err == nil {
		return nil
	}
	if len(entries) > 1 {
		half := len(entries) / 2
		if err := a.take(ctx, entries[:half]); err != nil {
			return err
		}
		return a.take(ctx, entries[half:])
	}
	e := entries[0]
	for _, data := range refused(e.Body) {
		e.Body = entry.Custom{Name: "refused", Data: data}
		if _, again := a.session.Add(ctx, e); again == nil {
			a.notes = append(a.notes, Note{Line: a.lineOf[e.ID], Count: 1, Kind: noteRefused, What: err.Error()})
			return nil
		}
	}
	return fmt.Errorf("importer: line %d: %w", a.lineOf[e.ID], err) // the entry is not the cause
}

// refused returns the forms in which a session may accept a body that it refused: its JSON, the JSON as a text, which
// is never nested too deep, and nothing.
func refused(body entry.Body) []json.RawMessage {
	var forms []json.RawMessage
	if data, err := json.Marshal(body); err == nil {
		text, _ := json.Marshal(string(data)) // texts always encode
		forms = append(forms, data, text)
	}
	return append(forms, nil)
}

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
