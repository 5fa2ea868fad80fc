package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/openai"
)

// throughTheSDK writes a request, reads it, and writes it again.
func throughTheSDK(t *testing.T, api openai.API, req chat.Request, o openai.Options) (wrote, again string, read chat.Request) {
	t.Helper()
	if api == openai.Responses {
		params, err := openai.ItemsRequest(req, o)
		require.NoError(t, err)
		read, err = openai.ReadItems(params)
		require.NoError(t, err)
		return sorted(t, toJSON(params.Input)), sorted(t, toJSON(openai.Items(read.Messages, o))), read
	}
	params, err := openai.ChatRequest(req, o)
	require.NoError(t, err)
	read, err = openai.ReadChat(params)
	require.NoError(t, err)
	return toJSON(params.Messages), toJSON(openai.ChatMessages(read.Messages, o)), read
}

// sorted returns JSON with the fields of each object in order: items that are no plain messages are written so.
func sorted(t *testing.T, s string) string {
	t.Helper()
	return toJSON(sure.Decode[any](t, []byte(s)))
}

// plainParts returns a request without opaque parts that are read as something else: texts, items of an assistant in
// a user's message, and ids that follow no reasoning.
func plainParts(req chat.Request) chat.Request {
	for _, m := range req.Messages {
		for i, p := range m.Content {
			o, ok := p.(chat.Opaque)
			if !ok || !gjson.ValidBytes(o.Value) {
				continue
			}
			switch kind := gjson.GetBytes(o.Value, "type").String(); {
			case kind == "text", kind == "input_text", kind == "output_text":
				m.Content[i] = chat.Text(gjson.GetBytes(o.Value, "text").String())
			case kind == "web_search_call" && m.Role != chat.RoleAssistant:
				m.Content[i] = chat.Opaque{Value: json.RawMessage(`{"type":"compaction","encrypted_content":"a"}`)}
			case kind == "message":
				m.Content[i] = chat.Opaque{Value: json.RawMessage(`{"type":"message","phase":"commentary"}`)}
			}
		}
	}
	return req
}

// firstDifference returns the texts from a little before where they differ.
func firstDifference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-200)
	return a[from:min(len(a), i+200)] + "\n\n" + b[from:min(len(b), i+200)]
}

// FuzzRead writes random histories, reads them, and writes them again.
func FuzzRead(f *testing.F) {
	addRandom(f, 300)
	f.Fuzz(func(t *testing.T, data []byte) {
		req := chat.Request{Messages: anyHistory(&source{data})}
		if len(req.Messages) == 0 {
			return
		}
		for _, api := range apis {
			for _, o := range []openai.Options{{}, {Breakpoints: true, Developer: true}} {
				repaired, _ := openai.Repair(plainParts(req), api)
				wrote, again, read := throughTheSDK(t, api, repaired, o)
				require.True(t, wrote == again, "%s: %s", api, firstDifference(wrote, again))
				require.NoError(t, openai.Validate(read, api), "%s", api)
			}
		}
	})
}

func TestWhatWasWrittenIsReadAsItWas(t *testing.T) {
	plain := []chat.Message{
		chat.SystemMessage("Be brief."),
		{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Look:"), chat.Image{URL: png, Detail: chat.DetailLow}, pdf}},
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I look.")}, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "read", Arguments: `{"a":1}`}, {ID: "c2", Name: "read", Arguments: `{}`}}},
		{Role: chat.RoleTool, ToolCallID: "c1", Content: chat.Parts{chat.Image{URL: png}, chat.Image{URL: "https://example.com/a.png"}}},
		{Role: chat.RoleTool, ToolCallID: "c2", Content: chat.Parts{chat.Text("text"), pdf}},
		chat.UserMessage("And?"),
		chat.AssistantMessage("Done."),
		chat.AssistantMessage("Really."),
		chat.UserMessage("Good."),
	}
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			_, _, read := throughTheSDK(t, api, chat.Request{Messages: plain, Tools: []chat.Tool{countTool}}, openai.Options{})
			require.Empty(t, cmp.Diff(plain, read.Messages))
			require.Equal(t, countTool.Name, read.Tools[0].Name)
			require.JSONEq(t, string(countTool.Parameters), string(read.Tools[0].Parameters))
		})
	}
}

func TestWhatHasNoPlaceIsSentBackAsItWas(t *testing.T) {
	for name, given := range map[string]string{
		"fields of a gateway":           `{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`,
		"audio that is named by its id": `{"role":"assistant","audio":{"id":"audio_1"},"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]}`,
		"a refusal":                     `{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`,
		"fields of a call":              `{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"},"extra_content":{"google":{"thought_signature":"x"}}}]}`,
		"a custom call":                 `{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"n","input":"text"}}]}`,
		"audio":                         `{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}`,
		"a file by its id":              `{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}`,
		"a file with a name of its own": `{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0xLjc=","filename":"report.pdf"}}]}`,
		"a part with a mark of another": `{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := param.Override[sdk.ChatCompletionMessageParamUnion](json.RawMessage(given))
			read, err := openai.ReadChat(sdk.ChatCompletionNewParams{Messages: []sdk.ChatCompletionMessageParamUnion{m}})
			require.NoError(t, err)
			require.JSONEq(t, given, gjson.Get(toJSON(openai.ChatMessages(read.Messages, openai.Options{})), "0").Raw)
		})
	}
}

func TestAnAnswerThatOnlyRefusesOrSpeaksIsSentBack(t *testing.T) {
	for answer, want := range map[string]string{
		`{"role":"assistant","refusal":"No."}`:          `{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`, // where a request has it
		`{"role":"assistant","audio":{"id":"audio_1"}}`: `{"role":"assistant","audio":{"id":"audio_1"}}`,
	} {
		message := sure.Decode[sdk.ChatCompletionMessage](t, []byte(answer))
		params := sdk.ChatCompletionNewParams{Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("Go!"), message.ToParam(), sdk.UserMessage("Why?")}}
		read, err := openai.ReadChat(params)
		require.NoError(t, err)
		wrote, err := openai.ChatRequest(read, openai.Options{})
		require.NoError(t, err)
		require.JSONEq(t, want, string(sure.JSON(t, wrote.Messages[1])))
	}
}

func TestWhatCannotBeReadIsAnErrorThatNamesIt(t *testing.T) {
	chatOf := func(raw string) error {
		m := param.Override[sdk.ChatCompletionMessageParamUnion](json.RawMessage(raw))
		_, err := openai.ReadChat(sdk.ChatCompletionNewParams{Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("a"), m}})
		return err
	}
	require.ErrorContains(t, chatOf(`{"role":"function","name":"n","content":"a"}`), `openai: message 1 cannot be read: its role is "function"`)
	itemsOf := func(raw string) error {
		item := param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(raw))
		_, err := openai.ReadItems(responses.ResponseNewParams{Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{item}}})
		return err
	}
	require.ErrorContains(t, itemsOf(`{"type":"item_reference","id":"msg_1"}`), "openai: input item 0 cannot be read: it refers to a stored item")
	_, err := openai.ReadItems(responses.ResponseNewParams{PreviousResponseID: param.NewOpt("resp_1")})
	require.ErrorContains(t, err, `openai: the input begins with the stored response "resp_1"`)
}
