package sizing

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
)

// Calibrated is a [chat.Tokenizer] for models whose provider publishes none, such as Claude and Gemini. It counts with the
// tokenizer of another model and learns from the usage that the provider reports what to make of that:
//
//	counter := &sizing.Calibrated{Base: o200k}
//	response, err := model.Generate(ctx, request)
//	counter.Observe(request, response)
//
// Two things are learnt. What an answer took is reported with it, so from then on that message counts as just that; where
// the report turns out not to be what the message takes when it is sent back, as with reasoning that stays with the
// provider, it is no longer used. And what a request took more than the one before is what the messages added to it
// take: from that follows what the provider makes of a token of the base, a letter, a digit, a symbol, a message and a
// tool call, by recursive least squares (regression.go). Before anything was observed it counts a tenth more than the
// base.
//
// It is no [chat.Joiner], even on a base that is one: what an answer was reported to take says nothing of its parts, and the sum
// of parts that are each rounded is not the rounded sum. So a renderer counts whole messages again.
//
// An opaque part counts as the tokens that it says, and many say none: thinking between other content, a provider's own
// tools. A request that goes on from an observed one makes up for them, for they are in its usage.
//
// What the texts hold that it counted last is remembered, in a few megabytes at most, so that a conversation that goes on is
// read once. The Base is not to be changed after the first count.
//
// Use one for each model. Counts change with each Observe and at no other time; [Calibrated.Safe] gives a tokenizer whose
// counts stay, with a margin on them. A Calibrated is safe for concurrent use and must not be copied.
type Calibrated struct {
	// Base counts texts, tools and media. Defaults to a token for 4 bytes of text, and to nothing for media.
	Base chat.Tokenizer

	texts atomic.Pointer[textMemo]

	mu       sync.RWMutex
	fit      regression
	reported reportedOutputs
	errors   errorRecord
	last     *observed // the request that was observed last
	smallest *observed // and the one with the fewest tokens in its messages, since the tools last changed
}

var _ chat.Tokenizer = (*Calibrated)(nil)

// observed is a request whose usage was reported.
type observed struct {
	messages []messageKey
	tools    messageKey
	input    int
	known    float64  // tokens of its messages that were reported with an answer
	rest     features // of its other messages, and of its tools
}

// CountText counts a text.
func (c *Calibrated) CountText(text string) int {
	x := c.textFeatures(text)
	c.mu.RLock()
	defer c.mu.RUnlock()
	return round(c.fit.estimate(x))
}

// CountPart counts a text and the text of thinking as it has learnt to, and other parts as the base does.
func (c *Calibrated) CountPart(part chat.Part) int {
	x := c.partFeatures(part)
	c.mu.RLock()
	defer c.mu.RUnlock()
	return round(c.fit.estimate(x))
}

// CountMessage counts a message: one that was observed as an answer as the provider did, any other by what it holds.
func (c *Calibrated) CountMessage(m chat.Message) int {
	x := c.messageFeatures(m)
	var key messageKey
	if m.Role == chat.RoleAssistant { // no other is an answer
		key = keyOf(m)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	tokens, _ := c.message(key, x)
	return round(tokens)
}

// CountTools counts the definitions of tools.
func (c *Calibrated) CountTools(tools []chat.Tool) int {
	x := c.toolFeatures(tools)
	c.mu.RLock()
	defer c.mu.RUnlock()
	return round(c.fit.estimate(x))
}

// CountRequest counts a whole request. One that goes on from the request observed last is what that took, and what is
// new. Any other is the sum of its messages and tools, and of what the provider is known to add to each request.
func (c *Calibrated) CountRequest(req chat.Request) int {
	o := requestOf(req)
	c.mu.RLock()
	defer c.mu.RUnlock()
	begun := c.begun(&o)
	o.rest = o.rest.plus(c.sum(&o, begun, c.messagesFeatures(req.Messages[begun:])))
	tokens := o.known + c.fit.estimate(o.rest)
	if begun > 0 {
		return round(float64(c.last.input) + tokens)
	}
	return round(c.overhead() + tokens + c.fit.estimate(c.toolFeatures(req.Tools)))
}

// Observe learns from the usage that was reported with the response to a request. A response without usage teaches
// nothing. The request's messages and tools are those that were sent.
func (c *Calibrated) Observe(req chat.Request, response chat.Response) {
	if response.Usage.Input <= 0 {
		return
	}
	o := requestOf(req)
	o.input = response.Usage.Input
	answer := c.messageFeatures(response.Message)
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := c.begun(&o)
	xs := c.messagesFeatures(req.Messages[begun:])
	if begun > 0 {
		c.learn(o.messages[begun:], xs, float64(o.input-c.last.input))
		o.known, o.rest = c.last.known, c.last.rest
	} else {
		o.rest = c.toolFeatures(req.Tools)
	}
	o.rest = o.rest.plus(c.sum(&o, begun, xs))
	if c.smallest == nil || c.smallest.tools != o.tools || c.size(&o) < c.size(c.smallest) {
		c.smallest = &o
	}
	c.last = &o
	if output := float64(response.Usage.Output); response.Message.Role == chat.RoleAssistant && c.plausible(output, answer) {
		c.reported.put(keyOf(response.Message), output)
		if c.errors.trustReports() {
			c.fit.learn(answer, output)
		}
	}
}

// Margin is how much more than its estimate a request may well take, as a part of it: twice the typical error so far. It
// is 0.3 before anything was observed and falls with each observation that was foreseen.
func (c *Calibrated) Margin() float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.errors.margin()
}

