package gemini_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/gemini"
)

// asJSON returns a value as the JSON that is sent.
func asJSON(t *testing.T, v any) any {
	t.Helper()
	return sure.Decode[any](t, sure.JSON(t, v))
}

func TestRequestSendsEachPartInTheFormOfGemini(t *testing.T) {
	pixel := base64.StdEncoding.EncodeToString([]byte("pixel"))
	for _, tt := range []struct {
		rule     string
		options  gemini.Options
		messages []chat.Message
		system   string // JSON of the system instruction
		want     string // JSON of the contents
	}{
		{
			rule:     "system messages at the start are the system instruction",
			messages: []chat.Message{chat.SystemMessage("Be brief."), chat.SystemMessage("Be kind."), chat.UserMessage("Hello.")},
			system:   `{"parts":[{"text":"Be brief."},{"text":"Be kind."}]}`,
			want:     `[{"role":"user","parts":[{"text":"Hello."}]}]`,
		}, {
			rule:     "later system messages stay where they are, in tags",
			messages: []chat.Message{chat.UserMessage("Hello."), chat.SystemMessage("Be brief.")},
			want:     `[{"role":"user","parts":[{"text":"Hello."}]},{"role":"user","parts":[{"text":"<system-message>\nBe brief.\n</system-message>"}]}]`,
		}, {
			rule:     "consecutive assistant messages are one content, user messages are not",
			messages: []chat.Message{chat.UserMessage("a"), chat.UserMessage("b"), chat.AssistantMessage("c"), chat.AssistantMessage("d"), chat.UserMessage("e")},
			want:     `[{"role":"user","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"b"}]},{"role":"model","parts":[{"text":"c"},{"text":"d"}]},{"role":"user","parts":[{"text":"e"}]}]`,
		}, {
			rule: "parallel calls are answered in one content, in their order, with errors as errors",
			messages: []chat.Message{
				chat.UserMessage("Look."),
				{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I look.")}, ToolCalls: []chat.ToolCall{signed(call("c1", `{"at":1}`)), call("c2", ``)}},
				{Role: chat.RoleTool, ToolCallID: "c2", Content: chat.Parts{chat.Text("gone")}, IsError: true},
				chat.ToolResult("c1", "42"),
			},
			want: `[{"role":"user","parts":[{"text":"Look."}]},
				{"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"c1","name":"look","args":{"at":1}},"thoughtSignature":"` + signature + `"},{"functionCall":{"id":"c2","name":"look"}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}},{"functionResponse":{"id":"c2","name":"look","response":{"error":"gone"}}}]}]`,
		}, {
			rule: "images and documents go inline or by reference",
			messages: []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{
				chat.Image{URL: "data:image/png;base64," + pixel, Detail: chat.DetailHigh}, chat.Image{URL: "https://example.com/A.JPG?x=1"},
				chat.Image{URL: "gs://bucket/b", MediaType: "image/webp"}, chat.Image{URL: "https://generativelanguage.googleapis.com/v1beta/files/abc"},
				chat.NewDocument("application/pdf", []byte("pixel")),
			}}},
			want: `[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"` + pixel + `"}},{"fileData":{"fileUri":"https://example.com/A.JPG?x=1","mimeType":"image/jpeg"}},
				{"fileData":{"fileUri":"gs://bucket/b","mimeType":"image/webp"}},{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/abc"}},
				{"inlineData":{"mimeType":"application/pdf","data":"` + pixel + `"}}]}]`,
		}, {
			rule:     "an image in a result is in its response",
			messages: []chat.Message{chat.UserMessage("Look."), calls(signed(call("c1", `{}`))), withPicture("c1", pixel)},
			want: `[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"},"thoughtSignature":"` + signature + `"}]},
				{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"A picture:"},"parts":[{"inlineData":{"mimeType":"image/png","data":"` + pixel + `"}}]}}]}]`,
		}, {
			rule:     "an image in a result is after all responses for a legacy model",
			options:  gemini.Options{Legacy: true},
			messages: []chat.Message{chat.UserMessage("Look."), calls(call("c1", `{}`), call("c2", `{}`)), withPicture("c1", pixel), chat.ToolResult("c2", "43")},
			want: `[{"role":"user","parts":[{"text":"Look."}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look"}},{"functionCall":{"id":"c2","name":"look"}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"A picture:"}}},{"functionResponse":{"id":"c2","name":"look","response":{"output":"43"}}},
				{"text":"What call c1 of look returned besides its text:"},{"inlineData":{"mimeType":"image/png","data":"` + pixel + `"}}]}]`,
		}, {
			rule: "names of users are in the text, cache breakpoints are left out",
			messages: []chat.Message{
				{Role: chat.RoleUser, Name: "Ann", Content: chat.Parts{chat.Text("Hello."), chat.CacheBreakpoint{Type: "ephemeral"}, chat.Text("Bye.")}},
				{Role: chat.RoleUser, Name: "Bob", Content: chat.Parts{chat.Image{URL: "gs://b/c"}, chat.Text("This.")}},
			},
			want: `[{"role":"user","parts":[{"text":"Ann: Hello."},{"text":"Bye."}]},{"role":"user","parts":[{"text":"Bob:"},{"fileData":{"fileUri":"gs://b/c"}},{"text":"This."}]}]`,
		}, {
			rule: "thinking of another provider is a thought without its signature",
			messages: []chat.Message{chat.UserMessage("Why?"), {Role: chat.RoleAssistant, Content: chat.Parts{
				chat.Thinking{Text: "Hm.", Signature: "another's"}, chat.Thinking{Encrypted: "hidden"}, chat.Text("Because."),
			}}, chat.UserMessage("I see.")},
			want: `[{"role":"user","parts":[{"text":"Why?"}]},{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"Because."}]},{"role":"user","parts":[{"text":"I see."}]}]`,
		}, {
			rule: "numbers that a float64 cannot hold keep their digits",
			messages: []chat.Message{
				chat.UserMessage("Look."), calls(signed(call("c1", `{"id":9007199254740993,"ids":[{"n":12345678901234567890}],"n":9007199254740992,"f":0.1,"big":1e999}`))), chat.ToolResult("c1", "42"),
			},
			want: `[{"role":"user","parts":[{"text":"Look."}]},
				{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look","args":{"id":"9007199254740993","ids":[{"n":"12345678901234567890"}],"n":9007199254740992,"f":0.1,"big":"1e999"}},"thoughtSignature":"` + signature + `"}]},
				{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"42"}}}]}]`,
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.NoError(t, gemini.Validate(asking(append(tt.messages[:len(tt.messages):len(tt.messages)], last(tt.messages)...)), tt.options))
			prompt, err := gemini.Convert(tt.messages, tt.options)
			require.NoError(t, err)
			var want, system any
			require.NoError(t, json.Unmarshal([]byte(tt.want), &want))
			require.Empty(t, cmp.Diff(want, asJSON(t, prompt.Contents)))
			if tt.system != "" {
				require.NoError(t, json.Unmarshal([]byte(tt.system), &system))
			}
			require.Empty(t, cmp.Diff(system, asJSON(t, prompt.System)))
		})
	}
}

