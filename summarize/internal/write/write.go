// Package write has models write the summary of a plan: in segments if the history is larger than they take in, and
// shortened if it is too long. It holds no lock during a request and writes nothing to the session.
package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/index"
	"github.com/promptree-go/promptree/summarize/internal/judge"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/internal/trim"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// errSentElsewhere reports that a fork is not possible because another process sent the prompt.
var errSentElsewhere = errors.New("summarize: another process sent the prompt, so the summary is asked for without its cache")

// Writer asks models for the summary of an attempt. It writes nothing to the session.
type Writer struct {
	Attempt      *Attempt
	Session      *history.Session // redacts what is sent and reported
	Candidates   []*Candidate
	OtherProcess bool                  // another process sent the prompt
	Halved       int                   // how often segments are halved, because answers could not be used or took too long
	Failures     int                   // how often attempts failed since one did not: each makes fewer requests again
	OneWay       bool                  // the last of them failed for what was asked or answered, so one way is tried
	Parts        []entry.SummaryAnswer // answers for parts of what is covered, of this attempt and earlier ones
	Emit         func(kind event.Kind, change func(*event.Event))
	Last         time.Duration                                    // time limit of a request to the last candidate
	Ended        func()                                           // is called when a request has ended
	Keep         func(context.Context, entry.SummaryAnswer) error // keeps the answer to a request that others follow

	turn turn // taken while the writer works; each request lets the other of two go on

	lastWay        bool                     // no other prompt or candidate is left to ask
	mayClip        bool                     // clip the texts of a round that a candidate does not take in
	failed         bool                     // a request was refused, or its answer could not be used
	settles        bool                     // use doubtful answers
	waited         time.Duration            // before requests that were made again
	ownCompactions map[string][]chat.Opaque // results of a provider's own compaction, by the summary that came with them

	unseen   bool                                // a request of this try left covered messages out
	doubt    string                              // why an answer that this try uses is doubtful
	doubtful []entry.SummaryAnswer               // answers of this try that are not used for that
	parts    func(fits func(string) bool) string // joins two summaries of this try, each cut at a section
}

// Taught returns what the models' refusals teach. If a model answered no smaller request it was not the size, unless it named a
// limit, and it was not the bytes if a larger body was accepted.
func (w *Writer) Taught() (list []entry.Body) {
	if w == nil {
		return nil
	}
	for _, c := range w.Candidates {
		for _, r := range c.refusals {
			believed := c.answers > 0 || r.Limit > c.learnt.Accepted
			if r.Unit == entry.UnitOutput || believed && (r.Unit != entry.UnitBytes || r.Counted > c.learnt.Body) {
				list = append(list, r)
			}
		}
	}
	return list
}

// Written is a summary that is not in the session yet.
type Written struct {
	Attempt          *Attempt // nil if the attempt failed before it was opened
	Writer           *Writer  // nil if the attempt failed before a model could be asked
	Prompt           policy.Prompt
	Mended           []string
	entry.Compaction // without what is the plan's, such as its FirstKept, unless a hook says otherwise
}

// turn lets one of two go on. A function of a caller's may take long in it.
type turn chan struct{}

// newTurn returns a turn that is taken.
func newTurn() turn {
	t := make(turn, 1)
	t.take()
	return t
}

func (t turn) take() { t <- struct{}{} }
func (t turn) give() { <-t }

// NamedPrompt is a prompt with the name of the function that makes its request, for errors.
type NamedPrompt struct {
	policy.Prompt
	Function string
	Title    bool   // it asks for a title, which is not judged
	shortens bool   // it asks to shorten [policy.Material.Summary]
	before   int    // characters of the segments before
	more     bool   // other segments follow, so the answer is kept
	from, to string // that the answer stands for, as in [entry.SummaryAnswer]
}

func Named(p policy.Prompt) NamedPrompt { return NamedPrompt{Prompt: p, Function: "Prompt.Request"} }

