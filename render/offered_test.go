package render_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
)

// shown is an element that shows a conversation, shaped like those of package history.
type shown struct {
	elements.Props
	Children elements.Nodes
}

func (shown) ShowsHistory() {}

func (s shown) Render(context.Context, elements.Sizing) (elements.Node, error) {
	return s.Children, nil
}

// talked returns required history of one round for each letter, the oldest first, with priorities from 0 up.
func talked(letters string) shown { return talkedFrom(0, letters) }

func talkedFrom(lowest int, letters string) shown {
	s := shown{Props: elements.Props{Required: true}}
	for i, letter := range strings.Split(letters, "") {
		s.Children = append(s.Children, elements.WithPriority{Priority: lowest + i, Node: spoken(letter)})
	}
	return s
}

// spoken returns a round: a call with its result.
func spoken(letter string) *elements.Finished {
	asks := chat.AssistantMessage(letter)
	asks.ToolCalls = []chat.ToolCall{{ID: letter, Name: "read"}}
	return &elements.Finished{Messages: []chat.Message{asks, chat.ToolResult(letter, letter)}}
}

// asked returns the current request.
func asked(text string) shown {
	return shown{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Message(elements.Props{}, chat.UserMessage(text))}}
}

func laid(t *testing.T, root elements.Node, opts render.Options) *render.Layout {
	t.Helper()
	if opts.Budget == 0 {
		opts.Budget = plenty
	}
	if opts.Tokenizer == nil {
		opts.Tokenizer = runes
	}
	layout, err := render.Lay(t.Context(), root, opts)
	require.NoError(t, err)
	return layout
}

// steps is prunes with the options of a fit. Each letter of a round is in its call, the call's id and the result.
func steps(t *testing.T, root elements.Node, o render.FitOptions) string {
	t.Helper()
	layout := laid(t, root, render.Options{})
	removed := prunedBy(t, func(budget int) (*render.Result, error) {
		o.Budget = budget
		r, err := layout.FitWith(t.Context(), o)
		if err != nil {
			over := errtest.As[*render.BudgetExceededError](t, err)
			require.Empty(t, over.Limit)
			require.Equal(t, budget+1, over.Needed)
		}
		return r, err
	})
	return string(slices.Compact([]rune(removed)))
}

