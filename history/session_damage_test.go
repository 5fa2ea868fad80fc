package history_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// damageEnv is the environment variable that overrides the number of bits that are flipped, of about 85,000 in a log. A
// quarter as many logs are cut short.
const damageEnv = "PROMPTREE_HISTORY_DAMAGE"

var damageTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func damageOptions(disk *historytest.Disk, salvage bool) history.Options {
	return history.Options{
		IDs: numbered.IDs(), Now: func() time.Time { return damageTime }, Header: entry.Header{ID: "S"}, Salvage: salvage,
		File: storage.FileOptions{Disk: disk, Sync: storage.SyncNever}, Cache: history.NewCache(1 << 20),
	}
}

// ofEachKind returns entries of every kind but compactions and branches, which may follow one another anywhere.
func ofEachKind() []entry.Body {
	return []entry.Body{
		entry.Message{Message: chat.UserMessage("noted"), Data: []byte(`{"k":1.0}`)},
		entry.Message{Message: chat.AssistantMessage("it is")},
		entry.Shell{Command: "make <all>", Output: "fine\n"},
		entry.Shell{Command: "cat", Output: "\xff", ExitCode: 2, Cancelled: true, Hidden: true, Data: []byte(`[]`)},
		entry.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text("look")}, Data: []byte(`[]`)},
		entry.BranchSummary{From: "e2", Summary: entry.Summary{Text: "tried", Files: entry.Files{Read: []string{"a.go"}, Modified: []string{"b.go"}}, Extension: true, Data: []byte(`{}`)}},
		entry.Custom{Name: "own", Data: []byte(`"x"`)},
		entry.Label{Target: "e2", Text: "here"},
		entry.ModelChange{Provider: "p", Model: "m"},
		entry.ThinkingChange{Level: "high"},
		entry.Todos{Text: "first this", Items: []entry.Todo{{Text: "that", Status: "pending"}}},
		entry.Usage{Of: "e3", Model: "m", Usage: chat.Usage{Input: 10, Output: 2, CacheRead: 5, CacheWrite: 1}, Counted: 9, Cost: 0.25},
		entry.Preamble{Digest: "d1", System: []chat.Message{chat.SystemMessage("You are one.")}, Tools: []chat.Tool{{Name: "run", Description: "runs", Parameters: []byte(`{"type":"object"}`)}}},
		entry.Plan{Policy: "p", Occasion: "full", FirstKept: "e2", Room: 10, Words: 5, Preamble: "d1", Until: damageTime},
		entry.PlanEnd{Plan: "e99", Outcome: entry.PlanFailed, Error: "no", ErrorType: "timeout", Used: 7, Finished: []entry.SummaryAnswer{{From: "e2", To: "e3", Model: "m", Unseen: true, Text: "half"}}},
		entry.Refusal{Model: "m", Limit: 100, Tokens: 120, Counted: 110},
	}
}

// damageLog returns a log with entries of all kinds, branches and compactions, and its entries.
func damageLog(t testing.TB) ([]byte, []entry.Entry) {
	t.Helper()
	disk := &historytest.Disk{}
	o := damageOptions(disk, false)
	o.Redact = func(p entry.Passage) string {
		if p.Text == "secret" {
			return "[key]"
		}
		return p.Text
	}
	s := openedWith(t, onDisk, o)
	ctx := t.Context()
	require.NoError(t, s.Append(ctx, everything()...))
	require.NoError(t, s.Append(ctx, chat.UserMessage("secret"), calls("c3", "c4"), done("c3"), done("c4")))
	add(
		t, s, entry.Clearing{Results: []entry.Cleared{{Entry: "e8", Text: "[gone]"}}, Saved: 3},
		entry.Clearing{Arguments: []entry.Cleared{{Entry: "e7", Call: "c4", Text: `{"gone":true}`}}},
	)
	add(t, s, ofEachKind()...)
	require.NoError(t, s.Compact(ctx, entry.Compaction{
		Messages: []chat.Message{chat.UserMessage("so far")}, FirstKept: "e7", TokensBefore: 100, TokensAfter: 10, Mode: "full",
		Thinking: []chat.Thinking{{Text: "hm", Signature: "c2ln"}}, Title: "t", Summary: entry.Summary{Text: "words"},
	}))
	require.NoError(t, s.Append(ctx, chat.UserMessage("on"), calls("c5", "c6"), done("c5")))
	left := s.Leaf()
	require.NoError(t, s.Branch(ctx, "e8"))
	require.NoError(t, s.Append(ctx, done("c4"), chat.AssistantMessage("other")))
	_, err := s.Add(ctx, entry.Entry{Parent: left, Body: entry.BranchSummary{From: s.Leaf(), Summary: entry.Summary{Text: "left"}}},
		entry.Entry{Body: entry.Label{Target: left, Text: "back"}},
		entry.Entry{Body: entry.Message{Message: calls("c7")}}, entry.Entry{Body: entry.Message{Message: done("c7")}})
	require.NoError(t, err)
	sessiontest.Add(t, s, entry.Entry{Body: entry.Unknown{Kind: "later", Line: fmt.Appendf(nil, `{"type":"later","id":"x","parent":%q, "later": 1.0}`, s.Leaf())}})
	require.NoError(t, s.Append(ctx, chat.UserMessage("more"), calls("c8"), done("c8")))
	kept := s.Leaf()
	require.NoError(t, s.Append(ctx, chat.AssistantMessage("done"), chat.UserMessage("last")))
	require.NoError(t, s.Compact(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage("so far")}, LastCovered: kept}))
	require.NoError(t, s.Append(ctx, calls("c9")))
	add(t, s, entry.Todos{Text: "now"}, entry.Pin{Ref: entry.Ref{ID: "e8"}})
	erase(t, s, "e1", "e10")
	entries := all(t, s)
	require.NoError(t, s.Close())
	return disk.ReadFile(onDisk), entries
}

