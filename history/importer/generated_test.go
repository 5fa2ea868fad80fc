package importer_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// generated is a made-up session of the size and shape of a real one.
const generated = "testdata/generated.jsonl"

func TestTheGeneratedSessionIsRead(t *testing.T) {
	raw := sure.Read(t, generated)
	got := recordingOf(t, string(raw))

	assert.EqualValues(t, "pi", got.Format)
	assert.Len(t, got.Records, bytes.Count(raw, []byte("\n"))-1, "every line but the header is a record")
	assert.Equal(t, 2, kinds(got)[entry.TypeCompaction])
	assert.Equal(t, 2, kinds(got)[entry.TypeModelChange])
	assert.Equal(t, 2, kinds(got)[entry.TypeThinkingChange])
	assert.Equal(t, map[chat.Role]int{chat.RoleUser: 32, chat.RoleAssistant: 344, chat.RoleTool: 399}, roles(got))
	assert.Equal(t, counts{
		calls: 400, unanswered: 1, parallel: 47, outOfOrder: 25, longCalls: 4,
		empty: 1, thinking: 20, errors: 20, usage: 343, longestResult: 60_623,
	}, count(got))

	var messages []chat.Message
	ids := map[string]bool{}
	for e, m := range got.Conversation() {
		messages = append(messages, m)
		for _, c := range m.ToolCalls {
			assert.False(t, ids[c.ID], "line %d: the id %s is repeated", e.Line, c.ID)
			ids[c.ID] = true
		}
	}
	bad, _ := errors.AsType[*chat.ValidationError](chat.Validate(messages))
	require.NotNil(t, bad)
	var rules []chat.Rule
	for _, v := range bad.Violations {
		rules = append(rules, v.Rule)
	}
	assert.Equal(t, []chat.Rule{chat.RuleEmpty, chat.RuleAnswered, chat.RuleLast}, rules,
		"one answer was stopped before it began, one during a call, and the session ends with an answer")
}
