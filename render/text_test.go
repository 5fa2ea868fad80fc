package render_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func TestTextsAreJoinedWithLineBreaksBetweenElements(t *testing.T) {
	a, b, c := elements.Text("a"), elements.Text("b"), elements.Text("c")
	image := elements.Image{Source: "i"}
	picture := chat.Image{URL: "i"}
	tests := []struct {
		name     string
		children elements.Nodes
		want     chat.Parts
	}{
		{"literals are joined as they are", elements.Nodes{a, b}, chat.Parts{chat.Text("ab")}},
		{"a line break is kept", elements.Nodes{a, elements.LineBreak{}, b}, chat.Parts{chat.Text("a\nb")}},
		{"a text chunk starts on its own line", elements.Nodes{a, line("b"), c}, chat.Parts{chat.Text("a\nbc")}},
		{"a text chunk does not start with a line break", elements.Nodes{line("a"), line("b")}, chat.Parts{chat.Text("a\nb")}},
		{"a line that has ended is not ended again", elements.Nodes{elements.Text("a\n"), line("b")}, chat.Parts{chat.Text("a\nb")}},
		{"an empty text chunk ends the line too", elements.Nodes{a, line(""), b}, chat.Parts{chat.Text("a\nb")}},
		{"a text chunk joins its texts and line breaks", elements.Nodes{elements.TextChunk{Children: elements.Nodes{a, elements.LineBreak{}, elements.Nodes{b, nil, c}}}}, chat.Parts{chat.Text("a\nbc")}},
		{"an element starts on its own line after an element", elements.Nodes{wrap(elements.Props{}, a), wrap(elements.Props{}, b)}, chat.Parts{chat.Text("a\nb")}},
		{"an element continues the line of text before it", elements.Nodes{a, wrap(elements.Props{}, b), wrap(elements.Props{}, c)}, chat.Parts{chat.Text("ab\nc")}},
		{"text continues the line of an element before it", elements.Nodes{wrap(elements.Props{}, a), b}, chat.Parts{chat.Text("ab")}},
		{"only the first text of an element starts a line", elements.Nodes{wrap(elements.Props{}, a), wrap(elements.Props{}, b, c)}, chat.Parts{chat.Text("a\nbc")}},
		{"a list is not an element", elements.Nodes{elements.Nodes{a}, elements.Nodes{b}}, chat.Parts{chat.Text("ab")}},
		{"another part separates two texts", elements.Nodes{a, image, b}, chat.Parts{chat.Text("a"), picture, chat.Text("b")}},
		{"no line break beside another part", elements.Nodes{line("a"), image, line("b")}, chat.Parts{chat.Text("a"), picture, chat.Text("b")}},
		{"an empty text beside another part is a part", elements.Nodes{elements.Text(""), image}, chat.Parts{chat.Text(""), picture}},
		{"an opaque value is put before the text of its text chunk", elements.Nodes{elements.TextChunk{Children: elements.Nodes{a, elements.Opaque{Value: []byte(`1`), Tokens: 4}, b}}}, chat.Parts{chat.Opaque{Value: []byte(`1`), Tokens: 4}, chat.Text("ab")}},
		{"an opaque value stays unparsed", elements.Nodes{elements.Opaque{Value: []byte(`{ "b" : 1,"a":[ ]}`)}}, chat.Parts{chat.Opaque{Value: []byte(`{ "b" : 1,"a":[ ]}`)}}},
		{"of several cache breakpoints in a row the last is kept", elements.Nodes{a, elements.CacheBreakpoint{Type: "x"}, elements.CacheBreakpoint{Type: "y"}, b, elements.CacheBreakpoint{Type: "x"}}, chat.Parts{chat.Text("a"), chat.CacheBreakpoint{Type: "y"}, chat.Text("b"), chat.CacheBreakpoint{Type: "x"}}},
		{"thinking and documents are parts", elements.Nodes{elements.Thinking{Thought: chat.Thinking{Text: "t", Signature: "s"}}, elements.Document{Data: "d", MediaType: "m"}}, chat.Parts{chat.Thinking{Text: "t", Signature: "s"}, chat.Document{Data: "d", MediaType: "m"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := rendered(t, user(test.children...), plenty)
			require.Empty(t, cmp.Diff([]chat.Message{{Role: chat.RoleUser, Content: test.want}}, r.Messages))
			require.Equal(t, runes.CountMessage(r.Messages[0]), r.Tokens)
		})
	}
}

// A text that is not the first of its element does not become the first.
func TestPruningDoesNotChangeWhichTextsStartLines(t *testing.T) {
	root := user(wrap(elements.Props{}, elements.Text("a")), wrap(elements.Props{}, chunk(1, "b"), elements.Text("c")))
	require.Equal(t, []string{"a\nbc"}, texts(rendered(t, root, plenty).Messages))
	require.Equal(t, []string{"ac"}, texts(rendered(t, root, 6).Messages))
}

func TestElementsOfEachRoleBecomeMessages(t *testing.T) {
	group := &elements.Group{}
	root := elements.Nodes{
		elements.SystemMessage{Name: "n", Children: elements.Nodes{elements.Text("s")}},
		elements.UserMessage{Name: "m", Children: elements.Nodes{elements.Text("u")}},
		elements.AssistantMessage{Name: "o", ToolCalls: []elements.ToolCall{call("x", group), call("y", nil)}, Children: elements.Nodes{elements.Text("a")}},
		elements.KeepWith{Group: group, Children: elements.Nodes{result("x", "r")}},
		elements.ToolMessage{ToolCallID: "y", IsError: true, Children: elements.Nodes{elements.Text("e")}},
	}
	want := []chat.Message{
		{Role: chat.RoleSystem, Name: "n", Content: chat.Parts{chat.Text("s")}},
		{Role: chat.RoleUser, Name: "m", Content: chat.Parts{chat.Text("u")}},
		{Role: chat.RoleAssistant, Name: "o", Content: chat.Parts{chat.Text("a")}, ToolCalls: []chat.ToolCall{{ID: "x", Name: "x", Arguments: "x"}, {ID: "y", Name: "y", Arguments: "y"}}},
		{Role: chat.RoleTool, ToolCallID: "x", Content: chat.Parts{chat.Text("r")}},
		{Role: chat.RoleTool, ToolCallID: "y", IsError: true, Content: chat.Parts{chat.Text("e")}},
	}
	r := rendered(t, root, plenty)
	require.Empty(t, cmp.Diff(want, r.Messages))
	require.Equal(t, 5*3+3+5+4, r.Tokens)
	require.Equal(t, plenty, r.Budget)
}

func TestTagsAreWrittenAroundTheirContent(t *testing.T) {
	tag := func(name string, children ...elements.Node) elements.Tag {
		return elements.Tag{Name: name, Children: children}
	}
	fromUser := own{render: func(context.Context, elements.Sizing) (elements.Node, error) {
		return elements.Nodes{elements.Text("<u>"), elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) {
			return elements.Text("&"), nil
		}}}, nil
	}}
	tests := []struct {
		name     string
		children elements.Nodes
		want     string
	}{
		{"the ends of a tag are on lines of their own", elements.Nodes{tag("x", elements.Text("a"))}, "<x>\na\n</x>"},
		{"text around a tag is on lines of its own", elements.Nodes{elements.Text("a"), tag("x", elements.Text("b")), elements.Text("c")}, "a\n<x>\nb\n</x>\nc"},
		{"a line break after a tag is enough", elements.Nodes{tag("x", elements.Text("b")), elements.LineBreak{}, elements.Text("c")}, "<x>\nb\n</x>\nc"},
		{"text that ends its line is not ended again", elements.Nodes{tag("x", elements.Text("a\n"))}, "<x>\na\n</x>"},
		{"tags nest", elements.Nodes{tag("x", tag("y", elements.Text("a")), tag("z", elements.Text("b")))}, "<x>\n<y>\na\n</y>\n<z>\nb\n</z>\n</x>"},
		{"a tag without children is a single tag", elements.Nodes{elements.Text("a"), tag("x"), line("b")}, "a\n<x/>\nb"},
		{"text is escaped", elements.Nodes{tag("x", elements.Text(`</x> & "a" 'b'`))}, "<x>\n&lt;/x&gt; &amp; \"a\" 'b'\n</x>"},
		{"text outside tags is not escaped", elements.Nodes{elements.Text("<"), tag("x", elements.Text("a")), elements.Text(">")}, "<\n<x>\na\n</x>\n>"},
		{"text in text chunks is escaped", elements.Nodes{tag("x", line("<"), elements.TextChunk{BreakOn: " ", Children: elements.Nodes{elements.Text("a>")}})}, "<x>\n&lt;\na&gt;\n</x>"},
		{"text in nested tags is escaped once", elements.Nodes{tag("x", tag("y", elements.Text("<&")))}, "<x>\n<y>\n&lt;&amp;\n</y>\n</x>"},
		{"text of the caller's own elements and of expandables is escaped", elements.Nodes{tag("x", wrap(elements.Props{}, fromUser))}, "<x>\n&lt;u&gt;&amp;\n</x>"},
		{
			"attributes keep their order and are escaped",
			elements.Nodes{elements.Tag{Name: "x", Attributes: []elements.Attribute{{Name: "b", Value: "<\"&'>"}, {Name: "a", Value: "1\n2\t3\r"}, {Name: "c"}}}},
			`<x b="&lt;&quot;&amp;'&gt;" a="1&#10;2&#9;3&#13;" c=""/>`,
		},
		{"a tag with nil children is not written", elements.Nodes{elements.Text("a"), tag("x", nil, el.If(false, elements.Text("b")))}, "a"},
		{"a tag with only white space is not written", elements.Nodes{elements.Text("a"), tag("x", line(" ")), elements.Text("b")}, "ab"},
		{"names may hold digits and signs", elements.Nodes{tag("_x-1.y:z", elements.Text("a"))}, "<_x-1.y:z>\na\n</_x-1.y:z>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, []string{test.want}, texts(rendered(t, user(test.children...), plenty).Messages))
		})
	}
}

