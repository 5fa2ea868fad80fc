package el_test

import (
	"context"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/render"
)

func fitted(t *testing.T, root el.Node, budget int) (*render.Result, error) {
	t.Helper()
	return render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: sizingtest.Quarter{}})
}

// misplaced returns the error of a prompt with a misplaced option.
func misplaced(t *testing.T, root el.Node) *render.ElementError {
	t.Helper()
	_, err := fitted(t, root, 1000)
	require.ErrorContains(t, err, "el: the option does not apply here")
	return errtest.As[*render.ElementError](t, err)
}

// named is a caller's own element.
type named struct{ elements.Props }

func (n named) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	return value(ctx, s)
}

func value(context.Context, elements.Sizing) (elements.Node, error) {
	return elements.TextChunk{Children: elements.Nodes{elements.Text("a caller's own")}}, nil
}

var (
	long  = strings.Repeat("a few words, and no more\n", 20)
	group = &elements.Group{Name: "group"}
	call  = chat.ToolCall{ID: "1", Name: "view", Arguments: `{"path":"a.go"}`}
	other = chat.ToolCall{ID: "2", Name: "view", Arguments: `{"path":"b.go"}`}
	tool  = chat.Tool{Name: "view", Description: "shows a file"}
)

func chunk(s string, props ...elements.Props) elements.TextChunk {
	c := elements.TextChunk{Children: elements.Nodes{elements.Text(s)}}
	if len(props) > 0 {
		c.Props = props[0]
	}
	return c
}

