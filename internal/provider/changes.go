package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// Changes collects the changes of a request that make a provider accept it. The zero value is empty. Its methods make
// and report the changes that all providers need.
type Changes struct {
	list   []chat.Repair
	faults []chat.Violation // what was wrong before them
}

// Report adds a change of message i, or of the request itself ([chat.RequestIndex]).
func (c *Changes) Report(i int, rule chat.Rule, format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	c.Fault(i, rule, said, "%s", said)
}

// Fault adds a change that does not say what was wrong before it: wrong does, "" if another change says it.
func (c *Changes) Fault(i int, rule chat.Rule, wrong, format string, args ...any) {
	c.list = append(c.list, chat.Repair{Index: i, Rule: rule, Detail: fmt.Sprintf(format, args...)})
	if wrong != "" {
		c.faults = append(c.faults, chat.Violation{Index: i, Rule: rule, Detail: wrong})
	}
}

// ByMessage returns the changes sorted by message, and those of one message in the order of their reports.
func (c *Changes) ByMessage() []chat.Repair {
	slices.SortStableFunc(c.list, func(a, b chat.Repair) int { return a.Index - b.Index })
	return c.list
}

// UTF8 replaces the bytes of s that are not UTF-8. The report names s as what.
func (c *Changes) UTF8(i int, what, s string) string {
	if utf8.ValidString(s) {
		return s
	}
	c.Report(i, RuleUTF8, "bytes replaced in %s", what)
	return strings.ToValidUTF8(s, "\uFFFD")
}

// JSON repairs raw JSON as [Changes.UTF8] does, and escapes of half a surrogate pair in it. A text that is not JSON stays.
func (c *Changes) JSON(i int, what, s string) string {
	s = c.UTF8(i, what, s)
	mended, half := mended(s)
	if half {
		c.Report(i, RuleUTF8, "half surrogate pairs replaced in %s", what)
	}
	return mended
}

// mended returns JSON without escapes of half a surrogate pair, and reports whether it had any.
func mended[T ~string | ~[]byte](raw T) (T, bool) {
	if !bytes.Contains([]byte(raw), []byte(`\u`)) || !json.Valid([]byte(raw)) {
		return raw, false
	}
	whole, half := wire.Mended([]byte(raw))
	return T(whole), half
}

// Text repairs part k of message i, and returns nil if it is blank and must be removed.
func (c *Changes) Text(i, k int, text chat.Text) chat.Part {
	text = chat.Text(c.UTF8(i, fmt.Sprintf("part %d", k), string(text)))
	if strings.TrimSpace(string(text)) == "" {
		c.Report(i, chat.RuleEmpty, "part %d, which is blank, left out", k)
		return nil
	}
	return text
}

// Fields sets a known role on message i, and removes the calls and the call id that a message of that role cannot hold.
func (c *Changes) Fields(i int, m chat.Message) chat.Message {
	switch m.Role {
	case chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool:
	default:
		role := chat.RoleUser
		if m.Role == "developer" {
			role = chat.RoleSystem
		}
		c.Report(i, chat.RuleRole, "the role %q changed to %q", m.Role, role)
		m.Role = role
	}
	if len(m.ToolCalls) > 0 && m.Role != chat.RoleAssistant {
		c.Report(i, chat.RuleFields, "%d calls removed from a %s message", len(m.ToolCalls), m.Role)
		m.ToolCalls = nil
	}
	if m.ToolCallID != "" && m.Role != chat.RoleTool {
		c.Report(i, chat.RuleFields, "the id of a call removed from a %s message", m.Role)
		m.ToolCallID = ""
	}
	return m
}

// Choice drops the requirement of a call if there are no tools, or not the one that is to be called.
func (c *Changes) Choice(req *chat.Request) {
	if req.ToolChoice == chat.ToolChoiceRequired && len(req.Tools) == 0 {
		c.Report(chat.RequestIndex, chat.RuleToolChoice, "a call is no longer required: there are no tools")
		req.ToolChoice = chat.ToolChoiceAuto
	}
	if req.Tool != "" && !slices.ContainsFunc(req.Tools, func(t chat.Tool) bool { return t.Name == req.Tool }) {
		c.Report(chat.RequestIndex, chat.RuleToolChoice, "a call of %q is no longer required: there is no such tool", clip(req.Tool))
		req.Tool = ""
	}
}

// Limit drops a limit of the answer that is below 0.
func (c *Changes) Limit(req *chat.Request) {
	if req.MaxTokens < 0 {
		c.Report(chat.RequestIndex, chat.RuleMaxTokens, "a limit of %d tokens left out", req.MaxTokens)
		req.MaxTokens = 0
	}
}

// Tools returns the tools with unique names and with definitions in UTF-8.
func (c *Changes) Tools(tools []chat.Tool) (kept []chat.Tool) {
	seen := map[string]bool{}
	for _, t := range tools {
		if seen[t.Name] {
			c.Report(chat.RequestIndex, chat.RuleTool, "the second tool %q left out", t.Name)
			continue
		}
		seen[t.Name] = true
		if parameters := c.JSON(chat.RequestIndex, fmt.Sprintf("the parameters of tool %q", t.Name), string(t.Parameters)); parameters != string(t.Parameters) {
			t.Parameters = json.RawMessage(parameters)
		}
		t.Description = c.UTF8(chat.RequestIndex, fmt.Sprintf("the description of tool %q", t.Name), t.Description)
		kept = append(kept, t)
	}
	return kept
}
