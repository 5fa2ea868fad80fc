package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/anthropic"
	"github.com/promptree-go/promptree/summarize/policy"
)

var ownBlock = block{"type": "compaction", "content": "<summary>The <build> was repaired.</summary>", "encrypted_content": "c2VjcmV0", "signature": "s"}

// compactions is the usage of an answer that compacted. The API does not include the tokens of the compaction in those
// of the whole.
var compactions = map[string]any{"input_tokens": 10, "output_tokens": 5, "iterations": []block{
	{"type": "compaction", "input_tokens": 700, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 60},
	{"type": "message", "input_tokens": 10, "output_tokens": 5},
}}

// compacted returns the answer to a compaction on demand.
func compacted(blocks ...block) answer {
	return answer{blocks: blocks, stop: "compaction", usage: compactions}
}

// compacting returns this answer to compactions on demand, and words to any other request.
func compacting(compact answer) func(int, request) answer {
	return func(_ int, r request) answer {
		if r.Compaction != nil {
			return compact
		}
		return say(text("<summary>The words of a model.</summary>"))
	}
}

// compactingFixture is a compactor that asks for summaries by an anthropic.CompactionModel.
func compactingFixture(t *testing.T, s *server) (compacttest.Fixture, *anthropic.Model, *[]error) {
	d := compacttest.New(t, compacttest.Overflowing()...)
	failed := &[]error{}
	model := &anthropic.Model{Client: s.client(), Name: "claude-test", Editing: clearing}
	d.Policy.Ask.Names = []string{"compaction"}
	d.Models = map[string]policy.Target{"compaction": {Model: anthropic.CompactionModel{
		Model: model, OnError: func(err error) { *failed = append(*failed, err) },
	}}}
	return d, model, failed
}

func TestACompactionIsTheFirstMessageForClaude(t *testing.T) {
	s := newServer(t, compacting(compacted(ownBlock)))
	d, model, failed := compactingFixture(t, s)
	messages := d.Messages()
	require.Empty(t, *failed)
	require.Equal(t, 1, s.count(), "one request for both")
	done := (*d.Heard)[len(*d.Heard)-1]
	require.Equal(t, chat.Usage{Input: 940, Output: 65, CacheRead: 200, CacheWrite: 30}, done.Usage)
	require.Contains(t, compacttest.Text(messages), "The <build> was repaired.", "for others")

	providertest.Generated(t, model, chat.Request{Messages: messages, Tools: []chat.Tool{{Name: "read"}}})
	sent := s.last(t)
	require.Equal(t, turn{"assistant", []block{ownBlock}}, sent.Messages[0])
	require.Equal(t, "user", sent.Messages[1].Role)
	require.Contains(t, sent.Messages[1].Content[0]["text"], "The <build> was repaired.")
	require.Equal(t, 1, strings.Count(s.bodies[1], `"compaction"`))

	_, err := model.CountTokens(t.Context(), chat.Request{Messages: messages, Tools: []chat.Tool{{Name: "read"}}})
	require.NoError(t, err, "with the beta that the block needs")
}

func TestTheRequestForTheSummaryInstructsTheCompaction(t *testing.T) {
	s := newServer(t, compacting(compacted(ownBlock)))
	d, _, _ := compactingFixture(t, s)
	d.Messages()
	sent := s.last(t)
	require.Equal(t, "summarize", sent.Compaction["type"])
	require.Contains(t, fmt.Sprint(sent.Compaction["instructions"]), "<summary>")
	require.NotContains(t, fmt.Sprint(sent.Messages), "<summary>", "the request for the summary is not also a message")
	require.Empty(t, sent.Editing.Edits)
	require.Contains(t, fmt.Sprint(sent.Messages), "[output 001]")
}

