package render_test

import (
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// conventions returns a text of many lines.
func conventions(lines int) elements.Text {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%d. Name things for what they are, and keep <file%d.go> & its tests together: %x.\n", i+1, i, i*7919)
	}
	return elements.Text(b.String())
}

// lines returns a text that may be cut at the ends of its lines.
func lines(text elements.Text) elements.TextChunk {
	return elements.TextChunk{BreakOn: "\n", Children: elements.Nodes{text}}
}

func TestTextThatMayBeCutIsNotLost(t *testing.T) {
	tokenizer := tiktoken.O200k()
	text := conventions(60)
	bySpace := elements.TextChunk{BreakOnWhitespace: true, Children: elements.Nodes{text}}
	inTag := func(c elements.TextChunk) elements.Node {
		return elements.Tag{Name: "conventions", Children: elements.Nodes{c}}
	}
	limit := func(budget int, n elements.Node) elements.Node {
		return user(elements.TokenLimit{Max: budget, Children: elements.Nodes{n}})
	}
	asked := line("What does the program print?")
	asked.Priority = new(1000)
	for name, prompt := range map[string]func(budget int) (root elements.Node, of int){
		"limit > chunk by line":                  func(n int) (elements.Node, int) { return limit(n, lines(text)), plenty },
		"limit > tag > chunk by line":            func(n int) (elements.Node, int) { return limit(n, inTag(lines(text))), plenty },
		"limit > tag > chunk by white space":     func(n int) (elements.Node, int) { return limit(n, inTag(bySpace)), plenty },
		"prompt > tag > chunk by white space":    func(n int) (elements.Node, int) { return user(inTag(bySpace)), n },
		"prompt > tag > chunk beside a question": func(n int) (elements.Node, int) { return user(inTag(bySpace), asked), n },
		"prompt > two messages": func(n int) (elements.Node, int) {
			return elements.Nodes{elements.SystemMessage{Children: elements.Nodes{elements.Text("You are brief.")}}, user(wrap(at(1), inTag(lines(text))), asked)}, n
		},
	} {
		t.Run(name, func(t *testing.T) {
			lost := 0
			for budget := 100; budget < 500; budget++ {
				root, of := prompt(budget)
				r := renderedWith(t, root, render.Options{Budget: of, Tokenizer: tokenizer})
				require.LessOrEqual(t, r.Tokens, of)
				if !strings.Contains(r.Messages[len(r.Messages)-1].Text(), "1. Name things") {
					lost++
				}
			}
			require.Zero(t, lost, "of 400")
		})
	}
}

func TestRequiredTextIsTrimmedToALimit(t *testing.T) {
	tokenizer := tiktoken.O200k()
	chunk := requiredChunk(lines(conventions(60)))
	tag := func(n ...elements.Node) elements.Node { return elements.Tag{Name: "conventions", Children: n} }
	for limit := 100; limit < 500; limit += 7 {
		limited := func(n ...elements.Node) elements.Node { return elements.TokenLimit{Max: limit, Children: n} }
		for name, root := range map[string]elements.Node{
			"in a tag":                       user(limited(tag(chunk))),
			"in tags":                        user(tag(limited(tag(tag(chunk))))),
			"beside required text":           user(limited(requiredChunk(line("one line")), requiredChunk(line("and another")), chunk)),
			"beside text that goes first":    user(limited(line(strings.Repeat("and another ", 90)), chunk)),
			"two of them":                    user(limited(tag(chunk), chunk)),
			"a limit in a limit":             user(limited(tag(chunk), elements.TokenLimit{Max: limit / 2, Children: elements.Nodes{chunk}})),
			"around the message":             limited(user(chunk)),
			"beside what is never trimmed":   user(limited(elements.Opaque{Tokens: 20}, chunk)),
			"before a cache breakpoint":      user(limited(chunk), elements.CacheBreakpoint{}, line("stay")),
			"in a required element":          limited(elements.UserMessage{Props: must(1), Children: elements.Nodes{lines(conventions(60))}}),
			"in a group that is required":    user(limited(elements.KeepWith{Children: elements.Nodes{chunk, lines(conventions(60))}})),
			"after a blank line":             user(limited(requiredChunk(lines("\n\n" + conventions(60))))),
			"beside one that fits by chance": user(limited(requiredChunk(lines(conventions(1))), chunk)),
		} {
			r, err := render.Render(t.Context(), root, render.Options{Budget: plenty, Tokenizer: tokenizer})
			require.NoError(t, err, "%s, %d", name, limit)
			trimmed, kept := 0, 0
			for _, p := range r.Report().Pieces {
				if p.TrimmedFrom > 0 {
					trimmed++
					require.Positive(t, p.Tokens)
				}
				if p.Dropped == render.Kept {
					kept += p.Tokens
				}
			}
			require.Positive(t, trimmed, "%s, %d", name, limit)
			require.Greater(t, kept, limit-70, "%s, %d: what fits is kept", name, limit)
		}
	}
}

