package write

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/index"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/internal/judge"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Attempt is a plan being run. It reads everything that it needs from the session, so that any process may run it.
type Attempt struct {
	ID        string // the plan's entry
	Plan      entry.Plan
	Policy    policy.Policy // with defaults
	Target    policy.Target
	Material  policy.Material // without Covered, Data and TurnPrefix
	view      history.View    // at the plan, whatever is held
	held      []entry.Held    // what is left out of it in what follows
	by        elements.Sizing
	covered   []history.Unit
	prefix    int             // how many units at the end of covered belong to the turn that is cut
	kept      int             // number of units
	replaced  int             // tokens of the messages that the replacement stands for
	Clearing  entry.Clearing  // to write with the compaction
	Data      json.RawMessage // of a hook, kept with a model's summary
	WillRetry bool            // the agent's request is sent again afterwards
	begun     time.Time
	meter     *meter
}

// SuppliedText returns the text of a hook's summary.
func SuppliedText(s *entry.Summary) (string, error) {
	if data := s.Data; len(data) > 0 && !json.Valid(data) {
		return "", &policy.SummaryError{Reason: "its Data is not JSON"}
	}
	return tidy(s.Text)
}

// tidy returns a summary without invisible characters around it, and an error if nothing is left.
func tidy(text string) (string, error) {
	if text = judge.Tidy(text); text == "" {
		return "", &policy.SummaryError{Reason: "it is empty"}
	}
	return text, nil
}

// Open reads a plan and everything that it needs from the session.
func Open(ctx context.Context, s *history.Session, id string, l *journal.Ledger, p policy.Policy, t policy.Target, by elements.Sizing) (*Attempt, error) {
	found, err := s.Entry(ctx, id)
	if err != nil {
		return nil, err
	}
	planned, ok := found.Body.(entry.Plan)
	if !ok {
		return nil, fmt.Errorf("summarize: entry %q is a %s, not a plan", id, found.Type())
	}
	view, err := s.ViewAt(ctx, id)
	if err != nil {
		return nil, err
	}
	j := &Attempt{ID: id, Plan: planned, Policy: p, Target: t, begun: time.Now(), meter: &meter{}}
	if planned.Clears {
		j.Clearing, err = guard.Value(ctx, "Clear.Rule", func() entry.Clearing {
			c, _ := plan.ClearRule(p, t).Find(view, t.Tokenizer)
			return c
		})
		view = view.Clear(j.Clearing)
	}
	if err != nil {
		return nil, err
	}
	j.view, j.by = view, by
	view, point, err := j.cover(ctx, s, l.HeldFor(t.Name, plan.Server(t)))
	if err != nil {
		return nil, err
	}
	j.replaced, err = guard.Value(ctx, guard.NameTokenizer, func() int {
		tokens := plan.Replaced(t.Tokenizer, view.Compacted, plan.Covered(point))
		for _, th := range planned.Thinking { // it stays in the view
			tokens -= guard.Counted(t.Tokenizer.CountPart(th))
		}
		return tokens
	})
	if err != nil {
		return nil, err
	}
	m := &j.Material
	*m = policy.Material{
		Instructions: planned.Instructions, Tools: t.Tools,
		Tokenizer: t.Tokenizer, Room: planned.Room, Words: planned.Words, ResultTokens: p.Ask.SimpleResult,
	}
	if ref := l.Preambles[planned.Preamble]; ref.ID != "" {
		stored, err := s.Resolve(ctx, ref)
		if err != nil {
			return nil, err
		}
		for _, e := range stored {
			b, _ := e.Body.(entry.Preamble)
			m.System, m.Tools = b.System, b.Tools
		}
	}
	quirk := plan.QuirksOf(p.Ask, planned.Model)
	if quirk.Note != "" {
		m.Notes = []string{quirk.Note}
	}
	m.Reminder = quirk.Reminder
	return j, j.read(ctx, s, view, point)
}

