package render_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
)

// agentPrompt returns a prompt like an agent's: rules, droppable examples, a conversation, files, the last round with
// its tools, and the question.
func agentPrompt() elements.Node {
	type exchange struct{ question, answer string }
	past := []exchange{
		{"Which module is this?", "It is promptree, a module for prompts."},
		{"How are the tests run?", "With go test ./... from the root, with the race detector in CI."},
		{"Is there a linter?", "gofmt and go vet."},
	}
	files := []elements.Tag{
		{Name: "file", Attributes: []elements.Attribute{{Name: "path", Value: "render/prune.go"}}},
		{Name: "file", Attributes: []elements.Attribute{{Name: "path", Value: "render/tree.go"}}},
	}
	contents := []string{
		"func (p *pruner) prune(container *node, limit int) (stuck *node) {\n\tfor p.count(container) > limit {\n\t}\n\treturn nil\n}",
		"type node struct {\n\tlaid *laid\n\tparent *node\n}",
	}
	for i := range files {
		files[i].Children = elements.Nodes{elements.Text(contents[i]), elements.Reference{Name: files[i].Attributes[0].Value}}
	}
	round := &elements.Group{Name: "round"}
	return elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{
			elements.Text("You are a coding agent. Answer in one sentence."),
		}},
		elements.LegacyPrioritization{Props: at(10), Children: elements.Nodes{
			userAt(0, chunk(2, "Example: what does fmt.Println do?")),
			elements.AssistantMessage{Children: elements.Nodes{chunk(1, "It prints its arguments and a line break.")}},
		}},
		elements.PrioritizedList{Props: at(100), Children: el.Each(past, func(e exchange) elements.Node {
			return elements.Chunk{Children: elements.Nodes{
				elements.UserMessage{Children: elements.Nodes{elements.Text(e.question)}},
				elements.AssistantMessage{Children: elements.Nodes{elements.Text(e.answer)}},
			}}
		})},
		elements.UserMessage{Props: at(200), Children: elements.Nodes{
			elements.Text("These files may help:"),
			elements.TokenLimit{Max: 30, Children: elements.Nodes{
				elements.PrioritizedList{Descending: true, Children: elements.Nodes{files[0], files[1]}},
			}},
			elements.Image{Props: at(-5), Source: "https://example.com/tree.png", Detail: chat.DetailLow},
		}},
		elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("How does pruning end?")}},
		elements.AssistantMessage{Props: at(301), ToolCalls: []elements.ToolCall{
			{ToolCall: chat.ToolCall{ID: "call_1", Name: "read", Arguments: `{"path":"render/prune.go"}`}, KeepWith: round},
		}, Children: elements.Nodes{chunk(0, "Let me look at the source.")}},
		elements.KeepWith{Props: at(300), Group: round, Children: elements.Nodes{
			elements.ToolMessage{ToolCallID: "call_1", Children: elements.Nodes{
				elements.TextChunk{BreakOnWhitespace: true, Children: elements.Nodes{elements.Text("It takes pieces out of container, one at a time, until its exact count is at most limit.")}},
			}},
		}},
	}
}

func TestReportOfAnAgentsPromptIsGolden(t *testing.T) {
	layout := laid(t, agentPrompt(), render.Options{Budget: 400, Tokenizer: words})
	for _, budget := range []int{400, 120, 90, 60, 40, 15} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			var b strings.Builder
			r, err := layout.Fit(t.Context(), budget)
			if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
				fmt.Fprintf(&b, "%v\n\n%v", over, render.Report{Pieces: over.Largest})
				golden.Equal(t, fmt.Sprintf("agent_%d.golden", budget), b.String())
				return
			}
			require.NoError(t, err)
			fmt.Fprintf(&b, "%d tokens of %d\n", r.Tokens, r.Budget)
			for _, m := range r.Messages {
				data, err := json.MarshalIndent(m, "", "  ")
				require.NoError(t, err)
				fmt.Fprintf(&b, "%s\n", data)
			}
			fmt.Fprintf(&b, "references %v, omitted %v\n\n%v", names(r.References), names(r.OmittedReferences), r.Report())
			golden.Equal(t, fmt.Sprintf("agent_%d.golden", budget), b.String())
		})
	}
}

