package sizing

import (
	"encoding/hex"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
)

// Sent identifies a request that was sent, so that a later one can be compared with it. It consists of a few digests,
// however long the request is; the content of messages and tools cannot be read from it. Without marks the request is
// unknown.
type Sent struct {
	// Time at which it was sent.
	Time time.Time `json:"time,omitzero"`
	// Tools is the digest of the tools, the same in any order.
	Tools string `json:"tools,omitempty"`
	// System is the number of system messages at the start.
	System int `json:"system,omitempty"`
	// Marks of the beginnings of the request, the shortest first: its tools, its tools with the system messages at the
	// start, and all of it. The marks in between are 1, 2, 4, … messages from the end.
	Marks []RequestMark `json:"marks,omitempty"`
}

// RequestMark identifies a beginning of a request: its tools and its first messages.
type RequestMark struct {
	Messages int    `json:"messages"`
	Tokens   int    `json:"tokens"`
	Digest   string `json:"digest"`
}

// NewSent returns the digests of a request. Cache breakpoints are ignored. A request that cannot be encoded as JSON has the
// time alone and is unknown.
func NewSent(at time.Time, t chat.Tokenizer, messages []chat.Message, tools []chat.Tool) Sent {
	s := Sent{Time: at, Tools: toolSet(tools)}
	n := len(messages)
	for s.System < n && messages[s.System].Role == chat.RoleSystem {
		s.System++
	}
	places := []int{0, s.System, n}
	for back := 1; n-back > s.System; back *= 2 {
		places = append(places, n-back)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	tokens := 0
	if len(tools) > 0 {
		tokens = max(0, t.CountTools(tools))
	}
	h := newDigest(tools)
	for i := 0; ; i++ {
		if i == places[0] {
			s.Marks = append(s.Marks, RequestMark{Messages: i, Tokens: tokens, Digest: h.short()})
			if places = places[1:]; len(places) == 0 {
				break
			}
		}
		tokens = clamp.Sum(tokens, max(0, t.CountMessage(messages[i])))
		h.add(messages[i])
	}
	if h.bad {
		return Sent{Time: at}
	}
	return s
}

// toolSet returns the digest of tools, the same in any order.
func toolSet(tools []chat.Tool) string {
	tools = chat.Undeferred(tools)
	each := make([]string, len(tools))
	for i, t := range tools {
		each[i] = newDigest([]chat.Tool{t}).short()
	}
	slices.Sort(each)
	h := newDigest(nil)
	for _, digest := range each {
		h.write([]byte(digest), nil)
	}
	return h.short()
}

// short returns the first 6 bytes of the digest, in hexadecimal.
func (d *digest) short() string {
	return hex.EncodeToString(d.hash.Sum(nil)[:6])
}

// RequestChange names the first thing in which a request differs from the one before it.
type RequestChange string

// The changes, each with the usual reasons.
const (
	// ChangeNone: the request begins with the whole of the other.
	ChangeNone RequestChange = ""
	// ChangeUnknown: nothing is known of the other request.
	ChangeUnknown RequestChange = "unknown"
	// ChangeToolOrder: the tools are the same in another order, such as that of a map.
	ChangeToolOrder RequestChange = "tool order"
	// ChangeTools: there are other tools, or their descriptions or parameters changed.
	ChangeTools RequestChange = "tools"
	// ChangeSystem: a system message at the start changed, usually because it holds a clock, a counter, a list of files
	// or the newest memory.
	ChangeSystem RequestChange = "system message"
	// ChangeMessages: a later message changed or is gone, usually context before the history, or a pruned message.
	ChangeMessages RequestChange = "messages"
)

// Shared describes the common beginning of a request and the one before it.
type Shared struct {
	// Change is the change that ends the common beginning.
	Change RequestChange
	// Messages is the length of the common beginning, and Tokens its size by our own count, tools included. Both are
	// lower bounds if the message that changed stands between two marks.
	Messages, Tokens int
	// Until bounds the change: one of the first Until messages changed. It is 0 if none did.
	Until int
	// All is the size of the request before, in tokens by our own count.
	All int
}

// Compare returns what a request shares with the request s.
func (s Sent) Compare(messages []chat.Message, tools []chat.Tool) Shared {
	if len(s.Marks) == 0 {
		return Shared{Change: ChangeUnknown}
	}
	shared := Shared{All: s.Marks[len(s.Marks)-1].Tokens}
	h, added := newDigest(tools), 0
	for i, m := range s.Marks {
		for added < min(m.Messages, len(messages)) {
			h.add(messages[added])
			added++
		}
		if m.Messages <= len(messages) && !h.bad && h.short() == m.Digest {
			shared.Messages, shared.Tokens = m.Messages, m.Tokens
			continue
		}
		switch {
		case i == 0 && s.Tools == toolSet(tools):
			shared.Change = ChangeToolOrder
		case i == 0:
			shared.Change = ChangeTools
		case m.Messages <= s.System:
			shared.Change, shared.Until = ChangeSystem, m.Messages
		default:
			shared.Change, shared.Until = ChangeMessages, m.Messages
		}
		return shared
	}
	return shared
}

// PromptCache describes a provider's prompt cache: the request that was sent last, and the usage that was reported for
// it.
type PromptCache struct {
	Prices Prices
	Sent   Sent
	Usage  chat.Usage
}

// Expired reports whether the provider has dropped the request from its cache by a time. The longer lifetime applies if
// the request wrote something for it.
func (c PromptCache) Expired(at time.Time) bool {
	life := c.Prices.Lifetime
	if c.Usage.CacheWriteLong > 0 {
		life = max(life, c.Prices.LongLifetime)
	}
	return c.Sent.Time.IsZero() || at.Sub(c.Sent.Time) > life
}

// Holds predicts how many tokens of a new request, by the provider's count, are in the cache at a time. The cache holds
// all that the last request read or wrote, or the part of it that the common beginning s takes by our own count. A
// provider that charges nothing for writes does not report them; then, and if it does not report reads either, the whole
// of the last request counts as cached.
func (c PromptCache) Holds(s Shared, at time.Time) int {
	if c.Expired(at) || s.Change == ChangeUnknown {
		return 0
	}
	held := clamp.Sum(max(0, c.Usage.CacheRead), max(0, c.Usage.CacheWrite))
	if r := c.Prices.At(c.Usage.Size()); r.CacheWrite == r.Input || c.Usage.CacheUnknown {
		held = max(0, c.Usage.Size())
	}
	if c.Usage.Prompt > 0 { // several requests read it
		held = min(held, c.Usage.Prompt)
	}
	if s.Change != ChangeNone {
		held = min(held, clamp.Int(float64(max(0, c.Usage.Size()))*float64(s.Tokens)/float64(max(1, s.All))))
	}
	if held < c.Prices.LeastCached {
		return 0
	}
	return held
}