func TestKeepUnrankedPrunesOnlyWhatIsOffered(t *testing.T) {
	group := &elements.Group{}
	for _, tt := range []struct {
		rule string
		root elements.Node
		want string
	}{
		{"a piece without a priority stays", user(line("a"), chunk(1, "b"), elements.Text("c"), chunk(math.MinInt, "d")), "d; b; stuck"},
		{"a priority offers everything in its element", elements.Nodes{user(line("a")), userAt(5, line("b"), elements.Text("c"), wrap(elements.Props{}, line("d")))}, "c; b; d; stuck"},
		{"the highest priority is none", user(chunk(1<<53-1, "a"), chunk(math.MaxInt, "b"), chunk(1<<53-2, "c")), "c; stuck"},
		{"an element with PassPriority offers nothing", user(wrap(passing, line("a"), chunk(1, "b"))), "b; stuck"},
		{"required pieces stay in an offered element", elements.Nodes{userAt(5, need(1, "a"), line("b")), user(line("c"))}, "b; stuck"},
		{"a chunk with an unranked piece stays whole", user(elements.Chunk{Children: elements.Nodes{chunk(1, "a"), line("b")}}, chunk(9, "c")), "c; stuck"},
		{"a chunk of offered pieces is removed whole", user(elements.Chunk{Children: elements.Nodes{chunk(1, "a"), chunk(2, "b")}}, line("c")), "ab; stuck"},
		{
			"a group with an unranked member stays whole",
			user(elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{line("a")}}, elements.KeepWith{Group: group, Children: elements.Nodes{line("b")}}, chunk(2, "c")),
			"c; stuck",
		},
		{
			"an unranked message keeps its calls, and their results",
			elements.Nodes{
				elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("a", group)}, Children: elements.Nodes{chunk(3, "b")}},
				elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{result("a", "c")}},
			},
			"b; stuck",
		},
		{
			"an offered round is removed with its results",
			elements.Nodes{
				elements.Chunk{Props: at(1), Children: elements.Nodes{elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("a", nil)}}, result("a", "b")}},
				user(line("c")),
			},
			"ab; stuck",
		},
		{
			"a list gives priorities",
			user(elements.PrioritizedList{Children: elements.Nodes{elements.Text("a"), line("b"), elements.Nodes{line("c")}}}, elements.WithPriority{Priority: 7, Node: line("d")}),
			"d; a; b; stuck",
		},
		{"in a LegacyPrioritization the pieces' own priorities count", user(elements.LegacyPrioritization{Children: elements.Nodes{wrap(elements.Props{}, chunk(2, "a")), line("b"), chunk(1, "c")}}), "c; a; stuck"},
		{"of an IfEmpty only the side that is taken counts", user(line("a"), elements.IfEmpty{Alt: line("b"), Children: elements.Nodes{chunk(1, " ")}}, elements.IfEmpty{Props: at(1), Alt: line("c")}), "c; stuck"},
		{"a breakpoint is no piece that must stay", elements.Nodes{user(chunk(1, "a"), elements.CacheBreakpoint{}), user(chunk(2, "b"), line("c"))}, "a; b; stuck"},
		{"a message of only offered pieces is removed", elements.Nodes{user(chunk(1, "a"), chunk(2, "b")), user(line("c"))}, "a; b; stuck"},
		{"history without a priority stays", elements.Nodes{shown{Children: elements.Nodes{spoken("a")}}, userAt(1, line("b"))}, "b; stuck"},
		{"droppable history is offered", elements.Nodes{shown{Children: talked("ab").Children}, asked("c"), user(line("d"))}, "a; b; stuck"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.want, steps(t, tt.root, render.FitOptions{KeepUnranked: true}))
			layout := laid(t, tt.root, render.Options{KeepUnranked: true})
			floor, _, err := layout.Floor(t.Context(), render.FitOptions{Budget: 1, KeepUnranked: true})
			require.NoError(t, err)
			_, err = layout.Fit(t.Context(), floor-1)
			require.Equal(t, floor, errtest.As[*render.BudgetExceededError](t, err).Needed)
			require.Equal(t, floor, fitted(t, layout, floor).Tokens)
		})
	}
}

func TestKeepUnrankedReportsWhatStaysAsRequired(t *testing.T) {
	root := elements.Nodes{
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("a", nil)}, Children: elements.Nodes{line("b"), chunk(1, "c")}},
		result("a", "d"),
	}
	r := fitted(t, laid(t, root, render.Options{KeepUnranked: true}), plenty)
	var required []bool
	for _, p := range r.Report().Pieces {
		required = append(required, p.Required)
	}
	require.Equal(t, []bool{true, true, false, true}, required)
}

func TestTransferredContentIsOfferedByItsPriorities(t *testing.T) {
	data, err := render.Transfer(t.Context(), elements.Nodes{line("a"), chunk(1, "b"), wrap(passing, line("c"), chunk(2, "d"))}, render.Options{Budget: plenty, Tokenizer: runes})
	require.NoError(t, err)
	passed := strings.Replace(string(data), `,"flags":4`, "", 1) // as of an element that passes a priority on by its properties
	require.NotEqual(t, string(data), passed)
	for data, want := range map[string]string{string(data): "b; d; stuck", passed: "d; b; stuck"} {
		require.Equal(t, want, steps(t, user(elements.Transferred{Data: []byte(data)}), render.FitOptions{KeepUnranked: true}))
	}
}