func names(references []elements.Reference) []string {
	list := make([]string, len(references))
	for i, r := range references {
		list[i] = r.Name
	}
	return list
}

// fates returns for each piece its kind, its tokens and why it was dropped, without its path.
func fates(r render.Report) []string {
	list := make([]string, len(r.Pieces))
	for i, p := range r.Pieces {
		list[i] = strings.TrimSpace(fmt.Sprintf("%s %d %s", p.Kind, p.Tokens, p.Dropped))
		if p.Limit != "" {
			list[i] += " for " + p.Limit
		}
	}
	return list
}

func TestReportSaysWhyEachPieceWasDropped(t *testing.T) {
	group := &elements.Group{}
	keep := func(priority int, children ...elements.Node) elements.KeepWith {
		return elements.KeepWith{Props: at(priority), Group: group, Children: children}
	}
	tests := []struct {
		name   string
		root   elements.Node
		budget int
		want   []string
	}{
		{
			"pieces of every kind, and line breaks, in document order",
			elements.Nodes{
				elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("xy", nil)}, Children: elements.Nodes{
					elements.Thinking{Thought: chat.Thinking{Text: "1234"}}, elements.Text("12"), elements.LineBreak{},
				}},
				user(elements.Image{Source: "i"}, elements.Document{Data: "d"}, elements.Opaque{Value: []byte("1"), Tokens: 9}, elements.CacheBreakpoint{}, elements.Tag{Name: "x"}),
			},
			plenty,
			[]string{"toolCall 4", "thinking 4", "text 2", "text 1", "image 5", "document 7", "opaque 9", "cacheBreakpoint 0", "text 4"},
		},
		{
			"the lowest piece is dropped for its priority, the white space beside it because it is emptied",
			elements.Nodes{user(chunk(1, "ab"), line(" ")), user(line("c"))},
			6,
			[]string{"text 2 priority", "text 1 emptied", "text 1"},
		},
		{
			"a chunk's pieces are dropped with the chunk",
			user(elements.Chunk{Props: at(1), Children: elements.Nodes{chunk(1, "ab"), line("c")}}, line("d")),
			6,
			[]string{"text 2 chunk", "text 1 chunk", "text 1"},
		},
		{
			"pieces and calls are dropped with their group",
			elements.Nodes{
				elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("x", group), call("y", nil)}},
				keep(1, result("x", "ab")), user(keep(2, line("c")), line("d")),
			},
			14,
			[]string{"toolCall 2 group", "toolCall 2", "text 2 priority", "text 1 group", "text 1"},
		},
		{
			"a limit is named by its path, also for pieces outside that were dropped with those in it",
			elements.Nodes{
				elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("x", group)}, Children: elements.Nodes{elements.Text("t")}},
				elements.TokenLimit{Max: 4, Children: elements.Nodes{keep(1, result("x", "ab"))}},
				user(keep(2, line("c")), line("d"), chunk(0, "e")),
			},
			8,
			[]string{"toolCall 2 group for Limit", "text 1", "text 2 priority for Limit", "text 1 group for Limit", "text 1", "text 1 priority"},
		},
		{
			"a call that was dropped with its group before its message is reported so",
			elements.Nodes{
				elements.AssistantMessage{Props: at(2), ToolCalls: []elements.ToolCall{call("x", group), call("y", nil)}},
				keep(1, result("x", "ab")), user(line("d")),
			},
			4,
			[]string{"toolCall 2 group", "toolCall 2 priority", "text 2 priority", "text 1"},
		},
		{
			"of an IfEmpty only the side that was taken is reported",
			user(elements.IfEmpty{Alt: line("alt"), Children: elements.Nodes{line("given")}}),
			plenty,
			[]string{"text 5"},
		},
		{
			"an expandable is reported as it grew",
			user(elements.Expandable{Value: fill("e", 1)}, wrap(elements.Props{}, elements.Text("a"))),
			20,
			[]string{"text 15", "text 1"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := rendered(t, test.root, test.budget)
			require.Empty(t, cmp.Diff(test.want, fates(r.Report())))
			require.Len(t, r.Report().Pieces, len(r.Report().Kept())+len(r.Report().Dropped()))
		})
	}
}

