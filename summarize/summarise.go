package summarize

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/endless"
	"github.com/promptree-go/promptree/internal/ledger"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/internal/trim"
	"github.com/promptree-go/promptree/render"
)

// candidate is a model that may be asked for a summary.
type candidate struct {
	Target
	isAgent bool  // the agent's own model
	err     error // why it is not asked any more

	mu             sync.Mutex
	learnt         entry.Learnt    // of the model, before and by this attempt
	refusals       []entry.Refusal // by this attempt
	answers        int             // the number of requests that it answered
	asked          int             // our count of the largest of them
	limit          int             // context window in tokens
	ratio          float64         // provider's tokens for one of ours
	answerSeparate bool            // the answer does not count towards limit; assumed if the window is not known
}

// newCandidate returns a candidate with what a session remembers of it.
func newCandidate(t Target, own bool, window int, apart bool, l *ledger.Ledger) *candidate {
	c := &candidate{Target: t, isAgent: own, learnt: l.Of(t.Name), limit: t.ContextWindow, ratio: 1}
	if c.limit <= 0 {
		c.limit, c.answerSeparate = window, apart
	}
	if own {
		c.ratio = max(1, l.Ratio(t.Name))
	}
	if s := c.learnt.Summaries; !s.Once && s.Left > 0 { // it may be of messages and answer together
		c.limit, c.answerSeparate = min(c.limit, clamp.Int(math.Ceil(c.ratio*float64(s.Refused)))), false
	}
	return c
}

// size returns the context window in tokens, the ratio of the provider's count to ours, and whether the answer does not
// count towards the window.
func (c *candidate) size() (limit int, ratio float64, apart bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit, c.ratio, c.answerSeparate
}

// refuse records that the model refused a request for its size.
func (c *candidate) refuse(r entry.Refusal, remembered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Limit > c.learnt.Accepted {
		c.limit, c.answerSeparate = min(c.limit, r.Limit), false
	}
	known := c.learnt.Summaries // a request made in parallel may be larger than what was learnt meanwhile
	if known.Attempts == 0 || r.Counted <= known.Size(clamp.Int(float64(c.limit)/c.ratio)) {
		c.learnt.Refuse(r)
	}
	if remembered {
		c.refusals = append(c.refusals, r)
	}
}

// answer records that the model answered a request.
func (c *candidate) answered(counted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers++
	c.asked = max(c.asked, counted)
	c.learnt.Summarised(1, counted)
}

// giveUp notes why the candidate is not asked again by this attempt.
func (c *candidate) giveUp(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// forget ignores a ceiling within which nothing can be asked, and reports whether there was one.
func (c *candidate) forget() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refusals) > 0 || c.learnt.Summaries == (entry.Ceiling{}) {
		return false
	}
	c.learnt.Summaries = entry.Ceiling{}
	if c.ContextWindow > 0 {
		c.limit = c.ContextWindow
	}
	return true
}

// taught returns the refusals to remember. If the model answered no smaller request, it was not the size, unless the
// model named a limit.
func (c *candidate) taught() []entry.Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.refusals), func(r entry.Refusal) bool { return c.answers == 0 && r.Limit <= c.learnt.Accepted })
}

// room returns how many tokens by our count the messages of a request may take beside tools and an answer.
func (c *candidate) room(tools, answer int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.limit
	if !c.answerSeparate {
		limit -= answer
	}
	return max(1, c.learnt.Summaries.Size(clamp.Int(float64(limit)/c.ratio))-tools)
}