// damaged is a damaged log with the entries that it had before.
type damaged struct {
	entries []entry.Entry // before
	shapes  map[string]string
	what    string
	data    []byte
	whole   int               // bytes before the damage
	lines   []int             // numbers of the damaged lines, from 1, in the damaged log
	lost    map[string]bool   // ids of the entries in those lines
	written bool              // since entries were added, which may have the ids of lost ones
	seed    int               // selects the entries that read examines
	wrong   map[string]string // an example of each kind of failure
}

func (d *damaged) report(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	kind := variablePart.ReplaceAllString(text, "…")
	if d.wrong[kind] == "" {
		d.wrong[kind] = text
	}
}

// variablePart matches the parts in which errors of the same kind differ.
var variablePart = regexp.MustCompile(`line \d+: .*|"[^"]*"|\d+`)

// names reports whether a line of the log names a damaged entry.
func (d *damaged) names(line int) bool {
	all := bytes.Split(d.data, []byte("\n"))
	if line < 1 || line > len(all) {
		return false
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(d.lost)), func(id string) bool { return bytes.Contains(all[line-1], []byte(`"`+id+`"`)) })
}

// check records an error that the damage does not explain, and reports whether the call succeeded. The argument of
// lists the ids that were passed to the call.
func (d *damaged) check(what string, salvage bool, err error, of ...string) bool {
	if err == nil {
		return true
	}
	lost := slices.ContainsFunc(of, func(id string) bool { return d.lost[id] })
	if missing, ok := errors.AsType[*storage.NoEntryError](err); ok && lost && slices.Contains(of, missing.ID) {
		return false
	}
	if corrupt, ok := errors.AsType[*storage.CorruptError](err); ok && !salvage {
		if !slices.Contains(d.lines, corrupt.Line) && !d.names(corrupt.Line) {
			d.report("%s: the wrong line: %v, damaged %v", what, err, d.lines)
		}
		return false
	}
	d.report("%s (salvage %t): %T %v", what, salvage, err, err)
	return false
}

// same records an entry that differs from the one before the damage.
func (d *damaged) same(what string, e entry.Entry) {
	i := slices.IndexFunc(d.entries, func(o entry.Entry) bool { return o.ID == e.ID })
	if i < 0 || d.lost[e.ID] && d.written {
		return
	}
	was := d.entries[i]
	if c, ok := was.Body.(entry.Compaction); ok && (d.lost[c.FirstKept] || d.lost[c.LastCovered]) {
		return // its cut is at another entry
	}
	if !reflect.DeepEqual(was.Body, e.Body) {
		d.report("%s: another %s", what, was.Type())
	}
}

func (d *damaged) ids() []string {
	var list []string
	for _, e := range d.entries {
		list = append(list, e.ID)
	}
	return list
}

// list reads all of a session once, and returns the ids of its entries.
func (d *damaged) list(s *history.Session, salvage bool) map[string]bool {
	ctx := context.Background()
	check := func(what string, err error) bool { return d.check(what, salvage, err) }
	seen := map[string]bool{}
	_, err := s.View(ctx)
	check("View", err)
	for e, err := range s.Entries(ctx) {
		if check("Entries", err) {
			d.same("Entries", e)
			if seen[e.ID] && salvage {
				d.report("Entries: %s twice", e.ID)
			}
			seen[e.ID] = true
		}
	}
	return seen
}