func TestTagIsPrunedWithItsContent(t *testing.T) {
	root := user(
		line("x"),
		elements.Tag{Name: "t", Props: at(1), Children: elements.Nodes{chunk(1, "a"), chunk(2, "b")}},
		elements.Tag{Name: "e", Props: at(2)},
	)
	require.Equal(t, []string{"x\n<t>\na\nb\n</t>\n<e/>"}, texts(rendered(t, root, plenty).Messages))
	require.Equal(t, []string{"x\n<t>\nb\n</t>\n<e/>"}, texts(rendered(t, root, 21).Messages))
	require.Equal(t, []string{"x\n<e/>"}, texts(rendered(t, root, 19).Messages))
	require.Equal(t, []string{"x"}, texts(rendered(t, root, 8).Messages))
}

func TestTagsAndAttributesHaveValidNames(t *testing.T) {
	for _, name := range []string{"", "1", "-a", "a b", "a>", "a/", "é", "a\n"} {
		err := failed[*render.ElementError](t, user(wrap(elements.Props{}, elements.Tag{Name: name})), plenty)
		require.Equal(t, "User > Wrap > Tag", err.Path, "a tag named %q", name)
		err = failed[*render.ElementError](t, user(elements.Tag{Name: "a", Attributes: []elements.Attribute{{Name: name}}}), plenty)
		require.Equal(t, "User > a", err.Path, "an attribute named %q", name)
	}
}