// candidates lists the models that may be asked, in order, each once. It emits an event for each name that
// [Compactor.Models] does not have.
func (c *carrier) candidates(ctx context.Context, t Target, p Policy, l *ledger.Ledger) ([]*candidate, error) {
	window, err := value(ctx, nameTokenizer, t.window)
	if err != nil {
		return nil, err
	}
	var list []*candidate
	add := func(t, agent Target, own bool) {
		if slices.ContainsFunc(list, func(c *candidate) bool { return c.Name == t.Name && t.Name != "" }) {
			return
		}
		if t.Tokenizer == nil {
			t.Tokenizer = agent.Tokenizer
		}
		list = append(list, newCandidate(t, own, window, agent.ContextWindow <= 0, l))
	}
	for _, name := range p.Ask.route(t.Name) {
		if other := c.models[name]; other.Model != nil {
			other.Name = name
			add(other, t, false)
		} else if len(c.models) > 0 {
			c.emit(ctx, Event{Kind: EventModelUnknown, Model: name, Err: fmt.Errorf("summarize: Policy.Ask names the model %q, which is not in Compactor.Models", name)})
		}
	}
	if p.Ask.Cheapest {
		for _, other := range p.Ask.priced(c.models, t.Name) {
			add(other, t, false)
		}
	}
	add(t, t, true)
	return list, nil
}

// writer asks models for the summary of a job. It holds no lock during a request, and writes nothing to the session.
type writer struct {
	job          *job
	session      *history.Session // redacts what is sent and reported
	candidates   []*candidate
	otherProcess bool // another process sent the prompt
	splits       int  // how often to halve the pieces of the history, because answers could not be used
	// finishedBefore holds the answers of an earlier attempt that failed after them.
	finishedBefore map[entry.SummaryRequest]string
	emit           func(kind EventKind, change func(*Event))
	mayClip        bool // clip the texts of a round that a candidate does not take in

	mu             sync.Mutex
	ownCompactions map[string][]chat.Opaque // results of a provider's own compaction, by the summary that came with them
	finished       []entry.SummaryAnswer
	unseen         bool        // the request for the summary left covered messages out
	waits          []time.Time // when each model whose failure may pass can be asked again
	waited         time.Duration
}

// notBefore returns the earliest time at which a model may be asked again; zero unless every candidate asked to wait.
func (w *writer) notBefore() time.Time {
	if w == nil || len(w.waits) == 0 || len(w.waits) < len(w.candidates) {
		return time.Time{} // not every candidate asked to wait
	}
	return slices.MinFunc(w.waits, time.Time.Compare)
}

// draft is a summary that is not in the session yet.
type draft struct {
	prompt   Prompt
	text     string
	model    string
	answers  int  // the number of requests that the model answered
	asked    int  // our count of the largest of them
	unseen   bool // the request left covered messages out
	mended   []string
	messages []chat.Message // the replacement
}

// write tries the prompts in order, each with the candidates in order, until a summary can be put in place. If no
// summary can, the errors say why.
func (w *writer) write(ctx context.Context, prompts []Prompt) (draft, []error) {
	var reasons []error
	if len(prompts) == 0 {
		return draft{}, []error{errNoPrompt}
	}
	for i, p := range prompts {
		w.mayClip = i == len(prompts)-1 // a later prompt may show less by itself
		// A fork needs the agent's request, sent by this process, and the agent's model as the first candidate.
		if p.Forks && (len(w.job.material.Sent) == 0 || !w.candidates[0].isAgent) {
			if w.otherProcess && w.candidates[0].isAgent {
				w.emit(EventRefused, func(e *Event) { e.Mode, e.Model, e.Err = p.Mode, w.candidates[0].Name, errSentElsewhere })
			}
			continue
		}
		for _, c := range w.candidates {
			if c.err != nil || p.Forks && !c.isAgent {
				continue
			}
			w.unseen = false
			text, err := w.summarise(ctx, c, p)
			if errors.Is(err, errOneTooLarge) && c.forget() {
				text, err = w.summarise(ctx, c, p)
			}
			var d draft
			if err == nil {
				d, err = w.finish(ctx, c, p, text)
			}
			if err == nil {
				d.answers, d.asked, d.unseen = c.answers, c.asked, w.unseen
				return d, nil
			}
			if ctx.Err() != nil {
				return draft{}, append(reasons, endCause(ctx, err))
			}
			err = &CandidateError{Model: c.Name, Mode: p.Mode, Err: err}
			w.emit(EventRefused, func(e *Event) { e.Mode, e.Model, e.Err = p.Mode, c.Name, err })
			reasons = append(reasons, err)
		}
	}
	if len(reasons) == 0 {
		reasons = []error{ErrNobodyToAsk}
	}
	return draft{}, reasons
}