func TestALimitIsKeptByPruningUnrankedTextsInIt(t *testing.T) {
	root := elements.Nodes{
		user(elements.TokenLimit{Max: 6, Children: elements.Nodes{line("aaaa"), line("bbbb"), chunk(1, "cc")}}),
		user(chunk(1, "dd")),
	}
	for _, tokenizer := range []chat.Tokenizer{runes, summing{runes}} {
		layout := laid(t, root, render.Options{KeepUnranked: true, Tokenizer: tokenizer})
		r := fitted(t, layout, 12)
		require.Equal(t, []string{"bbbb", "dd"}, texts(r.Messages), "the limit is kept")
		for _, budget := range []int{11, 7} {
			r = fitted(t, layout, budget)
			require.Equal(t, []string{"bbbb"}, texts(r.Messages), "the rest of the limit stays")
		}
		_, err := layout.Fit(t.Context(), 6)
		over := errtest.As[*render.BudgetExceededError](t, err)
		require.Equal(t, 7, over.Needed)
		require.Empty(t, over.Limit)
		floor, _, err := layout.Floor(t.Context(), render.FitOptions{Budget: 6, KeepUnranked: true})
		require.NoError(t, err)
		require.Equal(t, 7, floor)
	}
}

func TestALimitThatCannotBeKeptIsAnErrorOfTheFloor(t *testing.T) {
	root := user(elements.TokenLimit{Max: 2, Children: elements.Nodes{need(0, "aaaa")}})
	_, _, err := laid(t, root, render.Options{}).Floor(t.Context(), render.FitOptions{Budget: 10})
	require.Equal(t, "User > Limit", errtest.As[*render.BudgetExceededError](t, err).Limit)
}

func TestTheFloorIsTheCountOfTheTreeWithoutOfferedPieces(t *testing.T) {
	system := elements.SystemMessage{Children: elements.Nodes{elements.Text("instructions"), elements.LineBreak{}, line("more of them")}}
	droppable := shown{Children: talked("abcd").Children}
	offered := func(ok bool, n elements.Node) elements.Node { return el.If(ok, n) }
	prompt := func(extra, history bool) elements.Nodes {
		return elements.Nodes{
			system,
			user(line("stays"), offered(extra, elements.Tag{Name: "file", Props: at(3), Children: elements.Nodes{elements.Text("source")}}), line("so does this")),
			offered(extra, elements.PrioritizedList{Children: elements.Nodes{user(line("one")), user(line("two"))}}),
			offered(history, droppable),
			asked("what now?"),
			user(elements.Expandable{Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
				return elements.Text(strings.Repeat("g", min(s.TokenBudget, 3))), nil
			}}),
		}
	}
	for _, tokenizer := range append(joiners(t), runes, summing{runes}, dear{runes}) {
		layout := laid(t, prompt(true, true), render.Options{Tokenizer: tokenizer})
		for _, tt := range []struct {
			history render.HistoryMode
			stays   bool
		}{{render.HistoryAsGiven, false}, {render.HistoryRequired, true}, {render.HistoryDroppable, false}} {
			want := renderedWith(t, prompt(false, tt.stays), render.Options{Budget: plenty, Tokenizer: tokenizer})
			got, _, err := layout.Floor(t.Context(), render.FitOptions{Budget: 1, KeepUnranked: true, History: tt.history})
			require.NoError(t, err)
			require.Equal(t, want.Tokens, got)
		}
	}
}

func TestHistoryCanBeRequired(t *testing.T) {
	root := elements.Nodes{shown{Props: at(-1), Children: talked("abc").Children}, asked("d"), userAt(1, line("e"))}
	require.Equal(t, "a; b; c; e; stuck", steps(t, root, render.FitOptions{}))
	require.Equal(t, "e; stuck", steps(t, root, render.FitOptions{History: render.HistoryRequired}))
	r := fitted(t, laid(t, root, render.Options{History: render.HistoryRequired}), plenty)
	require.Equal(t, rendered(t, root, plenty).Messages, r.Messages)
}