func TestACompactionThatFailsLeavesTheWords(t *testing.T) {
	failed := block{"type": "compaction", "content": nil}
	for name, compact := range map[string]answer{
		"a refusal":        refuse(400, "invalid_request_error", "compaction is not supported by this model"),
		"no block":         compacted(),
		"an answer":        say(text("42")),
		"two blocks":       compacted(ownBlock, ownBlock),
		"failed blocks":    compacted(failed),
		"an unknown block": compacted(block{"type": "compaction_2"}),
	} {
		d, _, errs := compactingFixture(t, newServer(t, compacting(compact)))
		messages := d.Messages()
		require.Contains(t, compacttest.Text(messages), "The words of a model.", name)
		require.Len(t, *errs, 1, name)
		require.Len(t, messages[1].Content, 1, name)
		done := (*d.Heard)[len(*d.Heard)-1]
		if strings.HasSuffix(name, "blocks") {
			require.Equal(t, chat.Usage{Input: 950, Output: 70, CacheRead: 200, CacheWrite: 30}, done.Usage, "the tokens of a failed compaction count")
		}
	}
}

func TestATransientErrorOrAContextLimitOfACompactionIsReturned(t *testing.T) {
	for _, c := range []struct {
		compact answer
		is      func(error) bool
	}{
		{refuse(529, "overloaded_error", "Overloaded"), func(err error) bool { _, ok := errors.AsType[*chat.TransientError](err); return ok }},
		{refuse(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), func(err error) bool { _, ok := errors.AsType[*chat.ContextLimitError](err); return ok }},
	} {
		s := newServer(t, compacting(c.compact))
		model := &anthropic.Model{Client: s.client(), Name: "claude-test"}
		_, err := anthropic.CompactionModel{Model: model}.Generate(t.Context(), ask(question, chat.AssistantMessage("42"), question))
		require.True(t, c.is(err), "%v", err)
		require.Equal(t, 1, s.count())
	}
	_, err := anthropic.CompactionModel{}.Generate(t.Context(), ask(question))
	require.ErrorContains(t, err, "CompactionModel.Model is not set")
}

func TestAHistoryThatIsTextIsNotCompacted(t *testing.T) {
	s := newServer(t, compacting(compacted(ownBlock)))
	words := chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage("others' words")}, nil
	})
	r := providertest.Generated(t, anthropic.CompactionModel{Model: &anthropic.Model{Client: s.client(), Name: "claude-test"}, Words: words}, ask(question))
	require.Equal(t, "others' words", r.Message.Text())
	require.Zero(t, s.count())
}

func TestTheWordsOfACompactionAreStreamed(t *testing.T) {
	s := newServer(t, compacting(compacted(ownBlock)))
	var heard string
	req := ask(question, chat.AssistantMessage("42"), question)
	req.Stream = func(d chat.Delta) { heard += string(d.(chat.Text)) }
	r := providertest.Generated(t, anthropic.CompactionModel{Model: &anthropic.Model{Client: s.client(), Name: "claude-test"}}, req)
	require.Equal(t, ownBlock["content"], heard)
	require.Equal(t, heard, r.Message.Text())
}

func TestACompactionWithinAnAnswerIsAPartOfItAndCounts(t *testing.T) {
	for stop, want := range map[string]chat.StopReason{"end_turn": chat.StopEnd, "compaction": anthropic.StopPause} {
		edit := &sdk.BetaCompact20260112EditParam{Trigger: sdk.BetaInputTokensTriggerParam{Value: 50_000}, PauseAfterCompaction: sdk.Bool(true)}
		model, s := answering(t, answer{blocks: []block{ownBlock, text("42")}, stop: stop, usage: compactions})
		model.Editing.Edits = []sdk.BetaContextManagementConfigEditUnionParam{{OfCompact20260112: edit}}
		r := providertest.Generated(t, model, ask(question))
		require.Equal(t, want, r.StopReason)
		require.Equal(t, "42", r.Message.Text())
		require.Equal(t, chat.Usage{Input: 940, Prompt: 930, Output: 65, CacheRead: 200, CacheWrite: 30}, r.Usage)
		require.Equal(t, []block{{
			"type": "compact_20260112", "pause_after_compaction": true, "trigger": map[string]any{"type": "input_tokens", "value": 50_000.0},
		}}, s.last(t).Editing.Edits)

		providertest.Generated(t, model, ask(question, r.Message, question))
		require.Equal(t, ownBlock, s.last(t).Messages[1].Content[0])
		require.Equal(t, []string{"compact-2026-01-12"}, s.headers[1].Values("Anthropic-Beta"), "the beta for compactions on demand is not requested")
	}
}