// A group may be dropped for a limit in an expandable that then grows to something else. The limit keeps its old path.
func TestReportNamesALimitThatWasReplaced(t *testing.T) {
	group := &elements.Group{}
	grows := elements.Expandable{Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		limits := elements.Nodes{
			elements.TokenLimit{Max: 10, Children: elements.Nodes{line("one")}},
			elements.TokenLimit{Max: 10, Children: elements.Nodes{chunk(1, "kept"), elements.KeepWith{Props: at(0), Group: group, Children: elements.Nodes{line("more than ten")}}}},
		}
		if s.TokenBudget > 150 {
			return limits[:1], nil
		}
		return limits, nil
	}}
	root := user(grows, elements.KeepWith{Group: group, Children: elements.Nodes{line("goes along")}}, elements.TextChunk{Props: elements.Props{FlexGrow: 1}, Children: elements.Nodes{elements.Text("last")}})
	result := fitted(t, laid(t, root, render.Options{Budget: 100, Tokenizer: runes}), 1000)
	require.Equal(t, []string{"one\nlast"}, texts(result.Messages))
	dropped := result.Report().Dropped()
	require.Len(t, dropped, 1)
	require.Equal(t, "User > Expand > Limit#2", dropped[0].Limit)
}

// The report lists the same pieces at every budget, and those that it says were kept are in the messages.
func TestReportListsEveryPiece(t *testing.T) {
	layout := laid(t, agentPrompt(), render.Options{Budget: 400, Tokenizer: words})
	all := fitted(t, layout, plenty)
	for budget := all.Tokens; ; budget-- {
		r, err := layout.Fit(t.Context(), budget)
		if err != nil {
			break
		}
		require.Len(t, r.Report().Pieces, len(all.Report().Pieces))
		textTokens, images, calls := 0, 0, 0
		for i, p := range r.Report().Pieces {
			whole := all.Report().Pieces[i]
			p.Dropped, p.Limit, p.Priority, p.DecidedBy = whole.Dropped, whole.Limit, whole.Priority, ""
			if p.TrimmedFrom > 0 {
				require.Less(t, p.Tokens, p.TrimmedFrom)
				p.Tokens, p.TrimmedFrom = p.TrimmedFrom, 0
			}
			require.Equal(t, whole, p)
		}
		for _, p := range r.Report().Kept() {
			switch p.Kind {
			case "text":
				textTokens += p.Tokens
			case "image":
				images++
			case "toolCall":
				calls++
			}
		}
		for _, m := range r.Messages {
			for _, p := range m.Content {
				switch p := p.(type) {
				case chat.Text:
					// Words never merge here. The message has more tokens only for the ends of the tags.
					textTokens -= words(string(p)) - 3*strings.Count(string(p), "</file>")
				case chat.Image:
					images--
				}
			}
			calls -= len(m.ToolCalls)
		}
		require.Zero(t, textTokens)
		require.Zero(t, images)
		require.Zero(t, calls)
	}
}

func TestReportPrintsATableWithSums(t *testing.T) {
	group := &elements.Group{Name: "handlers"}
	r := rendered(t, elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("rules")}},
		user(elements.TokenLimit{Max: 3, Children: elements.Nodes{chunk(1, "ab"), chunk(2, "cd")}}, chunk(-1, "efg")),
		userAt(5, elements.KeepWith{Group: group, Children: elements.Nodes{line("h")}}),
	}, 14)
	require.Equal(t, strings.TrimLeft(`
System                    5 tokens  -            kept: required
User#1 > Limit > Text#1   2 tokens  priority 1   dropped for User#1 > Limit
User#1 > Limit > Text#2   2 tokens  priority 2   kept
User#1 > Text             3 tokens  priority -1  dropped for the budget
User#2 > KeepWith > Text  1 token   priority 5   dropped for the budget, with group "handlers"
kept: 7 tokens, pieces: 2; dropped: 6 tokens, pieces: 3
joins and frames: 6 tokens; in all: 13 tokens
`, "\n"), r.Report().String())
}