// laidOut returns the text of a chunk that is laid out with a share of this many tokens.
func laidOut(t *testing.T, c elements.TextChunk, share int, tokenizer chat.Tokenizer) string {
	t.Helper()
	// A tool message costs nothing at layout, so that the chunk's share is the whole budget.
	c.FlexBasis = 1
	root := elements.ToolMessage{Children: elements.Nodes{elements.Text("|"), c}}
	budget := share + tokenizer.CountText("|")
	layout := laid(t, root, render.Options{Budget: budget, Tokenizer: tokenizer})
	r := fitted(t, layout, plenty)
	text, kept := strings.CutPrefix(r.Messages[0].Text(), "|\n")
	if p := r.Report().Pieces[1]; !kept {
		require.Equal(t, render.Reason("share"), p.Dropped)
		return ""
	}
	require.Equal(t, tokenizer.CountText(text), r.Report().Pieces[1].Tokens)
	return text
}

func TestTextChunksAreCutToTheirShare(t *testing.T) {
	pattern := regexp.MustCompile(`[0-9]+`)
	tests := []struct {
		name  string
		chunk elements.TextChunk
		text  string
		share int
		want  string
	}{
		{"without a break it is never cut", elements.TextChunk{}, "aa bb cc", 3, "aa bb cc"},
		{"a text that fits is not cut", elements.TextChunk{BreakOn: ","}, "aa,bb,cc", 8, "aa,bb,cc"},
		{"it ends before the break", elements.TextChunk{BreakOn: ","}, "aa,bb,cc", 7, "aa,bb"},
		{"up to the share and no further", elements.TextChunk{BreakOn: ","}, "aa,bb,cc", 4, "aa"},
		{"it is empty if not even the first piece fits", elements.TextChunk{BreakOn: ","}, "aa,bb,cc", 1, ""},
		{"it is empty if its share is 0", elements.TextChunk{BreakOn: ","}, "aa,bb,cc", 0, ""},
		{"a break at the start is a break", elements.TextChunk{BreakOn: ","}, ",aa", 1, ""},
		{"a break may be long", elements.TextChunk{BreakOn: "--"}, "a---b--c", 6, "a---b"},
		{"without its break in the text it stays whole or is empty", elements.TextChunk{BreakOn: ";"}, "aa,bb", 4, ""},
		{"white space is cut before any run of it", elements.TextChunk{BreakOnWhitespace: true}, "aa \n\t bb\u3000cc", 9, "aa \n\t bb"},
		{"a run of white space is not cut within", elements.TextChunk{BreakOnWhitespace: true}, "aa   bb", 4, "aa"},
		{"white space at the end may be cut", elements.TextChunk{BreakOnWhitespace: true}, "aa ", 2, "aa"},
		{"a pattern is cut before any match", elements.TextChunk{BreakOnPattern: pattern}, "aa1bb234cc", 7, "aa1bb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.chunk.Children = elements.Nodes{elements.Text(test.text)}
			require.Equal(t, test.want, laidOut(t, test.chunk, test.share, runes))
		})
	}
}