func TestRequiredTextWithoutALimitIsWholeOrAnErrorThatNamesIt(t *testing.T) {
	chunk := requiredChunk(lines(conventions(60)))
	asking := chunk
	asking.FlexGrow = 1
	for name, test := range map[string]struct {
		root elements.Node
		opts render.Options
	}{
		"required":                            {user(elements.Tag{Name: "a", Children: elements.Nodes{chunk}}), render.Options{}},
		"with a flex of its own":              {user(asking), render.Options{}},
		"in a required element":               {elements.UserMessage{Props: must(1), Children: elements.Nodes{lines(conventions(60))}}, render.Options{}},
		"not offered":                         {user(lines(conventions(60))), render.Options{KeepUnranked: true}},
		"the sixth in size":                   {user(elements.Chunk{Props: must(1), Children: elements.Nodes{line(strings.Repeat("x", 9000)), line(strings.Repeat("x", 9000)), line(strings.Repeat("x", 9000)), line(strings.Repeat("x", 9000)), line(strings.Repeat("x", 9000))}}, chunk), render.Options{}},
		"not offered, with a flex of its own": {user(elements.TextChunk{Props: elements.Props{FlexBasis: 2}, BreakOn: "\n", Children: elements.Nodes{conventions(60)}}), render.Options{KeepUnranked: true}},
	} {
		t.Run(name, func(t *testing.T) {
			test.opts.Budget, test.opts.Tokenizer = 500, runes
			_, err := render.Render(t.Context(), test.root, test.opts)
			over, is := errors.AsType[*render.BudgetExceededError](err)
			require.True(t, is, err)
			require.ErrorContains(t, err, "put "+over.Breakable+" into a limit (el.Limit)")

			test.opts.Budget = plenty
			r := renderedWith(t, test.root, test.opts)
			require.Contains(t, html.UnescapeString(r.Messages[0].Text()), string(conventions(60)))
		})
	}

	for name, root := range map[string]elements.Node{
		"it is in a limit that is too large": user(elements.TokenLimit{Max: 900, Children: elements.Nodes{chunk}}),
		"it is in a limit that is too small": user(elements.TokenLimit{Max: 3, Children: elements.Nodes{chunk}}),
	} {
		_, err := render.Render(t.Context(), root, render.Options{Budget: 400, Tokenizer: runes})
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "el.Limit", name)
	}
}

func TestNothingIsLeftOfATextButItsMark(t *testing.T) {
	const mark = "(cut)"
	long := elements.Text("\n\n" + strings.Repeat("a line of text\n", 40))
	marked := func(p elements.Props) elements.TextChunk {
		return elements.TextChunk{Props: p, BreakOn: "\n", Mark: mark, Least: 1, Children: elements.Nodes{long}}
	}
	big := requiredChunk(line(strings.Repeat("b", 90)))
	for name, root := range map[string]elements.Node{
		"cut to its share":    user(big, marked(elements.Props{FlexBasis: 1})),
		"trimmed":             user(big, marked(at(1))),
		"required in a limit": user(big, elements.TokenLimit{Max: 12, Children: elements.Nodes{marked(must(1))}}),
	} {
		r, err := render.Render(t.Context(), root, render.Options{Budget: 106, Tokenizer: runes})
		if name == "required in a limit" {
			require.ErrorContains(t, err, "needs", name)
			continue
		}
		require.NoError(t, err, name)
		require.NotContains(t, r.Messages[0].Text(), mark, name)
		require.NotEqual(t, render.Kept, r.Report().Pieces[1].Dropped, name)
	}
}