func TestHistoryCanBeMadeDroppable(t *testing.T) {
	system := elements.SystemMessage{Props: must(0), Children: elements.Nodes{elements.Text("s")}}
	summary := &elements.Finished{Messages: []chat.Message{chat.UserMessage("z")}}
	conversation, rounds := talked("abc"), talkedFrom(3, "ef")
	conversation.Children = append(elements.Nodes{summary}, conversation.Children...)
	for _, tt := range []struct {
		rule string
		root elements.Node
		want string
	}{
		{"the oldest round is removed first, and the request stays", elements.Nodes{system, talked("abc"), asked("d")}, "a; b; c; stuck"},
		{"rounds of the turn are removed too, pieces without a priority last", elements.Nodes{system, conversation, asked("d"), rounds}, "a; b; c; e; f; z; stuck"},
		{"Required on a round is ignored", elements.Nodes{shown{Props: elements.Props{Required: true}, Children: elements.Nodes{user(need(1, "a"))}}, shown{Children: elements.Nodes{userAt(1, need(1, "b")), userAt(2, line("c"))}}, asked("d")}, "b; c; stuck"},
		{"an element in another is judged by its own messages", elements.Nodes{shown{Props: elements.Props{Required: true}, Children: elements.Nodes{talked("ab"), asked("c")}}, system}, "a; b; stuck"},
		{"priorities within the request's message do not matter", elements.Nodes{talked("a"), shown{Props: elements.Props{Required: true}, Children: elements.Nodes{user(chunk(1, "b"), line("c"))}}}, "a; stuck"},
		{"a priority of the request does not matter", elements.Nodes{talked("a"), shown{Props: must(1), Children: elements.Nodes{user(line("c"))}}}, "a; stuck"},
		{"other required elements stay", elements.Nodes{wrap(must(0), talked("a")), talked("b")}, "b; stuck"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.want, steps(t, tt.root, render.FitOptions{History: render.HistoryDroppable}))
			for budget := 1; budget < 60; budget++ { // the same result as that of a new layout with these options
				layout := laid(t, tt.root, render.Options{History: render.HistoryDroppable, Tokenizer: summing{runes}})
				other := laid(t, tt.root, render.Options{Tokenizer: summing{runes}})
				_, _ = other.Fit(t.Context(), 30)
				want, wantErr := layout.Fit(t.Context(), budget)
				got, err := other.FitWith(t.Context(), render.FitOptions{Budget: budget, History: render.HistoryDroppable})
				require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err))
				require.Equal(t, asJSON(t, want), asJSON(t, got))
			}
		})
	}
}

func TestAnOfferedExpandableStaysOfferedWhenItGrows(t *testing.T) {
	grows := func(props elements.Props) elements.Node {
		return elements.Expandable{Props: props, Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
			return elements.Nodes{line(strings.Repeat("g", min(10, max(1, s.TokenBudget-3))))}, nil
		}}
	}
	limited := func(props elements.Props) elements.Node {
		return elements.Nodes{user(line("a")), user(elements.TokenLimit{Max: 7, Children: elements.Nodes{grows(props)}})}
	}
	layout := laid(t, limited(at(1)), render.Options{Budget: 15, KeepUnranked: true})
	require.Equal(t, []string{"a"}, texts(fitted(t, layout, 7).Messages))
	_, err := laid(t, limited(elements.Props{}), render.Options{Budget: 15, KeepUnranked: true}).Fit(t.Context(), 7)
	require.ErrorAs(t, err, new(*render.BudgetExceededError))
}

func TestLowWaterAndBackfillKeepUnrankedPieces(t *testing.T) {
	root := user(line("aaaa"), chunk(2, "bbbb"), chunk(3, "cccccccc"), chunk(1, "dd"), chunk(4, "e"))
	for _, tt := range []struct {
		opts render.Options
		want string
	}{
		{render.Options{}, "aaaa\ncccccccc\ne"},
		{render.Options{LowWater: 0.5}, "aaaa\ne"},
		{render.Options{Backfill: true}, "aaaa\ncccccccc\ndd\ne"},
	} {
		tt.opts.KeepUnranked = true
		require.Equal(t, tt.want, fitted(t, laid(t, root, tt.opts), 22).Messages[0].Text(), "%+v", tt.opts)
	}
}

