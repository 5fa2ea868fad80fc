package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// Calls of the API's own tools (web search, code execution, MCP servers) and their results are opaque parts of
// assistant messages, such as server_tool_use and web_search_tool_result. A result may come in a later message if the
// tool called a tool of the request in between, but never after a user message.

// unpairedBlock is a call of one of the API's own tools without its result, or the reverse.
type unpairedBlock struct {
	message, part int
	detail        string
}

// serverTools returns the unpaired blocks, and reports whether the last message leaves a call open, with which the API
// then goes on. The API's own search for tools counts as unpaired if it found a tool that is no longer declared.
func serverTools(messages []chat.Message, tools []chat.Tool) (unpaired []unpairedBlock, paused bool) {
	open := map[string]unpairedBlock{}
	called := map[string]bool{} // since the last user message
	last := chat.Role("")
	run := 0 // the first of the assistant messages that are merged
	for i, m := range messages {
		switch m.Role {
		case chat.RoleSystem:
			continue
		case chat.RoleUser:
			for _, l := range open {
				unpaired = append(unpaired, l)
			}
			clear(open)
			clear(called)
		case chat.RoleAssistant:
			if last != m.Role {
				run = i
			}
			for k, p := range m.Content {
				b := serverBlock(p)
				switch {
				case b.isCall() && called[b.ID]:
					unpaired = append(unpaired, unpairedBlock{i, k, fmt.Sprintf("part %d: another call has the id %q", k, b.ID)})
				case b.isCall():
					called[b.ID] = true
					open[b.ID] = unpairedBlock{i, k, fmt.Sprintf("part %d: the call %q has no result", k, b.ID)}
				case b.isResult():
					call, ok := open[b.ToolUseID]
					if lost := b.lost(tools); ok && lost != "" {
						detail := fmt.Sprintf("the search %q found the tool %q, which is not declared", b.ToolUseID, lost)
						call.detail = detail
						unpaired = append(unpaired, call, unpairedBlock{i, k, detail})
					} else if !ok {
						unpaired = append(unpaired, unpairedBlock{i, k, fmt.Sprintf("part %d: there is no call %q before the result", k, b.ToolUseID)})
					}
					delete(open, b.ToolUseID)
				}
			}
		}
		last = m.Role
	}
	if n := len(messages); n > 0 && messages[n-1].Role == chat.RoleAssistant {
		for _, l := range open {
			paused = paused || l.message >= run
		}
	}
	slices.SortFunc(unpaired, func(a, b unpairedBlock) int { // open calls were collected from a map
		return cmp.Or(a.message-b.message, a.part-b.part)
	})
	return unpaired, paused
}

// serverBlock returns the opaque block of a part, and the zero value for any other part.
func serverBlock(p chat.Part) opaqueBlock {
	o, ok := p.(chat.Opaque)
	if !ok {
		return opaqueBlock{}
	}
	b, _ := parseOpaque(o)
	return b
}

func (b opaqueBlock) isCall() bool {
	return b.Type != messages.TypeToolUse && strings.HasSuffix(b.Type, "_"+messages.TypeToolUse)
}

func (b opaqueBlock) isResult() bool {
	return b.Type != messages.TypeToolResult && strings.HasSuffix(b.Type, "_"+messages.TypeToolResult)
}

// lost returns the first tool that a search found and that is not declared, "" if there is none.
func (b opaqueBlock) lost(tools []chat.Tool) string {
	var found struct {
		References []struct {
			ToolName string `json:"tool_name"`
		} `json:"tool_references"`
	}
	if b.Type != typeSearchResult || json.Unmarshal(b.Content, &found) != nil {
		return ""
	}
	for _, r := range found.References {
		if !slices.ContainsFunc(tools, func(t chat.Tool) bool { return t.Name == r.ToolName }) {
			return r.ToolName
		}
	}
	return ""
}

// withoutUnpaired removes unpaired blocks, and the messages that become empty.
func withoutUnpaired(r *provider.Repairer) {
	for {
		unpaired, _ := serverTools(r.Plain(), r.Tools)
		if len(unpaired) == 0 {
			return
		}
		for _, l := range slices.Backward(unpaired) {
			m := &r.Messages[l.message]
			r.Report(m.Index, provider.RuleServerTool, "left out: %s", l.detail)
			m.Content = slices.Delete(slices.Clone(m.Content), l.part, l.part+1)
		}
		r.Messages = slices.DeleteFunc(r.Messages, func(m provider.Indexed) bool {
			gone := m.Role == chat.RoleAssistant && !r.Says(m.Message)
			if gone {
				r.Report(m.Index, chat.RuleEmpty, "the %s message, now empty, left out", m.Role)
			}
			return gone
		})
	}
}
