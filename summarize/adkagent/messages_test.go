package adkagent_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/adkagent"
)

func user(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: parts}
}

func said(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleModel, Parts: parts}
}

func called(id, name string, args map[string]any) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}}
}

func returned(id, name string, response map[string]any, parts ...*genai.FunctionResponsePart) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: response, Parts: parts}}
}

// conversations are contents that a round trip must not change.
var conversations = []struct {
	name     string
	contents []*genai.Content
}{
	{"a question and an answer", []*genai.Content{user(&genai.Part{Text: "Why?"}), said(&genai.Part{Text: "Because."})}},
	{"texts in parts", []*genai.Content{user(&genai.Part{Text: "a"}, &genai.Part{Text: " \n"}, &genai.Part{Text: "b"})}},
	{"questions that follow each other", []*genai.Content{user(&genai.Part{Text: "a"}), user(&genai.Part{Text: "b"})}},
	{"a thought with its signature", []*genai.Content{said(&genai.Part{Text: "hm", Thought: true, ThoughtSignature: []byte{1, 2}}, &genai.Part{Text: "So."})}},
	{"a signed text", []*genai.Content{said(&genai.Part{Text: "So.", ThoughtSignature: []byte{0xff}})}},
	{"parallel calls without ids", []*genai.Content{
		user(&genai.Part{Text: "go"}),
		said(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "read", Args: map[string]any{"path": "a"}}, ThoughtSignature: []byte("s")}, called("", "read", map[string]any{"path": "b"})),
		user(returned("", "read", map[string]any{"result": "A"}), returned("", "read", map[string]any{"result": "B"})),
	}},
	{"calls with ids", []*genai.Content{
		said(called("1", "f", map[string]any{"n": 1.5, "list": []any{true, nil, "<x>"}}), called("2", "g", map[string]any{"big": json.Number("9007199254740992")})),
		user(returned("1", "f", map[string]any{"a": map[string]any{"b": 1}}), returned("2", "g", map[string]any{"error": "no"})),
	}},
	{"a call before a text", []*genai.Content{
		said(called("1", "f", map[string]any{}), &genai.Part{Text: "wait"}), user(returned("1", "f", map[string]any{"ok": true})),
	}},
	{"results of several forms", []*genai.Content{
		said(called("1", "f", nil), called("2", "f", nil), called("3", "f", nil), called("4", "f", nil), called("5", "f", nil), called("6", "f", nil), called("7", "f", nil)),
		user(
			returned("1", "f", map[string]any{"output": "x"}), returned("2", "f", map[string]any{"result": `{"is":"JSON"}`}),
			returned("3", "f", map[string]any{"result": ""}), returned("4", "f", map[string]any{}), returned("5", "f", nil),
			returned("6", "f", map[string]any{"error": map[string]any{"code": 1}}), returned("7", "f", map[string]any{"result": "null"}),
		),
	}},
	{"media", []*genai.Content{
		user(
			&genai.Part{InlineData: &genai.Blob{Data: []byte{1}, MIMEType: "image/png"}},
			&genai.Part{InlineData: &genai.Blob{Data: []byte{2}, MIMEType: "application/pdf"}},
			&genai.Part{InlineData: &genai.Blob{Data: []byte{3}, MIMEType: "audio/wav", DisplayName: "a"}, VideoMetadata: &genai.VideoMetadata{}},
			&genai.Part{FileData: &genai.FileData{FileURI: "https://example.com/x", MIMEType: "image/webp"}},
			&genai.Part{FileData: &genai.FileData{FileURI: "gs://b/x.mp4", MIMEType: "video/mp4", DisplayName: "film"}},
		),
		said(&genai.Part{InlineData: &genai.Blob{Data: []byte{4}, MIMEType: "image/jpeg"}}),
	}},
	{"a result with media", []*genai.Content{
		said(called("1", "f", nil)),
		user(returned("1", "f", map[string]any{"result": "a plot"},
			&genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{Data: []byte{5}, MIMEType: "image/png"}},
			&genai.FunctionResponsePart{FileData: &genai.FunctionResponseFileData{FileURI: "gs://b/x", MIMEType: "text/plain", DisplayName: "d"}})),
	}},
	{"code that the model ran", []*genai.Content{said(
		&genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "print(1)", Language: genai.LanguagePython}},
		&genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Outcome: genai.OutcomeOK, Output: "1\n"}},
		&genai.Part{Text: "One."},
	)}},
	{"a text after a result", []*genai.Content{
		said(called("1", "f", nil)), user(returned("1", "f", map[string]any{"result": "x"})), user(&genai.Part{Text: "and now?"}),
	}},
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	return string(sure.JSON(t, v))
}

