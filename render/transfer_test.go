package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/internal/transfer"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// toTransfer renders content to the transfer form.
func toTransfer(t *testing.T, root elements.Node) json.RawMessage {
	t.Helper()
	data, err := render.Transfer(t.Context(), root, render.Options{Budget: plenty, Tokenizer: runes})
	require.NoError(t, err)
	return data
}

func TestTransferredContentIsPrunedLikeLocalContent(t *testing.T) {
	group := &elements.Group{}
	content := elements.Nodes{
		elements.Text("first"), elements.LineBreak{},
		chunk(2, "two"), chunk(1, "one"),
		elements.Chunk{Props: at(3), Children: elements.Nodes{line("three"), line("four")}},
		elements.KeepWith{Props: at(4), Group: group, Children: elements.Nodes{line("five")}},
		elements.KeepWith{Props: at(0), Group: group, Children: elements.Nodes{line("six")}},
		elements.Wrap{Props: elements.Props{PassPriority: true}, Children: elements.Nodes{chunk(5, "seven")}},
		elements.IfEmpty{Alt: elements.Text("none"), Children: elements.Nodes{elements.Text(" ")}},
		elements.LegacyPrioritization{Props: at(6), Children: elements.Nodes{chunk(1, "eight"), chunk(0, "nine")}},
		elements.Image{Props: at(7), Source: "iVBORw0", Detail: "low"},
		elements.Document{Data: "JVBER", MediaType: "application/pdf"},
		elements.Opaque{Value: json.RawMessage(`{"a":1}`), Tokens: 3},
		elements.Nodes{elements.TextChunk{Children: elements.Nodes{elements.Reference{Name: "source"}, elements.Text("cited")}}},
	}
	data := toTransfer(t, content)
	for budget := 30; budget < 130; budget += 3 {
		// In a Wrap, because a transferred tree is one element.
		want := rendered(t, user(elements.Wrap{Children: content}), budget)
		got := rendered(t, user(elements.Transferred{Data: data}), budget)
		require.Equal(t, want.Messages, got.Messages, budget)
		require.Equal(t, want.Tokens, got.Tokens)
		require.Equal(t, len(want.References), len(got.References))
	}
}

func TestTransferWritesAReserveOfZeroThatWasGiven(t *testing.T) {
	given := elements.Wrap{Props: elements.Props{FlexReserve: elements.Reserve{Zero: true}}, Children: elements.Nodes{line("a")}}
	data := toTransfer(t, given)
	require.Contains(t, string(data), `"flexReserve":0`)
	require.Contains(t, string(toTransfer(t, elements.Transferred{Data: data})), `"flexReserve":0`, "transferred again")
	given.FlexReserve.Zero = false
	require.NotContains(t, string(toTransfer(t, given)), "flexReserve")
}

// A literal text with a line break before it is still not an element.
func TestTransferredTextMayHaveABreakAndAnElementBesideIt(t *testing.T) {
	data := json.RawMessage(`{"node":{"type":1,"ctor":2,"children":[
		{"type":2,"text":"a","lineBreakBefore":true,"priority":3},
		{"type":1,"ctor":2,"children":[{"type":2,"text":"b","priority":2}]}]}}`)
	for _, tokenizer := range append(joiners(t), runes) {
		root := user(line("z"), elements.Transferred{Data: data}, chunk(1, "c"))
		whole := renderedWith(t, root, render.Options{Budget: plenty, Tokenizer: tokenizer})
		require.Equal(t, []string{"z\nab\nc"}, texts(whole.Messages))
		less := renderedWith(t, root, render.Options{Budget: whole.Tokens - 1, Tokenizer: tokenizer})
		require.Equal(t, []string{"z\nab"}, texts(less.Messages))
		require.Equal(t, tokenizer.CountMessage(less.Messages[0]), less.Tokens)
	}
}

func TestTransferRefusesMessagesAndBreakpoints(t *testing.T) {
	tests := []struct {
		name string
		root elements.Node
		want error
	}{
		{"a message", user(line("a")), transfer.ErrMessage},
		{"a tool message", result("1", "a"), transfer.ErrMessage},
		{"a cache breakpoint", elements.CacheBreakpoint{}, tree.ErrBreakpointPlace},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := render.Transfer(t.Context(), test.root, render.Options{Budget: plenty, Tokenizer: runes})
			require.ErrorIs(t, err, test.want)
		})
	}
}

