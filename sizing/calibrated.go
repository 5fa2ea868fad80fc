package sizing

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
)

// Calibrated is a [chat.Tokenizer] for models whose provider publishes none, such as Claude, or whose vocabulary is not at
// hand. It counts with the tokenizer of another model and corrects the count by the usage that the provider reports:
//
//	counter := &sizing.Calibrated{Base: o200k}
//	response, err := model.Generate(ctx, request)
//	counter.Observe(request, response)
//
// It learns two things. First, the tokens of an answer are reported with it. From then on that message counts as
// exactly that many, unless later reports show that it takes another number when it is sent back, as with reasoning
// that stays with the provider. Second, the difference between a request and an earlier one with the same beginning is the
// cost of the messages added in between, less that of the messages replaced. It learns from a difference as soon as at
// least twice as much was added as replaced, so a last message that changes with each request does no harm. From these
// differences it estimates, by recursive least squares (regression.go), how many
// of the provider's tokens a token of the base, a letter, a digit, a symbol, a message and a tool call take. Before the
// first observation, it counts a tenth more than the base.
//
// It is not a [chat.Joiner], even if its base is one: the reported tokens of an answer do not say how many each part
// takes, and a sum of rounded parts is not the rounded sum. A renderer therefore counts whole messages again.
//
// An opaque part counts as its Tokens, which are often 0, as for thinking between other content or a provider's own
// tools. A request that continues an observed one includes them, because the observed usage does.
//
// The counts of the most recent texts are remembered, in a few megabytes at most, so that a growing conversation is
// read once. Base must not be changed after the first count.
//
// Use one Calibrated for each model. Its counts change only with a call of Observe; [Calibrated.Safe] returns a
// tokenizer whose counts stay the same and include a margin. A Calibrated is safe for concurrent use and must not be
// copied.
type Calibrated struct {
	// Base counts texts, tools and media. Defaults to one token for 4 bytes of text, and 0 for media.
	Base chat.Tokenizer

	texts atomic.Pointer[textMemo]

	mu       sync.RWMutex
	fit      regression
	reported recent[messageKey, float64]
	errors   errorRecord
	last     *observed // the observed request with which later ones are compared
	smallest *observed // the request with the fewest tokens in its messages, since the tools last changed
}

var _ chat.Tokenizer = (*Calibrated)(nil)

// observed is a request whose usage was reported.
type observed struct {
	part
	tools messageKey
	input int
}

// CountText counts a text.
func (c *Calibrated) CountText(text string) int {
	return c.estimated(c.textFeatures(text, featureText))
}

// CountPart counts a text and the text of thinking by the learnt weights, and other parts as the base does.
func (c *Calibrated) CountPart(part chat.Part) int { return c.estimated(c.partFeatures(part)) }

// CountMessage counts a message. An observed answer counts as the provider reported, any other message by its features.
func (c *Calibrated) CountMessage(m chat.Message) int {
	x := c.messageFeatures(m)
	var key messageKey
	if m.Role == chat.RoleAssistant { // only an assistant's message can be an observed answer
		key = keyOf(m)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if tokens, known := c.reported.get(key); known && c.errors.trustReports() {
		return round(tokens)
	}
	return round(c.fit.estimate(x))
}

// CountTools counts the definitions of tools.
func (c *Calibrated) CountTools(tools []chat.Tool) int { return c.estimated(c.toolFeatures(tools)) }

// estimated returns the count of something by its features.
func (c *Calibrated) estimated(x features) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return round(c.fit.estimate(x))
}

// CountRequest counts a whole request. A request that continues an observed one counts as the reported tokens of that one
// plus the new messages, less those that it replaces. Any other is the sum of its messages and tools, and of the tokens
// that the provider is known to add to each request.
func (c *Calibrated) CountRequest(req chat.Request) int {
	o := c.requestOf(req)
	c.mu.RLock()
	defer c.mu.RUnlock()
	if d, continues := c.since(&o); continues {
		return round(float64(c.last.input) + c.size(d.added) - c.size(d.replaced))
	}
	return round(c.overhead() + c.size(o.part))
}

// Observe learns from the usage that was reported with the response to a request. A response without usage changes
// nothing. The request holds the messages and tools as they were sent.
func (c *Calibrated) Observe(req chat.Request, response chat.Response) {
	if response.Usage.Size() <= 0 {
		return
	}
	o := c.requestOf(req)
	o.input = response.Usage.Size()
	answer := c.messageFeatures(response.Message)
	c.mu.Lock()
	defer c.mu.Unlock()
	d, continues := c.since(&o)
	enough := c.size(d.added) >= 2*c.size(d.replaced)
	if continues && enough {
		c.learn(d, float64(o.input-c.last.input))
	}
	if !continues || enough {
		c.last = &o
	}
	if c.smallest == nil || c.smallest.tools != o.tools || c.size(o.part) < c.size(c.smallest.part) {
		c.smallest = &o
	}
	if output := float64(response.Usage.Output); response.Message.Role == chat.RoleAssistant && c.plausible(output, answer) {
		c.reported.put(keyOf(response.Message), output, maxReported)
		if c.errors.trustReports() {
			c.fit.learn(answer, output)
		}
	}
}

