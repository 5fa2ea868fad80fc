package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/wire"
)

// API holds what an API accepts: its rules as data, and hooks for rules that only it has. [API.Validate] and [API.Repair]
// check and repair requests by it.
type API struct {
	// CallID and ToolName are the forms of calls' ids and of tools' names, and Participant that of participants' names.
	CallID, ToolName, Participant Form
	// UniqueIDs reports whether no two calls of a conversation may have one id, and not only of a message.
	UniqueIDs bool
	// NewID returns the n-th id, from 0, that a call gets in place of one that is missing, too long or another's.
	NewID func(id string, n int) string
	// Arguments and Signature return an error for those of a call that are not accepted: [Any] accepts all.
	Arguments, Signature func(c chat.ToolCall) error
	// Unanswered reports whether a call without a result is left out, instead of being answered by one that says so.
	Unanswered bool
	// Images are the limits of images, and Large returns those that are too large otherwise. Nil is no such limit.
	Images ImageLimits
	Large  func([]chat.Message) []ImageExcess

	// Media are the roles whose messages may hold images and documents, nil for any, and FailedText says that a failed
	// result may not.
	Media      []chat.Role
	FailedText bool
	// Image, Document and Opaque return an error for those that are not accepted. Nil accepts all.
	Image    func(p chat.Image) error
	Document func(p chat.Document) error
	Opaque   func(m chat.Message, p chat.Opaque) error
	// Faults returns what else of a message's content is not accepted, calls aside.
	Faults func(m chat.Message) []Fault
	// Says reports whether the content of a message is sent, besides thinking.
	Says func(m chat.Message) bool
	// Late returns the part that takes the place of thinking that is not first in a message, nil to leave it out.
	Late func(m chat.Message, t chat.Thinking) chat.Part
	// Marked returns the id of the call whose place a part marks, "" for any other part, and Mark the part with another
	// id. Nil if no part does.
	Marked func(m chat.Message, p chat.Opaque) string
	Mark   func(p chat.Opaque, id string) chat.Part
	// Tool checks a tool's definition besides its name. It may be nil.
	Tool func(t chat.Tool) error
	// Schema are the rules for the schemas of answers.
	Schema SchemaRules

	// Paused reports whether the API goes on with an answer at the end of a conversation. Nil is never.
	Paused func(req chat.Request) bool
	// Before, Between and After repair what else is wrong: before calls are paired, before the end is repaired, and when
	// the messages are complete. Each may be nil.
	Before, Between, After func(r *Repairer)
	// Request repairs what depends on messages and tools that are valid, and Check reports what is wrong with a request and
	// cannot be repaired. Each may be nil.
	Check   func(req chat.Request, report func(i int, rule chat.Rule, format string, args ...any))
	Request func(r *Repairer, req *chat.Request)
}

// Fault is the reason why a part of a message is not accepted.
type Fault struct {
	Part int // index in the content
	Rule chat.Rule
	Why  string
}

// Form is the form of an id or a name: letters, digits and what an API accepts besides.
type Form struct {
	// Max is the maximum number of characters, 0 for no limit.
	Max int
	// Allowed reports whether a character may be in it, and First whether it may be the first. Nil allows all.
	Allowed, First func(r rune) bool
}

