package importer_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/growth"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

func TestALineLongerThanTheLimitIsRefusedOrSkipped(t *testing.T) {
	const start = `{"type":"session","id":"s"}`
	const limit = 100
	exact := `{"type":"` + strings.Repeat("x", limit-11) + `"}`
	require.Len(t, exact, limit)

	opts := importer.Options{MaxLine: limit}
	got, err := opts.Read(strings.NewReader(start + "\n" + exact + "\n" + exact))
	require.NoError(t, err)
	assert.Len(t, got.Records, 2)

	tails := map[string]string{
		"another line follows": "\n" + start,
		"no line feed":         "",
		"far longer":           strings.Repeat(" ", 1<<20),
	}
	for name, tail := range tails {
		got, err = opts.Read(strings.NewReader(start + "\n" + exact + " " + tail))
		assert.Nil(t, got, name)
		bad, ok := errors.AsType[*importer.LineError](err)
		require.True(t, ok, name)
		assert.Equal(t, 2, bad.Line, name)
		assert.EqualError(t, bad.Err, "the line is longer than 100 bytes", name)
	}

	for name, tail := range tails {
		got, err = importer.Options{MaxLine: limit, SkipUnreadable: true}.Read(strings.NewReader(start + "\n" + exact + " " + tail))
		require.NoError(t, err, name)
		assert.Equal(t, importer.Note{Line: 2, Count: 1, Kind: importer.Unreadable, What: "the line is longer than 100 bytes"}, got.Notes[0], name)
	}
}

func TestManyParallelCallsAreImportedInLinearTime(t *testing.T) {
	growth.Check(t, extremes.All(), func(calls int) {
		var ids []string
		lines := []string{userLine, ""}
		for i := range calls {
			ids = append(ids, fmt.Sprint("c", i))
			lines = append(lines, resultLine(ids[i]))
		}
		slices.Reverse(lines[2:])
		lines[1] = callLine(ids...)
		s, notes := imported(t, lines)
		require.Empty(t, notes)
		require.Empty(t, sessiontest.View(t, s).Turns[0].Rounds[0].Aborted())
	})
}

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