// read calls the methods that read a session.
func (d *damaged) read(s *history.Session, salvage bool) {
	ctx := context.Background()
	check := func(what string, err error, of ...string) bool { return d.check(what, salvage, err, of...) }
	seen := d.list(s, salvage)
	list := d.ids()
	if salvage {
		list = nil
		for _, id := range append(d.ids(), "never") {
			if !seen[id] && (d.lost[id] || id == "never") {
				_, err := s.ViewAt(ctx, id)
				if missing, ok := errors.AsType[*storage.NoEntryError](err); !ok || missing.ID != id {
					d.report("ViewAt of a lost entry: %v", err)
				}
				if _, err = s.Entry(ctx, id); err == nil {
					d.report("Entry of a lost entry")
				} else if _, ok := errors.AsType[*storage.NoEntryError](err); !ok {
					d.report("Entry of a lost entry: %T %v", err, err)
				}
			}
		}
		for id := range seen {
			list = append(list, id)
		}
		slices.Sort(list)
	}
	for i, id := range append(list, "") {
		if !d.lost[id] && id != "" && (i+d.seed)%5 > 0 {
			continue // the test is slow enough
		}
		v, err := s.ViewAt(ctx, id)
		if check("ViewAt", err, id) {
			if want, ok := d.shapes[id]; ok && !salvage && shape(v) != want {
				d.report("ViewAt: another shape")
			}
			for _, t := range v.Turns {
				_ = t.Start
			}
			_ = v.Messages()
			_ = v.Units(history.RoundLimits{}, in(1000))
		}
		for e, err := range s.PathTo(ctx, id) {
			if check("PathTo", err, id) {
				d.same("PathTo", e)
			}
		}
		for e, err := range s.Back(ctx, id) {
			if check("Back", err, id) {
				d.same("Back", e)
			}
		}
		e, err := s.Entry(ctx, cmp.Or(id, s.Leaf(), "never"))
		if id+s.Leaf() != "" && check("Entry", err, id) {
			d.same("Entry", e)
		}
		_, err = s.Ancestor(ctx, "", id)
		check("Ancestor", err, id)
		for _, err := range s.Abandoned(ctx, "", id) {
			check("Abandoned", err, id)
		}
		retained, err := s.Retained(ctx, id)
		if check("Retained", err, id) {
			found, err := s.Resolve(ctx, slices.Concat(retained.Head, retained.Said, retained.Clearings, slices.Collect(maps.Values(retained.Latest)), slices.Collect(maps.Values(retained.Preambles)))...)
			if check("Resolve", err, id) {
				for _, e := range found {
					d.same("Resolve", e)
				}
			}
		}
		_, err = s.Has(ctx, id)
		check("Has", err)
	}
	for _, of := range []entry.Type{
		"message", "shell", "customMessage", "branchSummary", "compaction", "branch", "custom", "label", "modelChange",
		"thinkingChange", "todos", "usage", "clearing", "preamble", "plan", "planEnd", "refusal", "later",
	} {
		if e, ok, err := s.Latest(ctx, of); check("Latest", err) && ok {
			d.same("Latest", e)
			if e.Type() != of {
				d.report("Latest: a %s is a %s", of, e.Type())
			}
		}
	}
	_, err := s.Leaves(ctx)
	check("Leaves", err)
	_, err = s.Lines(ctx)
	check("Lines", err)
	check("Refresh", s.Refresh(ctx))
	for _, err := range history.Turns(s.PathTo(ctx, "")) {
		check("Turns", err)
	}
	_, err = s.ViewWith(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage("S")}, FirstKept: s.Leaf()})
	check("ViewWith", err)
}

// write calls the methods that add to a session, and returns the added entries.
func (d *damaged) write(s *history.Session, salvage bool) []entry.Entry {
	ctx := context.Background()
	check := func(what string, err error, of ...string) bool { return d.check(what, salvage, err, of...) }
	var list []entry.Entry
	add := func(e entry.Entry) {
		added, err := s.Add(ctx, e)
		check(fmt.Sprintf("Add %s", e.Type()), err)
		list = append(list, added...)
	}
	for _, b := range ofEachKind() {
		add(entry.Entry{Body: b})
	}
	add(entry.Entry{Body: entry.Message{Message: calls("new")}})
	if made := s.Leaf(); len(list) > 0 && list[len(list)-1].ID == made {
		add(entry.Entry{Body: entry.Message{Message: done("new")}})
		add(entry.Entry{Body: entry.Clearing{Arguments: []entry.Cleared{{Entry: made, Call: "new", Text: "{}"}}}})
		add(entry.Entry{Body: entry.Compaction{Messages: []chat.Message{chat.UserMessage("S")}, FirstKept: made}})
	}
	check("Append", s.Append(ctx, chat.UserMessage("on")))
	check("Compact", s.Compact(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage("T")}}))
	if ok, err := s.Has(ctx, "e2"); check("Has", err) && ok {
		check("Branch", s.Branch(ctx, "e2"), "e2")
		check("Append", s.Append(ctx, chat.UserMessage("there")))
	}
	return list
}