// requiredChunk returns a chunk that is required.
func requiredChunk(c elements.TextChunk) elements.TextChunk {
	c.Required = true
	return c
}

func TestTheLastTextToGoIsTrimmed(t *testing.T) {
	const numbers = "one two three four five six seven eight nine ten eleven twelve"
	trims := func(change func(*elements.TextChunk)) elements.TextChunk {
		c := elements.TextChunk{Props: at(1), BreakOnWhitespace: true, Least: 1, Children: elements.Nodes{elements.Text(numbers)}}
		if change != nil {
			change(&c)
		}
		return c
	}
	group, brief := &elements.Group{}, elements.TextChunk{BreakOnWhitespace: true, Least: 1, Children: elements.Nodes{elements.Text("one two")}}
	// The layout has a large budget, so that the fit trims and not the layout.
	tests := []struct {
		name   string
		root   elements.Node
		budget int
		want   []string
	}{
		{"as much stays as fits", user(trims(nil), line("stay")), 3 + 5 + 18, []string{"one two three four\nstay"}},
		{"one token less costs a word", user(trims(nil), line("stay")), 3 + 5 + 17, []string{"one two three\nstay"}},
		{"a text that would be shorter than Least is dropped", user(trims(func(c *elements.TextChunk) { c.Least = 14 }), line("stay")), 3 + 5 + 17, []string{"stay"}},
		{"Least is 16 by default", user(trims(func(c *elements.TextChunk) { c.Least = 0 }), line("stay")), 3 + 5 + 18, []string{"one two three four\nstay"}},
		{"a text that would be shorter than 16 is dropped by default", user(trims(func(c *elements.TextChunk) { c.Least = 0 }), line("stay")), 3 + 5 + 17, []string{"stay"}},
		{"pieces removed before it stay removed", user(chunk(0, "first"), trims(nil), line("stay")), 3 + 5 + 18, []string{"one two three four\nstay"}},
		{"pieces that would be removed after it stay", user(trims(nil), chunk(2, "later"), line("stay")), 3 + 5 + 6 + 18, []string{"one two three four\nlater\nstay"}},
		{"CutStart keeps the end", user(trims(func(c *elements.TextChunk) { c.Cut = elements.CutStart }), line("stay")), 3 + 5 + 18, []string{"ten eleven twelve\nstay"}},
		{"CutMiddle keeps both ends", user(trims(func(c *elements.TextChunk) { c.Cut = elements.CutMiddle }), line("stay")), 3 + 5 + 19, []string{"one two twelve\nstay"}},
		{"a mark counts", user(trims(func(c *elements.TextChunk) { c.Mark = "…" }), line("stay")), 3 + 5 + 18, []string{"one two three …\nstay"}},
		{"a mark at the start", user(trims(func(c *elements.TextChunk) { c.Mark, c.Cut = "…", elements.CutStart }), line("stay")), 3 + 5 + 18, []string{"… eleven twelve\nstay"}},
		{"a mark in the middle", user(trims(func(c *elements.TextChunk) { c.Mark, c.Cut = "…", elements.CutMiddle }), line("stay")), 3 + 5 + 18, []string{"one two … twelve\nstay"}},
		{"a text is cut at a pattern", user(trims(func(c *elements.TextChunk) {
			c.BreakOnWhitespace, c.BreakOnPattern = false, regexp.MustCompile(` t[a-z]+`)
		}), line("stay")), 3 + 5 + 18, []string{"one two\nstay"}},
		{"a group stays with it", user(elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{trims(nil)}}, elements.KeepWith{Props: at(5), Group: group, Children: elements.Nodes{line("with")}}, line("stay")), 3 + 5 + 5 + 18, []string{"one two three four\nwith\nstay"}},
		{"a chunk gives of the text in it", user(elements.Chunk{Props: at(1), Children: elements.Nodes{trims(nil), line("with")}}, line("stay")), 30, []string{"one two three\nwith\nstay"}},
		{"a chunk gives of its largest text, of equals the last", user(elements.Chunk{Props: at(1), Children: elements.Nodes{brief, trims(nil), trims(nil), brief}}, line("stay")), 110, []string{"one two\n" + numbers + "\none two three four five\none two\nstay"}},
		{"a chunk whose largest text cannot give enough is dropped", user(elements.Chunk{Props: at(1), Children: elements.Nodes{brief, trims(nil), line(strings.Repeat("w", 20))}}, line("stay")), 38, []string{"stay"}},
		{"a group gives of the text in it", user(elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{line("heading")}}, elements.KeepWith{Props: at(5), Group: group, Children: elements.Nodes{trims(nil)}}, line("stay")), 3 + 8 + 5 + 18, []string{"heading\none two three four\nstay"}},
		{"required text is not trimmed", user(requiredChunk(trims(nil)), line("stay")), 3 + len(numbers), []string{numbers}},
		{"text is trimmed by what its tag adds", user(elements.TokenLimit{Max: 27, Children: elements.Nodes{elements.Tag{Name: "t", Children: elements.Nodes{trims(nil)}}}}, line("stay")), plenty, []string{"<t>\none two three\n</t>\nstay"}},
		{"a text that was told an equal share is trimmed", user(elements.TokenLimit{Max: 27, Children: elements.Nodes{trims(nil), chunk(5, "twenty characters at")}}, line("stay")), plenty, []string{"one\ntwenty characters at\nstay"}},
		{"a limit before a cache breakpoint is kept as any other", user(elements.TokenLimit{Max: 27, Children: elements.Nodes{trims(nil), chunk(5, "twenty characters at")}}, elements.CacheBreakpoint{}, line("stay")), plenty, []string{"one\ntwenty characters atstay"}},
		{"a limit trims, and the prompt trims again", user(elements.TokenLimit{Max: 40, Children: elements.Nodes{trims(nil)}}, line("stay")), 3 + 5 + 18, []string{"one two three four\nstay"}},
		{"text in a tag is cut before it is escaped", user(elements.Tag{Name: "t", Props: at(1), Children: elements.Nodes{elements.TextChunk{BreakOn: ";", Least: 1, Children: elements.Nodes{elements.Text("a&b;c<d;e")}}}}, line("stay")), 30, []string{"<t>\na&amp;b\n</t>\nstay"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for name, tokenizer := range map[string]chat.Tokenizer{"joining": runes, "other": struct{ chat.Tokenizer }{runes}} {
				layout := laid(t, test.root, render.Options{Budget: plenty, Tokenizer: tokenizer})
				require.Equal(t, test.want, texts(fitted(t, layout, test.budget).Messages), "with the %s tokenizer", name)
			}
		})
	}
}