// Margin returns the fraction by which a request may exceed its estimate: twice the typical error so far. It is 0.3
// before the first observation and falls with each good estimate.
func (c *Calibrated) Margin() float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.errors.margin()
}

// Observed reports whether usage was observed. Until then the counts are estimates.
func (c *Calibrated) Observed() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.last != nil
}

// Learns returns true: the counts change when an answer is observed.
func (c *Calibrated) Learns() bool { return true }

// Safe returns a tokenizer that counts as c does now, plus the margin, for pruning to a budget. What c observes later
// does not change it.
func (c *Calibrated) Safe() chat.Tokenizer {
	c.mu.RLock()
	defer c.mu.RUnlock()
	frozen := &Calibrated{Base: c.Base, fit: c.fit, reported: c.reported.clone(), errors: c.errors}
	frozen.texts.Store(c.memory())
	return withMargin{frozen, 1 + c.errors.margin(), c}
}

// withMargin multiplies the counts of another tokenizer by a factor.
type withMargin struct {
	of     chat.Tokenizer
	factor float64
	learns *Calibrated
}

// Observe has the counter learn of which this is the state at one time, and changes no count of its own.
func (w withMargin) Observe(req chat.Request, r chat.Response) { w.learns.Observe(req, r) }

func (w withMargin) more(n int) int { return clamp.Int(math.Ceil(float64(n) * w.factor)) }

func (w withMargin) CountText(text string) int        { return w.more(w.of.CountText(text)) }
func (w withMargin) CountPart(part chat.Part) int     { return w.more(w.of.CountPart(part)) }
func (w withMargin) CountMessage(m chat.Message) int  { return w.more(w.of.CountMessage(m)) }
func (w withMargin) CountTools(tools []chat.Tool) int { return w.more(w.of.CountTools(tools)) }

// requestOf returns the messages and tools of a request.
func (c *Calibrated) requestOf(req chat.Request) observed {
	o := observed{
		part:  part{make([]messageKey, len(req.Messages)), make([]features, len(req.Messages)), c.toolFeatures(req.Tools)},
		tools: keyOfTools(req.Tools),
	}
	for i, m := range req.Messages {
		o.keys[i], o.xs[i] = keyOf(m), c.messageFeatures(m)
	}
	return o
}

// part is a part of a request, or all of it: messages, and the features of whatever else there is, such as tools.
type part struct {
	keys  []messageKey
	xs    []features
	extra features
}

// from returns the messages from index i on.
func (p part) from(i int) part { return part{keys: p.keys[i:], xs: p.xs[i:]} }

// difference is what was added to a request, and what was replaced in it.
type difference struct{ added, replaced part }

// since returns the difference between a request and the last one, and whether it continues that: whether it has the
// same tools and begins with the same messages, of which less than half were replaced.
func (c *Calibrated) since(o *observed) (d difference, continues bool) {
	if c.last == nil || c.last.tools != o.tools {
		return d, false
	}
	same := 0
	for same < min(len(o.keys), len(c.last.keys)) && o.keys[same] == c.last.keys[same] {
		same++
	}
	d = difference{added: o.from(same), replaced: c.last.from(same)}
	return d, same > 0 && 2*c.size(d.replaced) < float64(c.last.input)
}

// learn updates the weights from the tokens that a difference takes.
func (c *Calibrated) learn(d difference, tokens float64) {
	if tokens <= 0 || len(d.added.keys) == 0 {
		return // something other than these messages has changed
	}
	all, rest, known := c.reports(d.added)
	replaced, other, reported := c.reports(d.replaced)
	all, rest, known = all.minus(replaced), rest.minus(other), known-reported
	c.errors.add(known+c.fit.estimate(rest), c.fit.estimate(all), tokens)
	switch {
	case !c.errors.trustReports():
		c.fit.learn(all, tokens)
	case tokens > known:
		c.fit.learn(rest, tokens-known)
	}
}

// reports returns the features of a part, those without the messages whose tokens were reported, and these tokens.
func (c *Calibrated) reports(p part) (all, rest features, known float64) {
	all, rest = p.extra, p.extra
	for i, x := range p.xs {
		all = all.plus(x)
		if t, ok := c.reported.get(p.keys[i]); ok {
			known += t
		} else {
			rest = rest.plus(x)
		}
	}
	return all, rest, known
}

// plausible reports whether an answer's reported tokens may be those that the message takes when it is sent back:
// within a few tokens, from half to twice the estimate.
func (c *Calibrated) plausible(output float64, x features) bool {
	const few = 50
	estimate := c.fit.estimate(x)
	return output > 0 && output <= 2*estimate+few && output >= estimate/2-few
}

// overhead returns the tokens of a request besides its messages and tools: instructions that the provider adds. The
// request with the fewest tokens in its messages gives the best estimate.
func (c *Calibrated) overhead() float64 {
	if c.smallest == nil {
		return 0
	}
	return max(0, float64(c.smallest.input)-c.size(c.smallest.part))
}

// size returns the tokens of a part.
func (c *Calibrated) size(p part) float64 {
	all, rest, known := c.reports(p)
	if !c.errors.trustReports() {
		return c.fit.estimate(all)
	}
	return known + c.fit.estimate(rest)
}

func round(tokens float64) int { return max(0, clamp.Int(math.Round(tokens))) }
