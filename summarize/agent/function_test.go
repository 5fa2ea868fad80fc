package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/policy"
)

type node struct {
	Name string
	Next *node `json:"next"`
}

type tree struct{ Children map[string][]tree }

type blob []byte

type sees interface{ See() }

// answerOf returns the result of a call of a function, as an agent appends it.
func answerOf(t *testing.T, f *agent.Function, arguments string) chat.Message {
	t.Helper()
	a := newAgent(t, 8000, policy.Policy{}, func(context.Context, chat.Request) (chat.Response, error) {
		call := chat.ToolCall{ID: "c", Name: f.Declared()[0].Name, Arguments: arguments}
		return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}}, nil
	})
	a.Tools = []chat.Toolbox{f}
	return stepped(t, a).Results[0].Message()
}

func echo[T any](_ context.Context, in T) (T, error) { return in, nil }

func TestAFunctionIsDescribedByItsParameters(t *testing.T) {
	type place struct {
		City  string   `json:"city" jsonschema:"name of the city"`
		Days  int      `json:"days,omitempty"`
		Tags  []string `json:"tags,omitzero"`
		Apart *bool    `json:"-"`
		_     int      // what is not exported is no parameter
	}
	f, err := agent.Tool("forecast", "Tells the weather.", echo[place])
	require.NoError(t, err)
	require.Equal(t, "forecast", f.Declared()[0].Name)
	require.JSONEq(t, `{"type":"object","required":["city"],"additionalProperties":false,"properties":{
		"city":{"type":"string","description":"name of the city"},"days":{"type":"integer"},"tags":{"type":["null","array"],"items":{"type":"string"}}}}`,
		string(f.Declared()[0].Parameters))
	require.Equal(t, `{"city":"Rome"}`, answerOf(t, f, `{"city":"Rome"}`).Text())
	for arguments, says := range map[string]string{
		`{"days":1}`:                    `missing properties: ["city"]`,
		`{"city":1}`:                    "/properties/city",
		`{"city":"Rome","town":"Rome"}`: "town",
		`[1]`:                           "are not a JSON object",
		`{"city":`:                      "are not a JSON object",
		`{"city":"` + strings.Repeat("x", 1<<20) + `"}`:                                   "give at most 1048576",
		`{"city":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`:              "more than 64 levels",
		`{"city":"Rome","days":` + strings.Repeat("[", 300_000) + `}`:                     "more than 64 levels",
		`{"city":"a \" [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}`: "",
	} {
		m := answerOf(t, f, arguments)
		require.Equal(t, says != "", m.IsError, "%.100s: %s", arguments, m.Text())
		require.Contains(t, m.Text(), says)
	}
}

func TestAFunctionWithoutParametersTakesNothing(t *testing.T) {
	f, err := agent.Tool("now", "The time.", func(context.Context, struct{}) (string, error) { return "noon", nil })
	require.NoError(t, err)
	for _, arguments := range []string{"", " ", "null", "{}"} {
		require.Equal(t, "noon", answerOf(t, f, arguments).Text())
	}
}

// Whatever encoding/json writes for a value of a type fits the schema of the type.
func TestASchemaDescribesWhatJSONWrites(t *testing.T) {
	type all struct {
		Bytes    []byte
		Blob     blob
		Raw      json.RawMessage
		Time     time.Time
		When     *time.Time
		Duration time.Duration
		Number   json.Number
		Address  netip.Addr
		Big      *big.Int
		Any      any
		Map      map[string][]float64
		Array    [3]uint8
		Maps     []map[string]*bool
		Inner    struct{ Text string }
	}
	f, err := agent.Tool("all", "", echo[all])
	require.NoError(t, err)
	schema := sure.Decode[jsonschema.Schema](t, f.Declared()[0].Parameters)
	require.Equal(t, "base64", schema.Properties["Bytes"].ContentEncoding)
	require.Equal(t, "base64", schema.Properties["Blob"].ContentEncoding)
	require.Equal(t, "date-time", schema.Properties["Time"].Format)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for name, value := range map[string]all{
		"full": {
			Bytes: []byte{1, 255}, Blob: blob("x"), Raw: json.RawMessage(`{"a":[1]}`), Time: now, When: &now, Duration: time.Hour, Number: "12.5",
			Address: netip.MustParseAddr("::1"), Big: big.NewInt(7), Any: []any{"a", 1.0}, Map: map[string][]float64{"a": {1, 2}}, Maps: []map[string]*bool{{"a": nil}},
		},
		"zero": {Number: "0", Raw: json.RawMessage("null"), Big: big.NewInt(0)},
	} {
		data := sure.JSON(t, value)
		m := answerOf(t, f, string(data))
		require.False(t, m.IsError, "%s: %s", name, m.Text())
		require.JSONEq(t, string(data), m.Text())
	}
}

