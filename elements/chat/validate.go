package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Rule says what holds for messages or requests, in words. An adapter names rules of its API beside those here.
type Rule string

// The rules that OpenAI, Anthropic and Gemini share.
const (
	// RuleRole: the role is one of the four.
	RuleRole Rule = "known role"
	// RuleEmpty: a message has content or tool calls, and no part is nil or blank text.
	RuleEmpty Rule = "no empty text"
	// RuleFields: only assistant messages call tools, only tool messages answer one.
	RuleFields Rule = "fields fit the role"
	// RuleCallID: a tool call has an id and a name, and no other call of its message has the id.
	RuleCallID Rule = "tool calls are named"
	// RuleAnswered: each tool call is answered once, before any other message.
	RuleAnswered Rule = "every tool call is answered"
	// RuleOrphan: each tool message answers a call of the assistant message before it.
	RuleOrphan Rule = "no result without its call"
	// RuleLast: the last message is the user's or a tool's.
	RuleLast Rule = "the last message is from user or tool"
	// RuleThinking: thinking precedes everything else in an assistant message, and is complete.
	RuleThinking Rule = "thinking is whole and first"
	// RuleImage: an image is a URL with its scheme, such as https or data; not a path.
	RuleImage Rule = "an image is a URL"
)

// The rules of a request beyond its messages, which [ValidateRequest] checks too.
const (
	// RuleTool: each tool has a unique name without white space, and its parameters are a JSON object or absent.
	RuleTool Rule = "tools are named and described by a schema"
	// RuleToolChoice: the choice is one of the three, a call is required only if there is a tool, and a tool that is to be
	// called is declared.
	RuleToolChoice Rule = "the tool choice can be met"
	// RuleShape: the effort is one of the five, the format is named and has a schema that the API takes, and the API takes
	// what else is asked of the answer. An error about a schema names the place in it.
	RuleShape Rule = "what is asked of the answer can be asked"
	// RuleMaxTokens: the limit of the answer is not negative.
	RuleMaxTokens Rule = "the answer has room"
)

// RequestIndex is the index of a violation or a repair that concerns the request itself, such as its tools, and none of
// its messages.
const RequestIndex = -1

// Violation is one breach of a rule.
type Violation struct {
	// Index of the message, from 0, or [RequestIndex].
	Index int
	Rule  Rule
	// Detail describes the violation.
	Detail string
}

// String returns a text such as "message 3: no empty text: part 0 is blank".
func (v Violation) String() string {
	where := "request"
	if v.Index != RequestIndex {
		where = fmt.Sprintf("message %d", v.Index)
	}
	return where + ": " + string(v.Rule) + ": " + v.Detail
}

// Repair describes one change that an adapter made to a request so that its provider accepts it.
type Repair struct {
	// Index of the message in the original request, or [RequestIndex]. An added message has the index of one beside it.
	Index int
	// Rule that required it.
	Rule Rule
	// Detail describes the change.
	Detail string
}

// String returns a text such as "message 3: no empty text: part 0 left out".
func (r Repair) String() string { return Violation(r).String() }

// ValidationError lists everything that is wrong with a request or a list of messages.
type ValidationError struct {
	// Violations in the order of the messages, at least one.
	Violations []Violation
}

func (e *ValidationError) Error() string {
	first := e.Violations[0].String()
	if n := len(e.Violations) - 1; n > 0 {
		return fmt.Sprintf("chat: %s (and %d more)", first, n)
	}
	return "chat: " + first
}

// Validate checks the rules that every provider shares, see [Rule]. It returns nil or a [*ValidationError] that lists
// every violation.
func Validate(messages []Message) error {
	v := validator{}
	for i, m := range messages {
		v.message(i, m)
	}
	v.close()
	switch n := len(messages); {
	case n == 0:
		v.report(RequestIndex, RuleLast, "there are no messages")
	case messages[n-1].Role != RoleUser && messages[n-1].Role != RoleTool:
		v.report(n-1, RuleLast, "it is from %s", messages[n-1].Role)
	}
	return Invalid(v.violations) // a call without an answer is noticed at a later message
}

