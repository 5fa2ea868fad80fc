package importer_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

type object = map[string]any

// recorder writes a session by the rules of an agent's recorder, and keeps what the agent goes on with.
type recorder struct {
	*rand.Rand
	lines []string
	ids   int
	turns [][]string // what the model is shown: what stands for a compaction is a turn
}

func (r *recorder) write(v any) {
	line, _ := json.Marshal(v)
	r.lines = append(r.lines, string(line))
}

func (r *recorder) id(prefix string) string { r.ids++; return fmt.Sprint(prefix, r.ids) }

func (r *recorder) time() string {
	return fmt.Sprintf("2026-08-01T09:%02d:%02d.000Z", len(r.lines)/60%60, len(r.lines)%60)
}

// shows adds what the model is shown to the turn.
func (r *recorder) shows(said ...string) {
	last := len(r.turns) - 1
	r.turns[last] = append(r.turns[last], said...)
}

// goesOn returns what a session shows that was imported: texts with the calls, and the results of a round in their order.
func goesOn(t *testing.T, lines []string) (list []string) {
	s, notes := imported(t, lines)
	require.Empty(t, notes)
	view := sessiontest.View(t, s)
	results := 0
	for _, m := range view.Messages() {
		if m.Role == chat.RoleTool {
			results++
			list = append(list, m.ToolCallID+": "+m.Text())
			slices.Sort(list[len(list)-results:])
			continue
		}
		results = 0
		text := m.Text()
		for _, c := range m.ToolCalls {
			text += " " + c.ID
		}
		list = append(list, text)
	}
	return list
}

// claudeRecorder writes as Claude Code does: a line for each block of an answer, linked to the line before; the result of a
// call is linked to the call's line and may come before the next block.
type claudeRecorder struct {
	recorder
	last  string
	asked []string // by turn: the line before it
}

func (c *claudeRecorder) line(parent, role string, message, more object) string {
	uuid := c.id("u")
	line := object{"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": c.time(), "message": message}
	if parent == "" {
		line["parentUuid"] = nil
	}
	for name, value := range more {
		line[name] = value
	}
	c.write(line)
	return uuid
}

func (c *claudeRecorder) user(text string, more object) {
	c.asked, c.turns = append(c.asked, c.last), append(c.turns, []string{text})
	c.last = c.line(c.last, "user", object{"role": "user", "content": text}, more)
}