func TestReportAsLogAndJSON(t *testing.T) {
	r := rendered(t, user(chunk(1, "ab"), chunk(2, "cde"), line("f")), 5)
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})).Info("rendered", "report", r.Report())
	require.Equal(t, `level=INFO msg=rendered report.tokens=4 report.kept=1 report.kept_tokens=1 report.trimmed_tokens=0 report.dropped=2 report.dropped_tokens=5 `+
		`report.dropped_pieces="[User > Text#1 (2 tokens, dropped for the budget) User > Text#2 (3 tokens, dropped for the budget)]"`+"\n", b.String())

	report := r.Report()
	report.Pieces = report.Pieces[1:]
	data := sure.JSON(t, report)
	require.JSONEq(t, `{"tokens":4,"pieces":[{"path":"User > Text#2","name":"User","kind":"text","priority":2,"tokens":3,"dropped":"priority"},`+
		`{"path":"User > Text#3","name":"User","kind":"text","tokens":1}]}`, string(data))
}

func TestTextThatWasCutAtLayoutIsReported(t *testing.T) {
	root := user(elements.TextChunk{Props: elements.Props{FlexBasis: 1}, BreakOn: "\n", Children: elements.Nodes{elements.Text("one\ntwo\nthree")}}, line("x"))
	for budget, want := range map[int]string{100: "kept", 14: "trimmed: 7 of 13 tokens", 6: "dropped: no share of the budget was left"} {
		result := fitted(t, laid(t, root, render.Options{Budget: budget, Tokenizer: runes}), 100)
		require.Equal(t, want != "kept", result.Report().Pieces[0].Cut)
		require.Equal(t, 13, max(result.Report().Pieces[0].Tokens, result.Report().Pieces[0].TrimmedFrom), "the tokens that it would have had")
		require.Contains(t, result.Report().String(), want+"\n")
	}
}

func TestReferencesAreKeptWithTheirText(t *testing.T) {
	cite := func(priority int, text, name string) elements.Node {
		return elements.TextChunk{Props: at(priority), Children: elements.Nodes{elements.Text(text), elements.Reference{Name: name}}}
	}
	root := elements.Nodes{
		elements.Reference{Name: "root"},
		user(cite(1, "a", "x"), cite(2, "b", "y"), cite(3, "c", "x"), cite(0, "d", "z"), elements.Reference{Name: "message"}),
	}
	r := rendered(t, root, plenty)
	require.Equal(t, []string{"root", "message", "x", "y", "z"}, names(r.References), "each name once")
	require.Empty(t, r.OmittedReferences)

	r = rendered(t, root, 6)
	require.Equal(t, []string{"root", "message", "y", "x"}, names(r.References), "a reference is kept if one of its texts is")
	require.Equal(t, []string{"z"}, names(r.OmittedReferences))
}

func TestLocalMetadataIsDroppedWithItsElement(t *testing.T) {
	note := func(name string, local bool) elements.Node { return elements.Meta[string]{Value: name, Local: local} }
	root := elements.Nodes{
		note("local to the root is global", true),
		elements.UserMessage{Props: elements.Props{FlexGrow: 1}, Children: elements.Nodes{note("laid out last", false), line("a")}},
		user(
			elements.TextChunk{Props: at(1), Children: elements.Nodes{elements.Text("b"), note("dropped text", true), note("global", false)}},
			elements.TextChunk{Props: at(2), Children: elements.Nodes{elements.Text("c"), note("kept text", true)}},
			note("local", true),
			elements.Meta[int]{Value: 7},
		),
	}
	r := rendered(t, root, plenty)
	require.Equal(t, []string{"local to the root is global", "global", "laid out last", "local", "dropped text", "kept text"}, elements.AllMeta[string](r.Metadata))
	r = rendered(t, root, 8)
	require.Equal(t, []string{"local to the root is global", "global", "laid out last", "local", "kept text"}, elements.AllMeta[string](r.Metadata))
	seven, ok := elements.MetaOf[int](r.Metadata)
	require.True(t, ok)
	require.Equal(t, 7, seven)
}