func TestATypeWithoutASchemaIsAnErrorThatNamesTheField(t *testing.T) {
	type channel struct{ In struct{ Events chan int } }
	type keys struct{ By map[int]string }
	type seen struct{ Seen []sees }
	type quoted struct {
		N int `json:",string"`
	}
	for says, make := range map[string]func() (*agent.Function, error){
		"agent_test.node.Next is a agent_test.node: it contains itself":        func() (*agent.Function, error) { return agent.Tool("f", "", echo[node]) },
		"agent_test.tree.Children is a agent_test.tree: it contains itself":    func() (*agent.Function, error) { return agent.Tool("f", "", echo[tree]) },
		"agent_test.channel.In.Events is a chan int: JSON has no such value":   func() (*agent.Function, error) { return agent.Tool("f", "", echo[channel]) },
		"agent_test.keys.By is a map[int]string: no schema describes its keys": func() (*agent.Function, error) { return agent.Tool("f", "", echo[keys]) },
		"agent_test.seen.Seen is a agent_test.sees: no value of an interface":  func() (*agent.Function, error) { return agent.Tool("f", "", echo[seen]) },
		"agent_test.quoted.N has the option string":                            func() (*agent.Function, error) { return agent.Tool("f", "", echo[quoted]) },
		"its type is string: give a struct":                                    func() (*agent.Function, error) { return agent.Tool("f", "", echo[string]) },
		"its type is *agent_test.node: give a struct":                          func() (*agent.Function, error) { return agent.Tool("f", "", echo[*node]) },
		"its type is time.Time: give a struct":                                 func() (*agent.Function, error) { return agent.Tool("f", "", echo[time.Time]) },
		`the name of a tool is "read a file": give it 1 to 64 letters`:         func() (*agent.Function, error) { return agent.Tool("read a file", "", echo[struct{}]) },
		"tag must not begin with 'WORD='": func() (*agent.Function, error) {
			return agent.Tool("f", "", echo[struct {
				A string `jsonschema:"required=true"`
			}])
		},
	} {
		_, err := make()
		require.ErrorContains(t, err, says)
	}
}

func TestAFunctionReturnsATextPartsOrJSON(t *testing.T) {
	image := chat.NewImage("image/png", []byte("png"))
	require.Equal(t, "data:image/png;base64,cG5n", image.URL)
	for name, c := range map[string]struct {
		tool func() (*agent.Function, error)
		want chat.Message
	}{
		"a text":    {func() (*agent.Function, error) { return toolOf("<ships>") }, chat.ToolResult("c", "<ships>")},
		"no text":   {func() (*agent.Function, error) { return toolOf("") }, chat.ToolResult("c", "")},
		"JSON":      {func() (*agent.Function, error) { return toolOf(map[string]any{"ships": []string{"<a>"}}) }, chat.ToolResult("c", `{"ships":["<a>"]}`)},
		"a part":    {func() (*agent.Function, error) { return toolOf(image) }, chat.Message{Role: chat.RoleTool, ToolCallID: "c", Content: chat.Parts{image}}},
		"parts":     {func() (*agent.Function, error) { return toolOf(chat.Parts{chat.Text("a"), image}) }, chat.Message{Role: chat.RoleTool, ToolCallID: "c", Content: chat.Parts{chat.Text("a"), image}}},
		"a message": {func() (*agent.Function, error) { return toolOf(chat.FailedResult("", "no")) }, chat.FailedResult("c", "no")},
		"no JSON":   {func() (*agent.Function, error) { return toolOf(make(chan int)) }, chat.FailedResult("c", "the result of the tool is not JSON: json: unsupported type: chan int")},
		"an error": {func() (*agent.Function, error) {
			return agent.Tool("f", "", func(context.Context, struct{}) (any, error) { return "half", errors.New("no harbour") })
		}, chat.FailedResult("c", "no harbour")},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := c.tool()
			require.NoError(t, err)
			require.Equal(t, c.want, answerOf(t, f, "{}"))
		})
	}
}

func toolOf[T any](out T) (*agent.Function, error) {
	return agent.Tool("f", "", func(context.Context, struct{}) (T, error) { return out, nil })
}

// explodes panics when it is decoded.
type explodes struct{ A string }

func (*explodes) UnmarshalJSON([]byte) error { panic("boom") }

func TestAParameterThatPanicsWhenDecodedIsAFailedResult(t *testing.T) {
	f, err := agent.Tool("f", "", func(context.Context, struct{ E explodes }) (string, error) { return "", nil })
	require.NoError(t, err)
	require.Equal(t, "the arguments of f do not fit its schema: it panicked: boom", answerOf(t, f, `{"E":1}`).Text())
}

func FuzzArguments(f *testing.F) {
	type all struct {
		Text  string
		N     int8           `json:"n,omitempty"`
		List  [][]string     `json:"list,omitempty"`
		Inner map[string]any `json:"inner,omitempty"`
	}
	tool, err := agent.Tool("f", "", echo[all])
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"Text":"a"}`, `{"Text":"a","n":200}`, `{"Text":"a","list":[["b"],null]}`, `{"text":1}`, `{"Text":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		m, ok, err := tool.Answer(t.Context(), chat.ToolCall{ID: "x", Name: "f", Arguments: arguments})
		require.True(t, ok)
		if err != nil {
			require.ErrorAs(t, err, new(*chat.ArgumentError))
			return
		}
		again, _, err := tool.Answer(t.Context(), chat.ToolCall{ID: "x", Name: "f", Arguments: m.Text()})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(m), fmt.Sprint(again))
	})
}