// Write tries the prompts in order, each with the candidates in order, until a summary can be put in place. If no
// summary can, the errors say why.
func (w *Writer) Write(ctx context.Context, prompts []policy.Prompt) (Written, []error) {
	w.turn, w.failed = newTurn(), w.OneWay
	var reasons []error
	var best string                  // of the doubtful answers, the longest
	var last func() (Written, error) // goes on from it
	if len(prompts) == 0 {
		return Written{}, []error{errNoPrompt}
	}
	if d, err := w.answered(ctx, prompts[0].Mode); err != nil {
		return d, []error{err}
	} else if d.Text != "" {
		return d, nil
	}
	for _, way := range w.ways(prompts) {
		p, c := way.prompt, way.candidate
		if c.err != nil {
			continue
		}
		w.mayClip, w.lastWay = way.mayClip, way.last
		d, err := w.try(ctx, c, Named(p))
		if err == nil {
			return d, nil
		}
		if ctx.Err() != nil {
			return Written{}, append(reasons, guard.EndCause(ctx, err))
		}
		w.failed = w.failed || !errors.Is(err, errOneTooLarge) || refusal.Of(err).Kind != refusal.None
		err = &policy.CandidateError{Model: c.Name, Mode: p.Mode, Err: err}
		w.Emit(event.Refused, func(e *event.Event) { e.Mode, e.Model, e.Err = p.Mode, c.Name, err })
		reasons = append(reasons, err)
		if n := len(w.doubtful); n > 0 && len(w.doubtful[n-1].Text) > len(best) {
			answers := w.doubtful
			best, last = answers[n-1].Text, func() (Written, error) {
				w.Parts = append(w.Parts, answers...)
				return w.try(ctx, c, Named(p))
			}
		}
	}
	if last != nil {
		w.settles = true
		d, err := last()
		if err == nil {
			return d, nil
		}
		reasons = append(reasons, err)
	}
	if len(reasons) == 0 {
		reasons = []error{failure.ErrNobodyToAsk}
	}
	return Written{}, reasons
}

// way is a prompt for a candidate.
type way struct {
	prompt        policy.Prompt
	candidate     *Candidate
	mayClip, last bool // no other prompt follows, and no other way
}

// ways lists the ways to ask, in order. It is a single one, another each time, while answers are unusable.
func (w *Writer) ways(prompts []policy.Prompt) (list []way) {
	for i, p := range prompts {
		// A fork needs the agent's request, sent by this process, and the agent's model as the first candidate.
		if p.Forks && (len(w.Attempt.Material.Sent) == 0 || !w.Candidates[0].isAgent) {
			if w.OtherProcess && w.Candidates[0].isAgent {
				w.Emit(event.Refused, func(e *event.Event) { e.Mode, e.Model, e.Err = p.Mode, w.Candidates[0].Name, errSentElsewhere })
			}
			continue
		}
		for n, c := range w.Candidates {
			if !p.Forks || c.isAgent {
				later := i < len(prompts)-1 // which may show less by itself
				list = append(list, way{p, c, !later, !later && n == len(w.Candidates)-1})
			}
		}
	}
	if w.OneWay && len(list) > 0 {
		one := list[(w.Failures-1)%len(list)]
		one.mayClip, one.last = true, true
		return []way{one}
	}
	return list
}

// try asks a candidate in one way, and makes the replacement.
func (w *Writer) try(ctx context.Context, c *Candidate, p NamedPrompt) (Written, error) {
	w.unseen, w.doubt, w.doubtful, w.parts = false, "", nil, nil
	text, err := w.summarise(ctx, c, p)
	if suspects := w.suspects(c, refusal.Of(err)); len(suspects) > 0 && !p.Forks { // a fork shows what the agent's model took
		text, err = w.without(ctx, c, p, suspects, err)
	}
	if err != nil {
		return Written{}, err
	}
	d, err := w.finish(ctx, c, p, text)
	d.Model, d.Server, d.Answers, d.Asked, d.Unseen, d.Doubt = c.Name, plan.Server(c.Target), c.answers, c.asked, w.unseen, w.doubt
	return d, err
}

// suspects returns what may be the cause of a candidate's refusal and can be left out: pictures, documents or thinking, or
// the messages that filters are known to refuse.
func (w *Writer) suspects(c *Candidate, said refusal.Refusal) (list []entry.Held) {
	switch {
	case !said.OfContent():
		return nil
	case said.Kind == refusal.Filter:
		list = slices.Clone(c.filtered)
	default:
		list, _ = plan.Suspects(w.Attempt.view, w.Attempt.Plan.FirstKept, said.Held)
	}
	now := list[:0]
	for _, h := range list {
		i := slices.IndexFunc(c.held, h.Same)
		if i >= 0 && !c.held[i].Shown() {
			continue
		}
		if i >= 0 || said.Held == refusal.HeldThinking { // it came back, or its server reads none
			h.State = entry.HeldBlamed
		}
		now = append(now, h)
	}
	return now
}