// literals are calls of each constructor with their literals. Those that are not messages are tested in a user message,
// unless they belong outside messages.
var literals = map[string]struct{ built, literal elements.Node }{
	"Prompt": {el.Prompt(el.User(el.Text("a")), nil), elements.Nodes{elements.UserMessage{Children: elements.Nodes{chunk("a")}}, nil}},
	"System": {el.System(el.Text("a")), elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{chunk("a")}}},
	"System with a priority": {
		el.System(el.Priority(3), el.Text("a")),
		elements.SystemMessage{Props: elements.Props{Priority: new(3)}, Children: elements.Nodes{chunk("a")}},
	},
	"System with a priority, Required": {
		el.System(el.Priority(3), el.Text("a"), el.Required),
		elements.SystemMessage{Props: elements.Props{Priority: new(3), Required: true}, Children: elements.Nodes{chunk("a")}},
	},
	"User": {
		el.User(el.Grow(2), el.Basis(0.5), el.Reserve(10), el.Text("a"), el.Priority(1), el.Priority(2), el.ReportName("asked")),
		elements.UserMessage{
			Props:    elements.Props{Priority: new(2), FlexGrow: 2, FlexBasis: 0.5, FlexReserve: elements.Reserve{Tokens: 10}, ReportName: "asked"},
			Children: elements.Nodes{chunk("a")},
		},
	},
	"Assistant": {
		el.Assistant(el.Calls(call), el.Text("a"), el.CallsWith(group, other)),
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{{ToolCall: call}, {ToolCall: other, KeepWith: group}}, Children: elements.Nodes{chunk("a")}},
	},
	"ToolResult":          {el.ToolResult("1", el.Text("a")), elements.ToolMessage{ToolCallID: "1", Children: elements.Nodes{chunk("a")}}},
	"ToolResult, Failed":  {el.ToolResult("1", el.Failed), elements.ToolMessage{ToolCallID: "1", IsError: true}},
	"Text":                {el.Text("a", el.Priority(3)), chunk("a", elements.Props{Priority: new(3)})},
	"Text with more":      {el.Text("a", elements.Text("b"), el.Ref("r")), elements.TextChunk{Children: elements.Nodes{elements.Text("a"), elements.Text("b"), elements.Reference{Name: "r"}}}},
	"Textf":               {el.Textf("%d files", 3), chunk("3 files")},
	"Lines":               {el.Lines(long), elements.TextChunk{BreakOn: "\n", Children: elements.Nodes{elements.Text(long)}}},
	"Lines, cut at start": {el.Lines(long, el.CutStart, el.Mark("…")), elements.TextChunk{BreakOn: "\n", Cut: elements.CutStart, Mark: "…", Children: elements.Nodes{elements.Text(long)}}},
	"Words": {
		el.Words(long, el.Priority(3), el.CutMiddle, el.Least(4)),
		elements.TextChunk{Props: elements.Props{Priority: new(3)}, BreakOnWhitespace: true, Cut: elements.CutMiddle, Least: 4, Children: elements.Nodes{elements.Text(long)}},
	},
	"Fence": {
		el.Fence("go", long, el.Priority(3), el.CutStart, el.Least(4)),
		elements.Fence{Props: elements.Props{Priority: new(3)}, Language: "go", Children: elements.Nodes{elements.TextChunk{
			BreakOn: "\n", Cut: elements.CutStart, Least: 4, Children: elements.Nodes{elements.Text(long)},
		}}},
	},
	"First": {
		el.First(el.Priority(3), el.Text(long), el.Text("b")),
		elements.First{Props: elements.Props{Priority: new(3)}, Versions: elements.Nodes{chunk(long), chunk("b")}},
	},
	"Tag": {
		el.Tag("file", el.Attr("path", "a.go"), el.Attr("lines", "3"), el.Text("a")),
		elements.Tag{Name: "file", Attributes: []elements.Attribute{{Name: "path", Value: "a.go"}, {Name: "lines", Value: "3"}}, Children: elements.Nodes{chunk("a")}},
	},
	"Tag, empty": {el.Tag("here", el.Priority(3)), elements.Tag{Name: "here", Props: elements.Props{Priority: new(3)}}},
	"Wrap": {
		el.Wrap(el.PassPriority, el.Text("a")),
		elements.Wrap{Props: elements.Props{PassPriority: true}, Children: elements.Nodes{chunk("a")}},
	},
	"Ranked": {
		el.Ranked(el.Priority(20), el.Text("a"), el.Text(long)),
		elements.PrioritizedList{Descending: true, Props: elements.Props{Priority: new(20)}, Children: elements.Nodes{chunk("a"), chunk(long)}},
	},
	"Chronological": {el.Chronological(el.Text(long), el.Text("b")), elements.PrioritizedList{Children: elements.Nodes{chunk(long), chunk("b")}}},
	"Chronological, of lists": {
		el.Chronological(el.Text("a"), el.Each([]string{"b", "c"}, func(s string) el.Node { return el.Text(s) })),
		elements.PrioritizedList{Children: elements.Nodes{chunk("a"), chunk("b"), chunk("c")}},
	},
	"Together": {el.Together(el.Text(long), el.Text("b")), elements.Chunk{Children: elements.Nodes{chunk(long), chunk("b")}}},
	"Limit":    {el.Limit(10, el.Text(long), el.Text("b")), elements.TokenLimit{Max: 10, Children: elements.Nodes{chunk(long), chunk("b")}}},
	"KeepWith": {el.KeepWith(group, el.Required, el.Text("a")), elements.KeepWith{Group: group, Props: elements.Props{Required: true}, Children: elements.Nodes{chunk("a")}}},
	"IfEmpty":  {el.IfEmpty(el.Text("none"), el.Text(" ")), elements.IfEmpty{Alt: chunk("none"), Children: elements.Nodes{chunk(" ")}}},
	"Expand":   {el.Expand(value, el.Priority(3)), elements.Expandable{Value: value, Props: elements.Props{Priority: new(3)}}},
	"Tool":     {el.Tool(tool, el.Priority(3)), elements.Tool{Tool: tool, Props: elements.Props{Priority: new(3)}}},
	"Image": {
		el.Image("https://example.com/a.png", el.Detail(chat.DetailLow), el.Ref("a.png")),
		elements.Image{Source: "https://example.com/a.png", Detail: chat.DetailLow, Children: elements.Nodes{elements.Reference{Name: "a.png"}}},
	},
	"Document": {
		el.Document("application/pdf", "JVBERi0=", el.LocalMeta(3)),
		elements.Document{MediaType: "application/pdf", Data: "JVBERi0=", Children: elements.Nodes{elements.Meta[int]{Value: 3, Local: true}}},
	},
	"Ref":       {el.Ref("a.go"), elements.Reference{Name: "a.go"}},
	"Meta":      {el.Meta("a"), elements.Meta[string]{Value: "a"}},
	"LocalMeta": {el.LocalMeta("a"), elements.Meta[string]{Value: "a", Local: true}},
	"If":        {el.If(true, el.Text("a")), chunk("a")},
	"If not":    {el.If(false, el.Text("a")), nil},
	"Iff":       {el.Iff(true, func() el.Node { return el.Text("a") }), chunk("a")},
	"Iff not":   {el.Iff(false, func() el.Node { panic("it is made only if it is needed") }), nil},
	"Each":      {el.Each([]string{"a", "b"}, func(s string) el.Node { return el.Text(s) }), elements.Nodes{chunk("a"), chunk("b")}},
	"User with a category": {
		el.User(el.Category(elements.CategoryFiles), el.Text("a")),
		elements.UserMessage{Props: elements.Props{Category: elements.CategoryFiles}, Children: elements.Nodes{chunk("a")}},
	},
	"Func": {el.Func(value, el.Priority(3)), named{elements.Props{Priority: new(3), ReportName: "Func"}}},
	"Props": {
		named{el.Props(el.Priority(3), el.PassPriority, el.ReserveShare(0.25))},
		named{elements.Props{Priority: new(3), PassPriority: true, FlexReserve: elements.Reserve{Share: 0.25}}},
	},
}

