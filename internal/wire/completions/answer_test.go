package completions_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
)

// read puts an answer together from its chunks, or from a whole one.
func read(t testing.TB, a completions.Answer, chunks ...string) (chat.Message, *providertest.Heard, *completions.Answer) {
	heard, hear := providertest.Listen(t)
	a.Stream = hear
	for _, chunk := range chunks {
		require.True(t, json.Valid([]byte(chunk)), chunk)
		a.Add(json.RawMessage(chunk))
	}
	m := a.Whole(a.Finish == "length")
	heard.RequireWhole(t, chat.Response{Message: m})
	return m, heard, &a
}

func delta(fields string) string { return `{"choices":[{"index":0,"delta":` + fields + `}]}` }

func piece(fields string) string { return delta(`{"tool_calls":[` + fields + `]}`) }

func calls(of ...string) (list []chat.ToolCall) {
	for i := 0; i < len(of); i += 3 {
		list = append(list, chat.ToolCall{ID: of[i], Name: of[i+1], Arguments: of[i+2]})
	}
	return list
}

func TestPiecesOfACallBelongToItHoweverAServerNamesThem(t *testing.T) {
	declared := map[string]bool{"look": true, "look_up": true, "read": true, "lolo": true}
	for _, tt := range []struct {
		rule   string
		chunks []string
		want   []chat.ToolCall
	}{
		{"another id without a name continues the call of its index", []string{
			piece(`{"index":0,"id":"tc_first","function":{"name":"look","arguments":""}}`), piece(`{"index":0,"id":"tc_other","function":{"arguments":"{\"path\":\"a.go\"}"}}`),
		}, calls("tc_first", "look", `{"path":"a.go"}`)},
		{"another id and another index without a name continue the last call", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}`), piece(`{"index":1,"id":"b","function":{"arguments":"}"}}`),
		}, calls("a", "look", `{}`)},
		{"each piece has another id", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"pa"}}`), piece(`{"index":0,"id":"b","function":{"arguments":"th\":"}}`), piece(`{"index":0,"id":"c","function":{"arguments":"1}"}}`),
		}, calls("a", "look", `{"path":1}`)},
		{"each piece has another id and the name", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":""}}`), piece(`{"index":0,"id":"b","function":{"name":"look","arguments":"{\"path\":"}}`), piece(`{"index":0,"id":"c","function":{"name":"look","arguments":"1}"}}`),
		}, calls("a", "look", `{"path":1}`)},
		{"two calls alternate by id, without an index", []string{
			piece(`{"id":"a","function":{"name":"look","arguments":"{\"x\""}}`), piece(`{"id":"b","function":{"name":"read","arguments":"{"}}`),
			piece(`{"id":"a","function":{"arguments":":1}"}}`), piece(`{"id":"b","function":{"arguments":"}"}}`),
		}, calls("a", "look", `{"x":1}`, "b", "read", "{}")},
		{"pieces of two calls alternate, and the first index is 1", []string{
			piece(`{"index":1,"id":"a","function":{"name":"look","arguments":"{\"x\""}},{"index":2,"id":"b","function":{"name":"read","arguments":"{"}}`),
			piece(`{"index":1,"function":{"arguments":":1}"}}`), piece(`{"index":2,"function":{"arguments":"}"}}`),
		}, calls("a", "look", `{"x":1}`, "b", "read", "{}")},
		{"the name comes after the id", []string{
			piece(`{"index":0,"id":"a","function":{"arguments":""}}`), piece(`{"index":0,"function":{"name":"look","arguments":"{}"}}`),
		}, calls("a", "look", "{}")},
		{"free text comes in pieces", []string{
			piece(`{"index":0,"id":"a","type":"custom","custom":{"name":"run","input":"ls "}}`), piece(`{"index":0,"custom":{"input":"-l"}}`),
		}, []chat.ToolCall{{ID: "a", Name: "run", Arguments: "ls -l", Signature: `{"type":"custom_tool_call"}`}}},
		{"every call has the index 0", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}`), piece(`{"index":0,"id":"b","function":{"name":"look","arguments":"{}"}}`),
		}, calls("a", "look", "{}", "b", "look", "{}")},
		{"the id is in each piece", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}`), piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"}"}}`),
		}, calls("a", "look", "{}")},
		{"later ids are empty or null", []string{
			piece(`{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":"{"}}`), piece(`{"index":0,"id":"","type":null,"function":{"name":null,"arguments":"}"}}`),
		}, calls("a", "look", "{}")},
		{"later ids are the text null", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":""}}`), piece(`{"index":0,"id":"null","function":{"name":"","arguments":"{}"}}`),
			piece(`{"index":1,"id":"b","function":{"name":"read","arguments":""}}`), piece(`{"index":1,"id":"null","function":{"name":"","arguments":"{\"x\":1}"}}`),
		}, calls("a", "look", "{}", "b", "read", `{"x":1}`)},
		{"the later pieces of all calls have one id", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":""}}`), piece(`{"index":0,"id":"chatcmpl-1","function":{"arguments":"{}"}}`),
			piece(`{"index":1,"id":"b","function":{"name":"read","arguments":""}}`), piece(`{"index":1,"id":"chatcmpl-1","function":{"arguments":"{\"x\":1}"}}`),
		}, calls("a", "look", "{}", "b", "read", `{"x":1}`)},
		{"arguments under an index that began no call continue the last one", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}`), piece(`{"index":1,"function":{"arguments":"\"x\":"}}`), piece(`{"index":2,"function":{"arguments":"1}"}}`),
		}, calls("a", "look", `{"x":1}`)},
		{"a second call begins at the index of the first and goes on at its own", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}`), piece(`{"index":0,"id":"b","function":{"name":"read","arguments":"{"}}`), piece(`{"index":1,"function":{"arguments":"\"x\":1}"}}`),
		}, calls("a", "look", "{}", "b", "read", `{"x":1}`)},
		{"a chunk has the call and its first arguments apart", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":""}},{"index":0,"function":{"arguments":"{"}}`), piece(`{"index":0,"function":{"arguments":"}"}}`),
		}, calls("a", "look", "{}")},
		{"the name comes in two pieces", []string{
			piece(`{"index":0,"id":"a","function":{"name":"lo"}}`), piece(`{"index":0,"function":{"name":"ok"}}`), piece(`{"index":0,"function":{"arguments":"{}"}}`),
		}, calls("a", "look", "{}")},
		{"the first piece of a name is a tool of its own", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look"}}`), piece(`{"index":0,"function":{"name":"_up"}}`), piece(`{"index":0,"function":{"arguments":"{}"}}`),
		}, calls("a", "look_up", "{}")},
		{"the name is repeated as far as it came", []string{
			piece(`{"index":0,"id":"a","function":{"name":"lo"}}`), piece(`{"index":0,"function":{"name":"look"}}`), piece(`{"index":0,"function":{"arguments":"{}"}}`),
		}, calls("a", "look", "{}")},
		{"each piece repeats the arguments so far", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"pa"}}`), piece(`{"index":0,"function":{"arguments":"{\"path\": \"a"}}`), piece(`{"index":0,"function":{"arguments":"{\"path\": \"a.go\"}"}}`),
		}, calls("a", "look", `{"path": "a.go"}`)},
		{"the whole call is repeated at the end", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"path\":"}}`), piece(`{"index":0,"function":{"arguments":"1}"}}`), piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"path\":1}"}}`),
		}, calls("a", "look", `{"path":1}`)},
		{"the whole call is repeated in pieces", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"path\":1}"}}`), piece(`{"index":0,"function":{"arguments":"{\"pa"}}`), piece(`{"index":0,"function":{"arguments":"th\":1}"}}`),
		}, calls("a", "look", `{"path":1}`)},
		{"a piece that is whole JSON within the arguments is no end", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"of\":"}}`), piece(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`), piece(`{"index":0,"function":{"arguments":"}"}}`),
		}, calls("a", "look", `{"of":{"x":1}}`)},
		{"an empty object behind the arguments replaces nothing", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"path\":1}"}}`), piece(`{"index":0,"function":{"arguments":"{}"}}`),
		}, calls("a", "look", `{"path":1}`)},
		{"the arguments are an object", []string{piece(`{"index":0,"id":"a","function":{"name":"look","arguments":{"x": 1}}}`)}, calls("a", "look", `{"x":1}`)},
		{"each call is a choice", []string{
			`{"choices":[{"finish_reason":"tool_calls","message":{"content":"I look."}},{"finish_reason":"tool_calls","message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}},` +
				`{"finish_reason":"tool_calls","message":{"tool_calls":[{"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]}},{"index":1,"message":{"tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{}"}}]}}]}`,
		}, calls("a", "look", "{}", "b", "read", "{}")},
		{"the arguments are a list", []string{piece(`{"index":0,"id":"a","function":{"name":"look","arguments":["x"]}}`)}, calls("a", "look", `["x"]`)},
		{"the arguments are an object written twice", []string{
			piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"\"{\\\"x\\"}}`), piece(`{"index":0,"function":{"arguments":"\":1}\""}}`),
		}, calls("a", "look", `{"x":1}`)},
		{"the arguments are a text", []string{piece(`{"index":0,"id":"a","function":{"name":"look","arguments":"\"x\""}}`)}, calls("a", "look", `"x"`)},
		{"the name and the arguments stand beside the id", []string{piece(`{"index":0,"id":"a","type":"function","name":"look","arguments":"{}"}`)}, calls("a", "look", `{}`)},
		{"a function call of before there were tools", []string{
			delta(`{"function_call":{"name":"look","arguments":"{\"x\""}}`), delta(`{"function_call":{"arguments":":1}"}}`),
		}, calls("", "look", `{"x":1}`)},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			m, _, _ := read(t, completions.Answer{Tools: declared}, tt.chunks...)
			if len(tt.want) == 1 && tt.want[0].ID == "" {
				m.ToolCalls[0].ID = ""
			}
			require.Empty(t, cmp.Diff(tt.want, m.ToolCalls))
		})
	}
}

func TestContentIsReadInEachForm(t *testing.T) {
	thought := func(text, signature string) chat.Part { return chat.Thinking{Text: text, Signature: signature} }
	for _, tt := range []struct {
		rule   string
		answer completions.Answer
		chunks []string
		want   chat.Parts
	}{
		{"thinking as an object", completions.Answer{}, []string{
			delta(`{"reasoning_content":{"text":"I "}}`), delta(`{"reasoning_content":{"text":"look."}}`), delta(`{"content":"Here.","tool_calls":[]}`),
		}, chat.Parts{thought("I look.", "reasoning_content"), chat.Text("Here.")}},
		{"thinking as a list", completions.Answer{}, []string{
			delta(`{"reasoning":[{"text":"I "},{"text":"look."}],"tool_calls":[]}`), delta(`{"content":"Here."}`),
		}, chat.Parts{thought("I look.", "reasoning"), chat.Text("Here.")}},
		{"a list with reasoning", completions.Answer{}, []string{
			delta(`{"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"I "}]}]}`), delta(`{"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"look."}]},{"type":"text","text":"Here."}]}`),
		}, chat.Parts{thought("I look.", ""), chat.Text("Here.")}},
		{"the tag of Claude", completions.Answer{}, []string{delta(`{"content":"<think"}`), delta(`{"content":"ing>I look.</thinking>\nHere."}`)}, chat.Parts{thought("I look.", ""), chat.Text("Here.")}},
		{"a list of chunks", completions.Answer{}, []string{
			delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"I "}]}]}`), delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"look."}],"closed":true}]}`),
			delta(`{"content":[{"type":"text","text":"He"}]}`), delta(`{"content":"re."}`),
		}, chat.Parts{thought("I look.", "thinking"), chat.Text("Here.")}},
		{"a part that is not known stays as it is", completions.Answer{}, []string{delta(`{"content":[{"type":"image_url","image_url":"x"},{"type":"text","text":"Here."}]}`)},
			chat.Parts{chat.Opaque{Value: json.RawMessage(`{"type":"image_url","image_url":"x"}`)}, chat.Text("Here.")}},
		{"what is neither a part nor a text stays as it is", completions.Answer{}, []string{delta(`{"content":[["x"],7,"Here."]}`)},
			chat.Parts{chat.Opaque{Value: json.RawMessage(`["x"]`)}, chat.Opaque{Value: json.RawMessage(`7`)}, chat.Text("Here.")}},
		{"thinking in a field", completions.Answer{}, []string{delta(`{"reasoning_content":"I "}`), delta(`{"reasoning_content":"look."}`), delta(`{"content":"Here."}`)},
			chat.Parts{thought("I look.", "reasoning_content"), chat.Text("Here.")}},
		{"thinking in two fields that say the same", completions.Answer{}, []string{delta(`{"reasoning":"I look.","reasoning_content":"I look."}`), delta(`{"content":"Here."}`)},
			chat.Parts{thought("I look.", "reasoning_content"), chat.Text("Here.")}},
		{"thinking in tags", completions.Answer{}, []string{delta(`{"content":"\n<th"}`), delta(`{"content":"ink>\nI look.\n</thi"}`), delta(`{"content":"nk>\n"}`), delta(`{"content":"\nHere."}`)},
			chat.Parts{thought("I look.", ""), chat.Text("Here.")}},
		{"an empty thought in tags", completions.Answer{}, []string{delta(`{"content":"<think>\n\n</think>\n\nHere."}`)}, chat.Parts{chat.Text("Here.")}},
		{"tags of another model", completions.Answer{}, []string{delta(`{"content":"[THINK]I look.[/THINK]Here."}`)}, chat.Parts{thought("I look.", ""), chat.Text("Here.")}},
		{"a tag that is never closed is text", completions.Answer{}, []string{delta(`{"content":"<think> is a tag"}`), delta(`{"content":" of some models."}`)},
			chat.Parts{chat.Text("<think> is a tag of some models.")}},
		{"a tag that was cut off is thinking", completions.Answer{Finish: "length"}, []string{delta(`{"content":"<think>I loo"}`)}, chat.Parts{thought("I loo", "")}},
		{"a tag within the text is text", completions.Answer{}, []string{delta(`{"content":"The tag <think>x</think>."}`)}, chat.Parts{chat.Text("The tag <think>x</think>.")}},
		{"a closing tag alone is text", completions.Answer{}, []string{delta(`{"content":"I look.</think>Here."}`)}, chat.Parts{chat.Text("I look.</think>Here.")}},
		{"a closing tag alone, where the prompt opens the thought", completions.Answer{Opened: true}, []string{delta(`{"content":"I look.</th"}`), delta(`{"content":"ink>Here."}`)},
			chat.Parts{thought("I look.", ""), chat.Text("Here.")}},
		{"no closing tag, where the prompt opens the thought", completions.Answer{Opened: true}, []string{delta(`{"content":"Here."}`)}, chat.Parts{chat.Text("Here.")}},
		{"each piece repeats what came before, if the model is told so", completions.Answer{Cumulative: true}, []string{delta(`{"content":"He"}`), delta(`{"content":"Here"}`), delta(`{"content":"Here."}`)},
			chat.Parts{chat.Text("Here.")}},
		{"a refusal is no text", completions.Answer{}, []string{delta(`{"refusal":"I "}`), delta(`{"refusal":"won't."}`)}, chat.Parts{chat.Opaque{Value: json.RawMessage(`{"refusal":"I won't.","type":"refusal"}`)}}},
		{"fields that must come back, and others", completions.Answer{}, []string{
			delta(`{"reasoning_details":[{"type":"reasoning.text","text":"ha","index":0,"signature":null}],"note":"x"}`),
			delta(`{"reasoning_details":[{"type":"reasoning.text","text":"ha","index":0,"signature":"s"}]}`), delta(`{"content":"Here.","annotations":[]}`),
		}, chat.Parts{chat.Text("Here."),
			chat.Opaque{Value: json.RawMessage(`{"chat.kept":{"note":"x"},"reasoning_details":[{"index":0,"signature":"s","text":"haha","type":"reasoning.text"}],"type":"chat.fields"}`)}}},
		{"an item of a field that begins without a text", completions.Answer{}, []string{
			delta(`{"reasoning_details":[{"type":"reasoning.text","text":null,"index":0}]}`), delta(`{"reasoning_details":[{"type":"reasoning.text","text":"x","index":0}]}`),
		}, chat.Parts{chat.Opaque{Value: json.RawMessage(`{"reasoning_details":[{"index":0,"text":"x","type":"reasoning.text"}],"type":"chat.fields"}`)}}},
		{"items of a field that do not go on", completions.Answer{}, []string{
			delta(`{"reasoning_details":[{"type":"reasoning.summary","summary":"a < b","index":0}]}`), delta(`{"reasoning_details":[{"type":"reasoning.text","text":"x","index":1}]}`),
			delta(`{"reasoning_details":[{"type":"reasoning.text","signature":"s","index":1},{"type":"reasoning.encrypted","data":"d","index":2}]}`),
			delta(`{"reasoning_details":["y",{"type":"reasoning.text","text":"z","index":1}]}`), delta(`{"audio":{"id":"a"}}`), delta(`{"audio":{"id":null,"expires_at":7}}`),
		}, chat.Parts{chat.Opaque{Value: json.RawMessage(`{"audio":{"expires_at":7,"id":"a"},"reasoning_details":[{"index":0,"summary":"a \u003c b","type":"reasoning.summary"},` +
			`{"index":1,"signature":"s","text":"x","type":"reasoning.text"},{"data":"d","index":2,"type":"reasoning.encrypted"},"y",{"index":1,"text":"z","type":"reasoning.text"}],"type":"chat.fields"}`)}}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			m, _, _ := read(t, tt.answer, tt.chunks...)
			require.Empty(t, cmp.Diff(tt.want, m.Content))
		})
	}
}

func TestUsageIsReadWhereverItStands(t *testing.T) {
	const before = `{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":null}`
	for _, tt := range []struct {
		rule   string
		chunks []string
		want   chat.Usage
	}{
		{"beside the choices", []string{before, `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`}, chat.Usage{Input: 10, Output: 2, CacheRead: 4}},
		{"in the choice", []string{before, `{"choices":[{"index":0,"delta":{},"usage":{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":4}}]}`}, chat.Usage{Input: 10, Output: 2, CacheRead: 4}},
		{"in x_groq", []string{before, `{"choices":[],"x_groq":{"usage":{"prompt_tokens":10,"completion_tokens":2}}}`}, chat.Usage{Input: 10, Output: 2, CacheUnknown: true}},
		{"hits of a cache", []string{`{"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":6}}`}, chat.Usage{Input: 10, Output: 2, CacheRead: 4}},
		{"cumulative", []string{`{"usage":{"prompt_tokens":10,"completion_tokens":1}}`, `{"usage":{"prompt_tokens":10,"completion_tokens":2}}`}, chat.Usage{Input: 10, Output: 2, CacheUnknown: true}},
		{"null is missing", []string{`{"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":null}}`, `{"usage":{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":null}}}`}, chat.Usage{Input: 10, Output: 2, CacheUnknown: true}},
		{"0 is not missing", []string{`{"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`, `{"usage":{"prompt_tokens":10,"completion_tokens":2}}`}, chat.Usage{Input: 10, Output: 2}},
		{"known in a later piece", []string{`{"usage":{"prompt_tokens":10}}`, `{"usage":{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":0}}`}, chat.Usage{Input: 10, Output: 2}},
		{"what was written is read in the end", []string{`{"usage":{"prompt_tokens":10,"completion_tokens":1,"cache_creation_input_tokens":9,"cache_read_input_tokens":0}}`,
			`{"usage":{"prompt_tokens":10,"completion_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":9}}`}, chat.Usage{Input: 10, Output: 2, CacheRead: 9}},
		{"zeros say nothing of the cache", []string{`{"usage":{"prompt_tokens":0,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":0}}}`, `{"usage":{"prompt_tokens":10,"completion_tokens":2}}`}, chat.Usage{Input: 10, Output: 2, CacheUnknown: true}},
		{"zeros at the end erase nothing", []string{`{"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`,
			`{"usage":{"prompt_tokens":0,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":0}}}`}, chat.Usage{Input: 10, Output: 2, CacheRead: 4}},
		{"thinking beside the output", []string{`{"usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":109}}}`},
			chat.Usage{Input: 32, Output: 118, CacheRead: 4}},
		{"thinking in the total alone, said twice", []string{`{"usage":{"prompt_tokens":20,"completion_tokens":0,"total_tokens":40}}`, `{"usage":{"prompt_tokens":20,"completion_tokens":151,"total_tokens":553}}`},
			chat.Usage{Input: 20, Output: 533, CacheUnknown: true}},
		{"a cache beside the input", []string{`{"usage":{"input_tokens":10,"output_tokens":9,"cache_read_input_tokens":100,"cache_creation_input_tokens":50}}`}, chat.Usage{Input: 160, Output: 9, CacheRead: 100, CacheWrite: 50}},
		{"a cache beside the input by the total", []string{`{"usage":{"prompt_tokens":200,"completion_tokens":9,"total_tokens":309,"prompt_tokens_details":{"cached_tokens":100}}}`}, chat.Usage{Input: 300, Output: 9, CacheRead: 100}},
		{"none", []string{before}, chat.Usage{}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			_, _, a := read(t, completions.Answer{}, tt.chunks...)
			require.Equal(t, tt.want, a.Usage)
		})
	}
}

