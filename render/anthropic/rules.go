package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// The rules of the Messages API, on top of those of [chat.Validate]. Where a rule of chat says the same, it is not named
// again: [chat.RuleAnswered] and [chat.RuleOrphan] keep all results of a message in the next user message, and first in
// it, for [Request] sends the tool messages and the user message after them as one; [chat.RuleEmpty] asks for no blank
// text, and [chat.RuleLast] for no assistant message at the end.
const (
	// RuleFirst: the first message besides system messages is the user's. With it roles alternate, for [Request] merges
	// neighbours of one role.
	RuleFirst chat.Rule = "the first message is from the user"
	// RuleUTF8: text, thinking and descriptions of tools are valid UTF-8. JSON cannot carry anything else, and the SDK would
	// replace it unsaid.
	RuleUTF8 chat.Rule = "text is UTF-8"
	// RuleCallForm: the id of a call consists of letters, digits, _ and -, its tool's name too and of at most 128.
	RuleCallForm chat.Rule = "ids and names of calls are of the API's form"
	// RuleCallUnique: no two calls of a conversation have the same id.
	RuleCallUnique chat.Rule = "ids of calls are unique"
	// RuleArguments: the arguments of a call are a JSON object.
	RuleArguments chat.Rule = "arguments are a JSON object"
	// RuleErrorResult: the result of a tool that failed holds nothing but text.
	RuleErrorResult chat.Rule = "a failed result holds only text"
	// RuleThinkingForm: thinking is text with a signature, or encrypted and nothing else.
	RuleThinkingForm chat.Rule = "thinking is signed or encrypted"
	// RuleThinkingMerged: an assistant message after another one, which are sent as one, has no thinking.
	RuleThinkingMerged chat.Rule = "thinking is first after merging"
	// RulePlace: images and documents are in user and tool messages.
	RulePlace chat.Rule = "images and documents are in user and tool messages"
	// RuleMedia: images are JPEG, PNG, GIF or WebP, inline or at an https address; documents are PDF or text.
	RuleMedia chat.Rule = "images and documents are of kinds that the API takes"
	// RuleOpaque: an opaque part is a JSON object with a type and neither a call nor a result of a tool.
	RuleOpaque chat.Rule = "opaque parts are blocks of the API"
	// RuleCacheType: the type of a cache breakpoint is "ephemeral", or not said.
	RuleCacheType chat.Rule = "cache breakpoints are ephemeral"
	// RuleCacheCount: at most four blocks carry a cache breakpoint.
	RuleCacheCount chat.Rule = "at most four cache breakpoints"
	// RuleCacheOrder: in the order tools, system, messages, no breakpoint of an hour comes after one of five minutes.
	RuleCacheOrder chat.Rule = "longer cache lifetimes come first"
	// RuleTools: tools are declared where messages hold calls or results.
	RuleTools chat.Rule = "tools are declared where the history has calls"
	// RuleTool: a declared tool has a name of the API's form, which no other has, and a schema that is a JSON object of
	// type "object", or none.
	RuleTool chat.Rule = "tool definitions are of the API's form"
	// RuleToolChoice: a call is required only where there is a tool.
	RuleToolChoice chat.Rule = "a required call has a tool"
	// RuleToolSearch: there is no call of a client's own tool_search where that is not declared, and none of any tool that
	// was answered with references to tools. The API looks for what they name among deferred tools, and a [chat.Tool]
	// cannot be deferred.
	RuleToolSearch chat.Rule = "no stale tool_search"
)

// RequestIndex is the index of a violation and of a change that is in the request's tools and in no message.
const RequestIndex = -1

// toolSearch is the name of the tool with which clients search for deferred tools.
const toolSearch = "tool_search"