// A real tokenizer merges across breaks, so a longer text may have fewer tokens.
func TestTextChunksAreCutBeforeTheFirstBreakThatExceedsTheirShare(t *testing.T) {
	tokenizer := tiktoken.Cl100k()
	text := strings.Repeat("The quick brown fox, 12 345 times:  it\tjumps...  over\n\n\tthe lazy dog! ", 4)
	for _, test := range []struct {
		chunk elements.TextChunk
		ends  *regexp.Regexp
	}{
		{elements.TextChunk{BreakOn: " "}, regexp.MustCompile(" ")},
		{elements.TextChunk{BreakOn: "o"}, regexp.MustCompile("o")},
		{elements.TextChunk{BreakOnWhitespace: true}, regexp.MustCompile(`\s+`)},
		{elements.TextChunk{BreakOnPattern: regexp.MustCompile(`[a-m]`)}, regexp.MustCompile(`[a-m]`)},
	} {
		test.chunk.Children = elements.Nodes{elements.Text(text)}
		for share := range tokenizer.CountText(text) + 2 {
			want := ""
			for _, end := range append(test.ends.FindAllStringIndex(text, -1), []int{len(text)}) {
				if tokenizer.CountText(text[:end[0]]) > share {
					break
				}
				want = text[:end[0]]
			}
			got := laidOut(t, test.chunk, share, tokenizer)
			require.Equal(t, want, got, "%s in %d tokens", test.ends, share)
			require.LessOrEqual(t, tokenizer.CountText(got), share)
		}
	}
}

