package gemini_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/gemini"
)

// functionCall returns a part with a call with this id, "" for none.
func functionCall(i int, id string) string {
	if id != "" {
		id = fmt.Sprintf(`"id":%q,`, id)
	}
	part := fmt.Sprintf(`{"functionCall":{%s"name":"count","args":{"at":%d}}`, id, i)
	if i == 0 { // of parallel calls the first is signed
		part += `,"thoughtSignature":"` + signature + `"`
	}
	return part + "}"
}

func TestEachCallHasAnIDThatTheServerAcceptsBack(t *testing.T) {
	providertest.CallIDs(t, func(t *testing.T, ids []string) providertest.CallServer {
		a := newAPI(t, func(request object) []string {
			if len(list(request["contents"])) > 1 {
				return []string{piece("STOP", `{"text":"42"}`)}
			}
			var parts []string
			for i, id := range ids {
				parts = append(parts, functionCall(i, id))
				if i == 0 {
					parts = append(parts, `{"text":"And so on."}`)
				}
			}
			return []string{piece("STOP", parts...)}
		})
		m := a.model()
		m.OnRepair = func(changes []chat.Repair) { require.Empty(t, changes) }
		return providertest.CallServer{Model: m, LeavesOut: true, Sent: func(t *testing.T) (calls, results, texts []string) {
			contents := list(a.requests[len(a.requests)-1]["contents"])
			order := ""
			for _, p := range list(contents[1].(object)["parts"]) {
				call, is := p.(object)["functionCall"].(object)
				if !is {
					order += " text"
					continue
				}
				id, _ := call["id"].(string)
				require.Equal(t, object{"at": float64(len(calls))}, call["args"], "each call is in its place")
				calls = append(calls, id)
				order += " call"
			}
			require.Regexp(t, "^ call text( call)+$", order)
			for _, p := range list(contents[2].(object)["parts"]) {
				response := p.(object)["functionResponse"].(object)
				id, _ := response["id"].(string)
				results = append(results, id)
				texts = append(texts, response["response"].(object)["output"].(string))
			}
			return calls, results, texts
		}}
	})
}

// Without ids, responses are matched with calls by their order.
func TestResponsesAreInTheOrderInWhichTheirCallsAreSent(t *testing.T) {
	said := chat.WithCallIDs(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
		{Name: "look", Arguments: `{"at":1}`, Signature: gemini.SkipSignature}, {Name: "listen", Arguments: `{"at":2}`, Signature: gemini.SkipSignature},
	}})
	said.Content = chat.Parts{chat.Opaque{Value: fmt.Appendf(nil, `{"functionCall":{"id":%q}}`, said.ToolCalls[1].ID)}, chat.Text("Now the other.")}
	a := newAPI(t, says(`{"text":"42"}`))
	providertest.Generated(t, a.model(), asking([]chat.Message{
		chat.UserMessage("Look and listen."), said, chat.ToolResult(said.ToolCalls[0].ID, "seen"), chat.ToolResult(said.ToolCalls[1].ID, "heard"),
	}))
	contents := list(a.requests[0]["contents"])
	calls, responses := kind(contents[1], "functionCall"), kind(contents[2], "functionResponse")
	require.Equal(t, []object{{"name": "listen", "args": object{"at": 2.0}}, {"name": "look", "args": object{"at": 1.0}}}, calls)
	require.Equal(t, []object{
		{"name": "listen", "response": object{"output": "heard"}}, {"name": "look", "response": object{"output": "seen"}},
	}, responses)
}