// without asks a candidate again without what it may refuse, and records that if it takes a request then. Of the agent's own
// model that holds for this attempt alone: it took the same in the agent's requests.
func (w *Writer) without(ctx context.Context, c *Candidate, p NamedPrompt, suspects []entry.Held, refused error) (string, error) {
	answers, was := c.answers, c.held
	c.held = slices.DeleteFunc(slices.Clone(was), func(h entry.Held) bool { return slices.ContainsFunc(suspects, h.Same) })
	c.held = append(c.held, suspects...)
	text, err := w.summarise(ctx, c, p)
	switch {
	case c.answers == answers:
		c.held = was
	case !c.isAgent:
		c.refuse(entry.Refusal{Unit: entry.UnitHeld, Held: c.held})
		for _, h := range suspects {
			w.Emit(event.Withheld, func(e *event.Event) { e.Model, e.Entry, e.Err = c.Name, h.Entry, refused })
		}
	}
	return text, err
}

// shownTo returns the attempt as a candidate is shown it: its server may refuse other parts than the agent's, and all
// encrypted thinking if it refused some.
func (w *Writer) shownTo(ctx context.Context, c *Candidate) (*Attempt, error) {
	held := c.held
	if slices.ContainsFunc(held, func(h entry.Held) bool { return h.Part == plan.Thinking && h.State == entry.HeldRefused }) {
		all, _ := plan.Suspects(w.Attempt.view, w.Attempt.Plan.FirstKept, refusal.HeldThinking)
		held = slices.Concat(held, all)
	}
	if slices.Equal(held, w.Attempt.held) {
		return w.Attempt, nil
	}
	j := *w.Attempt
	view, _, err := j.cover(ctx, w.Session, held)
	j.Material.Previous = index.Without(view.Compacted)
	return &j, err
}

// summarise asks a candidate for a summary of everything that the attempt covers. If a turn is cut and the prompt has a
// Prefix, it makes two requests in parallel, one of them for that turn. If the turn alone is covered, or two summaries
// would have too little room, it makes one request for everything.
func (w *Writer) summarise(ctx context.Context, c *Candidate, p NamedPrompt) (string, error) {
	j, err := w.shownTo(ctx, c)
	if err != nil {
		return "", err
	}
	if p.Prefix == nil || j.prefix == 0 {
		return w.inSegments(ctx, c, p, j.whole())
	}
	cut := len(j.covered) - j.prefix
	before, turn, err := j.split(ctx, p)
	if err != nil {
		return "", err
	}
	if cut == 0 || turn.Material.Words < policy.MinWords {
		return w.inSegments(ctx, c, p, j.whole())
	}
	var texts [2]string
	var failed [2]error
	var both sync.WaitGroup
	ofTurn := p
	ofTurn.Request, ofTurn.Function = p.Prefix, "Prompt.Prefix"
	ask := func(i int, p NamedPrompt, s *span) {
		both.Go(func() {
			w.turn.take()
			defer w.turn.give()
			texts[i], failed[i] = w.inSegments(ctx, c, p, s)
		})
	}
	ask(0, p, &span{Attempt: before, rest: j.covered[:cut]})
	ask(1, ofTurn, &span{Attempt: turn, from: j.covered[cut].ID, rest: j.covered[cut:], prefix: j.prefix})
	w.turn.give()
	both.Wait()
	w.turn.take()
	if err := errors.Join(failed[:]...); err != nil {
		return "", err
	}
	w.parts = func(fits func(string) bool) string { // that of the turn, which is at the end, keeps its share
		ofTurn := trim.ToSection(texts[1], func(text string) bool { return turn.Material.Tokenizer.CountText(text) <= turn.Material.Words })
		return p.Merge(trim.ToSection(texts[0], func(text string) bool { return fits(p.Merge(text, ofTurn)) }), ofTurn)
	}
	merged, err := guard.Value(ctx, guard.NameMerge, func() string { return p.Merge(texts[0], texts[1]) })
	if err != nil {
		return "", err
	}
	return tidy(merged)
}