func TestTextChunksAreCutThereEvenIfALongerTextWouldFitAgain(t *testing.T) {
	merging := tokens(func(s string) int { return runes(s) - 3*strings.Count(s, "!") })
	c := elements.TextChunk{BreakOn: ",", Children: elements.Nodes{elements.Text("aa,a,aa,!,aa")}} // 2, 4, 7, 6 and 9 tokens
	require.Equal(t, "aa,a", laidOut(t, c, 6, merging))
	require.Equal(t, "aa,a,aa,!", laidOut(t, c, 7, merging))
}

func TestTextChunkTakesOnlyText(t *testing.T) {
	for name, child := range map[string]elements.Node{
		"an image":                       elements.Image{Source: "i"},
		"an element":                     wrap(elements.Props{}, elements.Text("a")),
		"a text chunk":                   line("a"),
		"an element of the caller's own": own{},
		"a cache breakpoint":             elements.CacheBreakpoint{},
	} {
		err := failed[*render.ElementError](t, user(elements.TextChunk{Children: elements.Nodes{child}}), plenty)
		require.Equal(t, "User > Text", err.Path, name)
	}
}

func TestInvalidBreaksAreErrors(t *testing.T) {
	pattern := regexp.MustCompile("a")
	for name, c := range map[string]elements.TextChunk{
		"two breaks":                       {BreakOn: ",", BreakOnWhitespace: true},
		"a text and a pattern":             {BreakOn: ",", BreakOnPattern: pattern},
		"a pattern that can match nothing": {BreakOnPattern: regexp.MustCompile("a*")},
	} {
		err := failed[*render.ElementError](t, user(c), plenty)
		require.ErrorIs(t, err, tree.ErrBreak, name)
		require.Equal(t, "User > Text", err.Path, name)
	}
}

func TestAFenceIsLongerThanWhatItHoldsAndEscapesNothing(t *testing.T) {
	source := elements.Text("if a < b && c {\n\treturn\n}\n")
	code := func(language string, children ...elements.Node) elements.Fence {
		return elements.Fence{Language: language, Children: children}
	}
	for name, test := range map[string]struct {
		root elements.Node
		want string
	}{
		"a text":                         {code("go", lines(source)), "```go\nif a < b && c {\n\treturn\n}\n```"},
		"without a language":             {code("", elements.Text("x")), "```\nx\n```"},
		"in a tag":                       {elements.Tag{Name: "file", Children: elements.Nodes{line("a < b"), code("go", lines(source))}}, "<file>\na &lt; b\n```go\nif a < b && c {\n\treturn\n}\n```\n</file>"},
		"a fence in the text":            {code("md", elements.Text("```go\nx\n```")), "````md\n```go\nx\n```\n````"},
		"a row of many backticks":        {code("", line("a"), elements.Nodes{elements.TextChunk{Children: elements.Nodes{elements.Text("``"), elements.Text("```")}}}), "``````\na\n`````\n``````"},
		"rows that are joined":           {code("", elements.Text("``"), elements.Text("``"), line("x")), "`````\n````\nx\n`````"},
		"without text it is not there":   {elements.Nodes{line("a"), code("go", elements.Text(""))}, "a"},
		"a chunk that looks like an end": {code("", elements.Text("x\n```\n<b>")), "````\nx\n```\n<b>\n````"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{test.want}, texts(rendered(t, user(test.root), plenty).Messages))
		})
	}

	for name, wrong := range map[string]elements.Node{
		"a line break in the language": code("go\nx", line("a")), "a backtick in the language": code("`", line("a")),
		"an element in it": code("go", wrap(elements.Props{}, line("a"))),
	} {
		require.Equal(t, "User > Fence", failed[*render.ElementError](t, user(wrong), plenty).Path, name)
	}
	require.ErrorIs(t, failed[*render.ElementError](t, code("go", line("a")), plenty), tree.ErrOutsideMessage)
}