// The API does not show the model what is before a compaction.
func TestOnlyTheLastCompactionIsSentAndItComesFirst(t *testing.T) {
	summary := func(words string) chat.Message {
		return user(chat.Text(words), opaque(`{"type":"compaction","content":"`+words+`"}`))
	}
	p, err := anthropic.Request(ask(chat.SystemMessage("Be brief."), question, summary("first"), summary("second"), chat.AssistantMessage("42"), question))
	require.NoError(t, err)
	require.Len(t, p.Messages, 4)
	for i, want := range []string{
		`{"content":[{"type":"compaction","content":"second"}],"role":"assistant"}`,
		`{"content":[{"text":"How many?","type":"text"},{"text":"first","type":"text"},{"text":"second","type":"text"}],"role":"user"}`,
	} {
		raw, err := p.Messages[i].MarshalJSON()
		require.NoError(t, err)
		require.JSONEq(t, want, string(raw))
	}
}

func TestAModelThatRefusesTheBlockIsSentTheWordsAlone(t *testing.T) {
	s := newServer(t, func(_ int, r request) answer {
		if r.Messages[0].Role == "assistant" {
			return refuse(400, "invalid_request_error", "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected tags")
		}
		return say(text("42"))
	})
	model := &anthropic.Model{Client: s.client(), Name: "claude-test"}
	req := ask(user(chat.Text("It was counted."), opaque(`{"type":"compaction","content":"It was counted.","signature":"s"}`)))
	for _, requests := range []int{2, 3} {
		require.Equal(t, "42", providertest.Generated(t, model, req).Message.Text())
		require.Equal(t, requests, s.count())
		require.Equal(t, []turn{{"user", []block{text("It was counted.")}}}, s.last(t).Messages)
	}
	require.Empty(t, s.headers[2].Values("Anthropic-Beta"))
}

// clearing has the API clear old thinking and results.
var clearing = anthropic.Editing{Edits: []sdk.BetaContextManagementConfigEditUnionParam{
	{OfClearThinking20251015: &sdk.BetaClearThinking20251015EditParam{}},
	{OfClearToolUses20250919: &sdk.BetaClearToolUses20250919EditParam{Keep: sdk.BetaToolUsesKeepParam{Value: 3}}},
}}

func TestOnAppliedIsCalledWithTheEditsOfTheAPI(t *testing.T) {
	a := say(text("42"))
	a.applied = []block{{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000}}
	model, s := answering(t, a)
	var applied []sdk.BetaContextManagementResponseAppliedEditUnion
	model.Betas = []string{"interleaved-thinking-2025-05-14"}
	model.Editing = clearing
	model.Editing.OnApplied = func(edits []sdk.BetaContextManagementResponseAppliedEditUnion) { applied = edits }
	providertest.Generated(t, model, ask(question))
	require.Len(t, applied, 1)
	require.EqualValues(t, 8, applied[0].ClearedToolUses)
	require.EqualValues(t, 50_000, applied[0].ClearedInputTokens)
	require.Equal(t, []block{
		{"type": "clear_thinking_20251015"}, {"type": "clear_tool_uses_20250919", "keep": map[string]any{"type": "tool_uses", "value": 3.0}},
	}, s.last(t).Editing.Edits)
	require.Equal(t, "interleaved-thinking-2025-05-14,context-management-2025-06-27", strings.Join(s.headers[0].Values("Anthropic-Beta"), ","))
}

func TestOnAppliedIsNotCalledWithoutEdits(t *testing.T) {
	a := say(text("42"))
	a.applied = []block{}
	model, s := answering(t, a)
	model.Editing.OnApplied = func([]sdk.BetaContextManagementResponseAppliedEditUnion) { t.Error("nothing was cleared") }
	providertest.Generated(t, model, ask(question))
	require.NotContains(t, s.bodies[0], "context_management")
	require.Empty(t, s.headers[0].Values("Anthropic-Beta"))
}
