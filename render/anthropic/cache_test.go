package anthropic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/forktest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/anthropic"
)

var mark = chat.CacheBreakpoint{}

// cached lists the blocks that carry cache_control, in the order of the request: "tool count", "text A 1h".
func cached(t *testing.T, req chat.Request) []string {
	p, err := anthropic.Request(req)
	require.NoError(t, err)
	r := sure.Decode[request](t, sure.JSON(t, p))
	var out []string
	look := func(kind any, b block) {
		c, ok := b["cache_control"].(map[string]any)
		if !ok {
			return
		}
		name := fmt.Sprint(kind)
		for _, field := range []string{"name", "text", "tool_use_id"} {
			if s, ok := b[field].(string); ok {
				name += " " + s
			}
		}
		if ttl, ok := c["ttl"]; ok {
			name += " " + fmt.Sprint(ttl)
		}
		out = append(out, name)
	}
	for _, b := range r.Tools {
		look("tool", b)
	}
	for _, b := range r.System {
		look("system", b)
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			content, _ := b["content"].([]any)
			for _, c := range content {
				look("in result", c.(map[string]any))
			}
			look(b["type"], b)
		}
	}
	return out
}

func TestABreakpointIsOnThePartBeforeIt(t *testing.T) {
	for _, c := range []struct {
		rule string
		req  chat.Request
		want []string
	}{
		{"a part", ask(user(chat.Text("A"), mark, chat.Text("B"))), []string{"text A"}},
		{"an image", ask(user(pixel, mark, chat.Text("B"))), []string{"image"}},
		{"a part of the system prompt", ask(with(chat.SystemMessage("S"), mark), question), []string{"system S"}},
		{"the message before", ask(question, chat.AssistantMessage("A"), user(mark, chat.Text("B"))), []string{"text A"}},
		{"the system prompt, before the first message", ask(chat.SystemMessage("S"), user(mark, chat.Text("B"))), []string{"system S"}},
		{"the last tool, before everything else", tools(ask(user(mark, chat.Text("B"))), chat.Tool{Name: "a"}, chat.Tool{Name: "b"}), []string{"tool b"}},
		{"nothing, before everything", tools(ask(user(mark, chat.Text("B")))), nil},
		{"a result as a whole", ask(question, calls("a"), result("a", chat.Text("1"), mark)), []string{"tool_result a"}},
		{"a part of a result", ask(question, calls("a"), result("a", chat.Text("1"), mark, chat.Text("2"))), []string{"in result 1"}},
		{"a call, from the result after it", ask(question, calls("a"), result("a", mark, chat.Text("1"))), []string{"tool_use count"}},
		{"the part before thinking", ask(chat.UserMessage("A"), assistant(signed, mark, chat.Text("B")), question), []string{"text A"}},
		{"the part before an opaque part", ask(user(chat.Text("A"), opaque(`{"type":"search_result"}`), mark)), []string{"text A"}},
		{"two breakpoints on a part are one", ask(user(chat.Text("A"), mark, chat.CacheBreakpoint{Lifetime: time.Hour})), []string{"text A 1h"}},
		{"five minutes are the API's default", ask(user(chat.Text("A"), chat.CacheBreakpoint{Type: "ephemeral", Lifetime: 5 * time.Minute})), []string{"text A"}},
		{"a longer lifetime is an hour", ask(user(chat.Text("A"), chat.CacheBreakpoint{Lifetime: 6 * time.Minute})), []string{"text A 1h"}},
		{"the longest is an hour", ask(user(chat.Text("A"), chat.CacheBreakpoint{Lifetime: 24 * time.Hour})), []string{"text A 1h"}},
		{"hours come first", ask(with(chat.SystemMessage("S"), chat.CacheBreakpoint{Lifetime: time.Hour}), user(chat.Text("A"), mark)), []string{"system S 1h", "text A"}},
		{"system messages come first", ask(user(chat.Text("A"), mark), with(chat.SystemMessage("S"), chat.CacheBreakpoint{Lifetime: time.Hour}), question), []string{"system S 1h", "text A"}},
	} {
		t.Run(c.rule, func(t *testing.T) { require.Equal(t, c.want, cached(t, c.req)) })
	}
}