// A unit of removal that is larger than the text that could give is not lost whole, in whatever it stands.
func TestALongTextInWhatGoesAsOneIsTrimmedBeforeThatGoes(t *testing.T) {
	t.Parallel()
	group, text := &elements.Group{}, lines(conventions(30))
	inChunk := func(children ...elements.Node) elements.Node { return elements.Chunk{Props: at(1), Children: children} }
	for name, root := range map[string]elements.Node{
		"a chunk with a heading":      user(inChunk(line("heading"), text)),
		"a chunk with a tag":          user(inChunk(elements.Tag{Name: "file", Children: elements.Nodes{line("heading"), text}})),
		"a chunk in a chunk":          user(inChunk(line("heading"), inChunk(line("more"), text))),
		"a chunk of two messages":     inChunk(user(line("heading")), elements.AssistantMessage{Children: elements.Nodes{text}}),
		"finished beside it":          elements.Chunk{Props: at(1), Children: elements.Nodes{&elements.Finished{Messages: []chat.Message{chat.UserMessage("heading")}}, user(text)}},
		"a group with a heading":      user(elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{line("heading")}}, elements.KeepWith{Group: group, Children: elements.Nodes{text}}),
		"a call with a long answer":   elements.Nodes{elements.AssistantMessage{Children: elements.Nodes{line("heading")}, ToolCalls: []elements.ToolCall{call("x", group)}}, elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{elements.ToolMessage{ToolCallID: "x", Children: elements.Nodes{text}}}}},
		"a round that is one chunk":   inChunk(elements.AssistantMessage{Children: elements.Nodes{line("heading")}, ToolCalls: []elements.ToolCall{call("x", group)}}, elements.KeepWith{Group: group, Children: elements.Nodes{elements.ToolMessage{ToolCallID: "x", Children: elements.Nodes{text}}}}),
		"a chunk in a legacy list":    user(elements.LegacyPrioritization{Props: at(1), Children: elements.Nodes{elements.Chunk{Children: elements.Nodes{line("heading"), text}}}}),
		"a limit in a chunk":          inChunk(elements.TokenLimit{Max: 2000, Children: elements.Nodes{user(line("heading"), text)}}),
		"a chunk before a breakpoint": elements.Nodes{user(inChunk(line("heading"), text), elements.CacheBreakpoint{})},
	} {
		t.Run(name, func(t *testing.T) {
			root := elements.Nodes{root, user(line("question"))}
			whole := renderedWith(t, root, render.Options{Budget: plenty, Tokenizer: summing{runes}})
			before := 0
			for budget := 150; budget < whole.Tokens+10; budget += 7 {
				r, err := render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: summing{runes}})
				require.NoError(t, err, budget)
				said := strings.Join(texts(r.Messages), "\n")
				require.Contains(t, said, "heading", budget)
				require.Contains(t, said, "question", budget)
				require.Greater(t, r.Tokens, min(budget-100, whole.Tokens-1), "a line fits in the rest")
				require.GreaterOrEqual(t, r.Tokens, before, "a larger budget shows no less")
				before = r.Tokens
				require.Empty(t, chat.ValidateRequest(chat.Request{Messages: r.Messages}), "calls and results stay together")
			}
		})
	}
}