func TestContentsAreUnchangedAfterARoundTrip(t *testing.T) {
	for _, c := range conversations {
		t.Run(c.name, func(t *testing.T) {
			data := sure.JSON(t, fromADK(t, c.contents)) // as a session keeps them
			_, back, err := adkagent.ToADK(sure.Decode[[]chat.Message](t, data))
			require.NoError(t, err)
			require.Equal(t, asJSON(t, c.contents), asJSON(t, back))
		})
	}
}

func TestAResultAnswersTheFirstOpenCallOfItsName(t *testing.T) {
	messages, err := adkagent.FromADK([]*genai.Content{
		said(called("", "a", nil), called("", "b", nil), called("", "a", nil)),
		user(returned("", "b", map[string]any{"result": "B"}), returned("", "a", map[string]any{"result": "A1"}), returned("", "a", map[string]any{"result": "A2"})),
	})
	require.NoError(t, err)
	calls := messages[0].ToolCalls
	require.Equal(t, chat.ToolResult(calls[1].ID, "B"), messages[1])
	require.Equal(t, chat.ToolResult(calls[0].ID, "A1"), messages[2])
	require.Equal(t, chat.ToolResult(calls[2].ID, "A2"), messages[3])
}

func TestTheTextOfAResultIsItsOnlyTextFieldOrItsJSON(t *testing.T) {
	for _, c := range []struct {
		response map[string]any
		text     string
		failed   bool
	}{
		{map[string]any{"result": "it works"}, "it works", false},
		{map[string]any{"error": "no such file"}, "no such file", true},
		{map[string]any{"result": "x", "status": 1}, `{"result":"x","status":1}`, false},
		{map[string]any{"result": 4}, `{"result":4}`, false},
		{map[string]any{"html": "<b>"}, `{"html":"<b>"}`, false},
	} {
		messages := fromADK(t, []*genai.Content{said(called("1", "f", nil)), user(returned("1", "f", c.response))})
		require.Equal(t, c.text, messages[1].Text())
		require.Equal(t, c.failed, messages[1].IsError)
	}
}

func TestMessagesThatCannotBeConvertedAreErrors(t *testing.T) {
	for name, c := range map[string]*genai.Content{
		"a call of the user's":       user(called("1", "f", nil)),
		"a response of the model's":  said(returned("1", "f", nil)),
		"a call that comes in parts": said(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "f", WillContinue: new(true)}}),
		"a result that is no JSON":   user(returned("1", "f", map[string]any{"f": func() {}})),
	} {
		_, err := adkagent.FromADK([]*genai.Content{c})
		require.ErrorContains(t, err, "adkagent: ", name)
		require.ErrorContains(t, err, "content 0 cannot be read: ", name)
	}
}

// FuzzMessages checks that contents made from messages survive a round trip unchanged.
func FuzzMessages(f *testing.F) {
	for _, c := range conversations {
		data := sure.JSON(f, c.contents)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var contents []*genai.Content
		if json.Unmarshal(data, &contents) != nil {
			return
		}
		messages, err := adkagent.FromADK(contents)
		if err != nil {
			return
		}
		instruction, first, err := adkagent.ToADK(messages)
		if err != nil {
			return // these messages cannot be sent
		}
		require.Nil(t, instruction)
		_, second, err := adkagent.ToADK(fromADK(t, first))
		require.NoError(t, err)
		a := sure.JSON(t, first)
		b := sure.JSON(t, second)
		require.True(t, bytes.Equal(a, b), "%s\n%s", a, b)
	})
}