func TestOptionsOfAFitAreChecked(t *testing.T) {
	layout := laid(t, user(line("a")), render.Options{})
	for _, o := range []render.FitOptions{{}, {Budget: -1}, {Budget: 1, History: 3}} {
		_, err := layout.FitWith(t.Context(), o)
		require.ErrorIs(t, err, render.ErrBudget)
		_, _, err = layout.Floor(t.Context(), o)
		require.ErrorIs(t, err, render.ErrBudget)
	}
	_, err := render.Lay(t.Context(), nil, render.Options{Budget: 1, Tokenizer: runes, History: 3})
	require.ErrorIs(t, err, render.ErrBudget)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	_, _, err = layout.Floor(ctx, render.FitOptions{Budget: 1})
	require.ErrorIs(t, err, errGone)
}

// counting is a tokenizer that counts the texts it was asked for.
type counting struct {
	summing
	texts *int
}

func (c counting) CountText(s string) int {
	*c.texts++
	return c.summing.CountText(s)
}

func TestTextsThatTheFloorCountedAreNotCountedAgain(t *testing.T) {
	root := elements.Nodes{}
	for range 100 {
		root = append(root, user(elements.Text("instructions")))
	}
	asked := 0
	layout := laid(t, root, render.Options{Tokenizer: counting{summing{runes}, &asked}})
	floor, _, err := layout.Floor(t.Context(), render.FitOptions{Budget: plenty, KeepUnranked: true})
	require.NoError(t, err)
	before := asked
	require.Equal(t, floor, fitted(t, layout, plenty).Tokens)
	require.Less(t, asked-before, 10)
}

func TestFitsWithOtherOptionsMayRunConcurrently(t *testing.T) {
	root := newGrower(3, vocabulary{required: true}).prompt()
	layout := laid(t, root, render.Options{Tokenizer: summing{runes}})
	var running sync.WaitGroup
	for i := range 40 {
		running.Go(func() {
			o := render.FitOptions{Budget: 1 + 5*i, KeepUnranked: i%2 == 0, History: render.HistoryMode(i % 3)}
			if r, err := layout.FitWith(t.Context(), o); err == nil {
				_ = r.Report()
			}
			_, _, _ = layout.Floor(t.Context(), o)
		})
	}
	running.Wait()
}

// marker marks the texts of a random tree that have no priority, on themselves or on an element around them.
type marker struct {
	r     *rand.Rand
	texts []string
}

// node returns a copy of a tree in which unranked texts are marked, limits are wraps, and some elements around messages
// show history. offered says whether a priority is set around it, sure whether it is kept if nothing is pruned.
func (m *marker) node(n elements.Node, offered, sure bool) elements.Node {
	inside := func(p elements.Props, list elements.Nodes) elements.Nodes {
		return m.node(list, offered || p.Priority != nil, sure).(elements.Nodes)
	}
	switch n := n.(type) {
	case elements.Nodes:
		list := make(elements.Nodes, len(n))
		for i := range n {
			list[i] = m.node(n[i], offered, sure)
		}
		return list
	case elements.Text:
		if offered || !sure {
			return n
		}
		m.texts = append(m.texts, fmt.Sprintf("(%d)", len(m.texts)))
		return elements.Text(m.texts[len(m.texts)-1]) + n
	case elements.TextChunk, elements.SystemMessage, elements.UserMessage, elements.AssistantMessage, elements.ToolMessage,
		elements.Tag, elements.Chunk, elements.LegacyPrioritization, elements.KeepWith:
		copied := reflect.New(reflect.TypeOf(n)).Elem()
		copied.Set(reflect.ValueOf(n))
		props, children := copied.FieldByName("Props").Interface().(elements.Props), copied.FieldByName("Children")
		children.Set(reflect.ValueOf(inside(props, children.Interface().(elements.Nodes))))
		return copied.Interface().(elements.Node)
	case elements.TokenLimit:
		return elements.Wrap{Props: n.Props, Children: inside(n.Props, n.Children)}
	case elements.Wrap:
		if m.r.IntN(2) == 0 {
			return shown{Props: n.Props, Children: inside(n.Props, n.Children)}
		}
		n.Children = inside(n.Props, n.Children)
		return n
	case elements.IfEmpty:
		given := offered || n.Priority != nil
		n.Alt, n.Children = m.node(n.Alt, given, false), m.node(n.Children, given, false).(elements.Nodes)
		return n
	case own:
		children, _ := n.render(context.Background(), elements.Sizing{})
		return shown{Props: n.Props, Children: elements.Nodes{m.node(children, offered || n.Priority != nil, sure)}}
	case elements.PrioritizedList:
		list := make(elements.Nodes, len(n.Children))
		for i, c := range n.Children {
			_, many := c.(elements.Nodes)
			list[i] = m.node(c, offered || n.Priority != nil || !many, sure)
		}
		n.Children = list
		return n
	case elements.WithPriority:
		_, many := n.Node.(elements.Nodes)
		_, text := n.Node.(elements.Text)
		n.Node = m.node(n.Node, offered || !many && !text, sure)
		return n
	}
	return n
}