// logOn returns a disk with a log of the given data.
func logOn(data []byte) *historytest.Disk {
	disk := &historytest.Disk{}
	f, err := disk.Create(onDisk)
	if err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		panic(err)
	}
	return disk
}

// outcome counts damaged logs by how opening them ended.
type outcome struct{ tried, opened, refused, salvaged int }

// try opens a damaged log with and without Salvage, and calls all methods of the session.
func (d *damaged) try(o *outcome) {
	o.tried++
	defer func() {
		if p := recover(); p != nil {
			d.report("panic: %v", p)
		}
	}()
	for _, salvage := range []bool{false, true} {
		d.written = false
		disk := logOn(d.data)
		if r, err := history.Read(onDisk, damageOptions(disk, salvage)); err == nil {
			d.list(r, salvage)
			_ = r.Close()
		}
		s, err := history.Open(onDisk, damageOptions(disk, salvage))
		if err != nil {
			if !bytes.Equal(d.data, disk.ReadFile(onDisk)) {
				d.report("a refused log was changed")
			}
			if corrupt, ok := errors.AsType[*storage.CorruptError](err); ok && corrupt.Line == 1 && slices.Contains(d.lines, 1) {
				if salvage && len(d.data) == d.whole {
					d.report("a log whose header alone is damaged is refused: %v", err)
				}
				o.refused++
				continue
			}
			d.check("Open", salvage, err)
			o.refused++
			continue
		}
		if salvage {
			o.salvaged++
			d.skipped(s)
		} else {
			o.opened++
			d.unnoticed(s, disk)
		}
		d.read(s, salvage)
		taken := map[string]bool{}
		whole := d.data[:bytes.LastIndexByte(d.data, '\n')+1] // without the torn end
		if r := s.Recovered(); r != nil {
			whole = d.data[:len(d.data)-int(r.Bytes)]
		}
		for _, e := range d.entries {
			quoted := `"` + e.ID + `"`
			taken[e.ID] = !d.lost[e.ID] || bytes.Contains(whole, []byte(`"id":`+quoted)) || bytes.Contains(whole, []byte(`"parent":`+quoted))
		}
		added := d.write(s, salvage)
		_ = s.Close()
		d.written = true
		for _, e := range added {
			if taken[e.ID] {
				d.report("an id is given out again, salvage %t", salvage)
			}
			taken[e.ID] = true
		}
		again, err := history.Open(onDisk, damageOptions(disk, salvage))
		if !d.check("Open again", salvage, err) {
			continue
		}
		for _, e := range added {
			got, err := again.Entry(context.Background(), e.ID)
			if d.check("Entry again", false, err) && !reflect.DeepEqual(e, got) {
				d.report("another entry came back than was added, salvage %t", salvage)
			}
		}
		d.list(again, salvage)
		_ = again.Close()
	}
}

// unnoticed records that a session differs if nothing says so.
func (d *damaged) unnoticed(s *history.Session, disk *historytest.Disk) {
	ctx := context.Background()
	store, err := storage.ReadFile(onDisk, storage.FileOptions{Disk: disk})
	if err != nil {
		return
	}
	defer store.Close()
	if wrong, err := history.Verify(ctx, store); err != nil || len(wrong) > 0 || s.Recovered() != nil {
		return
	}
	var got []entry.Entry
	for e, err := range s.Entries(ctx) {
		d.check("Entries", false, err)
		got = append(got, e)
	}
	if len(d.data) == d.whole && !reflect.DeepEqual(got, d.entries) {
		d.report("other entries, and neither Open nor Verify says so")
	}
}