// last returns the user message that must come after a system message at the end.
func last(messages []chat.Message) []chat.Message {
	if messages[len(messages)-1].Role == chat.RoleSystem {
		return []chat.Message{chat.UserMessage("Go on.")}
	}
	return nil
}

func withPicture(callID, data string) chat.Message {
	return chat.Message{Role: chat.RoleTool, ToolCallID: callID, Content: chat.Parts{chat.Text("A picture:"), chat.Image{URL: "data:image/png;base64," + data}}}
}

func TestAPartThatCannotBeSentIsAViolation(t *testing.T) {
	for _, tt := range []struct {
		what string
		m    chat.Message
		want string
	}{
		{"an image with an unknown scheme", user(chat.Image{URL: "ftp://a"}), `message 0: images and documents are of kinds that the API takes: part 0: an image at "ftp://a": Gemini takes data, https and gs URLs`},
		{"an image without a media type", user(chat.Text("a"), chat.Image{URL: "data:;base64,AAAA"}), "message 0: images and documents are of kinds that the API takes: part 1: an image of unknown media type"},
		{"a data URL that is not base64", user(chat.Image{URL: "data:image/png;base64,A"}), "message 0: images and documents are of kinds that the API takes: part 0: an image: a data URL: illegal base64 data at input byte 0"},
		{"a document that is not base64", user(chat.Document{Data: "?", MediaType: "a/b"}), "message 0: images and documents are of kinds that the API takes: part 0: a document: illegal base64 data at input byte 0"},
		{"a document without a media type", user(chat.Document{Data: "AAAA"}), "message 0: images and documents are of kinds that the API takes: part 0: a document of unknown media type"},
		{"another provider's opaque part", user(chat.Opaque{Value: json.RawMessage(`{"type":"tool_search"}`)}), `message 0: opaque parts are the API's: part 0: an opaque part that is not Gemini's: json: unknown field "type"`},
		{"a call in an opaque part", user(chat.Opaque{Value: json.RawMessage(`{"functionCall":{"name":"look"}}`)}), "message 0: opaque parts are the API's: part 0: a function call or response in an opaque part: use a tool call or a tool message"},
		{"an image in a system message", chat.Message{Role: chat.RoleSystem, Content: chat.Parts{chat.Image{URL: "gs://a"}}}, "message 0: images and documents are where the API takes them: part 0: a system message holds text only"},
		{"a message without content", user(), "message 0: no empty text: the message says nothing"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			_, err := gemini.Convert([]chat.Message{tt.m}, gemini.Options{})
			invalid := errtest.As[*chat.ValidationError](t, err)
			require.Len(t, invalid.Violations, 1)
			require.Equal(t, tt.want, invalid.Violations[0].String())
		})
	}
}

