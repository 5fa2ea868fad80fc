package summarize_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize"
)

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		rule    string
		check   summarize.Check
		summary string
		reason  string
	}{
		{"something is enough", summarize.NotEmpty, "x", ""},
		{"nothing is not", summarize.NotEmpty, "", "it is empty"},
		{"nor is what shows nothing", summarize.NotEmpty, " \n\u200b\ufeff\t", "it is empty"},
		{"30 characters", summarize.AtLeast(30), strings.Repeat("ä", 30), ""},
		{"29 characters and a space", summarize.AtLeast(30), strings.Repeat("ä", 29) + " ", "it has 29 characters; 30 are the least"},
		{"4 tokens", summarize.AtMost(4), strings.Repeat("x", 16), ""},
		{"5 tokens", summarize.AtMost(4), strings.Repeat("x", 17), "it takes 5 tokens; 4 are the most"},

		{"a tag that begins it", summarize.NoTags("previous-chat-history"), "<previous-chat-history>You read a.go.", "it holds <previous-chat-history>, one of"},
		{"a tag that ends it", summarize.NoTags("previous-chat-history"), "You read a.go.</previous-chat-history> \n", "it holds </previous-chat-history>, one of"},
		{"a tag on a line of its own", summarize.NoTags("history"), "## A\n\n</history>\nText.", "it holds </history>"},
		{"with attributes", summarize.NoTags("transcript"), "## A\n<transcript path=\"x\">\nText.", `it holds <transcript path="x">`},
		{"after white space", summarize.NoTags("history"), "## A\r\n   <history>\r\nText.", "it holds <history>"},
		{"after a block that is over", summarize.NoTags("history"), "```go\nx\n```\n<history>\n", "it holds <history>"},
		{"a tag within a line is spoken of", summarize.NoTags("history"), "You put <history> around it and </history> after it, then went on.", ""},
		{"in backticks it is quoted", summarize.NoTags("history"), "`<history>` is what you put around it: `</history>`", ""},
		{"in a fenced block it is quoted", summarize.NoTags("history"), "```xml\n<history>\n</history>\n```", ""},
		{"in one of tildes too", summarize.NoTags("history"), "~~~\n<history>\n```\n<history>\n~~~", ""},
		{"in a longer fence a shorter one ends nothing", summarize.NoTags("history"), "````\n```\n<history>\n```\n<history>\n````", ""},
		{"in a block that never ends too", summarize.NoTags("history"), "```\n<history>", ""},
		{"in an indented block it is quoted", summarize.NoTags("history"), "The file:\n\n    <history>\n\t</history>\nand so on", ""},
		{"another tag is none", summarize.NoTags("history"), "<histories>\n<div>\n< history>\n<history", ""},
		{"without names it is those of the package", summarize.NoTags(), "<previous-summary>\nx", "it holds <previous-summary>"},
		{"but not what may be anybody's", summarize.NoTags(), "<plan>\n<todo>", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			err := c.check(summarize.Material{Summary: c.summary, Tokenizer: quarter{}})
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			refused, ok := errors.AsType[*summarize.SummaryError](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, refused.Reason, c.reason)
		})
	}
}

func TestAcceptMakesARuleOfChecks(t *testing.T) {
	accept := summarize.Accept(summarize.NotEmpty, summarize.AtLeast(5), summarize.NoTags())
	answer := func(text string, why chat.StopReason) chat.Response {
		return chat.Response{Message: chat.AssistantMessage(text), StopReason: why}
	}
	require.NoError(t, accept(answer("12345", chat.StopEnd)))
	require.ErrorContains(t, accept(answer("1234", chat.StopEnd)), "4 characters")
	require.ErrorContains(t, accept(answer("<summary>\n12345", chat.StopEnd)), "<summary>")
	require.ErrorContains(t, accept(answer("12345", chat.StopMaxTokens)), "output limit")
	require.NoError(t, summarize.Accept()(answer("", chat.StopEnd)))
}