// skipped records a difference between Skipped and the lines that Entries leaves out.
func (d *damaged) skipped(s *history.Session) {
	seen := map[string]bool{}
	for e, err := range s.Entries(context.Background()) {
		if err == nil {
			seen[e.ID] = true
		}
	}
	torn := 0
	if r := s.Recovered(); r != nil {
		torn = r.Line
	}
	skipped := s.Skipped()
	all := bytes.Split(d.data, []byte("\n"))
	for i, line := range all[1:] {
		n := i + 2
		var head struct{ ID string }
		_ = json.Unmarshal(line, &head)
		left := slices.ContainsFunc(skipped, func(c *storage.CorruptError) bool { return c.Line == n })
		end := n == len(all) || torn > 0 && n >= torn
		if left && end {
			d.report("Skipped lists a torn line")
		}
		if !left && !end && !seen[head.ID] {
			d.report("Skipped does not list a line")
		}
	}
}

// A log with any bit flipped, or cut off anywhere, is refused with an error that names the unreadable line, or it opens
// as a session whose methods succeed or name that line. What is read is unchanged: if neither Open nor Verify says
// anything, all of it. With Salvage all methods succeed.
func TestDamagedLogIsAnErrorThatNamesTheLineOrOpens(t *testing.T) {
	t.Parallel()
	data, entries := damageLog(t)
	t.Logf("%d bytes, %d entries", len(data), len(entries))
	s, err := history.Read(onDisk, damageOptions(logOn(data), false))
	require.NoError(t, err)
	shapes := map[string]string{}
	for _, e := range entries {
		shapes[e.ID] = shape(viewAt(t, s, e.ID))
	}
	lineOf := make([]int, len(data))
	at := 0
	for i, line := range bytes.SplitAfter(data, []byte("\n")) {
		for range line {
			lineOf[at] = i + 1
			at++
		}
	}
	id := func(line int) string {
		if line < 2 || line-2 >= len(entries) {
			return ""
		}
		return entries[line-2].ID
	}
	flip := func(bit int) *damaged {
		at := bit / 8
		d := &damaged{entries: entries, shapes: shapes, data: slices.Clone(data), wrong: map[string]string{}, lost: map[string]bool{}}
		d.data[at] ^= 1 << (bit % 8)
		d.what = fmt.Sprintf("bit %d, %q made %q", bit, data[max(0, at-20):min(len(data), at+20)], d.data[at])
		n := lineOf[at]
		d.lines = []int{n}
		d.lost[id(n)] = true
		if data[at] == '\n' {
			d.lost[id(n+1)] = true
		}
		if d.data[at] == '\n' {
			d.lines = append(d.lines, n+1)
		}
		var head struct{ ID string }
		if lines := bytes.Split(d.data, []byte("\n")); json.Unmarshal(lines[n-1], &head) == nil && head.ID != "" {
			if head.ID != id(n) {
				d.lost[head.ID] = true // there are two now
			}
		}
		return d
	}
	cut := func(size int) *damaged {
		d := &damaged{what: fmt.Sprint("cut after ", size), entries: entries, shapes: shapes, data: data[:size], wrong: map[string]string{}, lost: map[string]bool{}}
		n := 1 + bytes.Count(d.data, []byte("\n"))
		d.lines = []int{n}
		for i := n; i <= len(entries)+1; i++ {
			d.lost[id(i)] = true
		}
		return d
	}
	r := rand.New(rand.NewPCG(11, 13))
	var jobs []func() *damaged
	flips := 200
	if text := os.Getenv(damageEnv); text != "" {
		flips, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	for bit := range 8 * len(data) {
		lineBreak := data[bit/8] == '\n' && bit%8 == 3 // two lines become one
		if r.IntN(8*len(data)) < flips || lineBreak {
			jobs = append(jobs, func() *damaged { return flip(bit) })
		}
	}
	for size := range data {
		if r.IntN(len(data)) < flips/4 {
			jobs = append(jobs, func() *damaged { return cut(size) })
		}
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	var sum outcome
	wrong, example := map[string][]int{}, map[string]string{}
	for w := range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := w; i < len(jobs); i += runtime.GOMAXPROCS(0) {
				var o outcome
				d := jobs[i]()
				d.seed, d.whole = i, len(data)
				d.try(&o)
				mu.Lock()
				sum.tried, sum.opened, sum.refused = sum.tried+o.tried, sum.opened+o.opened, sum.refused+o.refused
				sum.salvaged += o.salvaged
				for kind, text := range d.wrong {
					wrong[kind] = append(wrong[kind], d.lines[0])
					example[kind] = d.what + ": " + text
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	t.Logf("%+v", sum)
	for kind, lines := range wrong {
		times := len(lines)
		slices.Sort(lines)
		t.Errorf("%d times, in lines %v: %s", times, slices.Compact(lines), example[kind])
	}
}