func checkOffered(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	grown := newGrower(seed, vocabulary{required: r.IntN(2) == 0, blank: r.IntN(3) == 0, parts: r.IntN(3) == 0, tools: r.IntN(3) == 0}).prompt()
	m := marker{r: r}
	root := m.node(grown, false, true)
	if r.IntN(2) == 0 {
		root, m.texts = grown, nil // unmarked, with its limits
	}
	tokenizers := append(joiners(t), runes, words, dear{runes}, summing{runes}, framing{summing{runes}})
	opts := render.Options{Budget: 200, Tokenizer: tokenizers[r.IntN(len(tokenizers))], Backfill: r.IntN(4) == 0, LowWater: []float64{0, 0.7}[r.IntN(2)]}
	layout := laid(t, root, opts)
	for _, budget := range []int{plenty, 300, 100, 30, 1} {
		o := render.FitOptions{Budget: budget, KeepUnranked: r.IntN(3) > 0, History: render.HistoryMode(r.IntN(3))}
		at := fmt.Sprintf("seed %d, %+v, %T", seed, o, opts.Tokenizer)
		floor, _, floorErr := layout.Floor(t.Context(), o)
		fit, err := orEmpty(layout.FitWith(t.Context(), o))
		over, _ := errors.AsType[*render.BudgetExceededError](err)
		switch {
		case err != nil && over == nil:
			require.NoError(t, err, at)
		case over != nil && over.Limit != "":
			require.EqualError(t, floorErr, err.Error(), at)
			continue
		case over != nil:
			require.NoError(t, floorErr, at)
			require.Equal(t, over.Needed, floor, at)
			continue
		}
		require.NoError(t, floorErr, at)
		require.LessOrEqual(t, floor, fit.Tokens, at)
		again, err := orEmpty(render.Render(t.Context(), root, render.Options{
			Budget: budget, Tokenizer: opts.Tokenizer, PromptBudget: opts.Budget, Backfill: opts.Backfill, LowWater: opts.LowWater,
			KeepUnranked: o.KeepUnranked, History: o.History,
		}))
		require.NoError(t, err, at)
		require.Equal(t, asJSON(t, again), asJSON(t, fit), at)
		if o.KeepUnranked {
			all := strings.Join(texts(fit.Messages), "\n")
			for _, mark := range m.texts {
				require.Contains(t, all, mark, at)
			}
		}
	}
}

func TestRandomTreesKeepPiecesThatAreNotOffered(t *testing.T) { everyTree(t, checkOffered) }

func FuzzOffered(f *testing.F) { extremes.FuzzSeeds(f, 10, checkOffered) }