func TestCompatibleTrimsNothing(t *testing.T) {
	layout := laid(t, user(lines(conventions(5)), line("stay")), render.Options{Budget: plenty, Tokenizer: runes, Compatible: true})
	require.Equal(t, []string{"stay"}, texts(fitted(t, layout, 200).Messages))
}

// Fits in any order give the same results.
func TestTrimmedTextIsAPrefixOfItselfAtALargerBudget(t *testing.T) {
	tokenizer := tiktoken.O200k()
	root := user(
		elements.Tag{Name: "a", Props: at(1), Children: elements.Nodes{lines(conventions(20))}},
		elements.TextChunk{Props: at(2), BreakOnWhitespace: true, Children: elements.Nodes{conventions(10)}},
		chunk(3, "stay"),
	)
	layout := laid(t, root, render.Options{Budget: plenty, Tokenizer: tokenizer})
	all := fitted(t, layout, plenty)
	at := map[int]string{}
	budgets := rand.New(rand.NewPCG(1, 1)).Perm(all.Tokens - 20)
	trimmed := 0
	for _, b := range budgets {
		budget := b + 20
		r := fitted(t, layout, budget)
		require.LessOrEqual(t, r.Tokens, budget)
		alone := laid(t, root, render.Options{Budget: plenty, Tokenizer: struct{ chat.Tokenizer }{tokenizer}})
		if b%10 == 0 {
			want := fitted(t, alone, budget)
			require.Equal(t, want.Messages, r.Messages, budget)
			require.Equal(t, want.Report(), r.Report(), budget)
		}
		at[budget] = r.Messages[0].Text()
		for _, p := range r.Report().Pieces {
			if p.TrimmedFrom > 0 {
				trimmed++
				require.Contains(t, r.Report().String(), fmt.Sprintf("trimmed: %d of %d tokens", p.Tokens, p.TrimmedFrom))
				require.GreaterOrEqual(t, p.Tokens, 16)
			}
		}
	}
	require.Greater(t, trimmed, all.Tokens/2)
	for budget := 21; budget < all.Tokens; budget++ {
		smaller, larger := parts(at[budget-1]), parts(at[budget])
		for i := range smaller {
			require.True(t, strings.HasPrefix(larger[i], smaller[i]), "at %d tokens %q is not a prefix of %q", budget-1, smaller[i], larger[i])
		}
	}
}