// cover sets what the attempt covers, without the parts that are held, and returns the view of that and its cut.
func (a *Attempt) cover(ctx context.Context, s *history.Session, held []entry.Held) (view history.View, point history.CutPoint, err error) {
	if view, err = plan.LeaveOut(ctx, s, a.view, held); err != nil {
		return view, point, err
	}
	if point, err = a.cutAt(ctx, view, a.Plan.FirstKept); err != nil {
		return view, point, err
	}
	a.held, a.covered, a.prefix, a.kept = held, slices.Clone(plan.Covered(point)), len(point.TurnPrefix()), len(point.Kept())
	without := append(slices.Clip(plan.QuirksOf(a.Policy.Ask, a.Plan.Model).WithoutTools), history.ReadTool, history.SearchTool)
	for i, u := range a.covered {
		a.covered[i].Messages = plaintext.WithoutTools(u.Messages, without)
		if len(a.covered[i].Messages) == 0 || a.covered[i].Messages[0].Role != u.Messages[0].Role {
			a.covered[i].Data = nil // the message that it belongs to is gone
		}
	}
	return view, point, nil
}

// read reads from the session what stands beside the covered history.
func (a *Attempt) read(ctx context.Context, s *history.Session, view history.View, point history.CutPoint) (err error) {
	m := &a.Material
	m.Previous, m.Kept = index.Without(view.Compacted), history.UnitMessages(point.Kept())
	if m.Breadcrumb, err = plan.Transcript(ctx, s, a.Policy, m.Tools); err != nil {
		return err
	}
	if m.Pinned, err = plan.Pins(ctx, s, a.ID, point.FirstKept, a.Plan.Pinned, m.Tokenizer); err != nil {
		return err
	}
	shown, opening := shownStarts(point)
	for _, said := range point.Head {
		if said.Role != chat.RoleUser || opening == nil || !reflect.DeepEqual(said, *opening) {
			m.Head = append(m.Head, said)
		}
	}
	return a.readPath(ctx, s, shown)
}

// shownStarts returns the ids of the first messages of turns that are shown after a cut, and the first message of the
// turn that is cut, if one is.
func shownStarts(point history.CutPoint) (shown map[string]bool, opening *chat.Message) {
	shown = map[string]bool{}
	for i, u := range slices.Backward(point.Units) {
		if !u.Start {
			continue
		}
		if shown[u.ID] = true; i < point.At {
			opening = &u.Messages[0]
		}
		if i <= point.At {
			break
		}
	}
	return shown, opening
}

// readPath reads from the path the user's messages that will not be shown any more, the agent's todo list, the earlier
// summary, and the files.
func (a *Attempt) readPath(ctx context.Context, s *history.Session, shown map[string]bool) error {
	m := &a.Material
	retained, err := s.Retained(ctx, a.ID)
	if err != nil {
		return err
	}
	m.SaidLeft = retained.SaidLeft
	said, err := s.Resolve(ctx, retained.Said...)
	if err != nil {
		return err
	}
	for _, e := range said {
		if !shown[e.ID] {
			m.Said, m.SaidHandles = append(m.Said, e.Message()), append(m.SaidHandles, s.Handle(e, 0, 0))
		}
	}
	latest, err := s.Resolve(ctx, retained.Latest[entry.TypeCompaction], retained.Latest[entry.TypeTodos])
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
	m.Files, err = a.files(ctx, s)
	return err
}

// files returns the files of the covered history: those of the newest compaction that the engine made, and those of the
// calls since its cut. The kept history shows its own files.
func (a *Attempt) files(ctx context.Context, s *history.Session) (entry.Files, error) {
	var entries []entry.Entry // the newest first
	kept, first := true, ""
	for e, err := range s.Back(ctx, a.ID) {
		if err != nil {
			return entry.Files{}, err
		}
		c, compaction := e.Body.(entry.Compaction)
		if !kept || compaction { // a compaction covers entries before it
			entries = append(entries, e)
		}
		kept = kept && e.ID != a.Plan.FirstKept
		if compaction && first == "" && c.Plan != "" {
			first = cmp.Or(c.FirstKept, c.LastCovered, e.ID)
		}
		if e.ID == first {
			break
		}
	}
	return filesOf(ctx, a.Policy, func(yield func(entry.Entry, error) bool) {
		for _, e := range slices.Backward(entries) {
			if !yield(e, nil) {
				return
			}
		}
	})
}