func user(parts ...chat.Part) chat.Message { return chat.Message{Role: chat.RoleUser, Content: parts} }

func TestAnAnswerIsSentBackUnchanged(t *testing.T) {
	for _, tt := range []struct{ what, parts string }{
		{"text", `[{"text":"Hello."}]`},
		{"two texts", `[{"text":"Hello."},{"text":" You."}]`},
		{"a signed text", `[{"text":"Hello.","thoughtSignature":"c2ln"}]`},
		{"a thought and a signed text", `[{"text":"Hm.","thought":true},{"text":"Hello.","thoughtSignature":"c2ln"}]`},
		{"a signed thought", `[{"text":"Hm.","thought":true,"thoughtSignature":"c2ln"},{"text":"Hello."}]`},
		{"white space", `[{"text":"\n"},{"text":"Hello."}]`},
		{"parallel calls, the first signed", `[{"functionCall":{"id":"a","name":"f","args":{"x":[1,{"y":"<&>"}]}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"b","name":"f"}}]`},
		{"a text, then a call", `[{"text":"I look."},{"functionCall":{"id":"a","name":"f"},"thoughtSignature":"c2ln"}]`},
		{"a call, then a text, then a call", `[{"functionCall":{"id":"a","name":"f"},"thoughtSignature":"c2ln"},{"text":"And."},{"functionCall":{"id":"b","name":"f"}}]`},
		{"a signed image", `[{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thoughtSignature":"c2ln"}]`},
		{"audio", `[{"inlineData":{"mimeType":"audio/wav","data":"AAAA"}}]`},
		{"a file with a name", `[{"inlineData":{"mimeType":"image/png","data":"AAAA","displayName":"a.png"}}]`},
		{"code and its result", `[{"executableCode":{"code":"1<2","language":"PYTHON"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"True"}},{"text":"So."}]`},
		{"a call of one of the API's own tools", `[{"toolCall":{"id":"s1","toolType":"GOOGLE_SEARCH_WEB","args":{"q":"a"}},"thoughtSignature":"c2ln"},{"text":"So."}]`},
	} {
		t.Run(tt.what, func(t *testing.T) {
			content := &genai.Content{Role: genai.RoleModel}
			require.NoError(t, json.Unmarshal([]byte(tt.parts), &content.Parts))
			m, err := gemini.FromContent(content)
			require.NoError(t, err)

			// Through JSON, as in a session, and back to the API.
			kept := sure.Decode[chat.Message](t, sure.JSON(t, m))
			require.Empty(t, cmp.Diff(m, kept))

			messages := []chat.Message{chat.UserMessage("Go."), kept}
			for _, c := range kept.ToolCalls {
				messages = append(messages, chat.ToolResult(c.ID, "42"))
			}
			if len(kept.ToolCalls) == 0 {
				messages = append(messages, chat.UserMessage("Go on."))
			}
			require.NoError(t, gemini.Validate(asking(messages), gemini.Options{}))
			prompt, err := gemini.Convert(messages, gemini.Options{})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(asJSON(t, content.Parts), asJSON(t, prompt.Contents[1].Parts)))
		})
	}
}

