package anthropic

import (
	"slices"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

const (
	// maxBreakpoints is the maximum number of blocks of a request with cache_control.
	maxBreakpoints = 4
	// cacheType is the API's only type of cache.
	cacheType = "ephemeral"
	// shortLifetime is how long the API keeps a prefix unless an hour is requested.
	shortLifetime = 5 * time.Minute
	longLifetime  = time.Hour
)

// blockKey identifies a block of a request: a part of a message's content, one of its calls, or a whole result.
type blockKey struct {
	kind           blockKind
	message, index int
}

type blockKind int

const (
	blockTool   blockKind = iota // the last tool
	blockPart                    // part index of a message
	blockCall                    // call index of a message
	blockResult                  // a tool message as a whole
)

// cacheMark is a cache breakpoint on the block that carries it.
type cacheMark struct {
	block blockKey
	hour  bool
	// own reports whether it is an opaque part's own. Otherwise from lists the breakpoints that became this one, as
	// {kind: blockPart}.
	own  bool
	from []blockKey
	// static reports whether the mark is in the tools or the system prompt.
	static bool
}

// message returns the index of the message with the breakpoint, for violations.
func (m cacheMark) message() int {
	if m.own {
		return m.block.message
	}
	return m.from[0].message
}

// cachePlan lists the blocks that carry cache_control, in the order in which the API caches: tools, system, messages.
type cachePlan struct {
	marks  []cacheMark // while they are collected, one for each block
	last   int         // the index of the last block that can carry a breakpoint, -1 if there is none
	static bool        // the next block is in the tools or the system prompt
}

// planCache finds the block for each breakpoint: the last one before it that can carry cache_control, which thinking
// and opaque blocks cannot. A breakpoint at the very start is ignored.
func planCache(req chat.Request) *cachePlan {
	p := &cachePlan{last: -1, static: true}
	if len(req.Tools) > 0 {
		p.addBlock(blockKey{kind: blockTool, message: chat.RequestIndex})
	}
	for _, p.static = range [...]bool{true, false} {
		for i, m := range req.Messages {
			if p.static == (m.Role == chat.RoleSystem) {
				p.message(i, m)
			}
		}
	}
	p.marks = slices.DeleteFunc(p.marks, func(m cacheMark) bool { return !m.own && len(m.from) == 0 })
	return p
}

func (p *cachePlan) message(i int, m chat.Message) {
	end := len(m.Content)
	if m.Role == chat.RoleTool {
		for end > 0 && isBreakpoint(m.Content[end-1]) {
			end-- // breakpoints at the end apply to the result as a whole
		}
	}
	placed := map[string]bool{} // ids of calls that have a place in the content
	for k, part := range m.Content[:end] {
		p.part(i, k, m, part, placed)
	}
	if m.Role == chat.RoleTool {
		p.addBlock(blockKey{kind: blockResult, message: i})
		for k := end; k < len(m.Content); k++ {
			p.part(i, k, m, m.Content[k], nil)
		}
	}
	for k, c := range m.ToolCalls {
		if !placed[c.ID] {
			p.addBlock(blockKey{kind: blockCall, message: i, index: k})
		}
	}
}

func isBreakpoint(part chat.Part) bool {
	_, ok := part.(chat.CacheBreakpoint)
	return ok
}

func (p *cachePlan) part(i, k int, m chat.Message, part chat.Part, placed map[string]bool) {
	here := blockKey{kind: blockPart, message: i, index: k}
	switch part := part.(type) {
	case chat.Text, chat.Image, chat.Document:
		p.addBlock(here)
	case chat.Opaque:
		switch b := serverBlock(part); {
		case b.Type == messages.TypeToolUse:
			if call := b.call(m); call >= 0 {
				placed[b.ID] = true
				p.addBlock(blockKey{kind: blockCall, message: i, index: call})
			}
		case b.CacheControl != nil:
			p.marks = append(p.marks, cacheMark{block: here, own: true, hour: b.CacheControl.TTL == string(sdk.CacheControlEphemeralTTLTTL1h)})
		}
	case chat.CacheBreakpoint:
		p.mark(here, part.Lifetime > shortLifetime)
	}
}

func (p *cachePlan) mark(from blockKey, hour bool) {
	if p.last >= 0 {
		m := &p.marks[p.last]
		m.hour, m.from = m.hour || hour, append(m.from, from)
	}
}

// addBlock records a block as the last one that can carry a breakpoint.
func (p *cachePlan) addBlock(block blockKey) {
	p.last = len(p.marks)
	p.marks = append(p.marks, cacheMark{block: block, static: p.static})
}

// control returns the cache_control of a block, and the zero value for a block without one.
func (p *cachePlan) control(block blockKey) sdk.CacheControlEphemeralParam {
	for _, m := range p.marks {
		if m.block == block {
			c := sdk.NewCacheControlEphemeralParam()
			if m.hour {
				c.TTL = sdk.CacheControlEphemeralTTLTTL1h
			}
			return c
		}
	}
	return sdk.CacheControlEphemeralParam{}
}

// surplus returns the marks to remove if there are more than four. It keeps those that opaque parts carry; the last one
// in the tools and the system prompt, which is the only prefix that survives a compaction; and then the newest, where
// the next request of a growing conversation finds what this one wrote.
func (p *cachePlan) surplus() []cacheMark {
	list := slices.DeleteFunc(slices.Clone(p.marks), func(m cacheMark) bool { return m.own })
	left := max(0, maxBreakpoints-(len(p.marks)-len(list)))
	for n, m := range slices.Backward(list) {
		if m.static { // the last to be removed
			list = append(slices.Delete(list, n, n+1), m)
			break
		}
	}
	return list[:max(0, len(list)-left)]
}
