package summarize_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/internal/judge"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// replacements returns the replacements of all packages by name.
func replacements() map[string]policy.Replacement {
	return map[string]policy.Replacement{
		"conversation": prompts.ConversationSummary, "turns": a3s.Policy().Replace.With, "briefing": stagewise.Policy().Replace.With,
		"files": ohmypi.Policy().Replace.With, "session": copilotcli.CompactedSession{}.Replacement,
	}
}

func TestReplacementsMatchTheirGoldenFiles(t *testing.T) {
	for name, r := range replacements() {
		t.Run(name, func(t *testing.T) {
			golden.Equal(t, "replace_"+name+".txt", formatReplacement(t, r, summarizedMaterial()))
			golden.Equal(t, "replace_"+name+"_bare.txt", formatReplacement(t, r, policy.Material{Summary: "Short.", Tokenizer: quarter{}, Room: 500}))
		})
	}
}

func TestEveryReplacementFitsItsRoomOrIsAnError(t *testing.T) {
	for name, r := range replacements() {
		t.Run(name, func(t *testing.T) {
			m := summarizedMaterial()
			size := quarter{}.CountText(formatReplacement(t, r, m))
			tooSmall := 0
			for m.Room = size; m.Room > 0; m.Room-- {
				messages, err := renderReplacement(t, r, m)
				if err != nil {
					require.ErrorContains(t, err, "cannot be removed")
					tooSmall = max(tooSmall, m.Room)
					continue
				}
				require.Zero(t, tooSmall, "a replacement that fits a room fits a larger room")
				got := text(messages)
				for _, stays := range []string{"You fixed a < b && c; see [](path:a.go).", "/logs/session.jsonl", "Keep going."} {
					require.Contains(t, got, stays)
				}
			}
			require.Greater(t, tooSmall, 50)
			require.Less(t, tooSmall, 180)

			// Before a summary is written, the parts that must stay are measured.
			m.Summary, m.Room = "", 0
			_, err := render.Render(t.Context(), r(m), render.Options{Budget: 1, Tokenizer: quarter{}})
			require.ErrorContains(t, err, "cannot be removed")
		})
	}
}

func TestSummaryCannotCloseItsTag(t *testing.T) {
	for name, r := range replacements() {
		t.Run(name, func(t *testing.T) {
			m := summarizedMaterial()
			before := strings.Count(formatReplacement(t, r, m), "<")
			m.Summary = "You wrote `</conversation-summary>` and `</previous-chat-history>`, a `<plan>`, `<transcript path=\"x\">` and <div>.\n\n" + m.Summary
			got := formatReplacement(t, r, m)
			require.Contains(t, got, "You wrote `<\\/conversation-summary>` and `<\\/previous-chat-history>`, a `<\\plan>`, `<\\transcript path=\"x\">` and <div>.")
			require.Equal(t, before+5, strings.Count(got, "<"))
		})
	}
}

// Optional parts, such as copies of user messages, are left out before a compaction is refused as no smaller.
func TestAReplacementIsSmallerThanTheHistoryThatItReplaces(t *testing.T) {
	d := newFixture(t, chat.UserMessage(words(120)), chat.AssistantMessage("Done."), chat.UserMessage(words(120)), chat.AssistantMessage("Done."))
	d.Say(chat.UserMessage("And now?"))
	d.Policy = copilotcli.Policy()
	d.Policy.Trigger, d.Policy.Replace.Max = nil, 230
	d.Hooks.Workspace = func(context.Context) (policy.Workspace, error) {
		return policy.Workspace{Plan: words(200), Todo: words(200), Agent: words(200)}, nil
	}
	before := count(quarter{}, d.Messages())
	d.Answers(models.Say("# Two questions\n\nBoth were answered."))
	d.Compacted()
	got := compactions(d.Session)[0]
	require.Contains(t, got.Messages[0].Text(), "Both were answered.")
	require.Contains(t, got.Messages[0].Text(), "abc", "parts for which there is room stay")
	require.Less(t, count(quarter{}, d.Messages()), before)
}

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
					m.Summary = plaintext.Outside(answer)
					placed, err := renderReplacement(t, r, m)
					require.NoError(t, err)
					m.Previous, m.PreviousSummary = placed, m.Summary
					m.Sent = append(m.System[:1:1], append(placed[:len(placed):len(placed)], m.Covered...)...)
					shown := tags.FindStringSubmatch(text(mustRenderRequest(t, p.Request(m))))
					require.NotNil(t, shown)
					response := chat.Response{Message: chat.AssistantMessage("<analysis>\nhm\n</analysis>\n<summary>\n" + shown[2] + "\n</summary>")}
					if p.Asked.Tag == "" {
						response.Message = chat.AssistantMessage(shown[2])
					}
					answer, _, _ = judge.Read(response.Message.Text(), p.Asked.Tag)
					chain = append(chain, answer)
				}
				for _, later := range chain[1:] {
					require.Equal(t, chain[0], later)
				}
				require.Equal(t, plaintext.Outside(special), chain[0])
				require.Equal(t, strings.Count(special, "&"), strings.Count(chain[0], "&"))
			})
		}
	}
}