func (c *claudeRecorder) turn() {
	c.user("question "+c.id("q"), nil)
	for calls := c.IntN(4); ; calls = c.IntN(3) {
		answer, said := c.id("msg"), "answer "+c.id("a")
		block := func(parent string, b object) string {
			return c.line(parent, "assistant", object{"id": answer, "role": "assistant", "model": "m", "content": []any{b}}, nil)
		}
		c.last = block(c.last, object{"type": "text", "text": said})
		var waiting, results []string // lines of calls
		of := map[string]string{}
		result := func(line string) {
			call := of[line]
			c.last = c.line(line, "user", object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": call, "content": "of " + call}}}, nil)
			results = append(results, call+": of "+call)
		}
		from := c.last
		for range calls {
			call := c.id("toolu")
			from = block(from, object{"type": "tool_use", "id": call, "name": "Read", "input": object{}})
			of[from], waiting, said = call, append(waiting, from), said+" "+call
			if c.last = from; c.IntN(3) == 0 { // it is fast
				result(from)
				waiting = waiting[:len(waiting)-1]
			}
			if c.IntN(4) == 0 {
				c.line("", "user", object{"role": "user", "content": "of a subagent"}, object{"isSidechain": true})
			}
		}
		c.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
		for _, line := range waiting {
			result(line)
		}
		slices.Sort(results)
		if c.shows(append([]string{said}, results...)...); calls == 0 {
			return
		}
	}
}

func (c *claudeRecorder) change() {
	switch c.IntN(3) {
	case 0: // the user goes back, but not behind a compaction
		at := c.IntN(len(c.turns))
		if c.turns[at][0] != "summary" {
			c.last, c.asked, c.turns = c.asked[at], c.asked[:at], c.turns[:at]
			c.user("instead", nil)
		}
	case 1: // compaction
		c.write(object{"type": "system", "subtype": "compact_boundary", "uuid": c.id("u"), "parentUuid": nil, "logicalParentUuid": c.last, "sessionId": "s", "timestamp": c.time()})
		c.turns, c.asked, c.last = nil, nil, fmt.Sprint("u", c.ids)
		c.user("summary", object{"isCompactSummary": true})
	case 2: // resumed, which copied the lines in some versions
		c.lines = append(c.lines, c.lines[c.IntN(len(c.lines)):]...)
	}
}

// codexRecorder writes as the Codex CLI does: an item a line and events that repeat them. A rollback takes turns back, and a
// compaction writes the items with which the session goes on.
type codexRecorder struct{ recorder }

func (c *codexRecorder) payload(typ string, payload object) {
	c.write(object{"timestamp": c.time(), "type": typ, "payload": payload})
}

func (c *codexRecorder) message(role, text string) {
	kind, event := "input_text", "user_message"
	if role == "assistant" {
		kind, event = "output_text", "agent_message"
	}
	c.payload("response_item", object{"type": "message", "role": role, "content": []any{object{"type": kind, "text": text}}})
	c.payload("event_msg", object{"type": event, "message": text})
}

func (c *codexRecorder) turn() {
	text := "question " + c.id("q")
	c.turns = append(c.turns, []string{text})
	c.message("user", text)
	for calls := c.IntN(4); ; calls = c.IntN(3) {
		said := "answer " + c.id("a")
		c.message("assistant", said)
		var results []string
		for range calls {
			id := c.id("call_")
			c.payload("response_item", object{"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id})
			said, results = said+" "+id, append(results, id)
		}
		c.payload("event_msg", object{"type": "token_count", "info": object{"total_token_usage": object{"input_tokens": len(c.lines)}, "last_token_usage": object{"input_tokens": 9}}})
		for _, i := range c.Perm(len(results)) {
			c.payload("response_item", object{"type": "function_call_output", "call_id": results[i], "output": "of " + results[i]})
			results[i] += ": of " + results[i]
		}
		slices.Sort(results)
		if c.shows(append([]string{said}, results...)...); calls == 0 {
			return
		}
	}
}

func (c *codexRecorder) change() {
	switch c.IntN(3) {
	case 0: // turns are taken back, but none that a compaction covers
		n := 0
		for at := len(c.turns) - 1; at > 0 && len(c.turns[at]) > 1 && n < 2; at-- {
			n++
		}
		c.payload("event_msg", object{"type": "thread_rolled_back", "num_turns": n})
		c.turns = c.turns[:len(c.turns)-n]
	case 1: // compaction: the user's messages and a summary
		var items []any
		var shown []string
		for _, turn := range c.turns {
			for _, text := range turn[:1] {
				items = append(items, object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": text}}})
				shown = append(shown, text)
			}
		}
		c.payload("compacted", object{"message": "", "replacement_history": items})
		c.turns = nil
		for _, text := range shown {
			c.turns = append(c.turns, []string{text})
		}
	case 2: // resumed
		c.payload("session_meta", object{"id": c.id("s")})
	}
}

func TestASessionGoesOnAfterItsImportAsWithItsOwnAgent(t *testing.T) {
	t.Parallel()
	type agent interface {
		turn()
		change()
	}
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 2))
		claude, codex := &claudeRecorder{recorder: recorder{Rand: random}}, &codexRecorder{recorder{Rand: random}}
		codex.payload("session_meta", object{"id": "s"})
		for r, a := range map[*recorder]agent{&claude.recorder: claude, &codex.recorder: codex} {
			a.turn()
			for range 2 + r.IntN(6) {
				if r.IntN(2) == 0 {
					a.change()
				}
				a.turn()
			}
			require.Equal(t, slices.Concat(r.turns...), goesOn(t, r.lines), "seed %d:\n%s", seed, strings.Join(r.lines, "\n"))
		}
	}
}

// A chat of VS Code is one document or a log of changes to it, by the rules of its recorder: values are set, deleted, added to
// a list, or written anew from an index on.
func TestALogOfVSCodeIsReadAsTheDocumentThatItEndsAs(t *testing.T) {
	t.Parallel()
	request := func(r *rand.Rand, n int) object {
		return object{"requestId": fmt.Sprint(n), "message": object{"text": fmt.Sprint("question ", n)}, "response": []any{object{"value": fmt.Sprint("answer ", r.IntN(99))}}}
	}
	for seed := range uint64(60) {
		r := &recorder{Rand: rand.New(rand.NewPCG(seed, 3))}
		var requests []any
		r.write(object{"kind": 0, "v": object{"responderUsername": "x", "requests": []any{}}})
		for n := range 12 {
			at := r.IntN(len(requests) + 1)
			switch r.IntN(4) {
			case 0: // from an index on
				next := request(r.Rand, n)
				requests = append(requests[:at:at], next)
				r.write(object{"kind": 2, "k": []any{"requests"}, "v": []any{next}, "i": at})
			case 1:
				if requests = requests[:at:at]; at > 0 {
					r.write(object{"kind": 2, "k": []any{"requests"}, "i": at})
				} else {
					r.write(object{"kind": 1, "k": []any{"requests"}, "v": []any{}})
				}
			case 2:
				next := request(r.Rand, n)
				requests = append(requests[:len(requests):len(requests)], next)
				r.write(object{"kind": 2, "k": []any{"requests"}, "v": []any{next}})
			case 3:
				if at < len(requests) {
					response := []any{object{"value": fmt.Sprint("changed ", n)}}
					r.write(object{"kind": 1, "k": []any{"requests", at, "response"}, "v": response})
					requests[at] = object{"requestId": requests[at].(object)["requestId"], "message": requests[at].(object)["message"], "response": response}
				}
			}
		}
		want := recordingOf(t, string(sure.JSON(t, object{"responderUsername": "x", "requests": requests})))
		got := recordingOf(t, strings.Join(r.lines, "\n"))
		require.Len(t, said(want), 2*len(requests))
		require.Equal(t, said(want), said(got), "seed %d:\n%s", seed, strings.Join(r.lines, "\n"))
	}
}

// Chats that people published have requests without an answer, of a model that was chosen for them, and without a text.
func TestRequestsOfVSCodeMayLackAnything(t *testing.T) {
	got := recordingOf(t, `{"responderUsername":"","requests":[
		{"message":{"parts":[],"text":"aaa"},"response":[{"kind":"progressMessage","content":{"value":"Getting ready."}}]},
		{"message":{"text":"run"},"modelId":"copilot/auto","response":[{"kind":"thinking","value":"x"},{"value":"It passes."}],"result":{"metadata":{"resolvedModel":"claude-sonnet-4-6","promptTokens":9,
			"toolCallRounds":[{"thinking":{"tokens":17},"toolCalls":[{"id":"c","name":"run","arguments":"{}"}]}]}}},
		{"message":"later","result":{"metadata":"none"}},
		{"result":"none"}]}`)
	list := said(got)
	require.Equal(t, []string{"aaa", "run", "", "It passes.", "later", ""}, []string{list[0].Text(), list[1].Text(), list[2].Text(), list[3].Text(), list[4].Text(), list[5].Text()})
	require.Len(t, list, 6)
	require.Equal(t, "c", list[2].ToolCalls[0].ID)
	require.Equal(t, "claude-sonnet-4-6", list[3].Origin.Model)
}
