package anthropic

import (
	"errors"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// parts mends the content of each message, and leaves out the messages in which nothing is left.
func (r *repairer) parts() {
	var out []item
	var moved []chat.Part // that wait for the user message after the results
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
		var away []chat.Part
		it.m.Content, away = r.content(&it)
		moved = append(moved, away...)
		switch {
		case substance(it.m):
		case it.m.Role == chat.RoleTool:
			r.Report(it.index, chat.RuleEmpty, "a text put in for no output")
			it.m.Content = slices.Insert(it.m.Content, 0, chat.Part(chat.Text(provider.NoOutput)))
		default:
			r.Report(it.index, chat.RuleEmpty, "the message left out")
			continue
		}
		out = append(out, it)
	}
	if n := len(r.items); n > 0 {
		flush(r.items[n-1].index)
	}
	r.items = out
}

// substance tells of a message that says something besides thinking.
func substance(m chat.Message) bool {
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

// content mends that of one message. What may not stand in it is given apart.
func (r *repairer) content(it *item) (kept, away chat.Parts) {
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
				away = append(away, p)
				continue
			}
			thinkingOver = true
		case chat.Thinking:
			switch {
			case thinkingOver && begun:
				r.Report(it.index, chat.RuleThinking, "part %d made opaque, for it is not first", k)
				kept = append(kept, opaqueThinking(p))
				continue
			case thinkingOver:
				r.Report(it.index, chat.RuleThinking, "the thinking in part %d left out, for it is not first", k)
				it.broken = true
				continue
			}
		case chat.CacheBreakpoint:
		default:
			thinkingOver = true
		}
		kept = append(kept, p)
	}
	return kept, away
}

// part mends one part where it stands; nil where it goes.
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
			r.Report(it.index, RuleMedia, "a text put in for part %d: %v", k, err)
			return leftOut(err)
		}
		return p
	case chat.Document:
		if _, err := documentSource(p); err != nil {
			r.Report(it.index, RuleMedia, "a text put in for part %d: %v", k, err)
			return leftOut(err)
		}
		return p
	case chat.Opaque:
		if err := checkOpaque(it.m, p); err != nil {
			r.Report(it.index, RuleOpaque, "part %d left out: %v", k, err)
			return nil
		}
		return p
	case chat.CacheBreakpoint:
		if rule, err := checkPart(it.m, p); err != nil {
			r.Report(it.index, rule, "the type of part %d taken off", k)
			p.Type = ""
		}
		return p
	}
	return p
}

var errThinking = errors.New("it is not the assistant's, or not whole")

// leftOut is the text that stands for what the API does not take.
func leftOut(why error) chat.Text {
	return chat.Text(strings.ToValidUTF8("[left out: "+why.Error()+"]", "\uFFFD"))
}

// ends mends how the conversation begins and ends.
func (r *repairer) ends() {
	last := len(r.items)
	for last > 0 && r.items[last-1].m.Role == chat.RoleSystem {
		last--
	}
	if system := r.items[last:]; len(system) > 0 && last > 0 {
		r.Report(system[0].index, chat.RuleLast, "%d system messages moved before what is to be answered", len(system))
		before := last - 1 // the question or the round that is to be answered
		for before > 0 && r.items[before].m.Role == chat.RoleTool {
			before--
		}
		r.items = slices.Concat(r.items[:before], system, r.items[before:last])
	}
	if len(r.items) == 0 {
		if r.given > 0 {
			r.Report(0, chat.RuleLast, "a user message put in place of all that was left out")
			r.items = append(r.items, item{m: chat.UserMessage(provider.GoOn)})
		}
		return
	}
	first := slices.IndexFunc(r.items, func(it item) bool { return it.m.Role != chat.RoleSystem })
	end := r.items[len(r.items)-1]
	switch {
	case first < 0:
		r.Report(end.index, RuleFirst, "a user message put at the end")
		r.items = append(r.items, item{index: end.index, m: chat.UserMessage(provider.GoOn)})
		return
	case r.items[first].m.Role == chat.RoleAssistant:
		r.Report(r.items[first].index, RuleFirst, "a user message put before it")
		r.items = slices.Insert(r.items, first, item{index: r.items[first].index, m: chat.UserMessage(provider.NotShown)})
	}
	if end.m.Role == chat.RoleAssistant && !r.paused() {
		r.Report(end.index, chat.RuleLast, "a user message put at the end")
		r.items = append(r.items, item{index: end.index, m: chat.UserMessage(provider.GoOn)})
	}
}

// paused tells that the last message is one that the API goes on with.
func (r *repairer) paused() bool {
	messages := make([]chat.Message, len(r.items))
	for n, it := range r.items {
		messages[n] = it.m
	}
	_, paused := serverTools(messages)
	return paused
}

// thinking makes it whole or gone: it goes from assistant messages that are merged with one before them, and from those
// that have lost some of it.
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

// loopStart is where the tool loop begins that is not over: after the last user message.
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
		r.Report(it.index, RuleThinkingMerged, "the message's thinking left out: it is whole or gone")
	}
}
