package summarize

import (
	"context"
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
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/ledger"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/retry"
	"github.com/promptree-go/promptree/internal/trim"
	"github.com/promptree-go/promptree/render"
)

// candidate is a model that may be asked for a summary.
type candidate struct {
	Target
	own bool  // the agent's own
	err error // why it is not asked any more

	mu    sync.Mutex
	most  int     // tokens by our count that a request may take besides, 0 without a bound
	limit int     // tokens of its context window
	ratio float64 // tokens of its provider's that are one of ours
	apart bool    // the window is not known: it is taken for one in which the answer has its room besides
}

// size returns the tokens of the candidate's context window, how many of them are one of ours, and whether an answer has its
// room besides.
func (c *candidate) size() (limit int, ratio float64, apart bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit, c.ratio, c.apart
}

// learn takes in that a request was too large.
func (c *candidate) learn(r history.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := float64(c.limit) / c.ratio
	if r.Limit > 0 {
		c.limit, c.apart = min(c.limit, r.Limit), false
	}
	c.ratio = max(c.ratio, ledger.RefusedRatio(r))
	if after := float64(c.limit) / c.ratio; after > before*0.9 { // it did not say how much less would do
		c.most = max(1, r.Counted/2)
	}
}

// room returns how many tokens by our count the messages of a request may take, beside tools and an answer.
func (c *candidate) room(tools, answer int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.limit
	if !c.apart {
		limit -= answer
	}
	n := clamp.Int(float64(limit) / c.ratio)
	if c.most > 0 {
		n = min(n, c.most)
	}
	return max(1, n-tools)
}