func TestRepairKeepsTheMostUsefulBreakpoints(t *testing.T) {
	turns := func(n int, own string) (out []chat.Message) {
		for i := range n {
			out = append(out, user(chat.Text(fmt.Sprint(own, i)), mark), chat.AssistantMessage("Well."))
		}
		return append(out, question)
	}
	for _, c := range []struct {
		rule string
		req  chat.Request
		want string
	}{
		{"the newest are kept", ask(turns(7, "u")...), "text u3, text u4, text u5, text u6"},
		{"the last of the system prompt is kept", ask(append([]chat.Message{
			with(with(chat.SystemMessage("S"), mark), chat.Text("T"), mark)}, turns(7, "u")...)...), "system T, text u4, text u5, text u6"},
		{"the last of the tools is kept", ask(append([]chat.Message{
			{Role: chat.RoleSystem, Content: chat.Parts{mark, chat.Text("S")}}}, turns(7, "u")...)...), "tool count, text u4, text u5, text u6"},
		{"so is one that the first message begins with", ask(append([]chat.Message{chat.SystemMessage("S"), user(mark, chat.Text("U"))}, turns(7, "u")...)...), "system S, text u4, text u5, text u6"},
		{"more of the system prompt are kept if there are fewer than four others", ask(append([]chat.Message{
			with(with(with(chat.SystemMessage("S"), mark), chat.Text("T"), mark), chat.Text("U"), mark)}, turns(2, "u")...)...), "system T, system U, text u0, text u1"},
		{"five minutes before an hour are an hour", ask(
			with(chat.SystemMessage("S"), mark), user(chat.Text("A"), mark, chat.Text("B"), chat.CacheBreakpoint{Lifetime: time.Hour}, chat.Text("C"), mark)), "system S 1h, text A 1h, text B 1h, text C"},
		{"those of opaque parts are kept", ask(append([]chat.Message{user(opaque(`{"type":"text","text":"O","cache_control":{"type":"ephemeral"}}`))}, turns(7, "u")...)...),
			"text O, text u4, text u5, text u6"},
		{"an hour after an opaque part's five minutes is five minutes", ask(
			user(opaque(`{"type":"text","text":"O","cache_control":{"type":"ephemeral"}}`), chat.Text("A"), chat.CacheBreakpoint{Lifetime: time.Hour})), "text O, text A"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			require.Error(t, anthropic.Validate(c.req))
			repaired, changes := anthropic.Repair(c.req)
			require.NotEmpty(t, changes)
			require.Equal(t, c.want, strings.Join(cached(t, repaired), ", "))
		})
	}
}

// The request for the summary begins with the agent's request: the tools, the tool choice, the thinking, the system
// prompt and every block before the last are the same.
func TestASummaryAtTheEndOfARequestKeepsItsCachedPrefix(t *testing.T) {
	for _, thinking := range []anthropic.Thinking{{}, {Adaptive: true}, {Budget: 1024}} {
		t.Run(fmt.Sprintf("%+v", thinking), func(t *testing.T) {
			counted := 0
			s := newServer(t, func(_ int, r request) answer {
				lastTurn := r.Messages[len(r.Messages)-1]
				if said, _ := lastTurn.Content[len(lastTurn.Content)-1]["text"].(string); strings.Contains(said, forktest.Ask) {
					a := say(think("All of it."), text("<summary>\nThe files were counted.\n</summary>"))
					a.usage = map[string]any{"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 20}
					return a
				}
				if counted++; counted > 12 {
					return say(text("There are 42."))
				}
				return say(think(fmt.Sprint("round ", counted)), call(fmt.Sprint("a", counted), "count", block{"glob": "*.go"}), call(fmt.Sprint("b", counted), "count", block{"glob": "*.md"}))
			})
			model := &anthropic.Model{Client: s.client(), Name: "claude-test", Thinking: thinking}
			done := forktest.Agent{Model: model, Tokenizer: quarter{}, Tools: counting, Budget: 1500}.Run(t)
			layout := forktest.Layout{Turns: "messages", Parts: "content", Free: []string{"max_tokens", "temperature", "stream"}}
			require.Equal(t, len(done), layout.Check(t, s.bodies))
			for _, e := range done {
				require.Equal(t, 1000, e.Usage.Input)
				require.Equal(t, 900, e.Usage.CacheRead, "an event says what the cache served")
			}
		})
	}
}