// summarise asks a candidate for a summary of everything that the job covers. If a turn is cut and the prompt has a
// Prefix, it makes two requests in parallel, one of them for that turn. If the turn alone is covered, or two summaries
// would have too little room, it makes one request for everything.
func (w *writer) summarise(ctx context.Context, c *candidate, p Prompt) (string, error) {
	j := w.job
	if p.Prefix == nil || j.prefix == 0 {
		return w.inPieces(ctx, c, *j, p, j.covered, j.prefix)
	}
	cut := len(j.covered) - j.prefix
	before, turn, err := j.split(ctx, p)
	if err != nil {
		return "", err
	}
	if cut == 0 || turn.material.Words < minWords {
		return w.inPieces(ctx, c, *j, p, j.covered, j.prefix)
	}
	var texts [2]string
	var failed [2]error
	var both sync.WaitGroup
	ofTurn := p
	ofTurn.Request, ofTurn.function = p.Prefix, "Prompt.Prefix"
	both.Go(func() { texts[0], failed[0] = w.inPieces(ctx, c, before, p, j.covered[:cut], 0) })
	both.Go(func() { texts[1], failed[1] = w.inPieces(ctx, c, turn, ofTurn, j.covered[cut:], j.prefix) })
	both.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return "", err
	}
	merged, err := value(ctx, nameMerge, func() string { return p.Merge(texts[0], texts[1]) })
	if err != nil {
		return "", err
	}
	return tidy(merged)
}

// split splits the job in two, for the history before the turn that is cut and for that turn. The turn gets three
// eighths of the room for words.
func (j *job) split(ctx context.Context, p Prompt) (before, turn job, err error) {
	frame, err := value(ctx, nameMerge, func() int { return j.material.Tokenizer.CountText(p.Merge("…", "…")) })
	before, turn = *j, *j
	turn.material.Previous, turn.material.PreviousSummary = nil, ""
	words := j.material.Words - frame
	turn.material.Words = 3 * words / 8
	before.material.Words = words - turn.material.Words
	return before, turn, err
}

var errNoPrompt = errors.New("summarize: Policy.Ask has no prompt for a summary outside the background: add one without Background to Prompts, or change Mode")

// maxShrinks is how often a request that was refused as too large is made again, and how often one round that is too large
// is clipped.
const maxShrinks = 6

// inPieces asks for a summary of some of the units that a job covers. If they are more than the candidate takes in,
// they are summarised in pieces, each with the summary of those before it.
func (w *writer) inPieces(ctx context.Context, c *candidate, j job, p Prompt, rest []history.Unit, prefix int) (string, error) {
	shrinks, n := 0, 0
	most := max(1, len(rest)>>w.splits)
	var refused error
	for clip := 0; ; {
		var err error
		if n, err = w.pieceSize(ctx, c, &j, p, rest, prefix, n, most); errors.Is(err, errOneTooLarge) && w.mayClip && clip < maxShrinks {
			clip++ // one round is more than the candidate takes in: clip its texts, more each time
			first, times, why := rest[0], clip, err
			clipped, wrong := call(ctx, nameTokenizer, 0, func(context.Context) (history.Unit, error) {
				limit := c.room(w.toolTokens(c, p), w.leastAnswer(c, p)) >> times
				if limit < minWords {
					return history.Unit{}, why
				}
				return first.Clipped(c.Tokenizer, limit, 0.4), nil
			})
			if err = wrong; err == nil {
				rest = slices.Clone(rest)
				rest[0] = clipped
				continue
			}
		}
		if err != nil {
			return "", errors.Join(refused, err)
		}
		summary, err := w.ask(ctx, c, p, j.part(rest[:n], max(0, n+prefix-len(rest))))
		switch k := refusal.Of(err).Kind; {
		case k == refusal.Tokens && shrinks < maxShrinks, k == refusal.Body && shrinks == 0:
			shrinks++ // the candidate learnt from it, so the next piece is smaller
			refused, n = err, 0
			continue
		case k == refusal.Tokens, k == refusal.Body:
			c.giveUp(err) // it is not the size
		}
		if err != nil {
			return "", err
		}
		if rest = rest[n:]; len(rest) == 0 {
			return summary, nil
		}
		prefix, clip, shrinks = min(prefix, len(rest)), 0, 0
		if j, err = w.continued(ctx, j, summary); err != nil {
			return "", err
		}
	}
}