func TestAConstructorRendersAsItsLiteral(t *testing.T) {
	for name, test := range literals {
		t.Run(name, func(t *testing.T) {
			if name != "Expand" && name != "Func" { // functions are not equal
				require.Equal(t, test.literal, test.built)
			}
			for budget := 1; budget < 200; budget += 3 {
				built, err := fitted(t, inPrompt(test.built), budget)
				literal, literalErr := fitted(t, inPrompt(test.literal), budget)
				if literalErr != nil {
					require.EqualError(t, err, literalErr.Error())
					continue
				}
				require.NoError(t, err)
				require.Equal(t, literal.Messages, built.Messages)
				require.Equal(t, literal.Tools, built.Tools)
				require.Equal(t, literal.Metadata, built.Metadata)
				require.Equal(t, literal.Report().String(), built.Report().String())
			}
		})
	}
}

// inPrompt puts a node that belongs in a message into one.
func inPrompt(n elements.Node) elements.Node {
	switch n.(type) {
	case elements.SystemMessage, elements.UserMessage, elements.AssistantMessage, elements.ToolMessage, elements.Nodes, elements.Tool:
		if list, ok := n.(elements.Nodes); !ok || len(list) == 0 || isMessage(list[0]) {
			return elements.Nodes{n}
		}
	}
	return elements.UserMessage{Children: elements.Nodes{n, chunk("the question")}}
}

func isMessage(n elements.Node) bool { _, ok := n.(elements.UserMessage); return ok }

// Each exported function that is not an option has a row above, and each that returns an element shows its literal.
func TestEachConstructorShowsItsLiteral(t *testing.T) {
	rows := slices.Collect(maps.Keys(literals))
	for _, f := range packageDoc(t).Funcs {
		if strings.Contains(f.Name, "_") {
			continue
		}
		require.Contains(t, rows, f.Name)
		if !slices.Contains([]string{"If", "Iff", "Each", "Textf"}, f.Name) {
			require.Regexp(t, `\n\t\S`, f.Doc, "%s shows no literal", f.Name)
		}
	}
}

// packageDoc returns the package's documentation. Options are listed with their type.
func packageDoc(t *testing.T) *doc.Package {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	names, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range names {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			file, err := parser.ParseFile(fset, e.Name(), nil, parser.ParseComments)
			require.NoError(t, err)
			files = append(files, file)
		}
	}
	p, err := doc.NewFromFiles(fset, files, "el")
	require.NoError(t, err)
	return p
}

func TestAMisplacedOptionIsAnErrorWithItsPath(t *testing.T) {
	for name, test := range map[string]struct {
		root       elements.Node
		path, said string
	}{
		"of another element":       {el.User(el.Attr("path", "a.go"), el.Text("a")), "User", `write Attr directly among the arguments of Tag`},
		"in a text":                {el.User(el.Text("a", el.Failed)), "User > Text", "write Failed directly among the arguments of ToolResult"},
		"a cut without a break":    {el.User(el.Text("a", el.CutStart)), "User > Text", "write CutStart directly among the arguments of Lines, Words or Fence"},
		"in an image":              {el.User(el.Image("https://example.com/a.png", el.Mark("…"))), "User > Image", `write Mark directly`},
		"in the prompt":            {el.Prompt(el.Priority(3), el.User(el.Text("a"))), "Root", "write Priority directly among the arguments of the constructor of an element"},
		"as the prompt":            {el.Required, "Root", "write Required directly"},
		"in a list":                {el.User(el.Nodes{el.Grow(2), el.Text("a")}), "User", "write Grow directly"},
		"in a loop":                {el.User(el.Tag("a", el.Each([]int{1}, func(int) el.Node { return el.Reserve(1) }))), "User > a", "write Reserve directly"},
		"in a literal":             {elements.UserMessage{Children: elements.Nodes{el.Basis(2), el.Text("a")}}, "User", "write Basis directly"},
		"of a ranked list's child": {el.User(el.Ranked(el.Text("a"), el.Calls(call))), "User > Ranked", "write Calls directly among the arguments of Assistant"},
		"as the alternative":       {el.User(el.IfEmpty(el.Priority(1))), "User > IfEmpty > Wrap#1", "write Priority directly"},
		"from a function": {
			el.User(el.Func(func(context.Context, elements.Sizing) (el.Node, error) { return el.Priority(1), nil })), "User > Func", "write Priority directly",
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := misplaced(t, test.root)
			require.Equal(t, test.path, at.Path)
			require.ErrorContains(t, at, test.said)
		})
	}
}

