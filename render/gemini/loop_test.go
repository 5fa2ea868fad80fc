package gemini_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/mirror"
)

const loopModel = "gemini-3-pro-preview"

// loop is an agent on the SDK alone, but for one line: the contents are fitted before they are sent.
func loop(ctx context.Context, client *genai.Client, m *mirror.Mirror[chat.Message], questions ...string) ([]*genai.Content, error) {
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("You count files.", genai.RoleUser),
		Tools:             []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "count"}}}},
	}
	var contents []*genai.Content
	for _, question := range questions {
		contents = append(contents, genai.NewContentFromText(question, genai.RoleUser))
		for {
			fitted, err := fit(ctx, m, contents, config)
			if err != nil {
				return contents, err
			}
			answer, err := client.Models.GenerateContent(ctx, loopModel, fitted, config) // was: contents
			if err != nil {
				return contents, err
			}
			contents = append(contents, answer.Candidates[0].Content)
			var results []*genai.Part
			for _, call := range answer.FunctionCalls() {
				result := genai.NewPartFromFunctionResponse(call.Name, map[string]any{"output": strings.Repeat("main.go greeting.go ", 40)})
				result.FunctionResponse.ID = call.ID
				results = append(results, result)
			}
			if len(results) == 0 {
				break
			}
			contents = append(contents, genai.NewContentFromParts(results, genai.RoleUser))
		}
	}
	return contents, nil
}

// fit returns contents that fit the budget.
func fit(ctx context.Context, m *mirror.Mirror[chat.Message], contents []*genai.Content, config *genai.GenerateContentConfig) ([]*genai.Content, error) {
	read, err := gemini.ReadContents(contents, config)
	if err != nil {
		return nil, err
	}
	fitted, err := m.Fit(ctx, mirror.Request[chat.Message]{Messages: read.Messages, Tools: read.Tools})
	if err != nil {
		return nil, err
	}
	_, sent, err := gemini.Contents(fitted.Messages, gemini.OptionsFor(loopModel))
	return sent, err
}

// A loop on the SDK whose conversation is compacted.
func ExampleReadContents() {
	asked, shown := 0, 0
	server := startAPI(func(request object) []string {
		asked, shown = asked+1, len(request["contents"].([]any))
		if asked%2 == 1 {
			return []string{piece("STOP", `{"functionCall": {"name": "count", "args": {}}, "thoughtSignature": "c2lnbmVk"}`)}
		}
		return []string{piece("STOP", `{"text": "There are 42."}`)}
	})
	defer server.Close()
	m, closed := providertest.Mirror(&history.Session{}, sizing.Estimator{}, 2500) // one of history.Open is there after a restart
	defer closed()
	contents, err := loop(context.Background(), connect(server.URL), m, strings.Fields(strings.Repeat("Count! ", 20))...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d contents in the loop, %d in the last request\n", len(contents), shown)
	// Output:
	// 80 contents in the loop, 10 in the last request
}

func TestALoopOnTheSDKSendsRequestsThatFitAndAreValid(t *testing.T) {
	asked := 0
	a := newAPI(t, func(object) []string {
		asked++
		words := fmt.Sprintf(`{"text": %q}`, strings.Repeat("It says much. ", 20))
		if asked%3 != 0 {
			words += `, {"functionCall": {"name": "count", "args": {}}, "thoughtSignature": "c2lnbmVk"}, {"functionCall": {"name": "count", "args": {"n": 2}}}`
		}
		return []string{piece("STOP", words)}
	})
	session := &history.Session{}
	m, closed := providertest.Mirror(session, sizing.Estimator{}, 6000)
	t.Cleanup(func() { require.NoError(t, closed()) })
	contents, err := loop(t.Context(), connect(a.URL), m, strings.Fields(strings.Repeat("Count! ", 25))...)
	require.NoError(t, err)
	require.Equal(t, 75, asked)
	for _, body := range a.bodies {
		require.Less(t, len(body), 6000*8)
	}
	read, err := gemini.ReadContents(contents, nil)
	require.NoError(t, err)
	require.NoError(t, m.EndTurn(t.Context(), read.Messages))
	kept := providertest.Kept(t, session)
	require.Len(t, kept, len(read.Messages))
	for i, m := range kept {
		require.Equal(t, read.Messages[i].Role, m.Role)
		require.Equal(t, read.Messages[i].Content, m.Content)
		require.Len(t, m.ToolCalls, len(read.Messages[i].ToolCalls))
	}
}