// continued returns the job that continues from the summary of a piece.
func (w *writer) continued(ctx context.Context, j job, summary string) (job, error) {
	m := j.material
	words, err := value(ctx, nameTokenizer, func() string {
		return trim.ToSection(plaintext.Untagged(summary), func(text string) bool { return counted(m.Tokenizer.CountText(text)) <= m.Words })
	})
	if err != nil {
		return j, err
	}
	// The next piece needs only the words of this summary.
	m.Summary, m.Room, m.Reminder = words, math.MaxInt32, ""
	m.Breadcrumb, m.Workspace, m.Files, m.Said, m.SaidLeft, m.Head = Breadcrumb{}, Workspace{}, entry.Files{}, nil, 0, nil
	stand, err := j.replacement(ctx, m)
	if err != nil {
		return j, err
	}
	j.material.Previous, j.material.PreviousSummary = stand, words
	return j, nil
}

var errOneTooLarge = errors.New("summarize: a single round is larger than the model takes in")

// pieceSize returns how many of the units fit into one request with the summary before them, at least one. Their size
// as text differs from their size as messages, so each guess is rendered. The first guess is the size of the piece
// before, or all units. After that the guess doubles, or follows from the tokens that were needed, and then the range
// is halved. A piece has at most most units, unless nothing can be split.
func (w *writer) pieceSize(ctx context.Context, c *candidate, j *job, p Prompt, rest []history.Unit, prefix, guess, most int) (int, error) {
	if p.Forks {
		most = len(rest)
	}
	most = min(most, len(rest))
	fits, over := 0, most+1 // the largest number known to fit, the smallest known not to
	n := most
	if guess > 0 {
		n = min(n, guess)
	}
	for fits+1 < over {
		m := j.part(rest[:n], max(0, n+prefix-len(rest)))
		_, err := w.render(ctx, c, p, m, w.answer(c))
		large := tooLarge(err)
		if large && (n == 1 || p.Forks) { // nothing can be split
			_, err = w.render(ctx, c, p, m, w.leastAnswer(c, p))
			large = tooLarge(err)
		}
		switch {
		case !large && err != nil:
			return 0, err
		case !large:
			fits = n
			n = min(2*n, (fits+over)/2)
		case n == 1 || p.Forks:
			return 0, fmt.Errorf("%w: %w", errOneTooLarge, err)
		default:
			over = n
			n = (fits + over) / 2
			if exceeded, ok := errors.AsType[*render.BudgetExceededError](err); ok && fits == 0 && exceeded.Needed > 0 {
				n = max(1, min(over-1, over*exceeded.Budget/exceeded.Needed))
			}
		}
	}
	return fits, nil
}

// answer returns the most tokens that a candidate may answer: the room, plus an allowance for thinking and analysis.
func (w *writer) answer(c *candidate) int {
	room := w.job.plan.Room
	limit, _, _ := c.size()
	n := room + max(room/2, min(2000, limit/8))
	if most := w.job.policy.Ask.MaxTokens; most > 0 {
		n = min(n, most)
	}
	return max(1, min(n, limit/2))
}