// Words returns the form of at most that many ASCII letters and digits, and these other characters.
func Words(most int, others string) Form {
	return Form{Max: most, Allowed: func(r rune) bool { return isLetter(r) || r >= '0' && r <= '9' || strings.ContainsRune(others, r) }}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// AfterLetter returns the form with a letter or _ at its start.
func (f Form) AfterLetter() Form {
	f.First = func(r rune) bool { return isLetter(r) || r == '_' }
	return f
}

// Fix returns a text of the form: each character that is not allowed is replaced by _, and what is too much is cut.
func (f Form) Fix(s string) string {
	if f.Allowed != nil {
		s = strings.Map(func(r rune) rune {
			if r == utf8.RuneError || !f.Allowed(r) {
				return '_'
			}
			return r
		}, s)
	}
	if first, n := utf8.DecodeRuneInString(s); n > 0 && f.First != nil && !f.First(first) {
		s = "_" + s
	}
	if f.isLong(s) {
		s = string([]rune(s)[:f.Max])
	}
	return s
}

// Name returns a name of the form for a tool: its own, or one that ends in a digest of it. It depends on no other tool,
// so that a request keeps its cached prefix when one is found, and two names do not become one.
func (f Form) Name(name string) string {
	fixed := f.Fix(name)
	if fixed == name {
		return name
	}
	const digits = 8
	sum := sha256.Sum256([]byte(name))
	if f.Max > 0 {
		fixed = Form{Max: f.Max - 1 - digits}.Fix(fixed)
	}
	return fixed + "_" + hex.EncodeToString(sum[:])[:digits]
}

// isLong reports whether a text has too many characters.
func (f Form) isLong(s string) bool { return f.Max > 0 && utf8.RuneCountInString(s) > f.Max }

// Validate checks a request by the rules of [chat.ValidateRequest] and those of the API: what [API.Repair] would change is
// not valid, and neither is what it leaves. It returns nil or a [*chat.ValidationError] with every violation.
func (a *API) Validate(req chat.Request) error {
	var list []chat.Violation
	report := func(i int, rule chat.Rule, format string, args ...any) {
		list = append(list, chat.Violation{Index: i, Rule: rule, Detail: fmt.Sprintf(format, args...)})
	}
	paused := a.Paused != nil && a.Paused(req)
	if err, ok := errors.AsType[*chat.ValidationError](chat.ValidateRequest(req)); ok {
		list = slices.DeleteFunc(err.Violations, func(b chat.Violation) bool { return paused && b.Rule == chat.RuleLast })
	}
	r := a.repairer(req)
	repaired := r.repair(req)
	list = r.violations(list)
	for _, t := range repaired.Tools {
		if a.Tool != nil {
			if err := a.Tool(t); err != nil {
				report(chat.RequestIndex, RuleToolForm, "the parameters of tool %q: %v", clip(t.Name), err)
			}
		}
	}
	if req.Format != nil {
		if wrong := a.Schema.Check(*req.Format); wrong != "" {
			report(chat.RequestIndex, chat.RuleShape, "the schema of the format %q: %s", clip(req.Format.Name), wrong)
		}
	}
	if a.Check != nil {
		a.Check(repaired, report)
	}
	return chat.Invalid(list)
}

// violations adds to known ones what was wrong by other rules, or in other messages. That a message is empty is one if
// nothing else is wrong with it.
func (c *Changes) violations(known []chat.Violation) []chat.Violation {
	list := slices.Clone(known)
	for _, f := range c.faults {
		isKnown := func(v chat.Violation) bool { return v.Index == f.Index && v.Rule == f.Rule }
		isCause := func(v chat.Violation) bool { return v.Index == f.Index && f.Rule == chat.RuleEmpty }
		if !slices.ContainsFunc(known, isKnown) && !slices.ContainsFunc(list, isCause) {
			list = append(list, f)
		}
	}
	return list
}

// ValidateMessages checks each of some messages alone, by the rules of the API. It returns nil or a
// [*chat.ValidationError] with every violation.
func (a *API) ValidateMessages(messages []chat.Message) error {
	r := a.repairer(chat.Request{Messages: messages})
	for i, m := range messages {
		for k, c := range m.ToolCalls {
			r.call(i, k, c, false, nil, nil)
		}
	}
	r.contents()
	return chat.Invalid(r.violations(nil))
}

// faults returns what of a message's content is not accepted, one fault or more for each part, calls aside.
func (a *API) faults(m chat.Message) (list []Fault) {
	for k, p := range m.Content {
		if rule, err := a.part(m, p); err != nil {
			list = append(list, Fault{Part: k, Rule: rule, Why: err.Error()})
		}
	}
	return append(list, a.Faults(m)...)
}

// part returns the rule that a part of a message breaks. Texts were repaired before.
func (a *API) part(m chat.Message, p chat.Part) (chat.Rule, error) {
	switch p := p.(type) {
	case chat.Thinking:
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Signature) || !utf8.ValidString(p.Encrypted) {
			return RuleUTF8, errors.New("the thinking is not valid UTF-8")
		}
	case chat.Image:
		if rule, err := a.place(m, "an image"); err != nil || a.Image == nil {
			return rule, err
		}
		return RuleMedia, a.Image(p)
	case chat.Document:
		if rule, err := a.place(m, "a document"); err != nil || a.Document == nil {
			return rule, err
		}
		return RuleMedia, a.Document(p)
	case chat.Opaque:
		if a.Opaque != nil {
			return RuleOpaque, a.Opaque(m, p)
		}
	}
	return "", nil
}

// place checks whether an image or a document may be in a message.
func (a *API) place(m chat.Message, what string) (chat.Rule, error) {
	switch {
	case a.Media != nil && !slices.Contains(a.Media, m.Role):
		return RulePlace, fmt.Errorf("%s cannot be in a message of role %s", what, m.Role)
	case a.FailedText && m.Role == chat.RoleTool && m.IsError:
		return RuleErrorResult, fmt.Errorf("%s is in a failed result", what)
	}
	return "", nil
}

// Any accepts any call.
func Any(chat.ToolCall) error { return nil }

// Object accepts calls whose arguments are a JSON object.
func Object(c chat.ToolCall) error {
	if wire.ObjectOf([]byte(c.Arguments)) == nil {
		return errors.New("the arguments are not a JSON object")
	}
	return nil
}

// clip shortens a text for an error.
func clip(s string) string { return plaintext.Cut(s, 100) }