func TestAPieceIsNamedByTheNearestElementThatSaysWhatItHolds(t *testing.T) {
	line := elements.Nodes{line("a")}
	for _, n := range []elements.Node{
		elements.Text("a"), line[0], elements.Fence{Children: line}, elements.Wrap{Children: line}, elements.Chunk{Children: line}, elements.KeepWith{Children: line},
		elements.LegacyPrioritization{Children: line}, elements.TokenLimit{Max: 9, Children: line}, elements.PrioritizedList{Children: line},
		elements.IfEmpty{Children: line}, elements.First{Versions: line}, elements.Expandable{Value: gives("a")}, elements.Image{Source: "i"}, elements.Document{Data: "d"},
		elements.Thinking{Thought: chat.Thinking{Text: "a", Signature: "s"}},
	} {
		root := elements.AssistantMessage{Props: elements.Props{ReportName: "draft"}, Children: elements.Nodes{n}}
		for _, p := range renderedWith(t, root, render.Options{Budget: 1000, Tokenizer: words}).Report().Pieces {
			require.Equal(t, "draft", p.Name, "%T", n)
		}
	}
}

func TestNamesInPaths(t *testing.T) {
	named := func(name string) elements.Props { return elements.Props{ReportName: name} }
	tests := []struct {
		name string
		root elements.Node
		want string
	}{
		{"a message has the name of its role", elements.SystemMessage{Children: elements.Nodes{elements.Text("a")}}, "System"},
		{"a tag has its own name", user(elements.Tag{Name: "file", Children: elements.Nodes{line("a")}}), "User > file"},
		{"ReportName replaces the name of the type", user(elements.Tag{Name: "file", Props: named("file a.go"), Children: elements.Nodes{line("a")}}), "User > file a.go"},
		{"ReportName has one line, and nothing that steers a terminal", user(elements.Tag{Name: "file", Props: named("a\nb\tc\x1b[2J.go"), Children: elements.Nodes{line("a")}}), `User > a b c\u001b[2J.go`},
		{"ReportName replaces the name of a text chunk", user(elements.TextChunk{Props: named("question"), Children: elements.Nodes{elements.Text("a")}}), "User > question"},
		{"ReportName replaces the name of an element of the caller's own", user(own{Props: named("retrieval"), render: gives("a")}), "User > retrieval"},
		{"siblings with the same ReportName are numbered", user(wrap(named("w"), line("a")), wrap(named("w"))), "User > w#1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, rendered(t, test.root, plenty).Report().Pieces[0].Path)
		})
	}
}

// gives renders to a text.
func gives(text elements.Text) func(context.Context, elements.Sizing) (elements.Node, error) {
	return func(context.Context, elements.Sizing) (elements.Node, error) { return text, nil }
}

// Each dropped piece has the path and the priority of the element that was chosen, and its group.
func TestReportSaysWhatDecided(t *testing.T) {
	group := &elements.Group{Name: "handlers"}
	file := func(name string, priority int) elements.Node {
		return elements.Wrap{Props: at(priority), Children: elements.Nodes{elements.KeepWith{Group: group, Children: elements.Nodes{
			elements.Tag{Name: "file", Props: elements.Props{ReportName: "file " + name}, Children: elements.Nodes{line("some text"), line("more")}},
		}}}}
	}
	root := user(file("handler.go", 40), file("handler_test.go", 50), elements.Chunk{Props: at(60), Children: elements.Nodes{line("a chunk"), line("of two")}}, line("stay"))
	r := rendered(t, root, 12)
	type decided struct {
		path, by string
		priority int
		group    string
		why      render.Reason
	}
	var got []decided
	for _, p := range r.Report().Dropped() {
		got = append(got, decided{p.Path, p.DecidedBy, *p.Priority, p.Group, p.Dropped})
	}
	const last = "User > Wrap#1 > KeepWith > file handler.go > Text#2" // its removal empties the file
	require.Equal(t, []decided{
		{"User > Wrap#1 > KeepWith > file handler.go > Text#1", "", 40, "handlers", render.Reason("priority")},
		{last, "", 40, "handlers", render.Reason("priority")},
		{"User > Wrap#2 > KeepWith > file handler_test.go > Text#1", last, 40, "handlers", render.Reason("group")},
		{"User > Wrap#2 > KeepWith > file handler_test.go > Text#2", last, 40, "handlers", render.Reason("group")},
		{"User > Together > Text#1", "User > Together", 60, "", render.Reason("chunk")},
		{"User > Together > Text#2", "User > Together", 60, "", render.Reason("chunk")},
	}, got)
	require.Contains(t, r.Report().String(), `dropped for the budget, with group "handlers"`)
}

