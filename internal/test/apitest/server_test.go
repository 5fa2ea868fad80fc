package apitest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/apitest"
)

func TestARequestThatBreaksARuleIsRefused(t *testing.T) {
	const user, call, result = `{"role":"user","content":"Go."}`, `{"role":"assistant","tool_calls":[{"id":"a"}]}`, `{"role":"tool","tool_call_id":"a","content":"Done."}`
	for messages, why := range map[string]string{
		user: "", user + "," + call + "," + result: "", "": "does not begin with the user", call + "," + result: "does not begin with the user",
		user + "," + result: `result "a" has no call`, user + "," + call: "nothing to answer", user + "," + call + "," + user: "no results for",
		user + "," + call + "," + result + "," + result: `result "a" has no call`, user + "," + call + "," + call + "," + result: "no results for",
		user + "," + call + "," + strings.Replace(result, "Done.", " ", 1):                        "is blank",
		user + `,{"role":"assistant","content":""},` + user:                                       "turn 1 says nothing",
		user + `,{"role":"actor","content":"Go."}`:                                                "no role actor",
		user + `,{"role":"user","content":"` + strings.Repeat("Many words. ", 1_000) + `"}`:       "context_length_exceeded",
		user + `],"stream":true,"x":[`:                                                            "nobody asks for the usage",
		user + `,{"role":"user","content":"This conversation is being compacted."}],"no_key":[{}`: "the key is not valid",
	} {
		s := apitest.Serve(t, apitest.ChatCompletions{}, func(apitest.Asked) apitest.Answer { return apitest.Answer{Text: "Well."} })
		s.Window = 1_000
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/chat/completions", strings.NewReader(`{"messages":[`+messages+`]}`))
		require.NoError(t, err)
		if !strings.Contains(messages, "no_key") {
			r.Header.Set("Authorization", "Bearer "+apitest.Key)
		}
		answer, err := s.Client().Do(r)
		require.NoError(t, err)
		var said strings.Builder
		require.NoError(t, answer.Write(&said))
		require.Equal(t, why != "", answer.StatusCode != http.StatusOK, said.String())
		require.Contains(t, strings.ReplaceAll(said.String(), `\"`, `"`), why)
	}
}