func TestAMarkDoesNotEndItsFence(t *testing.T) {
	for _, mark := range []string{"```", "`````", "…"} {
		root := user(el.Fence("go", strings.Repeat("line of text\n", 30), el.Priority(1), el.CutMiddle, el.Mark(mark)))
		text := rendered(t, root, 120).Messages[0].Text()
		require.Contains(t, text, "\n"+mark+"\n")
		fence, _, _ := strings.Cut(text, "go\n")
		require.Equal(t, 2, strings.Count(text, fence), text)
	}
}

func TestAFenceIsTrimmedInside(t *testing.T) {
	tokenizer := tiktoken.O200k()
	var source strings.Builder
	for i := range 60 {
		fmt.Fprintf(&source, "if a < %d && b[%d] > c { return `x` }\n", i, i*i)
	}
	fence := el.Tag("file", el.Priority(1), el.Attr("path", "a.go"), el.Fence("go", source.String(), el.Least(1)))
	root := el.Prompt(el.User(fence, el.Text("Is it right?", el.Required)))
	layout := laid(t, root, render.Options{Budget: plenty, Tokenizer: tokenizer})
	whole := fitted(t, layout, plenty)
	for budget := 60; budget < whole.Tokens; budget++ {
		r := fitted(t, layout, budget)
		require.Greater(t, r.Tokens, budget-30, "what fits is used")
		text := r.Messages[0].Text()
		body, ok := strings.CutPrefix(text, "<file path=\"a.go\">\n```go\n")
		require.True(t, ok, text)
		body, ok = strings.CutSuffix(body, "\n```\n</file>\nIs it right?")
		require.True(t, ok, text)
		require.True(t, strings.HasPrefix(source.String(), body+"\n"))
	}
	require.Equal(t, []string{"Is it right?"}, texts(fitted(t, layout, 25).Messages))
}

// A list of only plain chunks is laid out by a shorter path.
func TestPlainChunksAreTheSameBesideOtherElements(t *testing.T) {
	text := elements.Nodes{elements.Text("other")}
	for name, other := range map[string]elements.Node{
		"plain":          elements.TextChunk{Children: text},
		"a pointer":      &elements.TextChunk{Children: text},
		"two texts":      elements.TextChunk{Children: elements.Nodes{elements.Text("oth"), elements.Text("er")}},
		"with FlexGrow":  elements.TextChunk{Props: elements.Props{FlexGrow: 1}, Children: text},
		"with a break":   elements.TextChunk{BreakOn: "#", Children: text},
		"that passes on": elements.TextChunk{Props: elements.Props{PassPriority: true}, Children: text},
		"in a list":      elements.Nodes{elements.TextChunk{Children: text}},
		"a Wrap":         elements.Wrap{Children: elements.Nodes{elements.TextChunk{Children: text}}},
	} {
		for at := range 3 {
			t.Run(fmt.Sprintf("%s at %d", name, at), func(t *testing.T) {
				list := elements.Nodes{chunk(1, "one"), chunk(2, "two")}
				list = append(list[:at:at], append(elements.Nodes{other}, list[at:]...)...)
				r := renderedWith(t, user(list...), render.Options{Budget: 1000, Tokenizer: summing{runes}})
				lines := []string{"one", "two"}
				lines = append(lines[:at:at], append([]string{"other"}, lines[at:]...)...)
				require.Equal(t, fmt.Sprintf("%s\n%s\n%s", lines[0], lines[1], lines[2]), r.Messages[0].Text())
				pieces := r.Report().Pieces
				require.Len(t, pieces, 3)
				for i, p := range pieces {
					require.Equal(t, len(lines[i]), p.Tokens)
					if i != at {
						require.Equal(t, map[string]int{"one": 1, "two": 2}[lines[i]], *p.Priority)
						require.Contains(t, p.Path, "User > Text#")
					}
				}
			})
		}
	}
}
