package gemini_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/gemini"
)

// throughTheSDK writes a valid request, reads it, and writes it again.
func throughTheSDK(t *testing.T, req chat.Request, o gemini.Options) (wrote, again string, read chat.Request) {
	t.Helper()
	contents, config, err := gemini.Request(req, o)
	require.NoError(t, err)
	read, err = gemini.ReadContents(contents, config)
	require.NoError(t, err)
	system, back, err := gemini.Contents(read.Messages, o)
	require.NoError(t, err)
	asText := func(system *genai.Content, contents []*genai.Content) string {
		return string(sure.JSON(t, map[string]any{"system": system, "contents": contents}))
	}
	return asText(config.SystemInstruction, contents), asText(system, back), read
}

// FuzzRead writes random histories, reads them, and writes them again.
func FuzzRead(f *testing.F) {
	for seed := range uint64(500) {
		f.Add(seed, seed%3 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, legacy bool) {
		o := gemini.Options{Legacy: legacy}
		req, _ := gemini.Repair(asking(dice{rand.New(rand.NewPCG(seed, 2))}.history()), o)
		if len(req.Messages) == 0 {
			return
		}
		wrote, again, read := throughTheSDK(t, req, o)
		require.Empty(t, cmp.Diff(wrote, again))
		require.NoError(t, gemini.Validate(read, o))
	})
}

func TestWhatWasWrittenIsReadAsItWas(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)
	image := chat.Image{URL: "data:image/png;base64,AAAA", MediaType: "image/png"}
	for name, o := range map[string]gemini.Options{"Gemini 3": {}, "legacy": {Legacy: true}} {
		t.Run(name, func(t *testing.T) {
			req := chat.Request{
				Messages: []chat.Message{
					chat.SystemMessage("Be brief."),
					{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Look:"), image, chat.NewDocument("application/pdf", []byte("%PDF")), chat.Image{URL: "https://example.com/a.png", MediaType: "image/png"}}},
					{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I look.")}, ToolCalls: []chat.ToolCall{
						{ID: "a", Name: "look", Arguments: `{"a":1}`, Signature: gemini.SkipSignature}, {ID: "b", Name: "look", Arguments: `{}`},
					}},
					{Role: chat.RoleTool, ToolCallID: "a", Content: chat.Parts{chat.Text("see"), image}},
					{Role: chat.RoleTool, ToolCallID: "b", IsError: true, Content: chat.Parts{chat.Text("no")}},
					chat.UserMessage("And?"),
				},
				Tools: []chat.Tool{{Name: "look", Description: "It looks.", Parameters: schema}, {Name: "plain"}},
			}
			wrote, again, read := throughTheSDK(t, req, o)
			require.Equal(t, wrote, again)
			require.Empty(t, cmp.Diff(req, read))
		})
	}
}

func TestCallsWithoutIDsAreAnsweredInOrder(t *testing.T) {
	contents := []*genai.Content{
		genai.NewContentFromText("Look twice.", genai.RoleUser),
		{Role: genai.RoleModel, Parts: []*genai.Part{genai.NewPartFromFunctionCall("look", nil), genai.NewPartFromFunctionCall("look", nil)}},
		{Role: genai.RoleUser, Parts: []*genai.Part{
			genai.NewPartFromFunctionResponse("look", map[string]any{"result": 1}), genai.NewPartFromFunctionResponse("look", map[string]any{"error": "no"}),
		}},
	}
	read, err := gemini.ReadContents(contents, nil)
	require.NoError(t, err)
	calls := read.Messages[1].ToolCalls
	require.NotEqual(t, calls[0].ID, calls[1].ID)
	require.Equal(t, []chat.Message{
		{Role: chat.RoleTool, ToolCallID: calls[0].ID, Content: chat.Parts{chat.Text(`{"result":1}`)}},
		{Role: chat.RoleTool, ToolCallID: calls[1].ID, Content: chat.Parts{chat.Text("no")}, IsError: true},
	}, read.Messages[2:])
	alone, err := gemini.ReadContents(contents[2:], nil)
	require.NoError(t, err)
	require.Equal(t, chat.Message{Role: chat.RoleTool, Name: "look", Content: chat.Parts{chat.Text("no")}, IsError: true}, alone.Messages[1], "without its call")
	_, back, err := gemini.Contents(read.Messages, gemini.Options{})
	require.NoError(t, err)
	require.Empty(t, back[1].Parts[0].FunctionCall.ID, "ids that were made are not sent")
}

func TestAnAnswerThatSaysNothingIsLeftOut(t *testing.T) {
	read, err := gemini.ReadContents([]*genai.Content{
		genai.NewContentFromText("Why?", genai.RoleUser), {Role: genai.RoleModel}, genai.NewContentFromText("Why?", genai.RoleUser),
	}, nil)
	require.NoError(t, err)
	require.Equal(t, []chat.Message{chat.UserMessage("Why?"), chat.UserMessage("Why?")}, read.Messages)
}

func TestASignatureInTheUsersContentIsKept(t *testing.T) {
	contents := []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{{Text: "So.", ThoughtSignature: []byte("signed")}}}}
	read, err := gemini.ReadContents(contents, nil)
	require.NoError(t, err)
	_, back, err := gemini.Contents(read.Messages, gemini.Options{})
	require.NoError(t, err)
	require.Equal(t, contents, back)
}

func TestTheSchemaOfAToolIsReadAsJSONSchema(t *testing.T) {
	schema := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{
		"type": {Type: genai.TypeArray, Items: &genai.Schema{AnyOf: []*genai.Schema{{Type: genai.TypeString}}}},
	}}
	read, err := gemini.ReadContents(nil, &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "f", Parameters: schema}}}}})
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","properties":{"type":{"type":"array","items":{"anyOf":[{"type":"string"}]}}}}`, string(read.Tools[0].Parameters))
}

func TestWhatCannotBeReadIsAnErrorThatNamesIt(t *testing.T) {
	_, err := gemini.ReadContents([]*genai.Content{{Role: "critic"}}, nil)
	require.ErrorContains(t, err, `gemini: content 0 cannot be read: its role is "critic"`)
}

func TestWhatAConfigAsksOfTheAnswerIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		config genai.GenerateContentConfig
		want   chat.Shape
	}{
		"nothing":       {},
		"a JSON schema": {genai.GenerateContentConfig{ResponseJsonSchema: map[string]any{"type": "object"}}, chat.Shape{Format: &chat.Format{Name: "answer", Schema: []byte(`{"type":"object"}`)}}},
		"a schema":      {genai.GenerateContentConfig{ResponseSchema: &genai.Schema{Type: genai.TypeObject}}, chat.Shape{Format: &chat.Format{Name: "answer", Schema: []byte(`{"type":"object"}`)}}},
		"any call":      {genai.GenerateContentConfig{ToolConfig: &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny}}}, chat.Shape{ToolChoice: chat.ToolChoiceRequired}},
		"one call":      {genai.GenerateContentConfig{ToolConfig: &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{"look"}}}}, chat.Shape{Tool: "look"}},
	} {
		got, err := gemini.ReadContents(nil, &c.config)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got.Shape, name)
	}
}