// leastAnswer returns the fewest tokens to leave for an answer if the request takes the rest: the room, or half of it
// for a fork of the agent's request, which cannot be made smaller.
func (w *writer) leastAnswer(c *candidate, p Prompt) int {
	room := w.job.plan.Room
	if p.Forks {
		room /= 2
	}
	return max(1, min(room, w.answer(c)))
}

// render renders a request so that messages, tools and answer together fit the candidate.
func (w *writer) render(ctx context.Context, c *candidate, p Prompt, m Material, answer int) (*render.Result, error) {
	return call(ctx, p.functionName(), 0, func(ctx context.Context) (*render.Result, error) {
		budget := c.room(w.toolTokens(c, p), answer)
		return render.Render(ctx, elements.Nodes{p.Request(m)}, render.Options{Budget: budget, Tokenizer: c.Tokenizer})
	})
}

// toolTokens returns the tokens of the tools that a prompt declares, by the candidate's tokenizer.
func (w *writer) toolTokens(c *candidate, p Prompt) int {
	return counted(c.Tokenizer.CountTools(w.tools(p)))
}

// tools returns the tools that a prompt declares.
func (w *writer) tools(p Prompt) []chat.Tool {
	if p.Tools {
		return w.job.material.Tools
	}
	return nil
}

// ask sends one request and returns the summary in the answer.
func (w *writer) ask(ctx context.Context, c *candidate, p Prompt, m Material) (string, error) {
	rendered, err := w.render(ctx, c, p, m, w.answer(c))
	if tooLarge(err) {
		rendered, err = w.render(ctx, c, p, m, w.leastAnswer(c, p))
	}
	if err != nil {
		return "", within("rendering the request", err)
	}
	if len(rendered.Messages) == 0 {
		return "", &CallbackError{p.functionName(), errors.New("it returned a prompt without a message")}
	}
	request, err := requestOf(c, p.Mode, rendered.Messages)
	if err != nil {
		return "", err
	}
	if text, ok := w.finishedBefore[request]; ok {
		return text, nil
	}
	taken, err := value(ctx, nameTokenizer, func() int { return rendered.Tokens + w.toolTokens(c, p) })
	if err != nil {
		return "", err
	}
	policy := w.job.policy.Ask
	req := chat.Request{Messages: rendered.Messages, Temperature: policy.Temperature, MaxTokens: w.answer(c), Tools: w.tools(p)}
	if limit, ratio, apart := c.size(); !apart {
		taken := clamp.Int(math.Ceil(ratio * float64(taken)))
		req.MaxTokens = max(1, min(req.MaxTokens, limit-taken))
	}
	if len(req.Tools) > 0 && !p.Forks { // a fork declares its tools as the agent's request did, or the cache is lost
		req.ToolChoice = chat.ToolChoiceNone
	}
	response, err := w.generate(ctx, c, req)
	if ctx.Err() != nil {
		return "", endCause(ctx, err)
	}
	if err != nil {
		w.recordFailure(c, taken, err)
		return "", err
	}
	c.answered(taken)
	text, err := read(ctx, p, response)
	if err == nil {
		text, err = w.session.Redact(ctx, entry.Passage{Text: text, Type: entry.TypeCompaction, Path: "compaction.text"})
	}
	if ctx.Err() != nil {
		return "", endCause(ctx, err)
	}
	if err == nil {
		err = AtLeast(policy.MinChars)(Material{Summary: text})
	}
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unseen = w.unseen || p.Drops && len(rendered.Report().Dropped()) > 0
	w.finished = append(w.finished, entry.SummaryAnswer{SummaryRequest: request, Text: text})
	if len(response.Compaction) > 0 {
		w.ownCompactions = map[string][]chat.Opaque{text: response.Compaction}
	}
	return text, nil
}

// read returns the summary in an answer.
func read(ctx context.Context, p Prompt, r chat.Response) (string, error) {
	if p.Read == nil {
		return ReadAll(r)
	}
	text, err := call(ctx, "Prompt.Read", 0, func(context.Context) (string, error) { return p.Read(r) })
	if err != nil {
		return "", err
	}
	return tidy(text)
}