// candidates lists the models that may be asked, in order, each once, and tells of names that nobody has.
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
		one := &candidate{Target: t, own: own, limit: t.ContextWindow}
		if one.limit <= 0 {
			one.limit, one.apart = window, agent.ContextWindow <= 0
		}
		limit, ratio := l.Limit(t.Name)
		if limit > 0 {
			one.limit, one.apart = min(one.limit, limit), false
		}
		one.ratio = ratio
		if bound := l.Bound(t.Name); bound > 0 {
			one.most = max(1, bound/2)
		}
		if own {
			one.ratio = max(ratio, l.Ratio(t.Name))
		}
		list = append(list, one)
	}
	for _, name := range p.Ask.route(t.Name) {
		if other := c.models[name]; other.Model != nil {
			other.Name = name
			add(other, t, false)
		} else if len(c.models) > 0 {
			c.tell(ctx, Event{Kind: EventModelUnknown, Model: name, Err: fmt.Errorf("summarize: Policy.Ask names the model %q, and Compactor.Models has none of that name", name)})
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

// writer asks models for the summary of a job. It holds no lock and writes nothing.
type writer struct {
	job        *job
	candidates []*candidate
	elsewhere  bool // than where the prompt was sent
	// refusedBefore are requests that are not made again.
	refusedBefore map[history.SummaryRequest]bool
	// finishedBefore are the answers of an attempt that failed after them.
	finishedBefore map[history.SummaryRequest]string
	tell           func(kind EventKind, change func(*Event))
	clips          bool // texts of a round that is larger than a candidate takes in

	mu       sync.Mutex
	own      map[string][]chat.Opaque // by the summary that came with it: what a provider's own compaction made
	refused  []history.SummaryRequest
	finished []history.SummaryAnswer
	learnt   []history.Refusal
	waits    []time.Time // until which those that failed in passing asked to be left alone
	waited   time.Duration
}

// notBefore returns the time before which it is in vain to ask anybody again; zero if there is none.
func (w *writer) notBefore() time.Time {
	if w == nil || len(w.waits) == 0 || len(w.waits) < len(w.candidates) {
		return time.Time{} // somebody did not ask to wait
	}
	return slices.MinFunc(w.waits, time.Time.Compare)
}

// draft is a summary that was written.
type draft struct {
	prompt   Prompt
	text     string
	model    string
	mended   []string
	messages []chat.Message // what is put in place
}

// write asks by one prompt after the other, and of each one candidate after the other, until there is a summary that can be
// put in place. Reasons say why there is none.
func (w *writer) write(ctx context.Context, prompts []Prompt) (draft, []error) {
	var reasons []error
	if len(prompts) == 0 {
		return draft{}, []error{errNoPrompt}
	}
	for i, p := range prompts {
		w.clips = i == len(prompts)-1                                           // the prompts after it may show less by themselves
		if p.Forks && (len(w.job.material.Sent) == 0 || !w.candidates[0].own) { // somebody else is to be asked, or did ask
			if w.elsewhere && w.candidates[0].own {
				w.tell(EventRefused, func(e *Event) { e.Mode, e.Model, e.Err = p.Mode, w.candidates[0].Name, errSentElsewhere })
			}
			continue
		}
		for _, c := range w.candidates {
			if c.err != nil || p.Forks && !c.own || w.isRefused(w.whole(c, anyMode)) || w.isRefused(w.whole(c, p.Mode)) {
				continue
			}
			text, err := w.summarise(ctx, c, p)
			var d draft
			if err == nil {
				d, err = w.finish(ctx, c, p, text)
			}
			if err == nil {
				return d, nil
			}
			if ctx.Err() != nil {
				return draft{}, append(reasons, ended(ctx, err))
			}
			if !errors.Is(err, ErrNobodyToAsk) { // which is no news
				err = &CandidateError{Model: c.Name, Mode: p.Mode, Err: err}
				w.tell(EventRefused, func(e *Event) { e.Mode, e.Model, e.Err = p.Mode, c.Name, err })
				reasons = append(reasons, err)
			}
		}
	}
	if len(reasons) == 0 {
		reasons = []error{ErrNobodyToAsk}
	}
	return draft{}, reasons
}

// summarise asks a candidate for a summary of what the job covers, or for two at the same time if a turn is cut and the prompt
// has it so. If two would have too little room, or only that turn is covered, it asks for one of all.
func (w *writer) summarise(ctx context.Context, c *candidate, p Prompt) (string, error) {
	j := w.job
	if p.Prefix == nil || j.prefix == 0 {
		return w.inPieces(ctx, c, *j, p, j.covered, j.prefix)
	}
	cut := len(j.covered) - j.prefix
	before, turn, err := j.parted(ctx, p)
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

// parted returns the two jobs of a turn that is cut, which share the room for words: three eighths are the turn's, and the
// rest is for what was before it.
func (j *job) parted(ctx context.Context, p Prompt) (before, turn job, err error) {
	frame, err := value(ctx, nameMerge, func() int { return j.material.Tokenizer.CountText(p.Merge("…", "…")) })
	before, turn = *j, *j
	turn.material.Previous, turn.material.PreviousSummary = nil, ""
	words := j.material.Words - frame
	turn.material.Words = 3 * words / 8
	before.material.Words = words - turn.material.Words
	return before, turn, err
}

var errNoPrompt = errors.New("summarize: Policy.Ask has no prompt for a summary that is waited for: add one without Background to Prompts, or change Mode")

// maxShrinks is how often a request that was refused as too large is asked in smaller pieces.
const maxShrinks = 4

// inPieces asks for a summary of some of what a job covers. What is larger than the candidate takes in is summarised in
// pieces, each with the summary of those before it.
func (w *writer) inPieces(ctx context.Context, c *candidate, j job, p Prompt, rest []history.Unit, prefix int) (string, error) {
	shrinks, n := 0, 0
	var refused error
	for clip := 0; ; {
		var err error
		if n, err = w.piece(ctx, c, &j, p, rest, prefix, n); errors.Is(err, errOneTooLarge) && clip < maxShrinks && w.clips {
			clip++ // one round is more than the candidate takes in: its texts are clipped, more each time
			rest = slices.Clone(rest)
			first, times := rest[0], clip
			clipped, wrong := value(ctx, nameTokenizer, func() history.Unit {
				return first.Clipped(c.Tokenizer, c.room(w.toolTokens(c, p), w.leastAnswer(c, p))>>times, 0.4)
			})
			if err = wrong; err == nil {
				rest[0] = clipped
				continue
			}
		}
		if err != nil {
			return "", errors.Join(refused, err)
		}
		summary, err := w.ask(ctx, c, p, j.part(rest[:n], max(0, n+prefix-len(rest))))
		if _, large := ContextLimit(err); large && shrinks < maxShrinks {
			shrinks++ // what was learnt makes the next piece smaller
			refused, n = err, 0
			continue
		}
		if err != nil {
			return "", err
		}
		if rest = rest[n:]; len(rest) == 0 {
			return summary, nil
		}
		prefix, clip = min(prefix, len(rest)), 0
		if j, err = w.after(ctx, j, summary); err != nil {
			return "", err
		}
	}
}

// after returns a job that goes on from the summary of a piece.
func (w *writer) after(ctx context.Context, j job, summary string) (job, error) {
	m := j.material
	words, err := value(ctx, nameTokenizer, func() string {
		return trim.ToSection(plaintext.Untagged(summary), func(text string) bool { return counted(m.Tokenizer.CountText(text)) <= m.Words })
	})
	if err != nil {
		return j, err
	}
	// A piece needs the words, and nothing of what stands beside them in the end.
	m.Summary, m.Room, m.Reminder = words, math.MaxInt32, ""
	m.Breadcrumb, m.Workspace, m.Files, m.Said, m.SaidLeft, m.Head = Breadcrumb{}, Workspace{}, history.Files{}, nil, 0, nil
	stand, err := j.replacement(ctx, m)
	if err != nil {
		return j, err
	}
	j.material.Previous, j.material.PreviousSummary = stand, words
	return j, nil
}

var errOneTooLarge = errors.New("summarize: a single round is larger than the model takes in")

// piece returns how many of the units fit into one request with what comes before them, at least one. As text they may take more
// than as messages, or less, so that only a render tells: the first guess is the size of the piece before, or all. From there
// it is doubled, or goes by what was needed, and then the range is halved.
func (w *writer) piece(ctx context.Context, c *candidate, j *job, p Prompt, rest []history.Unit, prefix, guess int) (int, error) {
	fits, over := 0, len(rest)+1 // numbers that do, and do not
	n := len(rest)
	if guess > 0 {
		n = min(n, guess)
	}
	for fits+1 < over {
		m := j.part(rest[:n], max(0, n+prefix-len(rest)))
		_, err := w.render(ctx, c, p, m, w.answer(c))
		exceeded, ok := errors.AsType[*render.BudgetExceededError](err)
		if ok && (n == 1 || p.Forks) { // nothing can be split
			_, err = w.render(ctx, c, p, m, w.leastAnswer(c, p))
			exceeded, ok = errors.AsType[*render.BudgetExceededError](err)
		}
		switch {
		case !ok && err != nil:
			return 0, err
		case !ok:
			fits = n
			n = min(2*n, (fits+over)/2)
		case n == 1 || p.Forks:
			return 0, fmt.Errorf("%w: %w", errOneTooLarge, err)
		default:
			over = n
			n = (fits + over) / 2
			if fits == 0 && exceeded.Needed > 0 {
				n = max(1, min(over-1, over*exceeded.Budget/exceeded.Needed))
			}
		}
	}
	return fits, nil
}

// answer returns how many tokens a candidate is allowed to answer: the room, and something for what it thinks or analyses first.
func (w *writer) answer(c *candidate) int {
	room := w.job.plan.Room
	limit, _, _ := c.size()
	n := room + max(room/2, min(2000, limit/8))
	if most := w.job.policy.Ask.MaxTokens; most > 0 {
		n = min(n, most)
	}
	return max(1, min(n, limit/2))
}

// leastAnswer returns how many tokens a candidate must be allowed to answer, if the request takes the rest: the room, or half of it
// to go on from the agent's request, which cannot be made smaller.
func (w *writer) leastAnswer(c *candidate, p Prompt) int {
	room := w.job.plan.Room
	if p.Forks {
		room /= 2
	}
	return max(1, min(room, w.answer(c)))
}

// render renders a request within what the candidate takes in: messages, tools and answer together.
func (w *writer) render(ctx context.Context, c *candidate, p Prompt, m Material, answer int) (*render.Result, error) {
	return call(ctx, p.functionName(), 0, func(ctx context.Context) (*render.Result, error) {
		budget := c.room(w.toolTokens(c, p), answer)
		return render.Render(ctx, elements.Nodes{p.Request(m)}, render.Options{Budget: budget, Tokenizer: c.Tokenizer})
	})
}

// toolTokens returns what the tools that a prompt declares take, by a candidate's tokenizer.
func (w *writer) toolTokens(c *candidate, p Prompt) int {
	return counted(c.Tokenizer.CountTools(w.tools(p)))
}

// tools returns those that a prompt declares.
func (w *writer) tools(p Prompt) []chat.Tool {
	if p.Tools {
		return w.job.material.Tools
	}
	return nil
}

// ask sends one request and returns the summary in the answer.
func (w *writer) ask(ctx context.Context, c *candidate, p Prompt, m Material) (string, error) {
	rendered, err := w.render(ctx, c, p, m, w.answer(c))
	if _, over := errors.AsType[*render.BudgetExceededError](err); over {
		rendered, err = w.render(ctx, c, p, m, w.leastAnswer(c, p))
	}
	if err != nil {
		return "", fmt.Errorf("summarize: rendering the request: %w", err)
	}
	if len(rendered.Messages) == 0 {
		return "", &CallbackError{p.functionName(), errors.New("it returned a prompt without a message")}
	}
	request, err := requestOf(c, p.Mode, rendered.Messages)
	if err != nil {
		return "", err
	}
	if w.isRefused(request) {
		return "", fmt.Errorf("%w: %s", ErrNobodyToAsk, request.Request)
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
	if len(req.Tools) > 0 && !p.Forks { // a fork must be declared as the agent's request was, or the cache is lost
		req.ToolChoice = chat.ToolChoiceNone
	}
	response, err := w.generate(ctx, c, req)
	if ctx.Err() != nil {
		return "", ended(ctx, err)
	}
	if err != nil {
		w.failed(c, request, taken, err)
		return "", err
	}
	text, err := read(ctx, p, response)
	if ctx.Err() != nil {
		return "", ended(ctx, err)
	}
	if err == nil {
		err = AtLeast(policy.MinChars)(Material{Summary: text})
	}
	if err != nil {
		w.refuse(w.whole(c, p.Mode))
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finished = append(w.finished, history.SummaryAnswer{SummaryRequest: request, Text: text})
	if len(response.Compaction) > 0 {
		w.own = map[string][]chat.Opaque{text: response.Compaction}
	}
	return text, nil
}

// read takes the summary out of an answer.
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
	worth := func(err error, wait time.Duration) bool { // else it would hold everything up for too long
		w.mu.Lock()
		w.waited += wait
		over := w.waited > policy.RetryWait
		w.mu.Unlock()
		if !over {
			w.tell(EventRetrying, func(e *Event) { e.Model, e.Wait, e.Err = c.Name, wait, err })
		}
		return !over
	}
	limit := policy.Timeout
	if limit == 0 && len(w.candidates) > 1 {
		limit = policy.TimeLimit / time.Duration(len(w.candidates)) // so that one that hangs leaves time for the others
	}
	return retry.Do(ctx, retry.Policy{Attempts: policy.Attempts, Before: worth}, func() (chat.Response, error) {
		n := w.job.meter.ask()
		response, err := c.generate(ctx, limit, req)
		w.job.meter.add(response.Usage)
		w.tell(EventAnswered, func(e *Event) {
			e.Model, e.Request, e.Usage, e.Calls, e.Err = c.Name, fmt.Sprintf("%s/%d", w.job.id, n), response.Usage, 1, err
		})
		return response, err
	})
}

// failed notes what a failure says: a limit of the model, a time to wait, or that it need not be asked again.
func (w *writer) failed(c *candidate, request history.SummaryRequest, counted int, err error) {
	if large, ok := ContextLimit(err); ok {
		r := history.Refusal{Model: c.Name, Limit: large.Limit, Tokens: large.Tokens, Counted: counted, Summary: true}
		w.mu.Lock()
		w.learnt = append(w.learnt, r)
		w.mu.Unlock()
		c.learn(r)
		w.refuse(request)
		return
	}
	transient, passes := errors.AsType[*chat.TransientError](err)
	if passes {
		w.mu.Lock()
		w.waits = append(w.waits, time.Now().Add(transient.RetryAfter))
		w.mu.Unlock()
	}
	if badRequest(err) {
		w.refuse(request)
		return
	}
	w.mu.Lock()
	c.err = err
	w.mu.Unlock()
	if status(err)/100 == 4 && !passes { // which is no better another time
		w.refuse(w.whole(c, anyMode))
	}
}

// anyMode stands for requests in any mode.
const anyMode Mode = "any"

// requestOf names one request by its text, so that a smaller one of the same rounds is another.
func requestOf(c *candidate, mode Mode, messages []chat.Message) (history.SummaryRequest, error) {
	text, err := json.Marshal(messages)
	if err != nil {
		return history.SummaryRequest{}, fmt.Errorf("summarize: encoding the request: %w", err)
	}
	return history.SummaryRequest{Model: c.Name, Request: string(mode) + ":" + digest(text, 8)}, nil
}

// whole names all that is asked of a candidate in a mode for what the job covers. An answer that cannot be used counts for
// the whole: once the job covers more, the same piece of it may be asked for again.
func (w *writer) whole(c *candidate, mode Mode) history.SummaryRequest {
	key := string(mode) + ":"
	if covered := w.job.covered; len(covered) > 0 {
		key += covered[0].ID + "-" + covered[len(covered)-1].Last
	}
	if text := w.job.plan.Instructions; text != "" {
		key += "+" + digest([]byte(text), 4)
	}
	return history.SummaryRequest{Model: c.Name, Request: key}
}

// isRefused reports whether a request came to nothing before for a reason that stays.
func (w *writer) isRefused(r history.SummaryRequest) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refusedBefore[r] || slices.Contains(w.refused, r)
}

func (w *writer) refuse(r history.SummaryRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, r)
}

// badRequest reports whether an error is about the request alone, so that the model may be asked in another way.
func badRequest(err error) bool {
	_, invalid := errors.AsType[*chat.ValidationError](err)
	code := status(err)
	return invalid || code == http.StatusBadRequest || code == http.StatusUnprocessableEntity
}

// status returns the HTTP status of an error, 0 if it has none.
func status(err error) int {
	coded, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err)
	if !ok {
		return 0
	}
	return coded.StatusCode()
}

// finish makes of a summary what is put in place. A summary that is too long is asked to be shortened once, and then cut at a
// section.
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
			return d, ended(ctx, err)
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
			w.refuse(w.whole(c, p.Mode))
			w.finished = nil // what came of them cannot be used
			return d, err
		}
	}
	var err error
	if d.messages, err = j.replacement(ctx, m); err != nil {
		return d, err
	}
	return d, w.addOwn(ctx, &d, text)
}

// addOwn adds what the provider's own compaction made to a draft of the summary that came with it, if there is room for both.
func (w *writer) addOwn(ctx context.Context, d *draft, summary string) error {
	var own chat.Parts
	w.mu.Lock()
	for _, part := range w.own[summary] {
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

// replacement renders what is put in place, so that it fits its room and is smaller than what it replaces: what may be left out of
// it must not fill the room. It is written once and replayed byte for byte.
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
	if err != nil {
		return nil, fmt.Errorf("summarize: rendering what is put in place: %w", err)
	}
	if len(result.Messages) == 0 || slices.ContainsFunc(result.Messages, func(m chat.Message) bool { return m.Role != chat.RoleUser }) {
		return nil, &CallbackError{nameReplacement, errors.New("what is put in place is messages of the user, one at least")}
	}
	return result.Messages, nil
}