// parts returns the text in the tag a, and the text after it without the last line.
func parts(text string) [2]string {
	in, after, found := strings.Cut(strings.TrimPrefix(text, "<a>\n"), "\n</a>\n")
	if !found {
		in, after = "", text
	}
	return [2]string{in, strings.TrimSuffix(strings.TrimSuffix(after, "stay"), "\n")}
}

func TestTrimmingDoesNotAffectOtherFits(t *testing.T) {
	layout := laid(t, user(lines(conventions(9))), render.Options{Budget: plenty, Tokenizer: runes})
	small := fitted(t, layout, 200)
	whole := fitted(t, layout, plenty)
	require.Equal(t, string(conventions(9)), whole.Messages[0].Text())
	require.Empty(t, whole.Report().Pieces[0].TrimmedFrom)
	require.NotEmpty(t, small.Report().Pieces[0].TrimmedFrom)
	require.Equal(t, small.Tokens, runes.CountMessage(chat.Message{Role: chat.RoleUser, Content: small.Messages[0].Content}))
}

// Elements that were laid out later do not decide how the text is escaped.
func TestTrimmedTextStaysEscaped(t *testing.T) {
	cut := elements.TextChunk{BreakOn: ";", Least: 1, Children: elements.Nodes{elements.Text("a&b;</t>;c<d;e")}}
	other := elements.TextChunk{BreakOn: ";", Children: elements.Nodes{elements.Text("stay & stay")}}
	layout := laid(t, user(elements.Tag{Name: "t", Props: at(1), Children: elements.Nodes{cut}}, wrap(elements.Props{}, other)), render.Options{Budget: plenty, Tokenizer: runes})
	require.Equal(t, []string{"<t>\na&amp;b;&lt;/t&gt;;c&lt;d\n</t>\nstay & stay"}, texts(fitted(t, layout, 50).Messages))
}

// The chunk is beside the limit that trims.
func TestAChunkElsewhereDoesNotKeepTextFromBeingTrimmed(t *testing.T) {
	lost := func(root elements.Node) bool {
		return len(renderedWith(t, root, render.Options{Budget: plenty, Tokenizer: summing{runes}}).Report().Dropped()) > 0
	}
	for limit := 100; limit < 500; limit++ {
		var n elements.Node = lines(conventions(60))
		for range 2 {
			n = elements.Tag{Name: "t", Children: elements.Nodes{n}}
		}
		limited := user(elements.TokenLimit{Max: limit, Children: elements.Nodes{n}}, line("stay"))
		require.Equal(t, lost(limited), lost(elements.Nodes{elements.Chunk{Children: elements.Nodes{user(line("hello"))}}, limited}), limit)
	}
}

func TestATextIsNotTrimmedToItsMarkAlone(t *testing.T) {
	c := lines(elements.Text(strings.Repeat("a line of text that is longer than most\n", 5)))
	c.Mark = "[the rest was cut, read the file for it]"
	layout := laid(t, user(c, line("stay")), render.Options{Budget: plenty, Tokenizer: runes})
	require.Equal(t, []string{"stay"}, texts(fitted(t, layout, 60).Messages))
}