// generate asks the candidate, and again if its failure may pass.
func (w *writer) generate(ctx context.Context, c *candidate, req chat.Request) (chat.Response, error) {
	policy := w.job.policy.Ask
	worth := func(err error, wait time.Duration) bool { // not beyond the policy's RetryWait in all
		w.mu.Lock()
		w.waited += wait
		over := w.waited > policy.RetryWait
		w.mu.Unlock()
		if !over {
			w.emit(EventRetrying, func(e *Event) { e.Model, e.Wait, e.Err = c.Name, wait, err })
		}
		return !over
	}
	limit := policy.Timeout
	if limit == 0 && len(w.candidates) > 1 {
		limit = policy.TimeLimit / time.Duration(len(w.candidates)) // one that hangs leaves time for the others
	}
	return retry.Do(ctx, retry.Policy{Attempts: policy.Attempts, Before: worth}, func() (chat.Response, error) {
		n := w.job.meter.ask()
		response, err := endless.Generate(ctx, req, func(ctx context.Context, req chat.Request) (chat.Response, error) { return c.generate(ctx, limit, req) })
		err = w.session.Redacted(ctx, err)
		w.job.meter.add(response.Usage)
		w.emit(EventAnswered, func(e *Event) {
			e.Model, e.Request, e.Usage, e.Calls, e.Err = c.Name, fmt.Sprintf("%s/%d", w.job.id, n), response.Usage, 1, err
		})
		return response, err
	})
}