func TestAnOptionMayBeConditional(t *testing.T) {
	for _, urgent := range []bool{true, false} {
		require.Equal(t, urgent, el.Text("a", el.If(urgent, el.Required)).Required)
	}
}

func TestABasisOf0IsTheSmallest(t *testing.T) {
	r, err := fitted(t, el.User(el.Lines(long, el.Basis(0), el.ReportName("0")), el.Lines(long, el.Basis(0.01), el.ReportName("0.01"))), 80)
	require.NoError(t, err)
	require.False(t, r.Kept("0"))
	require.True(t, r.Kept("0.01"))
}

func TestAConstructorLeavesItsArgumentsAsTheyAre(t *testing.T) {
	args := []el.Node{el.Priority(3), el.Text("a"), el.Text("b")}
	first, second := el.User(args...), el.User(args...)
	require.Equal(t, first, second)
	require.Equal(t, elements.Nodes{chunk("a"), chunk("b")}, first.Children)
}

func TestFuncWithoutAFunctionIsAnErrorWithItsPath(t *testing.T) {
	_, err := fitted(t, el.User(el.Func(nil, el.ReportName("retrieval"))), 100)
	require.EqualError(t, err, "render: User > retrieval: el: Func has no function: give it one that returns a node")
}

func TestAPanicOfAFunctionHasItsPath(t *testing.T) {
	_, err := fitted(t, el.User(el.Func(func(context.Context, elements.Sizing) (el.Node, error) { panic("oh") }, el.ReportName("retrieval"))), 100)
	at := errtest.As[*render.ElementError](t, err)
	require.Equal(t, "User > retrieval", at.Path)
	require.NotEmpty(t, at.Stack)
}

func TestArgumentsThatMakeNoSenseAreErrorsWithTheirPath(t *testing.T) {
	for name, test := range map[string]struct {
		root el.Node
		want string
	}{
		"an image that is no URL":             {el.User(el.Image("not a url")), `User > Image: el: the argument makes no sense: an image of "not a url"`},
		"a document without a type":           {el.User(el.Document("", "xyz")), "User > Document: el: the argument makes no sense: a document without a media type"},
		"a ranked child with a priority":      {el.User(el.Ranked(el.Text("a", el.Priority(5)), el.Text("b"))), "User > Ranked: el: the argument makes no sense: a child of a list that ranks its children has a Priority of 5"},
		"a ranked child of Each":              {el.User(el.Chronological(el.Each([]int{7}, func(n int) el.Node { return el.Text("a", el.Priority(n)) }))), "has a Priority of 7"},
		"an attribute that is set twice":      {el.User(el.Tag("a", el.Attr("x", "1"), el.Attr("x", "2"), el.Text("b"))), `User > a: the attribute "x" of the tag a is set twice`},
		"an attribute of an empty tag, twice": {el.User(el.Tag("a", el.Attr("x", "1"), el.Attr("x", "2"))), "is set twice"},
	} {
		_, err := render.Render(t.Context(), test.root, render.Options{Budget: 10_000, Tokenizer: sizingtest.Quarter{}})
		require.ErrorContains(t, err, test.want, name)
	}
	for _, source := range []string{"https://example.com/a.png", "data:image/png;base64,AAAA", "iVBORw0KGgo=", "gs://bucket/a"} {
		_, err := render.Render(t.Context(), el.User(el.Image(source), el.Text("what is it?")), render.Options{Budget: 10_000, Tokenizer: sizingtest.Quarter{}})
		require.NoError(t, err, source)
	}
}