// The pieces are those that the table of package dialect allows.
func TestHoweverAnAnswerIsCutItIsTheSameAnswer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	declared := map[string]bool{"look": true, "look_up": true, "read": true}
	for n := range 3000 {
		whole, chunks := cutAnswer(r)
		want, _, _ := read(t, completions.Answer{Tools: declared}, whole)
		got, _, _ := read(t, completions.Answer{Tools: declared}, chunks...)
		require.Empty(t, cmp.Diff(want, got), "answer %d: %s\n%s", n, whole, strings.Join(chunks, "\n"))
	}
}

var texts = []string{"", "Here.", "<think>I look.</think>\nHere is <think>.", "<think>\n\n</think>Hm", "<thinking about it", "{\"a\": 1}", "ß🙂\\\"\n"}
var arguments = []string{`{}`, `{"path":"a.go"}`, `{"path":"\"{}\"","of":{"x":[1,{"y":"}{"}]}}`, `{ "a" : "\\" }`}

// cutAnswer returns an answer whole and in pieces.
func cutAnswer(r *rand.Rand) (whole string, chunks []string) {
	fields := map[string]any{"role": "assistant", "content": texts[r.IntN(len(texts))]}
	if r.IntN(2) == 0 {
		fields["reasoning"] = texts[r.IntN(len(texts))]
		for _, p := range cut(r, fields["reasoning"].(string)) {
			chunks = append(chunks, delta(sure.Encoded(map[string]any{"reasoning": p})))
		}
	}
	list := r.IntN(3) == 0
	for _, p := range cut(r, fields["content"].(string)) {
		var content any = p
		if list {
			content = []any{map[string]any{"type": "text", "text": p}}
		}
		chunks = append(chunks, delta(sure.Encoded(map[string]any{"content": content})))
	}
	var all []any
	var pieces [][]string
	way := r.IntN(6)
	for i := range r.IntN(4) {
		name, id, args := []string{"look", "look_up", "read"}[r.IntN(3)], fmt.Sprint("call_", i), arguments[r.IntN(len(arguments))]
		all = append(all, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": name, "arguments": args}})
		pieces = append(pieces, cutCall(r, way, i, id, name, args))
	}
	if all != nil {
		fields["tool_calls"] = all
	}
	if way < 2 { // calls that have ids or indexes alternate once they began
		for k := range pieces {
			chunks, pieces[k] = append(chunks, piece(pieces[k][0])), pieces[k][1:]
		}
	}
	for len(pieces) > 0 {
		k := 0
		if way < 2 {
			k = r.IntN(len(pieces))
		}
		if len(pieces[k]) == 0 {
			pieces = slices.Delete(pieces, k, k+1)
			continue
		}
		chunks, pieces[k] = append(chunks, piece(pieces[k][0])), pieces[k][1:]
	}
	return `{"choices":[{"index":0,"message":` + sure.Encoded(fields) + `}]}`, chunks
}

// cutCall returns the pieces of a call, in one of six ways.
func cutCall(r *rand.Rand, way, index int, id, name, args string) (pieces []string) {
	function := func(name, args string) map[string]any {
		f := map[string]any{"arguments": args}
		if name != "" {
			f["name"] = name
		}
		return f
	}
	add := func(o map[string]any) { pieces = append(pieces, sure.Encoded(o)) }
	parts := cut(r, args)
	switch way {
	case 0: // as OpenAI
		add(map[string]any{"index": index, "id": id, "function": function(name, "")})
		for _, p := range parts {
			add(map[string]any{"index": index, "function": function("", p)})
		}
	case 1: // by id, without an index
		add(map[string]any{"id": id, "function": function(name, "")})
		for _, p := range parts {
			add(map[string]any{"id": id, "function": function("", p)})
		}
	case 2: // the index is 0 for all, and later ids are others
		add(map[string]any{"index": 0, "id": id, "function": function(name, parts[0])})
		for k, p := range parts[1:] {
			add(map[string]any{"index": 0, "id": fmt.Sprint(id, "_", k), "function": function("", p)})
		}
	case 3: // cumulative, with the name in each piece
		so := ""
		for _, p := range parts {
			so += p
			add(map[string]any{"index": index, "id": id, "function": function(name, so)})
		}
	case 4: // repeated at the end
		add(map[string]any{"index": index, "id": id, "function": function(name, "")})
		for _, p := range parts {
			add(map[string]any{"index": index, "function": function("", p)})
		}
		add(map[string]any{"index": index, "id": id, "function": function(name, args)})
	case 5: // the name in pieces
		n := 1 + r.IntN(len(name)-1)
		add(map[string]any{"index": index, "id": id, "function": function(name[:n], "")})
		add(map[string]any{"index": index, "function": function(name[n:], "")})
		for _, p := range parts {
			add(map[string]any{"index": index, "function": function("", p)})
		}
	}
	return pieces
}

// cut cuts a text between characters, into at least one piece.
func cut(r *rand.Rand, text string) []string {
	pieces := []string{""}
	for _, c := range text {
		if pieces[len(pieces)-1] += string(c); r.IntN(3) == 0 {
			pieces = append(pieces, "")
		}
	}
	if len(pieces) > 1 && pieces[len(pieces)-1] == "" {
		pieces = pieces[:len(pieces)-1]
	}
	return pieces
}

func TestCases(t *testing.T) {
	wiretest.Decode(t, "completions", func(t *testing.T, in json.RawMessage) ([]chat.Message, wire.Leftovers) {
		o, err := wire.Parse(in)
		require.NoError(t, err)
		var left wire.Leftovers
		m, err := completions.Decode(o, &left)
		require.NoError(t, err)
		return []chat.Message{m}, left
	})
}
