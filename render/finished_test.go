package render_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing"
)

// said returns a round: an assistant message with a call, and its result.
func said(i int) []chat.Message {
	id := fmt.Sprint("call", i)
	return []chat.Message{
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "a thought", Signature: "s"}, chat.Text("I look. "), chat.Text(sentence(i))}, ToolCalls: []chat.ToolCall{{ID: id, Name: "read", Arguments: `{"path":"a.go"}`}}},
		{Role: chat.RoleTool, ToolCallID: id, Content: chat.Parts{
			chat.Text(sentence(i + 1)), chat.Image{URL: "https://example.com"}, chat.NewDocument("text/plain", []byte("a document")),
			chat.Opaque{Value: []byte(`{}`), Tokens: 3}, chat.CacheBreakpoint{Type: "ephemeral"},
		}},
	}
}

// Tokens, messages and report are the same.
func TestFinishedRendersAsAChunkOfItsMessages(t *testing.T) {
	for _, props := range []elements.Props{{}, at(3), must(3), {PassPriority: true}} {
		finished := &elements.Finished{Props: props, Messages: said(1)}
		for _, tokenizer := range append(joiners(t), words, pairs, framing{summing{runes}}) { // each finds the layout that the previous one cached
			plain := elements.Chunk{Props: props, Children: el.Each(said(1), func(m chat.Message) elements.Node { return elements.Message(elements.Props{}, m) })}
			around := func(n elements.Node) elements.Node {
				return elements.Nodes{userAt(1, chunk(1, "before")), n, userAt(5, chunk(1, "after"), elements.Wrap{Children: elements.Nodes{line("and more")}})}
			}
			opts := render.Options{Budget: plenty, Tokenizer: tokenizer}
			for range 2 { // the second time the layout is cached
				want := renderedWith(t, around(plain), opts)
				for budget := want.Tokens; budget > 0; budget -= 3 {
					opts.Budget = budget
					want, wantErr := render.Render(t.Context(), around(plain), opts)
					got, err := render.Render(t.Context(), around(finished), opts)
					require.Equal(t, wantErr == nil, err == nil, "%v, %v", wantErr, err)
					require.Empty(t, cmp.Diff(want, got, cmpopts.IgnoreUnexported(render.Result{})))
					require.Empty(t, cmp.Diff(want.Report(), got.Report(), cmpopts.IgnoreFields(render.Piece{}, "Path", "DecidedBy")))
				}
				opts.Budget = plenty
			}
		}
	}
}

// Renders with several tokenizers share an element concurrently, and a caller may change the messages of its result.
func TestFinishedIsSharedBetweenRenders(t *testing.T) {
	shared := &elements.Finished{Props: must(1), Messages: said(1)}
	want := map[int]*render.Result{}
	tokenizers := append(joiners(t), chat.Tokenizer(words))
	for i, tokenizer := range tokenizers {
		r := renderedWith(t, &elements.Finished{Props: must(1), Messages: said(1)}, render.Options{Budget: plenty, Tokenizer: tokenizer})
		want[i] = r
	}
	var all sync.WaitGroup
	for i, tokenizer := range tokenizers {
		for range 20 {
			all.Go(func() {
				r, err := render.Render(t.Context(), shared, render.Options{Budget: plenty, Tokenizer: tokenizer})
				if assert.NoError(t, err) {
					assert.Equal(t, want[i].Messages, r.Messages)
					assert.Equal(t, want[i].Tokens, r.Tokens)
					r.Messages[0].Content[0] = chat.Text("changed")
					r.Messages[0].ToolCalls[0].ID = "changed"
				}
			})
		}
	}
	all.Wait()
}

func TestFinishedIsAnErrorWhereItsMessagesWouldBe(t *testing.T) {
	require.ErrorIs(t, failed[*render.ElementError](t, user(&elements.Finished{Messages: []chat.Message{chat.UserMessage("no")}}), plenty), tree.ErrNestedMessage)
	twice := &elements.Finished{Messages: []chat.Message{chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a"}, {ID: "a"}}}}}
	err := failed[*render.ElementError](t, elements.Nodes{twice}, plenty)
	require.ErrorIs(t, err, tree.ErrDuplicateCall)
	require.Equal(t, "Finished > Assistant", err.Path)
	var none *elements.Finished
	require.ErrorIs(t, failed[*render.ElementError](t, elements.Nodes{none}, plenty), tree.ErrNilElement)
}

func TestFinishedIsCountedAgainAfterItsTokenizerLearned(t *testing.T) {
	learning := &sizing.Calibrated{Base: words}
	shared := &elements.Finished{Props: must(1), Messages: said(1)}
	render1 := func() int {
		r := renderedWith(t, shared, render.Options{Budget: plenty, Tokenizer: learning})
		sum := 0
		for _, m := range r.Messages {
			sum += learning.CountMessage(m)
		}
		require.Equal(t, sum, r.Tokens)
		return sum
	}
	before := render1()
	learning.Observe(chat.Request{Messages: said(1)}, chat.Response{Message: chat.AssistantMessage("so it is"), Usage: chat.Usage{Input: 10 * before, Output: 1}})
	require.NotEqual(t, before, render1())
}

// The element after finished messages is offered what they leave, as after other messages.
func TestFinishedIsChargedAtLayout(t *testing.T) {
	var offered offers
	grows := elements.UserMessage{Props: elements.Props{FlexGrow: 1}}
	counted := &elements.Finished{Messages: said(1)}
	renderedWith(t, counted, render.Options{Budget: plenty, Tokenizer: words})
	message := []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Text(strings.Repeat("a", 60))}}}
	for name, said := range map[string]elements.Node{
		"plain":    el.Each(message, func(m chat.Message) elements.Node { return elements.Message(elements.Props{}, m) }),
		"finished": &elements.Finished{Messages: message},
		"larger":   &elements.Finished{Messages: append(message, message...)},

		"finished round":       &elements.Finished{Messages: said(1)},
		"counted by another's": counted,
	} {
		grows.Children = elements.Nodes{offered.echo(name, elements.Props{}, 1)}
		rendered(t, elements.Nodes{said, grows}, 200)
	}
	require.Equal(t, map[string]int{
		"plain": 134, "finished": 134, "larger": 71, "finished round": 38, "counted by another's": 38,
	}, offered.budgets)
}