// split splits the attempt in two, for the history before the turn that is cut and for that turn. The turn gets three
// eighths of the room for words.
func (a *Attempt) split(ctx context.Context, p NamedPrompt) (before, turn Attempt, err error) {
	frame, err := guard.Value(ctx, guard.NameMerge, func() int { return a.Material.Tokenizer.CountText(p.Merge("…", "…")) })
	before, turn = *a, *a
	turn.Material.Previous, turn.Material.PreviousSummary = nil, ""
	words := a.Material.Words - frame
	turn.Material.Words = 3 * words / 8
	before.Material.Words = words - turn.Material.Words
	return before, turn, err
}

var errNoPrompt = errors.New("summarize: Policy.Ask has no prompt for a summary outside the background: add one without Background to Prompts, or change Mode")

// answer returns the most tokens that a candidate may answer: the room, plus an allowance for thinking and analysis.
func (w *Writer) answer(c *Candidate) int {
	room := w.Attempt.Plan.Room
	limit, _ := c.limit()
	n := room + max(room/2, min(2000, limit/8))
	if most := w.Attempt.Policy.Ask.MaxTokens; most > 0 {
		n = min(n, most)
	}
	return max(1, c.learnt.MaxOutput(min(n, limit/2)))
}

// render renders a request so that messages, tools and answer together fit the candidate. Least leaves the fewest tokens for
// an answer if the request does not fit otherwise: the room, or half of it for a fork of the agent's request, which cannot be
// made smaller.
func (w *Writer) render(ctx context.Context, c *Candidate, p NamedPrompt, m policy.Material, least bool) (*render.Result, error) {
	within := func(answer int) (*render.Result, error) {
		return guard.Call(ctx, p.Function, 0, func(ctx context.Context) (*render.Result, error) {
			o := render.Options{Budget: max(1, c.most(answer)-w.toolTokens(c, p)), Tokenizer: c.Tokenizer}
			result, err := render.Render(ctx, elements.Nodes{p.Request(m)}, o)
			if err != nil {
				return nil, err
			}
			limit, _ := plan.MaxBytes(c.Target, c.learnt)
			if bytes := c.learnt.BodyOf(plan.Bytes(result.Messages, w.tools(p))); bytes > limit {
				o.Budget = max(1, clamp.Int(float64(result.Tokens)*float64(limit)/float64(bytes)))
				return render.Render(ctx, elements.Nodes{p.Request(m)}, o)
			}
			return result, nil
		})
	}
	m.Words = min(m.Words, c.learnt.MaxOutput(math.MaxInt)/4*3)
	result, err := within(w.answer(c))
	if least && failure.TooLarge(err) {
		room := w.Attempt.Plan.Room
		if p.Forks {
			room /= 2
		}
		result, err = within(max(1, min(room, w.answer(c))))
	}
	return result, err
}

// toolTokens returns the tokens of the tools that a prompt declares, by the candidate's tokenizer.
func (w *Writer) toolTokens(c *Candidate, p NamedPrompt) int {
	return guard.Counted(c.Tokenizer.CountTools(w.tools(p)))
}

// tools returns the tools that a prompt declares.
func (w *Writer) tools(p NamedPrompt) []chat.Tool {
	if p.Tools {
		return w.Attempt.Material.Tools
	}
	return nil
}

// Title makes one request for the title of a summary and returns it.
func (w *Writer) Title(ctx context.Context, c *Candidate, p policy.Prompt, summary string) (string, error) {
	w.turn = newTurn()
	shown, err := w.shownTo(ctx, c)
	if err != nil {
		return "", err
	}
	return w.ask(ctx, c, NamedPrompt{Prompt: policy.Prompt{Mode: p.Mode, Request: p.Title}, Function: "Prompt.Title", Title: true}, shown.summarised(summary))
}

func (w *Writer) ask(ctx context.Context, c *Candidate, p NamedPrompt, m policy.Material) (string, error) {
	rendered, err := w.render(ctx, c, p, m, true)
	if err != nil {
		return "", failure.Within("rendering the request", err)
	}
	return w.send(ctx, c, p, m, rendered)
}