// Learns returns true: the same input may count otherwise after an answer was observed.
func (c *Calibrated) Learns() bool { return true }

// Safe gives a tokenizer that counts as c does now, with the margin on top: one to prune to a budget with. What c
// observes later does not change it.
func (c *Calibrated) Safe() chat.Tokenizer {
	c.mu.RLock()
	defer c.mu.RUnlock()
	frozen := &Calibrated{Base: c.Base, fit: c.fit, reported: c.reported.clone(), errors: c.errors}
	frozen.texts.Store(c.memory())
	return withMargin{frozen, 1 + c.errors.margin()}
}

// withMargin counts more than another tokenizer by a factor.
type withMargin struct {
	of     chat.Tokenizer
	factor float64
}

func (s withMargin) more(n int) int { return clamp.Int(math.Ceil(float64(n) * s.factor)) }

func (s withMargin) CountText(text string) int        { return s.more(s.of.CountText(text)) }
func (s withMargin) CountPart(part chat.Part) int     { return s.more(s.of.CountPart(part)) }
func (s withMargin) CountMessage(m chat.Message) int  { return s.more(s.of.CountMessage(m)) }
func (s withMargin) CountTools(tools []chat.Tool) int { return s.more(s.of.CountTools(tools)) }

// requestOf is a request before anything of it is counted.
func requestOf(req chat.Request) observed {
	o := observed{messages: make([]messageKey, len(req.Messages)), tools: keyOfTools(req.Tools)}
	for i, m := range req.Messages {
		o.messages[i] = keyOf(m)
	}
	return o
}

// begun is how many messages of a request are the whole of the request that was observed last; 0 where it does not go on
// from that.
func (c *Calibrated) begun(o *observed) int {
	if c.last == nil || c.last.tools != o.tools || len(c.last.messages) > len(o.messages) ||
		!slices.Equal(c.last.messages, o.messages[:len(c.last.messages)]) {
		return 0
	}
	return len(c.last.messages)
}

// sum adds the messages from begun on, of these features, to what is known of a request, and gives the features of those
// whose tokens are not known.
func (c *Calibrated) sum(o *observed, begun int, xs []features) (rest features) {
	for i, x := range xs {
		if tokens, known := c.message(o.messages[begun+i], x); known {
			o.known += tokens
		} else {
			rest = rest.plus(x)
		}
	}
	return rest
}

// message is what a message takes, and whether that was reported.
func (c *Calibrated) message(key messageKey, x features) (tokens float64, known bool) {
	if tokens, known := c.reported.get(key); known && c.errors.trustReports() {
		return tokens, true
	}
	return c.fit.estimate(x), false
}

// learn takes what messages take together, as two requests showed.
func (c *Calibrated) learn(keys []messageKey, xs []features, tokens float64) {
	if tokens <= 0 || len(keys) == 0 {
		return // something else than these messages has changed
	}
	var all, rest features
	known := 0.0
	for i, x := range xs {
		all = all.plus(x)
		if t, ok := c.reported.get(keys[i]); ok {
			known += t
		} else {
			rest = rest.plus(x)
		}
	}
	c.errors.add(known+c.fit.estimate(rest), c.fit.estimate(all), tokens)
	switch {
	case !c.errors.trustReports():
		c.fit.learn(all, tokens)
	case tokens > known:
		c.fit.learn(rest, tokens-known)
	}
}

// plausible tells that an answer's reported tokens may be what the message takes when it is sent back: they are not more
// than twice or less than half of the estimate, but for a few.
func (c *Calibrated) plausible(output float64, x features) bool {
	const few = 50
	estimate := c.fit.estimate(x)
	return output > 0 && output <= 2*estimate+few && output >= estimate/2-few
}

// overhead is what a request takes besides its messages and tools: instructions that the provider adds. The request with
// the fewest tokens in its messages shows it best.
func (c *Calibrated) overhead() float64 {
	if c.smallest == nil {
		return 0
	}
	return max(0, float64(c.smallest.input)-c.size(c.smallest))
}

// size is what the messages and tools of a request take.
func (c *Calibrated) size(o *observed) float64 { return o.known + c.fit.estimate(o.rest) }

func round(tokens float64) int { return max(0, clamp.Int(math.Round(tokens))) }