// cutAt returns the cut point at an entry, by the policy's cut.
func (a *Attempt) cutAt(ctx context.Context, view history.View, firstKept string) (history.CutPoint, error) {
	return guard.Call(ctx, guard.NameTokenizer, 0, func(ctx context.Context) (history.CutPoint, error) {
		return a.Policy.Cut.At(ctx, view, firstKept, a.by)
	})
}

// filesOf returns the files that the calls in entries read and modify.
func filesOf(ctx context.Context, p policy.Policy, entries iter.Seq2[entry.Entry, error]) (entry.Files, error) {
	return guard.Call(ctx, "Replace.FileTools", 0, func(context.Context) (entry.Files, error) { return p.Replace.FileTools.Of(entries) })
}

// Event returns an event about the attempt.
func (a *Attempt) Event(kind event.Kind) event.Event {
	e := event.Event{
		Kind: kind, Plan: a.ID, Reason: policy.Occasion(a.Plan.Occasion), Background: a.Plan.Background,
		Size:     event.Size{Base: a.Plan.Base, TokensBefore: a.Plan.TokensBefore},
		Coverage: event.Coverage{Covered: len(a.covered), Kept: a.kept}, WillRetry: a.WillRetry,
	}
	e.Duration = time.Since(a.begun)
	e.Calls, e.Usage = a.meter.calls, a.meter.usage
	return e
}

// UseSupplied returns the summary that a hook supplied, with what else it says of the compaction. Its FirstKept may not be
// after the plan's cut: entries would be neither kept nor summarised.
func (a *Attempt) UseSupplied(ctx context.Context, by entry.Compaction) (d Written, err error) {
	if first := by.FirstKept; first != "" {
		theirs, err := a.cutAt(ctx, a.view, first)
		if err != nil || theirs.At > len(a.covered) {
			return d, fmt.Errorf("summarize: Intervention.FirstKept is %q: it must be an entry of the view, and not after %q, where the plan cuts", first, a.Plan.FirstKept)
		}
	}
	d.Prompt.Mode, d.Compaction = policy.ModeSupplied, by
	d.Extension = true
	if d.Text, err = SuppliedText(&by.Summary); err == nil {
		d.Messages, err = a.replacement(ctx, a.summarised(d.Text))
	}
	if err != nil {
		return Written{}, failure.Within("the summary of a hook", err)
	}
	return d, nil
}

// segment returns the material for some of the covered units; the last prefix of them belong to the turn that is cut.
func (a *Attempt) segment(covered []history.Unit, prefix int) policy.Material {
	m := a.Material
	m.Covered, m.Data = history.UnitMessages(covered), history.UnitData(covered)
	m.TurnPrefix = history.UnitMessages(covered[len(covered)-prefix:])
	return m
}

// Whole returns the material for all covered units.
func (a *Attempt) Whole() policy.Material { return a.segment(a.covered, a.prefix) }

// summarised returns the material for all covered units with a summary of them.
func (a *Attempt) summarised(summary string) policy.Material {
	m := a.Whole()
	m.Summary = summary
	return m
}

// meter counts the requests of a compaction and their usage.
type meter struct {
	calls int
	usage chat.Usage
}

// Material returns the material of a compaction that is made by hand, of a session as it is now, with the point at which
// the rule cuts it.
func Material(ctx context.Context, s *history.Session, cut history.Cut, t policy.Target) (policy.Material, history.CutPoint, error) {
	view, err := s.View(ctx)
	if err != nil {
		return policy.Material{}, history.CutPoint{}, err
	}
	point, err := cut.Find(ctx, view, elements.Sizing{TokenBudget: t.Budget, PromptBudget: t.Budget, Tokenizer: t.Tokenizer})
	if err != nil {
		return policy.Material{}, history.CutPoint{}, err
	}
	j := &Attempt{ID: s.Leaf(), Plan: entry.Plan{FirstKept: point.FirstKept}, Policy: plan.Complete(policy.Policy{})}
	j.Plan.Pinned = clamp.Share(j.Policy.Replace.Pinned, t.Budget)
	j.covered, j.prefix = plan.Covered(point), len(point.TurnPrefix())
	j.Material.Tools, j.Material.Tokenizer = t.Tools, t.Tokenizer
	err = j.read(ctx, s, view, point)
	return j.Whole(), point, err
}
