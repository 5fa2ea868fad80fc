package openai_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/openai"
)

const png = "data:image/png;base64,iVBORw0KGgo="

var pdf = chat.NewDocument("application/pdf", []byte("%PDF-1.7"))

// conversation has every kind of part that both APIs accept.
var conversation = []chat.Message{
	{Role: chat.RoleSystem, Name: "boss", Content: chat.Parts{chat.Text("Be "), chat.Text("brief."), chat.CacheBreakpoint{Lifetime: time.Hour}}},
	{Role: chat.RoleUser, Name: "Ada", Content: chat.Parts{chat.Text("Look <here>:"), chat.Image{URL: png, Detail: chat.DetailLow}, pdf,
		chat.CacheBreakpoint{}, chat.Text("and here"), chat.Image{URL: "https://example.com/a.png"}}},
	{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "of Claude's", Signature: "c2ln"}, chat.Text("I look "), chat.Text("twice.")},
		ToolCalls: []chat.ToolCall{{ID: "c1", Name: "read", Arguments: `{"a": 1}`, Signature: "of Gemini"}, {ID: "c2", Name: "read", Arguments: `{"cut`}}},
	{Role: chat.RoleTool, ToolCallID: "c2", IsError: true, Content: chat.Parts{chat.Text("no such file")}},
	{Role: chat.RoleTool, ToolCallID: "c1", Content: chat.Parts{chat.Text("a picture"), chat.Image{URL: png}}},
	{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Well?"), chat.CacheBreakpoint{Lifetime: time.Minute}}},
}

func TestChatRequestSendsEachPartInTheFormOfChatCompletions(t *testing.T) {
	got := openai.ChatMessages(conversation, openai.Options{})
	requireJSON(t, `[
		{"role":"system","name":"boss","content":"Be brief."},
		{"role":"user","name":"Ada","content":[
			{"type":"text","text":"Look <here>:"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}},
			{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0xLjc=","filename":"document.pdf"}},
			{"type":"text","text":"and here"},
			{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]},
		{"role":"assistant","content":"I look twice.","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"a\": 1}"}},
			{"id":"c2","type":"function","function":{"name":"read","arguments":"{\"cut"}}]},
		{"role":"tool","tool_call_id":"c2","content":"no such file"},
		{"role":"tool","tool_call_id":"c1","content":"a picture"},
		{"role":"user","content":[
			{"type":"text","text":"What tool call \"c1\" returned besides text:"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},
		{"role":"user","content":"Well?"}]`, got)
}

func TestItemsRequestSendsEachPartInTheFormOfResponses(t *testing.T) {
	got := openai.Items(conversation, openai.Options{})
	requireJSON(t, `[
		{"role":"system","content":"Be brief."},
		{"role":"user","content":[
			{"type":"input_text","text":"Look <here>:"},
			{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"},
			{"type":"input_file","file_data":"data:application/pdf;base64,JVBERi0xLjc=","filename":"document.pdf"},
			{"type":"input_text","text":"and here"},
			{"type":"input_image","image_url":"https://example.com/a.png","detail":"auto"}]},
		{"role":"assistant","content":"I look twice."},
		{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"a\": 1}"},
		{"type":"function_call","call_id":"c2","name":"read","arguments":"{\"cut"},
		{"type":"function_call_output","call_id":"c2","output":"no such file"},
		{"type":"function_call_output","call_id":"c1","output":[
			{"type":"input_text","text":"a picture"},
			{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo=","detail":"auto"}]},
		{"role":"user","content":"Well?"}]`, got)
}

