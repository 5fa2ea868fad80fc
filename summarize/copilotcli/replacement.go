package copilotcli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// CompactedSession makes a replacement of one user message with all that the agent works with: the summary, copies of
// the user's messages, the plan, the todo list, the skills that were invoked and what a custom agent does.
//
// Up to 20 messages of the user with up to 30,000 characters (code points) in all are copied whole. Of more, four
// fifths of both numbers are for the newest messages and one fifth is for the oldest; as the published program rounds,
// that is 16 messages with 24,001 characters and 3 messages with 5,999. Each share takes whole messages until one does
// not fit, and what is left of it is not used. A message that alone exceeds its share is cut at its end, with a mark. A
// line says how many messages are left out. Of more than 1,000 messages, only one of the oldest is known
// ([policy.Material].SaidLeft).
//
// The summary always stays. If there is too little room, the other parts are cut or left out in this order: the
// instructions of the newest skill are left out; the user's messages are copied by the same rules with fewer
// characters; the agent, the plan, the todo list and the names of the skills are left out. A plan, a todo list or an
// agent that takes more than a quarter of the room is cut in its middle, with a mark.
type CompactedSession struct{}

// Replacement returns the replacement.
func (CompactedSession) Replacement(m policy.Material) elements.Node {
	children := elements.Nodes{
		textblock.Line("The conversation before this point was compacted. What follows stands for it."),
		prompts.SummaryBlock(m, plaintext.SummaryTag.String()),
	}
	if m.Room > 0 {
		children = append(children,
			users(m),
			textblock.Tagged(4, plaintext.PlanTag, prompts.ClipWithin(m, plaintext.Outside(m.Plan), m.Room/4)),
			textblock.Tagged(5, plaintext.TodoTag, prompts.ClipWithin(m, plaintext.Outside(m.Todo), m.Room/4)),
			skills(m),
			textblock.Tagged(3, plaintext.AgentTag, prompts.ClipWithin(m, plaintext.Outside(m.Agent), m.Room/4)),
		)
	}
	return elements.UserMessage{Children: append(children, prompts.Afterword(m))}
}

// users returns copies of the user messages that are covered, within the tokens that the other parts leave.
func users(m policy.Material) elements.Node {
	var texts, handles []string
	for _, message := range m.Said {
		text, notes := plaintext.Content(message)
		if text = strings.Trim(strings.Join(append([]string{text}, notes...), "\n"), "\n"); text != "" {
			texts, handles = append(texts, text), append(handles, m.HandleOf(message))
		}
	}
	return el.Func(func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		for characters := 30_000; characters > 0 && len(texts) > 0; {
			list := copies(texts, handles, m.SaidLeft, characters)
			tokens := s.CountText(list) + 4 // joined to the other parts, they may take more
			if tokens <= s.TokenBudget {
				return textblock.Ranked{Text: list}.Node(), nil
			}
			characters = min(characters*9/10, characters*s.TokenBudget/tokens)
		}
		return nil, nil
	}, el.Priority(2), el.Grow(2))
}

// copies returns copies of texts that take at most the given characters, by the rules of [CompactedSession]. Missing is
// the number of texts that are missing after the first. Behind a cut text stands its handle, and behind the note of texts
// that are left out that of the first of them.
func copies(texts, handles []string, missing, characters int) string {
	share, most, first := (characters-1)/5, 16, 3 // for the oldest, the newest, the oldest
	if len(texts) == 1 || len(texts) <= 20 && utf8.RuneCountInString(strings.Join(texts, "")) <= characters {
		share, most = 0, 20
	}
	if missing > 0 {
		first = 1
	}
	newest := whole(slices.Backward(texts), characters-share, most)
	slices.Reverse(newest)
	rest := texts[:len(texts)-len(newest)]
	oldest := whole(slices.All(rest), share, first)
	missing += len(rest) - len(oldest)
	var list []string
	add := func(text string, at int, cut bool) {
		if list = append(list, text); cut && at < len(handles) && handles[at] != "" {
			list = append(list, plaintext.LeftOut("the rest", handles[at]))
		}
	}
	for i, text := range slices.Concat(oldest, newest) {
		at := i
		if i >= len(oldest) {
			at = len(texts) - len(newest) + i - len(oldest)
		}
		if i == len(oldest) && missing > 0 {
			add(fmt.Sprintf("... %d messages of the user omitted ...", missing), len(oldest), len(rest) > len(oldest))
		}
		add(plaintext.UserMessageTag.Around(text), at, text != texts[at])
	}
	return plaintext.UserMessagesTag.Holding(strings.Join(list, "\n"))
}

// whole returns the first texts that take at most the given characters together, at most the given number of them. If
// not even one fits, it is cut at its end.
func whole(texts iter.Seq2[int, string], characters, most int) (list []string) {
	const mark = "...<truncated>..."
	for _, text := range texts {
		n := utf8.RuneCountInString(text)
		switch {
		case n > characters && len(list) == 0:
			return []string{string([]rune(text)[:max(0, characters-len(mark))]) + mark}
		case n > characters || len(list) == most:
			return list
		}
		list, characters = append(list, text), characters-n
	}
	return list
}

// skills returns the names and files of the skills that were invoked, and the instructions of the newest.
func skills(m policy.Material) elements.Node {
	if len(m.Skills) == 0 {
		return nil
	}
	names := make([]string, len(m.Skills))
	for i, skill := range m.Skills {
		names[i] = plaintext.OneLine(skill.Name, 100)
		if skill.Path != "" {
			names[i] += " (" + plaintext.PathLine(skill.Path) + ")"
		}
	}
	newest := textblock.Tagged(1, plaintext.SkillTag, plaintext.Outside(m.Skills[len(m.Skills)-1].Instructions))
	return elements.Nodes{
		textblock.Ranked{Text: "Skills that were invoked, the newest last: " + plaintext.Outside(strings.Join(names, ", ")), Priority: 6}.Node(),
		elements.Wrap{Props: elements.Props{Priority: new(1), FlexGrow: 1}, Children: elements.Nodes{newest}},
	}
}
