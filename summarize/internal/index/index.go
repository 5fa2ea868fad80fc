// Package index lists the names that a prompt no longer shows after a compaction, each with an entry of the session that
// says it, so that an agent knows what there is and where it can be read.
package index

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/facts"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/toolname"
	"github.com/promptree-go/promptree/summarize/internal/guard"
)

// Bounds of what is read of a session, from its leaf back.
const (
	MaxMessages = 4_000
	MaxBytes    = 8 << 20 // of their texts
)

const (
	leastID    = 6 // bytes of the end of an id that stands for it
	assistants = 3 // an assistant's message counts as many
)

// said is a message of the session.
type said struct {
	entry.Entry
	text    string
	weight  int
	covered bool
}

// name is a name that messages say.
type name struct {
	text   string
	count  int   // of the messages, by their weights
	in     []int // the messages, the newest first
	within int   // the place in the list of a later name that contains it, 0 if there is none
}

// Message returns a message of at most room tokens with the names of a session that a prompt does not show, and false
// if there are none. They are ranked by the messages that name them, each of the assistant's counting three times,
// divided by the age of the newest. A message before firstKept has to have the name, so that an erasure of what the
// index reveals lists the compaction. What look-ups returned does not count. It reads the newest [MaxMessages] messages
// of the path to the leaf, or those with the newest [MaxBytes], and nothing beyond a line that cannot be read.
func Message(ctx context.Context, s *history.Session, firstKept string, prompt []chat.Message, room int, t chat.Tokenizer) (m chat.Message, ok bool, err error) {
	messages, err := read(ctx, s, firstKept)
	if err != nil {
		return m, false, err
	}
	names := missing(messages, prompt, room/facts.LeastTokens)
	write := func(n int) chat.Message { return chat.UserMessage(text(s, messages, names[:n])) }
	n, err := guard.Value(ctx, guard.NameTokenizer, func() int {
		return sort.Search(len(names), func(n int) bool { return guard.Counted(t.CountMessage(write(n+1))) > room })
	})
	if err != nil || n == 0 {
		return m, false, err
	}
	return write(n), true, nil
}

// Without returns the messages that stand for a compaction without the index, which is the last if there is one.
func Without(compacted []chat.Message) []chat.Message {
	if n := len(compacted); n > 1 && strings.HasPrefix(compacted[n-1].Text(), plaintext.IndexTag.Open()) {
		return compacted[:n-1]
	}
	return compacted
}

// read returns the newest messages of the path to the leaf, the newest first.
func read(ctx context.Context, s *history.Session, firstKept string) (messages []said, err error) {
	size, covered := 0, firstKept == ""
	lookUps := map[string]bool{} // ids of calls
	for e, err := range s.Back(ctx, "") {
		if err != nil || len(messages) >= MaxMessages || size >= MaxBytes {
			break
		}
		before := covered
		covered = covered || e.ID == firstKept
		m, ok := e.Shown()
		if !ok {
			continue
		}
		of := said{e, facts.Text(m), 1, before}
		if m.Role == chat.RoleAssistant {
			of.weight = assistants
		}
		for _, c := range m.ToolCalls {
			lookUps[c.ID] = toolname.IsLookUp(c.Name)
		}
		size += len(of.text)
		messages = append(messages, of)
	}
	for i, m := range messages {
		if lookUps[m.Message().ToolCallID] {
			messages[i].text = ""
		}
	}
	return messages, context.Cause(ctx)
}

// missing returns at most n names that messages say and a prompt does not show, in the order of their ranks, without
// those that a better one contains.
func missing(messages []said, prompt []chat.Message, n int) (list []*name) {
	var shown strings.Builder
	for _, m := range prompt {
		shown.WriteString(facts.Text(m) + "\n")
	}
	byText := map[string]*name{}
	var all []*name
	for i, m := range messages {
		for text := range facts.Names(m.text) {
			known := byText[text]
			if known == nil {
				known = &name{text: text}
				byText[text] = known
				all = append(all, known)
			}
			if len(known.in) == 0 || known.in[len(known.in)-1] != i {
				known.count += m.weight
				known.in = append(known.in, i)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *name) int { return cmp.Compare(b.count*(a.in[0]+1), a.count*(b.in[0]+1)) })
	for _, next := range all {
		if len(list) >= n {
			break
		}
		contains := func(better *name) bool { return facts.Shown(better.text, next.text) }
		if !messages[next.in[len(next.in)-1]].covered || facts.Shown(shown.String(), next.text) || slices.ContainsFunc(list, contains) {
			continue
		}
		for _, better := range list {
			if better.within == 0 && facts.Shown(next.text, better.text) {
				better.within = len(list)
			}
		}
		list = append(list, next)
	}
	return list
}

// text returns an index. Each name stands with others that the same entry says, so that few ids are needed, and a folder
// once in a line. A name that another contains is left out.
func text(s *history.Session, messages []said, names []*name) string {
	byHandle := map[string][]string{} // lines
	var order []string
	left := slices.DeleteFunc(slices.Clone(names), func(n *name) bool { return n.within > 0 && n.within < len(names) })
	for len(left) > 0 {
		best := mostNames(left)
		var line []string
		left = slices.DeleteFunc(left, func(n *name) bool {
			is := slices.Contains(n.in, best)
			if is {
				line = append(line, n.text)
			}
			return is
		})
		e := messages[best].Entry
		handle, id := s.Handle(e, 0, 0), e.ID
		if strings.HasPrefix(handle, history.ReadTool) {
			id = shortID(messages, e.ID)
		}
		handle = strings.Replace(handle, e.ID, "ID", 1)
		if byHandle[handle] == nil {
			order = append(order, handle)
		}
		byHandle[handle] = append(byHandle[handle], id+": "+facts.List(line))
	}
	lines := []string{"Names that are no longer shown, each after an entry that has it:"}
	for _, handle := range order {
		if handle != "" {
			lines = append(lines, "(read entry ID: "+handle+")")
		}
		lines = append(lines, byHandle[handle]...)
	}
	return plaintext.IndexTag.Around(strings.Join(lines, "\n"))
}

// mostNames returns the message that says most of some names, the newest of several.
func mostNames(names []*name) (best int) {
	counts := map[int]int{}
	for _, n := range names {
		for _, i := range n.in {
			counts[i]++
			if c := counts[i]; c > counts[best] || c == counts[best] && i < best {
				best = i
			}
		}
	}
	return best
}

// shortID returns the end of an id in which no other of the entries ends.
func shortID(messages []said, id string) string {
	for n := leastID; n < len(id); n++ {
		end := id[len(id)-n:]
		if !slices.ContainsFunc(messages, func(m said) bool { return m.ID != id && strings.HasSuffix(m.ID, end) }) {
			return end
		}
	}
	return id
}