func TestABreakpointIsOnThePartBeforeIt(t *testing.T) {
	require.True(t, openai.OptionsFor("gpt-5.6-sol").Breakpoints)
	require.True(t, openai.OptionsFor("openai/gpt-6").Breakpoints)
	require.False(t, openai.OptionsFor("gpt-5.5").Breakpoints)
	require.False(t, openai.OptionsFor("claude-5.6").Breakpoints)
	messages := []chat.Message{
		{Role: chat.RoleSystem, Content: chat.Parts{chat.CacheBreakpoint{}, chat.Text("Be brief."), chat.CacheBreakpoint{Lifetime: time.Hour}}},
		{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: png}, chat.CacheBreakpoint{}, pdf, chat.CacheBreakpoint{Lifetime: time.Minute}, chat.Text("Go.")}},
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I go."), chat.CacheBreakpoint{}}, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "go", Arguments: "{}"}}},
		{Role: chat.RoleTool, ToolCallID: "c1", Content: chat.Parts{chat.Text("gone"), chat.CacheBreakpoint{}}},
	}
	options := openai.Options{Developer: true, Breakpoints: true}
	got := openai.ChatMessages(messages, options)
	requireJSON(t, `[
		{"role":"developer","content":[{"type":"text","text":"Be brief.","prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}}]},
		{"role":"user","content":[
			{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="},"prompt_cache_breakpoint":{"mode":"explicit"}},
			{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0xLjc=","filename":"document.pdf"},"prompt_cache_breakpoint":{"mode":"explicit","ttl":"30m"}},
			{"type":"text","text":"Go.","prompt_cache_breakpoint":{"mode":"explicit"}}]},
		{"role":"assistant","content":"I go.","tool_calls":[{"id":"c1","type":"function","function":{"name":"go","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"gone","prompt_cache_breakpoint":{"mode":"explicit"}}]}]`, got)
	items := openai.Items(messages, options)
	requireJSON(t, `[
		{"role":"developer","content":[{"type":"input_text","text":"Be brief.","prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}}]},
		{"role":"user","content":[
			{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo=","detail":"auto","prompt_cache_breakpoint":{"mode":"explicit"}},
			{"type":"input_file","file_data":"data:application/pdf;base64,JVBERi0xLjc=","filename":"document.pdf","prompt_cache_breakpoint":{"mode":"explicit","ttl":"30m"}},
			{"type":"input_text","text":"Go.","prompt_cache_breakpoint":{"mode":"explicit"}}]},
		{"role":"assistant","content":"I go."},
		{"type":"function_call","call_id":"c1","name":"go","arguments":"{}"},
		{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"gone","prompt_cache_breakpoint":{"mode":"explicit"}}]}]`, items)
	for _, api := range apis {
		s := newServer(t, always(reply{items: []item{message("msg_1", "42")}}))
		providertest.Generated(t, s.model(api, "gpt-5.6-sol"), chat.Request{Messages: messages})
		_, err := s.model(api, "gpt-4o").Generate(t.Context(), chat.Request{Messages: messages})
		require.NoError(t, err, "a model that caches by itself is sent no breakpoints")
	}
}

