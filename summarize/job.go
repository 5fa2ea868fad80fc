package summarize

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/ledger"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// job is a plan that is carried out. It reads everything that it needs from the session, so that any process may carry
// out the plan.
type job struct {
	id           string // the plan's entry
	plan         entry.Plan
	policy       Policy // with defaults
	target       Target
	material     Material // without Covered, Data and TurnPrefix
	covered      []history.Unit
	prefix       int // how many units at the end of covered belong to the turn that is cut
	kept         int // number of units
	replaced     int // tokens of the messages that the replacement stands for
	intervention Intervention
	willRetry    bool // the agent's request is sent again afterwards
	begun        time.Time
	meter        *meter
}

// openJob reads a plan and everything that it needs from the session.
func openJob(ctx context.Context, s *history.Session, id string, l *ledger.Ledger, p Policy, t Target, by elements.Sizing) (*job, error) {
	found, err := s.Entry(ctx, id)
	if err != nil {
		return nil, err
	}
	plan, ok := found.Body.(entry.Plan)
	if !ok {
		return nil, fmt.Errorf("summarize: entry %q is a %s, not a plan", id, found.Type())
	}
	view, err := s.ViewAt(ctx, id)
	if err != nil {
		return nil, err
	}
	j := &job{id: id, plan: plan, policy: p, target: t, begun: time.Now(), meter: &meter{}}
	point, err := p.cutAt(ctx, view, plan.FirstKept, by)
	if err != nil {
		return nil, err
	}
	j.covered, j.prefix, j.kept = covered(point), len(point.TurnPrefix()), len(point.Kept())
	j.replaced, err = value(ctx, nameTokenizer, func() int {
		tokens := replaced(t.Tokenizer, view.Compacted, j.covered)
		for _, th := range plan.Thinking { // it stays in the view
			tokens -= counted(t.Tokenizer.CountPart(th))
		}
		return tokens
	})
	if err != nil {
		return nil, err
	}
	m := &j.material
	*m = Material{
		Previous: view.Compacted, Kept: history.UnitMessages(point.Kept()), Instructions: plan.Instructions, Tools: t.Tools,
		Tokenizer: t.Tokenizer, Room: plan.Room, Words: plan.Words, ResultTokens: p.Ask.SimpleResult,
	}
	if ref := l.Preambles[plan.Preamble]; ref.ID != "" {
		stored, err := s.Resolve(ctx, ref)
		if err != nil {
			return nil, err
		}
		for _, e := range stored {
			b, _ := e.Body.(entry.Preamble)
			m.System, m.Tools = b.System, b.Tools
		}
	}
	if m.Breadcrumb, err = transcript(ctx, s, p, m.Tools); err != nil {
		return nil, err
	}
	quirk := p.Ask.quirks(plan.Model)
	if quirk.Note != "" {
		m.Notes = []string{quirk.Note}
	}
	m.Reminder = quirk.Reminder
	if len(quirk.WithoutTools) > 0 {
		j.covered = slices.Clone(j.covered)
		for i, u := range j.covered {
			j.covered[i].Messages = plaintext.WithoutTools(u.Messages, quirk.WithoutTools)
			if len(j.covered[i].Messages) == 0 || j.covered[i].Messages[0].Role != u.Messages[0].Role {
				j.covered[i].Data = nil // the message that it belongs to is gone
			}
		}
	}
	shown, opening := shownStarts(point)
	for _, said := range point.Head {
		if said.Role != chat.RoleUser || opening == nil || !reflect.DeepEqual(said, *opening) {
			m.Head = append(m.Head, said)
		}
	}
	return j, j.readPath(ctx, s, shown)
}