func TestPiecesThatDifferOnlyInTheirNumbersShareARow(t *testing.T) {
	files := func(priority int, names ...string) (list elements.Nodes) {
		for _, name := range names {
			list = append(list, elements.Tag{Props: at(priority), Name: "file", Children: elements.Nodes{chunk(priority, name), chunk(priority, name+"!")}})
		}
		return list
	}
	prompt := user(files(1, "a", "b", "c"), files(2, "d"), line("what is it?"))
	result := rendered(t, prompt, 60)
	require.Equal(t, ""+
		"User > file > Text ×4  6 tokens   priority 1  dropped for the budget\n"+
		"User > file > Text ×2  3 tokens   priority 1  kept\n"+
		"User > file > Text ×2  3 tokens   priority 2  kept\n"+
		"User > Text            11 tokens  -           kept\n"+
		"kept: 17 tokens, pieces: 5; dropped: 6 tokens, pieces: 4\n"+
		"joins and frames: 37 tokens; in all: 54 tokens\n", result.Report().String())
}

func TestAPieceHasTheNearestNameThatSaysWhatItIs(t *testing.T) {
	file := func(name, source string, options ...el.Node) el.Node {
		return el.Tag("file", append(options, el.Attr("path", name), el.Fence("go", source))...)
	}
	root := el.Prompt(
		el.Tool(chat.Tool{Name: "read"}, el.Required),
		el.System(el.Text("rules")),
		el.User(
			file("f0.go", "zero", el.ReportName("f0.go"), el.Priority(1)), file("f1.go", "one"), file("f2.go", "two"),
			el.Wrap(el.ReportName("notes"), el.Text("first"), el.Ranked(el.Text("second"))), el.Limit(50, el.Text("last")),
		),
	)
	r := rendered(t, root, rendered(t, root, plenty).Tokens-1)
	var got []string
	for _, p := range r.Report().Pieces {
		got = append(got, p.Name+" in "+p.Path)
	}
	require.Equal(t, []string{
		"read in read", "System in System > Text", "f0.go in User > f0.go", "file#1 in User > file#1", "file#2 in User > file#2",
		"notes in User > notes > Text", "notes in User > notes > Ranked > Text", "User in User > Limit > Text",
	}, got)
	for _, name := range []string{"read", "System", "User", "file", "file#2", "notes"} {
		require.True(t, r.Kept(name), name)
	}
	for _, name := range []string{"f0.go", "file#3", "", "Fence"} {
		require.False(t, r.Kept(name), name)
	}
	require.Equal(t, "priority", string(r.Report().Dropped()[0].Dropped))
	require.Empty(t, r.Report().Dropped()[0].DecidedBy, "the tag was chosen, which is the piece")
	require.Contains(t, r.Report().String(), "User > f0.go")
	require.NotContains(t, r.Report().String(), "Fence")
	fenced := r.Outline().Children[2].Children[1]
	require.Equal(t, "file#1", fenced.Name)
	require.Equal(t, "one", fenced.Text, "one line for the tag, the fence and the text")
	require.Equal(t, `<file path="f1.go">`, fenced.Tag)
	require.Empty(t, fenced.Children)
}