// send sends a rendered request and returns the summary in the answer.
func (w *Writer) send(ctx context.Context, c *Candidate, p NamedPrompt, m policy.Material, rendered *render.Result) (string, error) {
	if len(rendered.Messages) == 0 {
		return "", guard.Failed(p.Function, errors.New("it returned a prompt without a message"))
	}
	taken, err := guard.Value(ctx, guard.NameTokenizer, func() int { return rendered.Tokens + w.toolTokens(c, p) })
	if err != nil {
		return "", err
	}
	pol := w.Attempt.Policy.Ask
	req := chat.Request{Messages: rendered.Messages, Temperature: pol.Temperature, MaxTokens: w.answer(c), Tools: w.tools(p)}
	if limit, apart := c.limit(); !apart {
		req.MaxTokens = max(1, min(req.MaxTokens, limit-clamp.Int(math.Ceil(c.ratio*float64(taken)))))
	}
	switch {
	case p.Forks: // a fork asks as the agent's request did, or the cache is lost
		req.Shape = c.Shape
	case len(req.Tools) > 0:
		req.ToolChoice = chat.ToolChoiceNone
	}
	if req.Purpose = chat.PurposeSummary; p.Title {
		req.Purpose = chat.PurposeTitle
	}
	response, err := w.generate(ctx, c, req)
	if ctx.Err() != nil {
		return "", guard.EndCause(ctx, err)
	}
	if err != nil {
		w.recordFailure(c, taken, c.learnt.BodyOf(plan.Bytes(req.Messages, req.Tools)), err)
		return "", err
	}
	c.answered(taken)
	return w.take(ctx, c, p, m, rendered, response)
}

// take returns the summary in an answer, redacted, if it can be used. A part of a longer summary is recorded. An answer that is
// used only if there is no better one is an error and remembered, unless the writer settles for it.
func (w *Writer) take(ctx context.Context, c *Candidate, p NamedPrompt, m policy.Material, rendered *render.Result, response chat.Response) (string, error) {
	answer, err := w.read(ctx, p, m, rendered.Messages, response)
	text := answer.Summary
	if err == nil {
		text, err = w.Session.Redact(ctx, entry.Passage{Text: text, Type: entry.TypeCompaction, Path: "compaction.text"})
	}
	if ctx.Err() != nil {
		return "", guard.EndCause(ctx, err)
	}
	if err != nil {
		return "", err
	}
	unseen := w.unseen || p.Drops && len(rendered.Report().Dropped()) > 0
	answered := entry.SummaryAnswer{From: p.from, To: p.to, Model: c.Name, Unseen: unseen, Doubt: w.doubt, Text: text}
	rules := w.Attempt.Policy.Ask.Judge
	rules.Off = rules.Off || p.Title || response.Digest
	if err := judge.Judge(answer, rules); err != nil {
		d, _ := errors.AsType[*policy.SummaryError](err)
		if d == nil || !d.Doubtful || p.shortens {
			return "", err
		}
		if answered.Doubt = d.Reason; !w.settles {
			w.doubtful = append(w.doubtful, answered)
			return "", err
		}
	}
	w.unseen, w.doubt = unseen, answered.Doubt
	if len(response.Compaction) > 0 {
		w.ownCompactions = map[string][]chat.Opaque{text: response.Compaction}
	}
	if p.more {
		w.Parts = append(w.Parts, answered)
		err = w.Keep(ctx, answered)
	}
	return text, err
}

// read returns the summary in an answer, to be judged.
func (w *Writer) read(ctx context.Context, p NamedPrompt, m policy.Material, sent []chat.Message, r chat.Response) (judge.Answer, error) {
	a := judge.Answer{Response: r, Asked: p.Asked}
	a.Summary, a.Open, a.Closed = judge.Read(r.Message.Text(), p.Asked.Tag)
	if p.Read != nil {
		text, err := guard.Call(ctx, "Prompt.Read", 0, func(context.Context) (string, error) { return p.Read(r) })
		if err != nil {
			return a, err
		}
		a.Summary = judge.Tidy(text)
	}
	covered := said(m.Covered) + said(m.Previous)
	a.Request, a.Given = sent[len(sent)-1].Text(), covered+prompts.Earlier(m)+"\n"+m.Summary
	a.Covered = p.before + utf8.RuneCountInString(covered)
	if p.shortens {
		a.Asked, a.Covered = policy.AnswerForm{}, utf8.RuneCountInString(m.Summary)
	} else {
		a.Said = said(slices.DeleteFunc(slices.Clone(m.Covered), isSummary))
	}
	room, err := guard.Value(ctx, guard.NameTokenizer, func() int { return prompts.Characters(m) })
	a.Room = room
	if n := utf8.RuneCountInString(a.Summary); err == nil && n < w.Attempt.Policy.Ask.MinChars && !p.Title {
		err = &policy.SummaryError{Reason: fmt.Sprintf("it has %d characters, fewer than %d", n, w.Attempt.Policy.Ask.MinChars)}
	}
	return a, err
}