// recordFailure records what a failure says: that the request was too large, a time to wait, or that asking the model
// in another way is useless.
func (w *writer) recordFailure(c *candidate, counted int, err error) {
	if large := refusal.Of(err); large.Kind == refusal.Tokens || large.Kind == refusal.Body {
		c.refuse(entry.Refusal{Model: c.Name, Limit: large.Limit, Tokens: large.Tokens, Counted: counted, Summary: true}, large.Kind == refusal.Tokens)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if transient, passes := errors.AsType[*chat.TransientError](err); passes {
		w.waits = append(w.waits, time.Now().Add(transient.RetryAfter))
	}
	if !badRequest(err) {
		c.giveUp(err)
	}
}

// requestOf identifies a request by a digest of its text, so that a smaller one for the same rounds differs.
func requestOf(c *candidate, mode Mode, messages []chat.Message) (entry.SummaryRequest, error) {
	text, err := json.Marshal(messages)
	if err != nil {
		return entry.SummaryRequest{}, fmt.Errorf("summarize: encoding the request: %w", err)
	}
	sum := sha256.Sum256(text)
	return entry.SummaryRequest{Model: c.Name, Request: string(mode) + ":" + hex.EncodeToString(sum[:8])}, nil
}

// badRequest reports whether an error is about the request alone, so that the model may be asked in another way.
func badRequest(err error) bool {
	_, invalid := errors.AsType[*chat.ValidationError](err)
	code := refusal.Status(err)
	return invalid || code == http.StatusBadRequest || code == http.StatusUnprocessableEntity
}

// finish makes the replacement for a summary. If the summary is too long, the model is asked once to shorten it, and
// then it is cut at a section.
func (w *writer) finish(ctx context.Context, c *candidate, p Prompt, text string) (draft, error) {
	j := w.job
	d := draft{prompt: p, text: plaintext.Untagged(text), model: c.Name}
	if d.text != text {
		d.mended = append(d.mended, "tags taken out of its text")
	}
	fits := func(text string) bool {
		m := j.whole()
		m.Summary = text
		stand, err := j.replacement(ctx, m)
		if err == nil {
			d.messages = stand
		}
		return err == nil
	}
	if !fits(d.text) && j.material.Words >= minWords/2 {
		m := j.whole()
		m.Summary = d.text
		shorter, err := w.ask(ctx, c, Prompt{Mode: p.Mode, Read: p.Read, Request: shortenRequest}, m)
		smaller := false
		if err == nil {
			shorter = plaintext.Untagged(shorter)
			smaller, err = value(ctx, nameTokenizer, func() bool { return m.Tokenizer.CountText(shorter) < m.Tokenizer.CountText(d.text) })
		}
		if ctx.Err() != nil {
			return d, endCause(ctx, err)
		}
		if smaller {
			d.text = shorter
			d.mended = append(d.mended, "shortened by the model")
		}
		if !fits(d.text) {
			d.text = trim.ToSection(d.text, fits)
			d.mended = append(d.mended, "cut at a section")
		}
	}
	m := j.whole()
	m.Summary = d.text
	for i, check := range j.policy.Ask.Checks {
		if _, err := call(ctx, fmt.Sprintf("Ask.Checks[%d]", i), 0, func(context.Context) (struct{}, error) { return struct{}{}, check(m) }); err != nil {
			if ctx.Err() != nil {
				return d, err
			}
			w.finished = nil // another attempt must not use these answers
			return d, err
		}
	}
	var err error
	if d.messages, err = j.replacement(ctx, m); err != nil {
		return d, err
	}
	return d, w.addOwnCompaction(ctx, &d, text)
}

// addOwnCompaction adds the result of the provider's own compaction to the draft of the summary that it came with, if
// there is room for both.
func (w *writer) addOwnCompaction(ctx context.Context, d *draft, summary string) error {
	var own chat.Parts
	w.mu.Lock()
	for _, part := range w.ownCompactions[summary] {
		if part.Tokens >= 0 && part.Tokens <= math.MaxInt32 && json.Valid(part.Value) {
			own = append(own, part)
		}
	}
	w.mu.Unlock()
	if len(own) == 0 {
		return nil
	}
	messages := slices.Clone(d.messages)
	last := &messages[len(messages)-1]
	last.Content = slices.Concat(last.Content, own)
	room := min(w.job.plan.Room, w.job.replaced-1)
	taken, err := value(ctx, nameTokenizer, func() (n int) {
		for _, m := range messages {
			n = clamp.Sum(n, counted(w.job.material.Tokenizer.CountMessage(m)))
		}
		return n
	})
	switch {
	case err != nil:
		return err
	case taken > room:
		d.mended = append(d.mended, fmt.Sprintf("the provider's own compaction left out: with it the summary takes %d tokens and has room for %d", taken, room))
	default:
		d.messages = messages
	}
	return nil
}

// replacement renders the messages to put in place. They must fit their room and be smaller than what they replace, so
// the parts that may be left out must not fill the room. They are written once and replayed byte for byte.
func (j *job) replacement(ctx context.Context, m Material) ([]chat.Message, error) {
	if m.Room < math.MaxInt32 {
		m.Room = max(1, min(m.Room, j.replaced-1))
	}
	result, err := call(ctx, nameReplacement, 0, func(ctx context.Context) (*render.Result, error) {
		return render.Render(ctx, elements.Nodes{j.policy.Place.Replacement(m)}, render.Options{Budget: m.Room, Tokenizer: m.Tokenizer})
	})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return nil, &SummaryError{Reason: fmt.Sprintf("it takes %d tokens and has room for %d", over.Needed, m.Room)}
	}
	if empty, ok := errors.AsType[*render.EmptyError](err); ok {
		return nil, &SummaryError{Reason: fmt.Sprintf("it takes %d tokens and has room for %d, which leaves no message of it", empty.Tokens, m.Room)}
	}
	if err != nil {
		return nil, within("rendering the replacement", err)
	}
	if len(result.Messages) == 0 || slices.ContainsFunc(result.Messages, func(m chat.Message) bool { return m.Role != chat.RoleUser }) {
		return nil, &CallbackError{nameReplacement, errors.New("it must return one or more user messages and nothing else")}
	}
	return result.Messages, nil
}