func TestMalformedTransferNamesThePlace(t *testing.T) {
	text := `{"type":2,"text":"a"}`
	piece := func(children string) string { return `{"type":1,"ctor":2,"children":[` + children + `]}` }
	deep := strings.Repeat(`{"type":1,"ctor":2,"children":[`, 1000) + strings.Repeat(`]}`, 1000)
	tests := []struct{ name, data, place string }{
		{"no JSON", `{`, "data"},
		{"nothing", `{}`, "data"},
		{"the root is not a piece", `{"node":` + text + `}`, "node.type"},
		{"unknown type", `{"node":` + piece(text+`,{"type":9}`) + `}`, "node.children[1].type"},
		{"unknown kind of piece", `{"node":{"type":1,"ctor":9,"children":[]}}`, "node.ctor"},
		{"no children", `{"node":{"type":1,"ctor":2}}`, "node.children"},
		{"children that are not a list", `{"node":{"type":1,"ctor":2,"children":{}}}`, "node.children"},
		{"text of a wrong type", `{"node":` + piece(`{"type":2,"text":5}`) + `}`, "node.children[0].text"},
		{"no text", `{"node":` + piece(`{"type":2}`) + `}`, "node.children[0].text"},
		{"no value", `{"node":` + piece(`{"type":3}`) + `}`, "node.children[0].value"},
		{"a negative number of tokens", `{"node":` + piece(`{"type":3,"value":1,"tokenUsage":-1}`) + `}`, "node.children[0].tokenUsage"},
		{"a huge number", `{"node":` + piece(`{"type":2,"text":"a","priority":1e400}`) + `}`, "node.children[0].priority"},
		{"a priority beyond what JavaScript counts", `{"node":{"type":1,"ctor":2,"props":{"priority":99999999999999999},"children":[]}}`, "node.props"},
		{"unknown flags", `{"node":{"type":1,"ctor":2,"flags":77,"children":[]}}`, "node.flags"},
		{"an IfEmpty of one side", `{"node":{"type":1,"ctor":2,"flags":8,"children":[` + text + `]}}`, "node.children"},
		{"no role", `{"node":{"type":1,"ctor":1,"props":{"role":7},"children":[]}}`, "node.props.role"},
		{"an image without a source", `{"node":` + piece(`{"type":1,"ctor":3,"children":[]}`) + `}`, "node.children[0].props.src"},
		{"an invalid reserve", `{"node":{"type":1,"ctor":2,"props":{"flexReserve":"/0"},"children":[]}}`, "node.props"},
		{"a reference without an anchor", `{"node":{"type":1,"ctor":2,"references":[{}],"children":[]}}`, "node.references"},
		{"a tree that is too deep", `{"node":` + deep + `}`, ("node" + strings.Repeat(".children[0]", 20))[:200] + "…"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := render.Render(t.Context(), user(elements.Transferred{Data: json.RawMessage(test.data)}), render.Options{Budget: plenty, Tokenizer: runes})
			var wrong *render.TransferError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, test.place, wrong.Place)
			require.ErrorContains(t, err, "User")
		})
	}
	t.Run("text outside a message", func(t *testing.T) {
		_, err := render.Render(t.Context(), elements.Transferred{Data: json.RawMessage(`{"node":` + piece(text) + `}`)}, render.Options{Budget: plenty, Tokenizer: runes})
		require.ErrorIs(t, err, tree.ErrOutsideMessage)
	})
}

func FuzzTransferred(f *testing.F) {
	f.Add(`{"node":{"type":1,"ctor":2,"children":[{"type":2,"text":"a","priority":1}]}}`)
	f.Add(`{"node":{"type":1,"ctor":2,"flags":8,"keepWithId":0,"children":[{"type":3,"value":{}},{"type":1,"ctor":3,"props":{"src":"/9j/"},"children":[]}]}}`)
	f.Fuzz(func(t *testing.T, data string) {
		r, err := render.Render(t.Context(), user(elements.Transferred{Data: json.RawMessage(data)}, line("kept")), render.Options{Budget: 20, Tokenizer: runes})
		if err == nil {
			require.LessOrEqual(t, r.Tokens, 20)
		}
	})
}