// isSummary reports whether a message is a summary, of a branch or of a history before it.
func isSummary(m chat.Message) bool {
	text := m.Text()
	return slices.ContainsFunc([]plaintext.Tag{plaintext.BranchTag, plaintext.SummaryTag, plaintext.PreviousHistoryTag}, func(t plaintext.Tag) bool {
		return strings.Contains(text, t.Close())
	})
}

// said returns the text of messages, with the arguments of calls.
func said(messages []chat.Message) string {
	var lines []string
	for _, m := range messages {
		lines = append(lines, m.Text())
		for _, c := range m.ToolCalls {
			lines = append(lines, c.Arguments)
		}
	}
	return strings.Join(append(lines, ""), "\n")
}

// generate asks the candidate, and again if its failure may pass. Meanwhile the other of two requests goes on.
func (w *Writer) generate(ctx context.Context, c *Candidate, req chat.Request) (chat.Response, error) {
	policy := w.Attempt.Policy.Ask
	w.turn.give()
	defer w.turn.take()
	worth := func(err error, wait time.Duration) bool { // not beyond the policy's RetryWait in all
		w.turn.take()
		defer w.turn.give()
		w.waited += wait
		over := w.waited > policy.RetryWait
		if !over {
			w.Emit(event.Retrying, func(e *event.Event) { e.Model, e.Wait, e.Err = c.Name, wait, err })
		}
		return !over
	}
	limit := policy.Timeout
	if c == w.Candidates[len(w.Candidates)-1] {
		limit = max(limit, w.Last)
	}
	return retry.Do(ctx, retry.Policy{Attempts: max(1, policy.Attempts/(1+w.Failures)), Before: worth}, func() (chat.Response, error) {
		if w.Ended != nil {
			defer w.Ended()
		}
		w.turn.take()
		w.Attempt.meter.calls++
		n := w.Attempt.meter.calls
		w.turn.give()
		response, err := bounded(ctx, c.Target, limit, req)
		err = w.Session.Redacted(ctx, err)
		w.turn.take()
		defer w.turn.give()
		w.Attempt.meter.usage = w.Attempt.meter.usage.Plus(response.Usage) // each number is at most 2³¹-1
		w.Emit(event.Answered, func(e *event.Event) {
			e.Model, e.Request, e.Usage, e.Calls, e.Err = c.Name, fmt.Sprintf("%s/%d", w.Attempt.ID, n), response.Usage, 1, err
		})
		return response, err
	})
}

// recordFailure records what a failure says: that the request was too large, or that asking the model in another way is
// useless.
func (w *Writer) recordFailure(c *Candidate, counted, bytes int, err error) {
	large := refusal.Of(err)
	if large.OfContent() { // the next prompt may not hold it
		return
	}
	switch large.Kind {
	case refusal.Output:
		c.refuse(entry.Refusal{Unit: entry.UnitOutput, Limit: large.Limit, Counted: large.Limit})
	case refusal.Body, refusal.Dropped:
		c.refuse(entry.Refusal{Unit: entry.UnitBytes, Counted: bytes})
	case refusal.Tokens, refusal.Opaque:
		if large.Kind == refusal.Opaque && !w.lastWay { // the next prompt may be valid
			return
		}
		c.refuse(entry.Refusal{Limit: large.Limit, Tokens: large.Tokens, Counted: counted})
	default:
		if !badRequest(err) {
			c.err = err
		}
	}
}

// badRequest reports whether an error is about the request alone, so that the model may be asked in another way.
func badRequest(err error) bool {
	_, invalid := errors.AsType[*chat.ValidationError](err)
	code := refusal.Status(err)
	return invalid || code == http.StatusBadRequest || code == http.StatusUnprocessableEntity
}