// The API refuses a part that is only a signature.
func TestASignatureThatCameAloneIsSentWithThePartBesideIt(t *testing.T) {
	for _, tt := range []struct{ rule, parts, want string }{
		{"it is sent with the text before it", `[{"text":"Hello."},{"thoughtSignature":"c2ln"}]`, `[{"text":"Hello.","thoughtSignature":"c2ln"}]`},
		{"after a thought it is sent with the part after it", `[{"text":"Hm.","thought":true},{"thoughtSignature":"c2ln"},{"text":"Hello."}]`, `[{"text":"Hm.","thought":true},{"text":"Hello.","thoughtSignature":"c2ln"}]`},
		{"the part after it may be a call", `[{"thoughtSignature":"c2ln"},{"functionCall":{"id":"a","name":"f"}}]`, `[{"functionCall":{"id":"a","name":"f"},"thoughtSignature":"c2ln"}]`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			content, want := &genai.Content{}, []*genai.Part(nil)
			require.NoError(t, json.Unmarshal([]byte(tt.parts), &content.Parts))
			require.NoError(t, json.Unmarshal([]byte(tt.want), &want))
			m, err := gemini.FromContent(content)
			require.NoError(t, err)
			prompt, err := gemini.Convert([]chat.Message{m}, gemini.Options{})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(asJSON(t, want), asJSON(t, prompt.Contents[0].Parts)))
		})
	}
}

func TestOptionsForKnowsLegacyModelsByTheirNames(t *testing.T) {
	for model, legacy := range map[string]bool{
		"gemini-2.5-flash": true, "models/gemini-2.0-flash-001": true, "gemini-1.5-pro": true,
		"gemini-3-pro-preview": false, "gemini-3.8-flash": false, "publishers/google/models/gemini-4-argon": false, "tuned": false, "gemini-flash-latest": false,
	} {
		require.Equal(t, gemini.Options{Legacy: legacy}, gemini.OptionsFor(model), model)
	}
}

func TestContentsConvertsAPartOfAConversation(t *testing.T) {
	system, contents, err := gemini.Contents([]chat.Message{
		chat.SystemMessage("Be brief."),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}}, // without a question or a result
		chat.ToolResult("2", "of a call that is not there"),
	}, gemini.Options{})
	require.NoError(t, err)
	require.Equal(t, "Be brief.", system.Parts[0].Text)
	require.Len(t, contents, 1)
	require.Equal(t, "f", contents[0].Parts[0].FunctionCall.Name)

	_, _, err = gemini.Contents([]chat.Message{chat.UserMessage("")}, gemini.Options{})
	require.ErrorAs(t, err, new(*chat.ValidationError))
}
