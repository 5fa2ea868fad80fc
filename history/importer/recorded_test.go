package importer_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// recorded is a real session. It is in shared/, next to the repository, if that exists.
const recorded = "../../../shared/sessions/pi-before-compaction.jsonl"

func TestARecordedSessionIsRead(t *testing.T) {
	got := sessiontest.Read(t, recorded)

	assert.EqualValues(t, "pi", got.Format)
	assert.Len(t, said(got), 990)
	assert.Equal(t, map[entry.Type]int{
		entry.TypeMessage: 987, entry.TypeShell: 3, entry.TypeCompaction: 2, entry.TypeModelChange: 5,
		entry.TypeThinkingChange: 5,
	}, kinds(got))
	assert.Equal(t, map[chat.Role]int{chat.RoleUser: 55 + 3, chat.RoleAssistant: 484, chat.RoleTool: 448}, roles(got))
	assert.Equal(t, 2, got.Records[0].Line)
	assert.Equal(t, 1003, got.Records[len(got.Records)-1].Line)

	assert.Equal(t, counts{
		calls: 454, unanswered: 6, parallel: 9, longCalls: 9,
		empty: 13, thinking: 49, errors: 12, usage: 471, longestResult: 51_266,
	}, count(got))
	assert.Equal(t, chat.Usage{Input: 2775, Output: 141}, got.Records[1].Usage)
	var used chat.Usage
	var cost float64
	for _, r := range got.Records {
		used = sum(used, r.Usage)
		cost += r.Cost
	}
	assert.InDelta(t, 42.5959, cost, 0.0001)
	assert.Equal(t, chat.Usage{Input: 56382684, Output: 187895, CacheRead: 54693675, CacheWrite: 1685320}, used)
	for _, c := range []struct{ line, kept, tokens int }{{360, 294, 175004}, {629, 552, 185014}} {
		compaction := got.Records[c.line-2].Compaction()
		assert.Equal(t, got.Records[c.kept-2].ID, compaction.FirstKept)
		assert.Equal(t, c.tokens, compaction.TokensBefore)
		assert.Contains(t, compaction.Messages[0].Text(), compaction.Text)
	}
	shell := got.Records[638]
	assert.Equal(t, 640, shell.Line)
	assert.Equal(t, "ls", shell.Body.(entry.Shell).Command)
	assert.Regexp(t, "^AGENTS.md\nbiome.json\n", shell.Body.(entry.Shell).Output)
}

// roles counts a conversation's messages by role.
func roles(r *importer.Recording) map[chat.Role]int {
	n := map[chat.Role]int{}
	for _, m := range r.Conversation() {
		n[m.Role]++
	}
	return n
}

// kinds counts a recording's records by type.
func kinds(r *importer.Recording) map[entry.Type]int {
	n := map[entry.Type]int{}
	for _, rec := range r.Records {
		n[rec.Type()]++
	}
	return n
}

// counts describes a conversation.
type counts struct {
	calls, unanswered    int
	parallel, outOfOrder int // answers with several calls; answers whose results come in another order than the calls
	longCalls            int // calls with arguments of 10,000 bytes or more
	empty, thinking      int // answers without content, parts of thinking
	errors, usage        int // failed tools, answers with usage
	longestResult        int // in bytes
}

func count(r *importer.Recording) counts {
	var n counts
	open := map[string]int{} // index in its message of each call without a result, by id
	var answered []int       // indexes of the calls whose results came since the last answer
	for e, m := range r.Conversation() {
		if m.Role == chat.RoleTool {
			n.longestResult = max(n.longestResult, len(m.Text()))
			if m.IsError {
				n.errors++
			}
			answered = append(answered, open[m.ToolCallID])
			delete(open, m.ToolCallID)
			continue
		}
		if !slices.IsSorted(answered) {
			n.outOfOrder++
		}
		answered = nil
		if e.Usage != (chat.Usage{}) {
			n.usage++
		}
		if m.Role == chat.RoleAssistant && len(m.Content) == 0 && len(m.ToolCalls) == 0 {
			n.empty++
		}
		for _, p := range m.Content {
			if _, ok := p.(chat.Thinking); ok {
				n.thinking++
			}
		}
		if len(m.ToolCalls) > 1 {
			n.parallel++
		}
		for i, c := range m.ToolCalls {
			n.calls++
			open[c.ID] = i
			if len(c.Arguments) >= 10_000 {
				n.longCalls++
			}
		}
	}
	n.unanswered = len(open)
	return n
}