// finish makes the replacement for a summary. If the summary is too long, the model is asked once to shorten it, unless the
// candidate is nil, and then it is cut at a section.
func (w *Writer) finish(ctx context.Context, c *Candidate, p NamedPrompt, text string) (Written, error) {
	j := w.Attempt
	d := Written{Prompt: p.Prompt}
	if d.Text = plaintext.Outside(text); d.Text != text {
		d.Mended = append(d.Mended, "tags taken out of its text")
	}
	fits := func(text string) bool {
		_, err := j.replacement(ctx, j.summarised(text))
		return err == nil
	}
	useful := j.Material.Words >= policy.MinWords/2
	if c != nil && useful && !fits(d.Text) {
		m := j.summarised(d.Text)
		shorter, err := w.ask(ctx, c, NamedPrompt{Prompt: policy.Prompt{Mode: p.Mode, Asked: p.Asked, Read: p.Read, Request: prompts.Shorten}, Function: "Shorten", shortens: true}, m)
		smaller := false
		if err == nil {
			shorter = plaintext.Outside(shorter)
			smaller, err = guard.Value(ctx, guard.NameTokenizer, func() bool { return m.Tokenizer.CountText(shorter) < m.Tokenizer.CountText(d.Text) })
		}
		if ctx.Err() != nil {
			return d, guard.EndCause(ctx, err)
		}
		if smaller {
			d.Text = shorter
			d.Mended = append(d.Mended, "shortened by the model")
		}
	}
	if useful && !fits(d.Text) {
		text := d.Text
		if w.parts != nil {
			joined, err := guard.Value(ctx, guard.NameMerge, func() string { return w.parts(fits) })
			if err != nil {
				return d, err
			}
			text = plaintext.Outside(joined)
		}
		d.Text = trim.ToSection(text, fits)
		d.Mended = append(d.Mended, "cut at a section")
	}
	var err error
	if d.Messages, err = j.replacement(ctx, j.summarised(d.Text)); err != nil {
		return d, err
	}
	return d, w.addOwnCompaction(ctx, &d, text)
}

// addOwnCompaction adds the result of the provider's own compaction to the summary that it came with, if there is room
// for both.
func (w *Writer) addOwnCompaction(ctx context.Context, d *Written, summary string) error {
	var own chat.Parts
	for _, part := range w.ownCompactions[summary] {
		if part.Tokens >= 0 && part.Tokens <= math.MaxInt32 && json.Valid(part.Value) {
			own = append(own, part)
		}
	}
	if len(own) == 0 {
		return nil
	}
	messages := slices.Clone(d.Messages)
	last := &messages[len(messages)-1]
	last.Content = slices.Concat(last.Content, own)
	room := min(w.Attempt.Plan.Room, w.Attempt.replaced-1)
	taken, err := guard.Value(ctx, guard.NameTokenizer, func() int { return plan.Replaced(w.Attempt.Material.Tokenizer, messages, nil) })
	switch {
	case err != nil:
		return err
	case taken > room:
		d.Mended = append(d.Mended, fmt.Sprintf("the provider's own compaction left out: with it the summary takes %d tokens and has room for %d", taken, room))
	default:
		d.Messages = messages
	}
	return nil
}

// replacement renders the messages to put in place. They must fit their room and be smaller than what they replace, so
// the parts that may be left out must not fill the room. They are written once and replayed byte for byte.
func (a *Attempt) replacement(ctx context.Context, m policy.Material) ([]chat.Message, error) {
	if m.Room < math.MaxInt32 {
		m.Room = max(1, min(m.Room, a.replaced-1))
	}
	result, err := guard.Call(ctx, guard.NameReplacement, 0, func(ctx context.Context) (*render.Result, error) {
		return render.Render(ctx, plan.Stand(a.Policy, m), render.Options{Budget: m.Room, Tokenizer: m.Tokenizer})
	})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return nil, &policy.SummaryError{Reason: fmt.Sprintf("it takes %d tokens and has room for %d", over.Needed, m.Room)}
	}
	if empty, ok := errors.AsType[*render.EmptyPromptError](err); ok {
		return nil, &policy.SummaryError{Reason: fmt.Sprintf("it takes %d tokens and has room for %d, which leaves no message of it", empty.Tokens, m.Room)}
	}
	if err != nil {
		return nil, failure.Within("rendering the replacement", err)
	}
	if len(result.Messages) == 0 || slices.ContainsFunc(result.Messages, func(m chat.Message) bool { return m.Role != chat.RoleUser }) {
		return nil, guard.Failed(guard.NameReplacement, errors.New("it must return one or more user messages and nothing else"))
	}
	return result.Messages, nil
}
