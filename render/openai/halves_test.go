package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// streams is a transport that answers each request with these chunks of a stream.
type streams []string

func (s streams) RoundTrip(r *http.Request) (*http.Response, error) {
	body := "data: " + strings.Join(s, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// Half of a summary never takes the place of a history, whatever word a server has for that.
func TestHalfAnAnswerIsNoSummaryUnderAnyPolicy(t *testing.T) {
	half := "# Work\n\n<summary>HALF of what was done: " + strings.Repeat("the reader of files was mended and its tests were run. ", 20) + "</summary>"
	for _, name := range policies.Names() {
		for reason, taken := range map[string]bool{
			"stop":   true, // without which the others show nothing
			"length": false, "max_tokens": false, "error": false, "network_error": false, "insufficient_system_resource": false, "abort": false,
			"function_call_filter: MALFORMED_FUNCTION_CALL": false, "sensitive": false, "tool_calls": false, "out of money": false,
		} {
			t.Run(name+" "+reason, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client := sdk.NewClient(option.WithAPIKey("none"), option.WithHTTPClient(&http.Client{Transport: streams{
						fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}]}`, half), fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason),
					}}))
					d := compacttest.New(t, chat.UserMessage(compacttest.Task))
					var err error
					d.Policy, err = policies.Named(name)
					require.NoError(t, err)
					d.Policy.Ask.Judge = policy.Judge{Off: true} // the words are all that is wrong
					d.Target.Model = &openai.Model{Client: client, Name: "local"}
					for n := range 12 {
						d.Say(compacttest.Round(n, compacttest.RoundTokens)...)
					}
					d.Say(chat.AssistantMessage("Done."), chat.UserMessage("And now?"))
					_, err = d.Compact(t.Context(), "")
					require.Equal(t, taken, err == nil, "%v", err)
					found := false
					for e, err := range d.Session.Entries(t.Context()) {
						require.NoError(t, err)
						if c, is := e.Body.(entry.Compaction); is {
							found = found || strings.Contains(fmt.Sprint(c), "HALF")
						}
					}
					require.Equal(t, taken, found)
				})
			})
		}
	}
}
