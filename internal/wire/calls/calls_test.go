package calls_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callid"
	"github.com/promptree-go/promptree/internal/wire/calls"
)

// piece is a piece of a call, or the whole call if end is set.
type piece struct {
	index               int64
	id, name, arguments string
	end                 bool
}

func TestPiecesOfCallsAreStreamedAndCollectedInOrder(t *testing.T) {
	first := func(i int, id, arguments string) chat.Delta {
		return chat.CallDelta{Index: i, ID: id, Name: "f", Arguments: arguments}
	}
	more := func(i int, arguments string) chat.Delta { return chat.CallDelta{Index: i, Arguments: arguments} }
	call := func(id, arguments string) chat.ToolCall {
		return chat.ToolCall{ID: id, Name: "f", Arguments: arguments}
	}
	for _, tt := range []struct {
		rule   string
		pieces []piece
		deltas []chat.Delta
		calls  []chat.ToolCall
	}{
		{"the id and the name come with the first piece, the arguments as they arrive",
			[]piece{{0, "a", "f", "", false}, {0, "", "", `{"x"`, false}, {0, "", "", "", false}, {0, "", "", `:1}`, false}},
			[]chat.Delta{first(0, "a", ""), more(0, `{"x"`), more(0, `:1}`)}, []chat.ToolCall{call("a", `{"x":1}`)}},
		{"pieces before the name are held back",
			[]piece{{0, "a", "", "{", false}, {0, "", "f", "", false}, {0, "", "", "}", false}},
			[]chat.Delta{first(0, "a", "{"), more(0, "}")}, []chat.ToolCall{call("a", "{}")}},
		{"a call without an id is held back until the end",
			[]piece{{0, "", "f", "{", false}, {0, "", "", "}", false}},
			[]chat.Delta{first(0, "new 1", "{}")}, []chat.ToolCall{call("new 1", "{}")}},
		{"a call without an id is held back until another call begins",
			[]piece{{0, "", "f", "{}", false}, {1, "b", "f", "", false}},
			[]chat.Delta{first(0, "new 1", "{}"), first(1, "b", "")}, []chat.ToolCall{call("new 1", "{}"), call("b", "")}},
		{"each call without an id gets one of its own",
			[]piece{{0, "", "f", "{", false}, {1, "b", "f", "{}", false}, {2, "", "f", "[]", false}, {0, "", "", "}", false}},
			[]chat.Delta{first(0, "new 1", "{"), first(1, "b", "{}"), more(0, "}"), first(2, "new 2", "[]")},
			[]chat.ToolCall{call("new 1", "{}"), call("b", "{}"), call("new 2", "[]")}},
		{"without ids, a name after whole arguments starts another call",
			[]piece{{0, "", "f", `{"x":1}`, false}, {0, "", "f", "{", false}, {0, "", "", "}", false}, {0, "", "f", "", false}},
			[]chat.Delta{first(0, "new 1", `{"x":1}`), first(1, "new 2", "{}")}, []chat.ToolCall{call("new 1", `{"x":1}`), call("new 2", "{}")}},
		{"parallel calls are numbered in the order in which they begin",
			[]piece{{7, "a", "f", "{", false}, {3, "b", "f", "{", false}, {7, "", "", "}", false}, {3, "", "", "}", false}},
			[]chat.Delta{first(0, "a", "{"), first(1, "b", "{"), more(0, "}"), more(1, "}")}, []chat.ToolCall{call("a", "{}"), call("b", "{}")}},
		{"another id with the same index starts another call",
			[]piece{{0, "a", "f", "{}", false}, {0, "b", "f", "{", false}, {0, "", "", "}", false}},
			[]chat.Delta{first(0, "a", "{}"), first(1, "b", "{"), more(1, "}")}, []chat.ToolCall{call("a", "{}"), call("b", "{}")}},
		{"calls with the same id and two indexes stay apart, and the second gets another id",
			[]piece{{0, "a", "f", "{}", false}, {1, "a", "f", "[]", false}},
			[]chat.Delta{first(0, "a", "{}"), first(1, "new 1", "[]")}, []chat.ToolCall{call("a", "{}"), call("new 1", "[]")}},
		{"the end of a call streams what is missing",
			[]piece{{0, "a", "f", "{", false}, {0, "a", "f", "{}", true}, {0, "a", "f", "{}", true}, {1, "b", "f", "{}", true}},
			[]chat.Delta{first(0, "a", "{"), more(0, "}"), first(1, "b", "{}")}, []chat.ToolCall{call("a", "{}"), call("b", "{}")}},
		{"the end of a call with other arguments streams nothing",
			[]piece{{0, "a", "f", "{", false}, {0, "a", "f", "[]", true}},
			[]chat.Delta{first(0, "a", "{")}, []chat.ToolCall{call("a", "{")}},
		{"the end of a call is found by its id if its index differs",
			[]piece{{0, "a", "f", "{}", false}, {0, "b", "f", "{", false}, {1, "b", "f", "{}", true}},
			[]chat.Delta{first(0, "a", "{}"), first(1, "b", "{"), more(1, "}")}, []chat.ToolCall{call("a", "{}"), call("b", "{}")}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var deltas []chat.Delta
			for _, stream := range []func(chat.Delta){nil, func(d chat.Delta) { deltas = append(deltas, d) }} {
				s := calls.Stream{Stream: stream}
				for _, p := range tt.pieces {
					if p.end {
						s.End(p.index, p.id, p.name, p.arguments)
					} else {
						s.Add(p.index, p.id, p.name, p.arguments)
					}
				}
				s.Flush()
				made := map[string]string{"": ""} // new ids as the table names them
				got := s.Calls()
				for i, c := range got {
					if callid.IsNew(c.ID) {
						made[c.ID] = fmt.Sprint("new ", len(made))
						got[i].ID = made[c.ID]
					}
				}
				require.Equal(t, tt.calls, got)
				for i, d := range deltas {
					if d := d.(chat.CallDelta); callid.IsNew(d.ID) {
						d.ID = made[d.ID]
						deltas[i] = d
					}
				}
			}
			require.Equal(t, tt.deltas, deltas)
		})
	}
}

// A server may put many thousands of calls into one event. Searching all of them for each would take minutes.
func TestACallIsFoundAmongManyWithoutASearch(t *testing.T) {
	const n = 200_000
	var s calls.Stream
	for i := range n {
		s.Add(int64(i), fmt.Sprint("id", i), "f", "")
	}
	for i := range n {
		s.End(int64(i), "", "", "{}")
	}
	for i := range n { // with other indexes
		s.End(int64(n+i), fmt.Sprint("id", i), "", "{}")
	}
	got := s.Calls()
	require.Len(t, got, n)
	require.Equal(t, chat.ToolCall{ID: "id7", Name: "f", Arguments: "{}"}, got[7])
}

func TestWholeArgumentsAreACompleteObject(t *testing.T) {
	for arguments, want := range map[string]bool{
		`{}`: true, " {\"a\":1}\n": true, `{"a":1`: false, `{"a":"}`: false, ``: false, `12`: false, `"a"`: false, `{}{`: false,
	} {
		require.Equal(t, want, calls.Whole(arguments), arguments)
	}
}