// Forms of ids and names, as the API's reference gives them.
var (
	idForm   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// Validate checks a request by the rules of [chat.Validate] and those of this package. It returns nil or a
// [*chat.ValidationError] with every violation. [Repair] mends nearly all of them.
func Validate(req chat.Request) error {
	v := validator{}
	if err, ok := errors.AsType[*chat.ValidationError](chat.Validate(req.Messages)); ok {
		v.violations = err.Violations
	}
	v.tools(req)
	v.order(req.Messages)
	v.calls(req)
	for i, m := range req.Messages {
		v.message(i, m)
	}
	v.cache(req)
	if len(v.violations) == 0 {
		return nil
	}
	slices.SortStableFunc(v.violations, func(a, b chat.Violation) int { return a.Index - b.Index })
	return &chat.ValidationError{Violations: v.violations}
}

type validator struct{ violations []chat.Violation }

func (v *validator) report(i int, rule chat.Rule, format string, args ...any) {
	v.violations = append(v.violations, chat.Violation{Index: i, Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

func (v *validator) tools(req chat.Request) {
	seen := map[string]bool{}
	for k, t := range req.Tools {
		switch {
		case !nameForm.MatchString(t.Name):
			v.report(RequestIndex, RuleTool, "the name of tool %d is %q", k, t.Name)
		case seen[t.Name]:
			v.report(RequestIndex, RuleTool, "two tools have the name %q", t.Name)
		}
		seen[t.Name] = true
		if err := checkSchema(t.Parameters); err != nil {
			v.report(RequestIndex, RuleTool, "the parameters of tool %q: %v", t.Name, err)
		}
		if !utf8.ValidString(t.Description) {
			v.report(RequestIndex, RuleUTF8, "the description of tool %q is not", t.Name)
		}
	}
	if len(req.Tools) > 0 {
		return
	}
	if req.ToolChoice == chat.ToolChoiceRequired {
		v.report(RequestIndex, RuleToolChoice, "there are no tools")
	}
	for i, m := range req.Messages {
		if len(m.ToolCalls) > 0 || m.Role == chat.RoleTool {
			v.report(i, RuleTools, "there are no tools")
			return
		}
	}
}

// checkSchema looks at what the API looks at first.
func checkSchema(schema json.RawMessage) error {
	if schema = bytes.TrimSpace(schema); len(schema) == 0 {
		return nil
	}
	if !utf8.Valid(schema) {
		return errors.New("they are not UTF-8")
	}
	var head struct {
		Type json.RawMessage `json:"type"`
	}
	if schema[0] != '{' || json.Unmarshal(schema, &head) != nil {
		return errors.New("they are no JSON object")
	}
	if string(head.Type) != `"object"` {
		return fmt.Errorf("their type is %s, not \"object\"", head.Type)
	}
	return nil
}

// order checks what is about a message's neighbours. System messages are sent apart, so they are none.
func (v *validator) order(messages []chat.Message) {
	var before chat.Role
	for i, m := range messages {
		if m.Role == chat.RoleSystem {
			continue
		}
		if before == "" && m.Role == chat.RoleAssistant {
			v.report(i, RuleFirst, "it is from assistant")
		}
		if before == chat.RoleAssistant && m.Role == chat.RoleAssistant && startsWithThinking(m) {
			v.report(i, RuleThinkingMerged, "the message before it is from assistant too")
		}
		before = m.Role
	}
	if before == "" && len(messages) > 0 {
		v.report(len(messages)-1, RuleFirst, "there are only system messages")
	}
}

// startsWithThinking tells of a message in which thinking comes before all else.
func startsWithThinking(m chat.Message) bool {
	for _, p := range m.Content {
		if _, ok := p.(chat.CacheBreakpoint); !ok {
			return isThinking(p)
		}
	}
	return false
}

// isThinking tells of thinking in either of the forms that [Response] gives it.
func isThinking(p chat.Part) bool {
	switch p := p.(type) {
	case chat.Thinking:
		return true
	case chat.Opaque:
		b, _ := parseOpaque(p)
		return b.Type == typeThinking || b.Type == typeRedacted
	}
	return false
}

func (v *validator) calls(req chat.Request) {
	seen := map[string]bool{}
	searches := staleSearches(req)
	for i, m := range req.Messages {
		for k, c := range m.ToolCalls {
			if c.ID != "" && !idForm.MatchString(c.ID) || c.Name != "" && !nameForm.MatchString(c.Name) {
				v.report(i, RuleCallForm, "call %d has the id %q and the name %q", k, c.ID, c.Name)
			}
			if seen[c.ID] {
				v.report(i, RuleCallUnique, "the id %q was used before", c.ID)
			}
			if !isObject(c.Arguments) {
				v.report(i, RuleArguments, "those of call %q are not", c.ID)
			}
			if searches[callKey{i, k}] {
				v.report(i, RuleToolSearch, "call %q", c.ID)
			}
		}
		for _, c := range m.ToolCalls {
			seen[c.ID] = true // two in one message are chat's matter
		}
	}
}

func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text)) && utf8.ValidString(text)
}

// callKey names a call: its message and its place there.
type callKey struct{ message, call int }

// staleSearches finds the calls that the API would refuse: of a tool_search that is not declared, or of any tool that was
// answered with references.
func staleSearches(req chat.Request) map[callKey]bool {
	declared := slices.ContainsFunc(req.Tools, func(t chat.Tool) bool { return t.Name == toolSearch })
	stale := map[callKey]bool{}
	open := map[string]callKey{}
	for i, m := range req.Messages {
		if m.Role == chat.RoleAssistant {
			clear(open)
		}
		for k, c := range m.ToolCalls {
			open[c.ID] = callKey{i, k}
			if c.Name == toolSearch && !declared {
				stale[callKey{i, k}] = true
			}
		}
		if key, ok := open[m.ToolCallID]; ok && m.Role == chat.RoleTool && slices.ContainsFunc(m.Content, isToolReference) {
			stale[key] = true
		}
	}
	return stale
}

func isToolReference(p chat.Part) bool {
	o, ok := p.(chat.Opaque)
	if !ok {
		return false
	}
	b, _ := parseOpaque(o)
	return b.Type == typeReference
}

func (v *validator) message(i int, m chat.Message) {
	if len(m.Content) > 0 && !substance(m) && slices.ContainsFunc(m.Content, isOpaque) {
		v.report(i, chat.RuleEmpty, "the message says nothing")
	}
	for k, p := range m.Content {
		if rule, err := checkPart(m, p); err != nil {
			v.report(i, rule, "part %d: %v", k, err)
		}
	}
}

// checkPart tells which rule a part breaks where it stands.
func checkPart(m chat.Message, p chat.Part) (chat.Rule, error) {
	switch p := p.(type) {
	case chat.Text:
		if !utf8.ValidString(string(p)) {
			return RuleUTF8, errors.New("it is not")
		}
	case chat.Thinking:
		switch {
		case !utf8.ValidString(p.Text + p.Signature + p.Encrypted):
			return RuleUTF8, errors.New("the thinking is not")
		case p.Encrypted != "" && (p.Text != "" || p.Signature != ""):
			return RuleThinkingForm, errors.New("it is encrypted and more")
		case p.Encrypted == "" && p.Signature == "" && m.Role != chat.RoleAssistant:
			return RuleThinkingForm, errors.New("it is neither")
		}
	case chat.Image:
		if rule, err := checkPlace(m, "an image"); err != nil {
			return rule, err
		}
		_, err := imageSource(p)
		return RuleMedia, err
	case chat.Document:
		if rule, err := checkPlace(m, "a document"); err != nil {
			return rule, err
		}
		_, err := documentSource(p)
		return RuleMedia, err
	case chat.Opaque:
		return RuleOpaque, checkOpaque(m, p)
	case chat.CacheBreakpoint:
		if p.Type != "" && p.Type != cacheType {
			return RuleCacheType, fmt.Errorf("it is %q", p.Type)
		}
	}
	return "", nil
}

func isOpaque(p chat.Part) bool {
	_, ok := p.(chat.Opaque)
	return ok
}

func checkPlace(m chat.Message, what string) (chat.Rule, error) {
	switch {
	case m.Role != chat.RoleUser && m.Role != chat.RoleTool:
		return RulePlace, fmt.Errorf("%s in a %s message", what, m.Role)
	case m.Role == chat.RoleTool && m.IsError:
		return RuleErrorResult, fmt.Errorf("it is %s", what)
	}
	return "", nil
}

func checkOpaque(m chat.Message, p chat.Opaque) error {
	b, err := parseOpaque(p)
	switch {
	case err != nil:
		return err
	case b.Type == typeToolUse && !b.marks(m):
		return fmt.Errorf("it is a call that is not among the message's calls: %q", b.ID)
	case b.Type == typeToolResult:
		return errors.New("it is a tool result, which is a message of its own")
	case b.assistants() && m.Role != chat.RoleAssistant, b.users() && m.Role == chat.RoleAssistant,
		b.Type == typeReference && m.Role != chat.RoleTool:
		return fmt.Errorf("it is a %s in a %s message", b.Type, m.Role)
	case m.Role == chat.RoleSystem && b.Type != typeText:
		return fmt.Errorf("it is a %s in a system message", b.Type)
	case m.Role == chat.RoleTool && m.IsError && b.Type != typeText:
		return fmt.Errorf("it is a %s in a failed result", b.Type)
	}
	return nil
}

func (v *validator) cache(req chat.Request) {
	plan := planCache(req)
	if n := len(plan.marks); n > maxBreakpoints {
		v.report(plan.marks[maxBreakpoints].message(), RuleCacheCount, "there are %d", n)
	}
	short := false
	for _, mark := range plan.marks {
		if short && mark.hour {
			v.report(mark.message(), RuleCacheOrder, "an hour comes after five minutes")
			break
		}
		short = short || !mark.hour
	}
}
