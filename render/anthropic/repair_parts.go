package anthropic

import (
	"errors"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// parts repairs the content of each message, and removes the messages that become empty.
func (r *repairer) parts() {
	var out []item
	var moved []chat.Part // parts for the user message after the results
	flush := func(index int) {
		if len(moved) > 0 {
			out = append(out, item{index: index, m: chat.Message{Role: chat.RoleUser, Content: moved}})
			moved = nil
		}
	}
	for n, it := range r.items {
		if it.m.Role != chat.RoleTool && n > 0 {
			flush(r.items[n-1].index)
		}
		var misplaced []chat.Part
		it.m.Content, misplaced = r.content(&it)
		moved = append(moved, misplaced...)
		switch {
		case hasContent(it.m):
		case it.m.Role == chat.RoleTool:
			r.Report(it.index, chat.RuleEmpty, "the missing output replaced by a text")
			it.m.Content = slices.Insert(it.m.Content, 0, chat.Part(chat.Text(provider.NoOutput)))
		default:
			r.Report(it.index, chat.RuleEmpty, "the %s message, now empty, left out", it.m.Role)
			continue
		}
		out = append(out, it)
	}
	if n := len(r.items); n > 0 {
		flush(r.items[n-1].index)
	}
	r.items = out
}

// hasContent reports whether a message holds something besides thinking.
func hasContent(m chat.Message) bool {
	return len(m.ToolCalls) > 0 || slices.ContainsFunc(m.Content, func(p chat.Part) bool {
		switch p := p.(type) {
		case chat.Thinking, chat.CacheBreakpoint:
			return false
		case chat.Opaque:
			b, _ := parseOpaque(p)
			return b.Type != typeCitations && b.Type != typeThinking && b.Type != typeRedacted
		}
		return true
	})
}

// content repairs the content of one message. It returns separately the parts that must move to a user message.
func (r *repairer) content(it *item) (kept, misplaced chat.Parts) {
	thinkingOver := false
	begun := startsWithThinking(it.m)
	for k, p := range it.m.Content {
		if p == nil {
			r.Report(it.index, chat.RuleEmpty, "part %d, which is nil, left out", k)
			continue
		}
		_, wasThinking := p.(chat.Thinking)
		if p = r.part(*it, k, p); p == nil {
			it.broken = it.broken || wasThinking
			continue
		}
		switch p := p.(type) {
		case chat.Image, chat.Document:
			if rule, err := checkPlace(it.m, "it"); err != nil {
				r.Report(it.index, rule, "an image or a document moved to a user message")
				misplaced = append(misplaced, p)
				continue
			}
			thinkingOver = true
		case chat.Thinking:
			switch {
			case thinkingOver && begun:
				r.Report(it.index, chat.RuleThinking, "part %d turned into an opaque part, because it is not first", k)
				kept = append(kept, messages.LaterThinking(p))
				continue
			case thinkingOver:
				r.Report(it.index, chat.RuleThinking, "the thinking in part %d left out, because it is not first", k)
				it.broken = true
				continue
			}
		case chat.CacheBreakpoint:
		default:
			thinkingOver = true
		}
		kept = append(kept, p)
	}
	return kept, misplaced
}

// part repairs one part, and returns nil if it must be removed.
func (r *repairer) part(it item, k int, p chat.Part) chat.Part {
	switch p := p.(type) {
	case chat.Text:
		return r.Text(it.index, k, p)
	case chat.Thinking:
		rule, err := checkPart(it.m, p)
		if err == nil && (it.m.Role != chat.RoleAssistant || p.Signature == "" && p.Encrypted == "") {
			rule, err = chat.RuleThinking, errThinking
		}
		if err != nil {
			r.Report(it.index, rule, "the thinking in part %d left out", k)
			return nil
		}
		return p
	case chat.Image:
		if _, err := imageSource(p); err != nil {
			r.Report(it.index, chat.RuleMedia, "part %d replaced by a text: %v", k, err)
			return leftOut(err)
		}
		return p
	case chat.Document:
		if _, err := documentSource(p); err != nil {
			r.Report(it.index, chat.RuleMedia, "part %d replaced by a text: %v", k, err)
			return leftOut(err)
		}
		return p
	case chat.Opaque:
		if err := checkOpaque(it.m, p); err != nil {
			r.Report(it.index, chat.RuleOpaque, "part %d left out: %v", k, err)
			return nil
		}
		return p
	case chat.CacheBreakpoint:
		if rule, err := checkPart(it.m, p); err != nil {
			r.Report(it.index, rule, "the type of part %d removed", k)
			p.Type = ""
		}
		return p
	}
	return p
}

var errThinking = errors.New("it is not the assistant's, or neither signed nor encrypted")

// leftOut returns the text that replaces an image or a document that the API does not accept.
func leftOut(why error) chat.Text {
	return chat.Text(strings.ToValidUTF8("[left out: "+why.Error()+"]", "\uFFFD"))
}

// ends repairs how the conversation starts and ends.
func (r *repairer) ends() {
	last := len(r.items)
	for last > 0 && r.items[last-1].m.Role == chat.RoleSystem {
		last--
	}
	if system := r.items[last:]; len(system) > 0 && last > 0 {
		r.Report(system[0].index, chat.RuleLast, "%d system messages moved before the question or round to be answered", len(system))
		before := last - 1 // the question or the round to be answered
		for before > 0 && r.items[before].m.Role == chat.RoleTool {
			before--
		}
		r.items = slices.Concat(r.items[:before], system, r.items[before:last])
	}
	if len(r.items) == 0 {
		if r.given > 0 {
			r.Report(0, chat.RuleLast, "a user message added, because every other was left out")
			r.items = append(r.items, item{m: chat.UserMessage(provider.GoOn)})
		}
		return
	}
	first := slices.IndexFunc(r.items, func(it item) bool { return it.m.Role != chat.RoleSystem })
	end := r.items[len(r.items)-1]
	switch {
	case first < 0:
		r.Report(end.index, chat.RuleFirst, "a user message added at the end")
		r.items = append(r.items, item{index: end.index, m: chat.UserMessage(provider.GoOn)})
		return
	case r.items[first].m.Role == chat.RoleAssistant:
		r.Report(r.items[first].index, chat.RuleFirst, "a user message added before it")
		r.items = slices.Insert(r.items, first, item{index: r.items[first].index, m: chat.UserMessage(provider.NotShown)})
	}
	if end.m.Role == chat.RoleAssistant && !r.paused() {
		r.Report(end.index, chat.RuleLast, "a user message added at the end")
		r.items = append(r.items, item{index: end.index, m: chat.UserMessage(provider.GoOn)})
	}
}

// paused reports whether the last message was paused, so that the API continues it.
func (r *repairer) paused() bool {
	messages := make([]chat.Message, len(r.items))
	for n, it := range r.items {
		messages[n] = it.m
	}
	_, paused := serverTools(messages, r.tools)
	return paused
}

// thinking removes thinking that would not stay complete: from assistant messages that are merged with one before them,
// and from messages that lost a part of it.
func (r *repairer) thinking() {
	loop := loopStart(r.items)
	var before chat.Role
	for n, it := range r.items {
		if it.m.Role == chat.RoleSystem {
			continue
		}
		merged := before == chat.RoleAssistant && it.m.Role == chat.RoleAssistant && startsWithThinking(it.m)
		before = it.m.Role
		if !merged && !it.broken {
			continue
		}
		if n >= loop {
			for k := loop; k < len(r.items); k++ {
				r.withoutThinking(k)
			}
			return
		}
		r.withoutThinking(n)
	}
}

// loopStart returns the index of the start of the current tool loop: after the last user message.
func loopStart(items []item) int {
	n := len(items)
	for n > 0 && items[n-1].m.Role != chat.RoleUser {
		n--
	}
	return n
}

func (r *repairer) withoutThinking(n int) {
	it := &r.items[n]
	if it.m.Role == chat.RoleAssistant && slices.ContainsFunc(it.m.Content, isThinking) {
		it.m.Content = slices.DeleteFunc(slices.Clone(it.m.Content), isThinking)
		r.Report(it.index, chat.RuleThinkingMerged, "the message's thinking left out, because a part of it was lost")
	}
}