// shownStarts returns the ids of the first messages of turns that are shown after a cut, and the first message of the
// turn that is cut, if one is.
func shownStarts(point history.CutPoint) (shown map[string]bool, opening *chat.Message) {
	shown = map[string]bool{}
	kept := point.Kept()
	for _, u := range kept {
		if u.Start {
			shown[u.ID] = true
		}
	}
	if len(kept) == 0 || kept[0].Start {
		return shown, nil
	}
	for _, u := range slices.Backward(point.Units[:point.At]) {
		if u.Start {
			shown[u.ID] = true
			return shown, &u.Messages[0]
		}
	}
	return shown, nil
}

// readPath reads from the path the user's messages that will not be shown any more, the agent's todo list, the earlier
// summary, and the files.
func (j *job) readPath(ctx context.Context, s *history.Session, shown map[string]bool) error {
	m := &j.material
	carried, err := s.Carry(ctx, j.id)
	if err != nil {
		return err
	}
	m.SaidLeft = carried.SaidLeft
	said, err := s.Resolve(ctx, carried.Said...)
	if err != nil {
		return err
	}
	for _, e := range said {
		if !shown[e.ID] {
			m.Said = append(m.Said, e.Message())
		}
	}
	latest, err := s.Resolve(ctx, carried.Latest[entry.TypeCompaction], carried.Latest[entry.TypeTodos])
	if err != nil {
		return err
	}
	for _, e := range latest {
		switch b := e.Body.(type) {
		case entry.Compaction:
			m.PreviousSummary = b.Text
		case entry.Todos:
			m.Plan, m.Todo = b.Text, b.List()
		}
	}
	m.Files, err = j.files(ctx, s)
	return err
}

// files returns the files of the covered history: those of the newest compaction that the engine made, and those of the
// calls since its cut. The kept history shows its own files.
func (j *job) files(ctx context.Context, s *history.Session) (entry.Files, error) {
	var entries []entry.Entry // the newest first
	kept, first := true, ""
	for e, err := range s.Back(ctx, j.id) {
		if err != nil {
			return entry.Files{}, err
		}
		c, compaction := e.Body.(entry.Compaction)
		if !kept || compaction { // a compaction covers entries before it
			entries = append(entries, e)
		}
		kept = kept && e.ID != j.plan.FirstKept
		if compaction && first == "" && c.Plan != "" {
			first = cmp.Or(c.FirstKept, c.LastCovered, e.ID)
		}
		if e.ID == first {
			break
		}
	}
	return j.policy.filesOf(ctx, func(yield func(entry.Entry, error) bool) {
		for _, e := range slices.Backward(entries) {
			if !yield(e, nil) {
				return
			}
		}
	})
}

// cutAt returns the cut point at an entry, by the policy's cut.
func (p Policy) cutAt(ctx context.Context, view history.View, firstKept string, by elements.Sizing) (history.CutPoint, error) {
	return call(ctx, nameTokenizer, 0, func(ctx context.Context) (history.CutPoint, error) { return p.Cut.At(ctx, view, firstKept, by) })
}

// filesOf returns the files that the calls in entries read and modify.
func (p Policy) filesOf(ctx context.Context, entries iter.Seq2[entry.Entry, error]) (entry.Files, error) {
	return call(ctx, "Place.FileTools", 0, func(context.Context) (entry.Files, error) { return p.Place.FileTools.Of(entries) })
}

// part returns the material for some of the covered units; the last prefix of them belong to the turn that is cut.
func (j *job) part(covered []history.Unit, prefix int) Material {
	m := j.material
	m.Covered, m.Data = history.UnitMessages(covered), history.UnitData(covered)
	m.TurnPrefix = history.UnitMessages(covered[len(covered)-prefix:])
	return m
}

// whole returns the material for all covered units.
func (j *job) whole() Material { return j.part(j.covered, j.prefix) }

// meter counts the requests of a compaction and their usage. It is safe for concurrent use.
type meter struct {
	mu    sync.Mutex
	calls int
	usage chat.Usage
}

func (m *meter) ask() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	return m.calls
}

func (m *meter) add(u chat.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage = m.usage.Plus(u) // each number is at most 2³¹-1
}

func (m *meter) read() (int, chat.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.usage
}
