package counters_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/vocabularytest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/chattemplate"
	"github.com/promptree-go/promptree/sizing/counters"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

func made(t *testing.T, added ...string) *vocabulary.Vocabulary {
	v, err := vocabulary.Read(vocabularytest.JSON(added...))
	require.NoError(t, err)
	return v
}

func TestTheBestCounterOfAModelIsTaken(t *testing.T) {
	qwen, plain := made(t, chattemplate.Qwen3.Tokens()...), made(t)
	for _, tt := range []struct {
		rule, model  string
		have         []counters.ModelVocabulary
		kind, reason string
	}{
		{"a model of OpenAI", "gpt-4o", nil, "exact", "OpenAI's encoding"},
		{"a model of OpenAI behind a gateway", "openai/gpt-5.2", []counters.ModelVocabulary{{Vocabulary: qwen, Models: []string{"qwen3*"}}}, "exact", "OpenAI's encoding"},
		{"a vocabulary and its template", "qwen3:8b", []counters.ModelVocabulary{{Vocabulary: plain, Models: []string{"llama*"}}, {Vocabulary: qwen, Models: []string{"qwen3*"}}},
			"exact", "the model's vocabulary and the chat template of Qwen3"},
		{"an encoding that is known goes before a vocabulary for any model", "gpt-5.2", []counters.ModelVocabulary{{Vocabulary: qwen}}, "exact", "OpenAI's encoding"},
		{"an encoding that is guessed says so", "gpt-5.9", nil, "estimated", "gpt-5.9: as gpt-5."},
		{"a model of OpenAI without a known encoding", "gpt-6.1-sol", nil, "estimated", "the encoding of gpt-6.1-sol is not known"},
		{"a vocabulary for any model is yours, and not the model's", "claude-sonnet-5", []counters.ModelVocabulary{{Vocabulary: qwen}}, "estimated", "the vocabulary that you gave"},
		{"a vocabulary for any model", "Qwen/Qwen3-8B", []counters.ModelVocabulary{{Vocabulary: qwen}}, "exact", "the chat template of Qwen3"},
		{"a template that is named", "my-own", []counters.ModelVocabulary{{Vocabulary: qwen, Template: chattemplate.Qwen3}}, "exact", "the chat template of Qwen3"},
		{"a template that is assumed", "qwen3-coder", []counters.ModelVocabulary{{Vocabulary: qwen}}, "estimated", "for messages the chat template of Qwen3, corrected"},
		{"a vocabulary without a template", "phi-4", []counters.ModelVocabulary{{Vocabulary: plain}}, "estimated", "its chat template is not known"},
		{"a vocabulary of another family", "llama3:8b", []counters.ModelVocabulary{{Vocabulary: qwen}}, "estimated", "it has no <|begin_of_text|>"},
		{"a vocabulary of another model", "claude-sonnet-5", []counters.ModelVocabulary{{Vocabulary: qwen, Models: []string{"qwen3*"}}}, "estimated", "o200k_base"},
		{"no vocabulary", "qwen3:8b", []counters.ModelVocabulary{{}}, "estimated", "no vocabulary of this model was given"},
		{"no model", "", nil, "estimated", "o200k_base"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c := counters.For(tt.model, tt.have...)
			require.Equal(t, tt.kind, c.Kind(), c.Reason)
			require.Contains(t, c.Reason, tt.reason)
			if tt.kind == "exact" {
				require.Nil(t, c.Calibrated)
				require.Positive(t, c.Overhead)
				require.Implements(t, (*chat.Joiner)(nil), c.Tokenizer)
				return
			}
			require.Same(t, c.Calibrated, c.Tokenizer)
			require.Zero(t, c.Overhead)
			req := chat.Request{Messages: []chat.Message{chat.UserMessage("What is the answer?")}}
			c.Calibrated.Observe(req, chat.Response{Usage: chat.Usage{Input: 123}})
			require.Equal(t, "calibrated", c.Kind())
			require.Equal(t, 123, c.Calibrated.CountRequest(req))
		})
	}
}

func TestAnExactCounterCountsByTheTemplate(t *testing.T) {
	c := counters.For("qwen3:8b", counters.ModelVocabulary{Vocabulary: made(t, chattemplate.Qwen3.Tokens()...)})
	require.Equal(t, 5, c.Tokenizer.CountText("user\nwhat is"), "user, a line feed, what, a space, is")
	messages := []chat.Message{chat.SystemMessage("that is"), chat.UserMessage("what is"), chat.AssistantMessage("the answer")}
	sum := c.Overhead
	for _, m := range messages {
		sum += c.Tokenizer.CountMessage(m)
	}
	require.GreaterOrEqual(t, sum, vocabularytest.Qwen3(c.Tokenizer.CountText, messages))
	require.Equal(t, 3+3+2, c.Tokenizer.CountMessage(messages[1]), "a start, user, a line feed, the text, an end and a line feed")
}

func TestACounterOfOpenAIIsTheSameAsTheirs(t *testing.T) {
	exact, err := tiktoken.ForModel("gpt-4o")
	require.NoError(t, err)
	m := chat.UserMessage(strings.Repeat("A cat. ", 9))
	require.Equal(t, exact.CountMessage(m), counters.For("gpt-4o").Tokenizer.CountMessage(m))
	require.Equal(t, tiktoken.ReplyPriming, counters.For("gpt-4o").Overhead)
}

// A server that counts by the vocabulary and the template accepts a prompt that fills its window.
func TestAPromptThatFillsASmallWindowFits(t *testing.T) {
	c := counters.For("qwen3:8b", counters.ModelVocabulary{Vocabulary: made(t, chattemplate.Qwen3.Tokens()...)})
	text := strings.Repeat("what is the answer to that message, and what is it of?\n\n  the user:\t\"7\"\n", 200)
	for window := 200; window < 5000; window += 301 {
		budget, err := sizing.Window{Tokens: window, Answer: c.Overhead}.Budget(0)
		require.NoError(t, err)
		prompt := el.Prompt(
			el.System(el.Text("You are the assistant.\n")),
			el.User(el.Words(text)),
			el.Assistant(el.Priority(1), el.Text("the answer is that\n")),
			el.User(el.Text("\nwhat is that?")),
		)
		result, err := render.Render(t.Context(), prompt, render.Options{Budget: budget, Tokenizer: c.Tokenizer})
		require.NoError(t, err)
		tokens := vocabularytest.Qwen3(c.Tokenizer.CountText, result.Messages)
		require.LessOrEqual(t, tokens, window)
		require.Greater(t, tokens, window-c.Overhead-12, "%d tokens of a window of %d", tokens, window)
	}
}
