package summarize_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// The model answers each request with the summary as the request shows it.
func TestSummaryStaysTheSameOverAChainOfCompactions(t *testing.T) {
	const special = "## Tags & quotes\n\nIf a < b && b > c, `x := \"<y>\"`, ‹single› «double» &amp; &lt;div&gt;.\n" +
		"[a note in brackets]\n\\[and one with a backslash]\n<details><summary>more</summary>z</details>\n" +
		"</conversation-summary> <conversation-summary> </previous-chat-history> <previous-summary> <transcript path=\"x\"> </history> <user> </assistant> <plan>.\n" +
		"&amp;amp; 5 < 6 </conversation"
	tags := regexp.MustCompile(`(?s)<(previous-chat-history|previous-summary|conversation-summary)>\n(## Tags.*?)\n(?:\n<transcript.*)?</(?:previous-chat-history|previous-summary|conversation-summary)>`)
	for name, p := range requestsOf() {
		for replacement, r := range replacements() {
			if name == "branch" {
				continue // its request shows no earlier summary
			}
			t.Run(name+", "+replacement, func(t *testing.T) {
				m := firstMaterial()
				m.Room, m.Words = 10_000, 8_000
				answer := special
				var chain []string
				for range 20 {
					m.Summary = plaintext.Untagged(answer)
					placed, err := renderReplacement(t, r, m)
					require.NoError(t, err)
					m.Previous, m.PreviousSummary = placed, m.Summary
					m.Sent = append(m.System[:1:1], append(placed[:len(placed):len(placed)], m.Covered...)...)
					shown := tags.FindStringSubmatch(text(mustRenderRequest(t, p.Request(m))))
					require.NotNil(t, shown)
					response := chat.Response{Message: chat.AssistantMessage("<analysis>\nhm\n</analysis>\n<summary>\n" + shown[2] + "\n</summary>")}
					if p.Read == nil {
						response.Message = chat.AssistantMessage(shown[2])
					}
					read := p.Read
					if read == nil {
						read = prompts.ReadAll
					}
					answer, err = read(response)
					require.NoError(t, err)
					chain = append(chain, answer)
				}
				for _, later := range chain[1:] {
					require.Equal(t, chain[0], later)
				}
				require.Equal(t, plaintext.Untagged(special), chain[0])
				require.Equal(t, strings.Count(special, "&"), strings.Count(chain[0], "&"))
			})
		}
	}
}