// ValidateRequest checks a request by the rules that every provider shares: those of its messages, as [Validate] does,
// and those of its tools, choice and limit. It returns nil or a [*ValidationError] that lists every violation.
func ValidateRequest(req Request) error {
	v := validator{}
	if err, ok := errors.AsType[*ValidationError](Validate(req.Messages)); ok {
		v.violations = err.Violations
	}
	seen := map[string]bool{}
	for k, t := range req.Tools {
		switch {
		case t.Name == "":
			v.report(RequestIndex, RuleTool, "tool %d has no name", k)
		case seen[t.Name]:
			v.report(RequestIndex, RuleTool, "two tools have the name %q", t.Name)
		case strings.ContainsFunc(t.Name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
			v.report(RequestIndex, RuleTool, "the name %q of a tool has white space, which no provider accepts", t.Name)
		}
		seen[t.Name] = true
		if schema := t.Schema(); schema != nil && (schema[0] != '{' || !json.Valid(schema)) {
			v.report(RequestIndex, RuleTool, "the parameters of tool %q are not a JSON object", t.Name)
		}
	}
	v.shape(req)
	if req.MaxTokens < 0 {
		v.report(RequestIndex, RuleMaxTokens, "the limit is %d tokens", req.MaxTokens)
	}
	return Invalid(v.violations)
}

// Invalid returns a [*ValidationError] of these violations, sorted by message, and nil if there are none.
func Invalid(violations []Violation) error {
	if len(violations) == 0 {
		return nil
	}
	slices.SortStableFunc(violations, func(a, b Violation) int { return a.Index - b.Index })
	return &ValidationError{Violations: violations}
}

// validator walks a list of messages and remembers the calls that are not answered yet.
type validator struct {
	violations []Violation
	caller     int             // index of the assistant message whose calls are open
	calls      map[string]bool // its call ids; true once answered
	order      []string        // its call ids in order
}

func (v *validator) report(i int, rule Rule, format string, args ...any) {
	v.violations = append(v.violations, Violation{Index: i, Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

func (v *validator) message(i int, m Message) {
	switch m.Role {
	case RoleSystem, RoleUser, RoleAssistant:
		v.close()
	case RoleTool:
		v.result(i, m)
	default:
		v.report(i, RuleRole, "the role is %q", m.Role)
	}
	if len(m.ToolCalls) > 0 && m.Role != RoleAssistant {
		v.report(i, RuleFields, "a %s message calls a tool", m.Role)
	}
	if m.ToolCallID != "" && m.Role != RoleTool {
		v.report(i, RuleFields, "a %s message answers tool call %q", m.Role, m.ToolCallID)
	}
	v.content(i, m)
	if m.Role == RoleAssistant {
		v.open(i, m.ToolCalls)
	}
}

// open records an assistant message's calls.
func (v *validator) open(i int, calls []ToolCall) {
	v.caller, v.calls, v.order = i, map[string]bool{}, nil
	for k, c := range calls {
		_, again := v.calls[c.ID]
		switch {
		case c.ID == "":
			v.report(i, RuleCallID, "call %d has no id", k)
			continue
		case again:
			v.report(i, RuleCallID, "two calls have the id %q", c.ID)
			continue
		case c.Name == "":
			v.report(i, RuleCallID, "call %q names no tool", c.ID)
		}
		v.calls[c.ID] = false
		v.order = append(v.order, c.ID)
	}
}

// result matches a tool message to an open call.
func (v *validator) result(i int, m Message) {
	answered, known := v.calls[m.ToolCallID]
	switch {
	case !known:
		v.report(i, RuleOrphan, "no call %q in the assistant message before it", m.ToolCallID)
	case answered:
		v.report(i, RuleOrphan, "call %q has an answer already", m.ToolCallID)
	default:
		v.calls[m.ToolCallID] = true
	}
}

// close reports the calls that were not answered before the next message.
func (v *validator) close() {
	for _, id := range v.order {
		if !v.calls[id] {
			v.report(v.caller, RuleAnswered, "call %q has no result", id)
		}
	}
	v.calls, v.order = nil, nil
}

func (v *validator) content(i int, m Message) {
	substance := len(m.ToolCalls) > 0
	thinkingOver := false
	for k, p := range m.Content {
		switch p := p.(type) {
		case Thinking:
			switch {
			case m.Role != RoleAssistant:
				v.report(i, RuleThinking, "part %d is thinking in a %s message", k, m.Role)
			case thinkingOver:
				v.report(i, RuleThinking, "part %d comes after other content", k)
			case p.Signature == "" && p.Encrypted == "":
				v.report(i, RuleThinking, "part %d has no signature", k)
			}
			continue
		case CacheBreakpoint:
			continue
		case nil:
			v.report(i, RuleEmpty, "part %d is nil", k)
			continue
		case Text:
			if strings.TrimSpace(string(p)) == "" {
				v.report(i, RuleEmpty, "part %d is blank", k)
			}
		case Image:
			if scheme, _, _ := strings.Cut(p.URL, ":"); len(scheme) < 2 || len(scheme) == len(p.URL) || strings.ContainsAny(scheme, "/\\. ") {
				v.report(i, RuleImage, "part %d is not a URL but %.20q: read a file and send its bytes in base64", k, p.URL)
			}
		}
		substance, thinkingOver = true, true
	}
	if !substance {
		v.report(i, RuleEmpty, "the message has neither content nor tool calls")
	}
}