func TestOpaquePartsAreSentUnchanged(t *testing.T) {
	audio := chat.Opaque{Value: json.RawMessage(`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"},"new":[1.50,"é"]}`)}
	search := chat.Opaque{Value: json.RawMessage(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`)}
	messages := []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Listen:"), audio}}}
	require.Contains(t, toJSON(openai.ChatMessages(messages, openai.Options{})), string(audio.Value))
	items := openai.Items(append(messages, chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("a"), search, chat.Text("b")}}), openai.Options{})
	require.Len(t, items, 4)
	require.Equal(t, string(search.Value), toJSON(items[2]))
	require.Contains(t, toJSON(items[0]), string(audio.Value))
}

func TestEachPartThatCannotBeSentIsAViolation(t *testing.T) {
	m := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("See."), chat.Image{URL: png}, pdf}}
	err := openai.Validate(chat.Request{Messages: []chat.Message{chat.UserMessage("Look."), m, chat.UserMessage("Well?")}}, openai.Responses)
	invalid, _ := errors.AsType[*chat.ValidationError](err)
	require.Equal(t, []chat.Violation{
		{Index: 1, Rule: provider.RulePlace, Detail: "part 1: an image cannot be in a message of role assistant"},
		{Index: 1, Rule: provider.RulePlace, Detail: "part 2: a document cannot be in a message of role assistant"},
	}, invalid.Violations)
}

func TestAPartThatCannotBeSentIsAViolation(t *testing.T) {
	user := func(p chat.Part) chat.Message {
		return chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("a"), p}}
	}
	from := func(role chat.Role, p chat.Part) chat.Message {
		return chat.Message{Role: role, Content: chat.Parts{chat.Text("a"), p}}
	}
	opaque := func(value string) chat.Part { return chat.Opaque{Value: json.RawMessage(value)} }
	for _, tt := range []struct {
		rule     string
		api      openai.API
		message  chat.Message
		violates chat.Rule
		want     string
	}{
		{"an image in an assistant message", openai.ChatCompletions, from(chat.RoleAssistant, chat.Image{URL: png}), provider.RulePlace, "cannot be in a message of role assistant"},
		{"an image in an assistant message", openai.Responses, from(chat.RoleAssistant, chat.Image{URL: png}), provider.RulePlace, "cannot be in a message of role assistant"},
		{"a document in an assistant message", openai.Responses, from(chat.RoleAssistant, pdf), provider.RulePlace, "cannot be in a message of role assistant"},
		{"an image in a system message", openai.ChatCompletions, from(chat.RoleSystem, chat.Image{URL: png}), provider.RulePlace, "cannot be in a message of role system"},
		{"an image without a URL", openai.ChatCompletions, user(chat.Image{URL: "ftp://cat.png"}), provider.RuleMedia, "needs an http, https or data URL"},
		{"a document without data", openai.Responses, user(chat.Document{MediaType: "application/pdf"}), provider.RuleMedia, "needs its data"},
		{"a document that is not base64", openai.Responses, user(chat.Document{Data: "%"}), provider.RuleMedia, "needs its data"},
		{"an opaque part that is not JSON", openai.ChatCompletions, user(opaque(`{`)), provider.RuleOpaque, "does not accept this part"},
		{"an opaque part that is not UTF-8", openai.ChatCompletions, user(opaque("{\"type\":\"text\",\"text\":\"\xff\"}")), provider.RuleOpaque, "does not accept this part"},
		{"an opaque part of another provider", openai.Responses, from(chat.RoleAssistant, opaque(`{"type":"redacted_thinking","data":"x"}`)), provider.RuleOpaque, "does not accept this part"},
		{"an item in Chat Completions", openai.ChatCompletions, from(chat.RoleAssistant, opaque(`{"type":"web_search_call"}`)), provider.RuleOpaque, "does not accept this part"},
		{"a whole call as an opaque part", openai.Responses, from(chat.RoleAssistant, opaque(`{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}`)), provider.RuleOpaque, "does not accept this part"},
	} {
		t.Run(tt.rule+" "+tt.api.String(), func(t *testing.T) {
			req := chat.Request{Messages: []chat.Message{question, tt.message, question}}
			_, err := openai.ChatRequest(req, openai.Options{})
			if tt.api == openai.Responses {
				_, err = openai.ItemsRequest(req, openai.Options{})
			}
			invalid := errtest.As[*chat.ValidationError](t, err)
			require.Equal(t, 1, invalid.Violations[0].Index)
			require.Equal(t, tt.violates, invalid.Violations[0].Rule)
			require.ErrorContains(t, err, "part 1: ")
			require.ErrorContains(t, err, tt.want)
			repaired, changes := openai.Repair(req, tt.api)
			require.NotEmpty(t, changes)
			require.Equal(t, tt.violates, changes[0].Rule)
			require.NoError(t, openai.Validate(repaired, tt.api))
		})
	}
}

// with returns an item with another value of a field.
func with(it item, key string, value any) item {
	out := maps.Clone(it)
	out[key] = value
	return out
}

// answers are answers of the Responses API.
var answers = []struct {
	rule  string
	items []item
	// kinds of the parts and calls of the message
	kinds string
}{
	{"a text", []item{message("", "42")}, "text"},
	{"reasoning before a text", []item{reasoning("rs_1", "", "gAAA+/=="), message("msg_1", "42")}, "thinking opaque text"},
	{"reasoning with a summary before calls", []item{reasoning("rs_1", "So <it> is.", "gAAA"), call("fc_1", "c1", "read", "{}"), call("fc_2", "c2", "read", ` {"a" : 1}`)}, "thinking call call"},
	{"reasoning with several summaries", []item{with(reasoning("rs_1", "", "gAAA"), "summary", []any{item{"type": "summary_text", "text": "a"}, item{"type": "summary_text", "text": "b"}}), message("msg_1", "42")}, "thinking opaque text"},
	{"reasoning in plain text", []item{with(with(reasoning("rs_1", "", ""), "encrypted_content", nil), "content", []any{item{"type": "reasoning_text", "text": "hm"}}), message("msg_1", "42")}, "thinking opaque text"},
	{"reasoning with an unknown field", []item{with(reasoning("rs_1", "a", "gAAA"), "new", item{"b": []any{1, "x"}}), message("msg_1", "42")}, "thinking opaque text"},
	{"reasoning after a text", []item{reasoning("rs_1", "", "gAAA"), with(message("msg_1", "I look."), "phase", "commentary"), reasoning("rs_2", "b", "gBBB"), call("fc_1", "c1", "read", "{}")}, "thinking opaque text opaque call"},
	{"reasoning between calls", []item{reasoning("rs_1", "", "gAAA"), call("fc_1", "c1", "read", "{}"), reasoning("rs_2", "", "gBBB"), call("fc_2", "c2", "read", "{}")}, "thinking opaque opaque call call"},
	{"a text after a call", []item{call("", "c1", "read", "{}"), message("", "I have called.")}, "opaque text call"},
	{"two messages with their phases", []item{with(message("", "I look."), "phase", "commentary"), with(message("", "42"), "phase", "final_answer")}, "opaque text opaque text"},
	{"annotations", []item{{"type": "message", "role": "assistant", "status": "completed", "content": []any{
		item{"type": "output_text", "text": "a", "annotations": []any{item{"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 1, "title": "X"}}},
		item{"type": "output_text", "text": "b", "annotations": []any{}}}}}, "opaque text text"},
	{"a refusal", []item{{"type": "message", "role": "assistant", "status": "completed", "content": []any{item{"type": "refusal", "refusal": "no"}}}}, "opaque"},
	{"a search between other items", []item{reasoning("rs_1", "", "gAAA"), {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": item{"type": "search", "query": "q<"}}, message("msg_1", "42")}, "thinking opaque opaque text"},
	{"a call in a namespace", []item{reasoning("rs_1", "", "gAAA"), with(call("fc_1", "c1", "read", "{}"), "namespace", "files")}, "thinking call"},
	{"a custom call", []item{reasoning("rs_1", "", "gAAA"), {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sh", "input": "ls -l"}}, "thinking call"},
	{"a message that was cut off", []item{with(with(message("", "I lo"), "status", "incomplete"), "new", 1)}, "opaque text"},
}

func TestAnAnswerIsSentBackUnchanged(t *testing.T) {
	for _, tt := range answers {
		t.Run(tt.rule, func(t *testing.T) {
			m := openai.MessageOfItems(output(t, tt.items))
			kinds := ""
			for _, p := range m.Content {
				switch p.(type) {
				case chat.Text:
					kinds += " text"
				case chat.Thinking:
					kinds += " thinking"
				case chat.Opaque:
					kinds += " opaque"
				}
			}
			for range m.ToolCalls {
				kinds += " call"
			}
			require.Equal(t, " "+tt.kinds, kinds)

			var stored chat.Message // as in a session
			require.NoError(t, json.Unmarshal([]byte(toJSON(m)), &stored))
			require.Empty(t, cmp.Diff(m, stored))
			back := openai.Items([]chat.Message{stored}, openai.Options{})
			require.Empty(t, cmp.Diff(plain(t, tt.items), plain(t, back)))
			again := openai.Items([]chat.Message{stored}, openai.Options{})
			require.Equal(t, toJSON(back), toJSON(again), "the same bytes each time, for the cache")
			other := chat.Request{Messages: []chat.Message{stored, question}}
			for _, c := range stored.ToolCalls {
				other.Messages = slices.Insert(other.Messages, 1, chat.ToolResult(c.ID, "1"))
			}
			if tt.rule != "a search between other items" {
				_, err := openai.ChatRequest(other, openai.Options{})
				require.NoError(t, err, "the other API accepts it too")
			}
		})
	}
}

func TestTheServerAcceptsItsAnswersBack(t *testing.T) {
	answers := [][]item{
		{reasoning("rs_1", "a", "gAAA"), message("msg_1", "I look."), reasoning("rs_2", "", "gBBB"), call("fc_1", "c1", "count", "{}"), reasoning("rs_3", "", "gCCC"), call("fc_2", "c2", "count", "{}")},
		{reasoning("rs_4", "", "gDDD"), call("fc_3", "c3", "count", "{}")},
		{reasoning("rs_5", "", "gEEE"), message("msg_2", "42")},
		{message("msg_3", "42")},
	}
	n := 0
	s := newServer(t, nil)
	s.answer = always(reply{})
	messages := []chat.Message{question}
	for n = range answers {
		s.answer = always(reply{items: answers[n]})
		got := providertest.Generated(t, s.model(openai.Responses, "o3"), chat.Request{Messages: messages, Tools: []chat.Tool{countTool}})
		messages = append(messages, got.Message)
		for _, c := range got.Message.ToolCalls {
			messages = append(messages, chat.ToolResult(c.ID, "42"))
		}
		if len(got.Message.ToolCalls) == 0 {
			messages = append(messages, question)
		}
		require.NoError(t, openai.Validate(chat.Request{Messages: messages}, openai.Responses))
	}
	require.Equal(t, "gBBB", s.last(t).Get("input.3.encrypted_content").String())

	// Without their reasoning, which a history may cut off, items are sent without the ids that belong to it.
	for i := range messages {
		var kept chat.Parts
		for _, p := range messages[i].Content {
			if _, ok := p.(chat.Thinking); !ok {
				kept = append(kept, p)
			}
		}
		messages[i].Content = kept
	}
	providertest.Generated(t, s.model(openai.Responses, "o3"), chat.Request{Messages: messages, Tools: []chat.Tool{countTool}})
	require.False(t, s.last(t).Get("input.1.id").Exists())
	require.Equal(t, "fc_1", s.last(t).Get("input.3.id").String(), "its reasoning, later in the message, is there")
}

func TestACustomCallIsSentBackAsACustomCall(t *testing.T) {
	answer := sure.Decode[sdk.ChatCompletion](t, []byte(`{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"custom","custom":{"name":"sh","input":"ls"}}]}}]}`))
	r, err := openai.ChatResponse(&answer)
	require.NoError(t, err)
	m := r.Message
	require.Equal(t, "ls", m.ToolCalls[0].Arguments)
	got := openai.ChatMessages([]chat.Message{m}, openai.Options{})
	requireJSON(t, `[{"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"sh","input":"ls"}}]}]`, got)
	items := openai.Items([]chat.Message{m, chat.ToolResult("c1", "a")}, openai.Options{})
	requireJSON(t, `[{"type":"custom_tool_call","call_id":"c1","name":"sh","input":"ls"},{"type":"custom_tool_call_output","call_id":"c1","output":"a"}]`, items)
}

// output returns a list of items in the SDK's type.
func output(t testing.TB, items []item) []responses.ResponseOutputItemUnion {
	t.Helper()
	return sure.Decode[[]responses.ResponseOutputItemUnion](t, []byte(toJSON(items)))
}

// plain returns a list of items without the fields that say nothing: empty lists, nulls, empty ids, and the status of
// whole items. A text alone becomes a list of one.
func plain(t testing.TB, items any) []map[string]any {
	t.Helper()
	list := sure.Decode[[]map[string]any](t, []byte(toJSON(items)))
	for _, it := range list {
		if it["status"] == "completed" && it["type"] != "web_search_call" {
			delete(it, "status")
		}
		if text, ok := it["content"].(string); ok {
			it["type"] = "message"
			it["content"] = []any{map[string]any{"type": "output_text", "text": text}}
		}
		if parts, ok := it["content"].([]any); ok {
			for _, p := range parts {
				dropEmpty(p.(map[string]any))
			}
		}
		dropEmpty(it)
	}
	return list
}

func dropEmpty(o map[string]any) {
	for k, v := range o {
		list, isList := v.([]any)
		if v == nil || v == "" || isList && len(list) == 0 && k != "summary" {
			delete(o, k)
		}
	}
}

func requireJSON(t testing.TB, want string, got any) {
	t.Helper()
	require.JSONEq(t, want, toJSON(got))
}
