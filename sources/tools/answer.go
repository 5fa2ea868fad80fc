package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/rank"
	"github.com/promptree-go/promptree/sources/internal/kept"
	"github.com/promptree-go/promptree/sources/skills"
)

// The names of the tools by which the model searches for tools, and calls those that it has found.
const (
	SearchTool = "search_tools"
	CallTool   = "call_tool"
)

const (
	searchDescription = `Search for further tools by what they do. Search before you say that something cannot be done. `
	searchByCall      = `Call what was found by ` + CallTool + `.`
	searchDeclared    = `What was found can be called from the next step on.`

	searchSchema = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"words for what the tool does, or its name"},` +
		`"limit":{"type":"integer","description":"how many at most; 5 if left out"}},"required":["query"]}`

	callDescription = `Call a tool that ` + SearchTool + ` has found.`

	callSchema = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"name of the tool"},` +
		`"arguments":{"type":"object","description":"its arguments, as its definition says"}},"required":["name","arguments"]}`

	usualHits, mostHits = 5, 20
	mostQuery           = 1000 // bytes
	mostUnsized         = 2000 // bytes of the names that are listed for a prompt whose budget is not known
)

// idle returns the tools that are declared before anything is found: with the names of as many tools as fit.
func (o offer) idle(s elements.Sizing) []chat.Tool {
	how, list := searchByCall, []chat.Tool{{Name: CallTool, Description: callDescription, Parameters: json.RawMessage(callSchema)}}
	if o.Way == Declared {
		how, list = searchDeclared, nil
	}
	listed := o.names()
	with := func(n int) []chat.Tool {
		text := searchDescription + how
		if n > 0 {
			text += " There are: " + strings.Join(listed[:n], ", ")
			if more := len(listed) - n; more > 0 {
				text += fmt.Sprintf(", and %d more", more)
			}
			text += "."
		}
		return append([]chat.Tool{{Name: SearchTool, Description: text, Parameters: json.RawMessage(searchSchema)}}, list...)
	}
	if s.Tokenizer == nil {
		return with(kept.MostThat(0, len(listed), func(n int) bool { return len(strings.Join(listed[:n], ", ")) <= mostUnsized }))
	}
	limit := kept.Share(o.IdleShare, kept.Idle, s)
	return with(max(0, kept.MostThat(0, len(listed), func(n int) bool { return s.Tokenizer.CountTools(with(n)) <= limit })))
}

// names returns the names to list: those of the first prompt, as what is declared stays the same.
func (o offer) names() (list []string) {
	if first := o.named.Load(); first != nil {
		return *first
	}
	for _, t := range o.listed() {
		list = append(list, nameOf(t.Name))
	}
	return list
}

func wrong(format string, args ...any) error { return chat.WrongArguments("tools", format, args...) }

// CallRules says that a search may be answered again. The rules of a toolbox hold for the calls of its tools, and what
// another tool does is not known.
func (d *Deferred) CallRules(call chat.ToolCall) chat.CallRules {
	inner, ok, _ := d.offer().resolve(call)
	for _, box := range d.Toolboxes {
		if ruled, is := box.(chat.RuledToolbox); is && ok && declares(box, inner.Name) {
			return ruled.CallRules(inner)
		}
	}
	return chat.CallRules{Again: call.Name == SearchTool}
}

func declares(box chat.Toolbox, name string) bool {
	return slices.ContainsFunc(box.Declared(), func(t chat.Tool) bool { return t.Name == name })
}

// Answer returns the result of a call, and false if it is not a call of [SearchTool], of [CallTool] or of one of the
// tools. A tool is run by [Deferred].Run, or by its toolbox, which is also asked about
// tools that it does not declare, or no longer. The error is a [*chat.ArgumentError] if something is wrong with the
// arguments, or that of Run, of the toolbox, of the session, of the context or of OnChange.
func (d *Deferred) Answer(ctx context.Context, call chat.ToolCall) (result chat.Message, ok bool, err error) {
	return d.AnswerReporting(ctx, call, nil)
}

// AnswerReporting is Answer. If OnChange is not set, report is called with each [Change].
func (d *Deferred) AnswerReporting(ctx context.Context, call chat.ToolCall, report func(fmt.Stringer)) (result chat.Message, ok bool, err error) {
	o := d.offer()
	o.report = report
	if call.Name == SearchTool {
		text, err := o.search(ctx, call)
		return chat.ToolResult(call.ID, text), true, err
	}
	inner, ok, err := o.resolve(call)
	if known := o.tool(inner.Name) != nil; known && err == nil {
		if err := o.use(ctx, inner); err != nil {
			return chat.Message{}, true, err
		}
	} else if known {
		return chat.Message{}, true, err
	}
	result, answered, failed := o.run(ctx, inner)
	if !answered {
		return chat.Message{}, ok, cmp.Or(err, failed)
	}
	if failed == nil && (result.Role != "" || len(result.Content) > 0) { // else it is no message
		result.Role, result.ToolCallID = chat.RoleTool, call.ID
	}
	return result, true, failed
}

// run has a tool run, and returns false if nothing runs it.
func (o offer) run(ctx context.Context, call chat.ToolCall) (result chat.Message, ok bool, err error) {
	if slices.ContainsFunc(o.Tools, func(t chat.Tool) bool { return t.Name == call.Name }) {
		if o.Run == nil {
			return result, false, errors.New("tools: Deferred.Run is not set: set what runs the tools, or run what Resolve returns")
		}
		result, err = o.Run(ctx, call)
		return result, true, err
	}
	for _, box := range o.Toolboxes {
		if result, ok, err = box.Answer(ctx, call); ok || err != nil {
			return result, true, err
		}
	}
	return result, false, nil
}

// Resolve returns the call of a tool that a call of the model means, and false if it means none of the tools: of what
// [CallTool] names, with the arguments given there, or of a tool by its own name. The error is a [*chat.ArgumentError] if
// there is no such tool, or the arguments do not fit its schema. Use it to run tools otherwise than by [Deferred].Run.
func (d *Deferred) Resolve(call chat.ToolCall) (inner chat.ToolCall, ok bool, err error) {
	return d.offer().resolve(call)
}

func (o offer) resolve(call chat.ToolCall) (inner chat.ToolCall, ok bool, err error) {
	inner = call
	if call.Name == CallTool {
		var r struct {
			Name      string
			Arguments json.RawMessage
		}
		if json.Unmarshal([]byte(call.Arguments), &r) != nil {
			return inner, true, wrong(`the arguments are not an object of the form {"name":"…","arguments":{…}}`)
		}
		if text := ""; json.Unmarshal(r.Arguments, &text) == nil && r.Arguments[0] == '"' { // an object as a text
			r.Arguments = json.RawMessage(text)
		}
		inner = chat.ToolCall{ID: call.ID, Name: r.Name, Arguments: string(r.Arguments)}
		if o.tool(r.Name) == nil {
			return inner, true, wrong("there is no tool %q here: find its name by %s", nameOf(r.Name), SearchTool)
		}
	}
	tool := o.tool(inner.Name)
	if tool == nil {
		return call, false, nil
	}
	if strings.TrimSpace(inner.Arguments) == "" || strings.TrimSpace(inner.Arguments) == "null" {
		inner.Arguments = "{}"
	}
	return inner, true, fits(*tool, inner.Arguments)
}

// use records that a tool was called. One that only the provider's own search has found counts as found from now on.
func (o offer) use(ctx context.Context, call chat.ToolCall) error {
	items, err := o.items(ctx, "")
	if err != nil {
		return err
	}
	switch {
	case kept.Has(items, call.Name):
		return o.store().Write(ctx, kept.Change{Use: []string{call.Name}})
	case o.Way != Native:
		return nil
	}
	return o.change(ctx, kept.Change{Keep: []kept.Item{{Name: call.Name, Call: call.ID}}}, o.sizing.Get())
}

// search answers a call of [SearchTool], and keeps what it finds.
func (o offer) search(ctx context.Context, call chat.ToolCall) (string, error) {
	var r struct {
		Query string
		Limit int
	}
	switch {
	case json.Unmarshal([]byte(call.Arguments), &r) != nil:
		return "", wrong(chat.NotAnObject)
	case len(r.Query) > mostQuery || strings.TrimSpace(r.Query) == "":
		return "", wrong("give a query of a few words")
	case r.Limit <= 0:
		r.Limit = usualHits
	}
	if err := o.check(); err != nil {
		return "", err
	}
	s := o.sizing.Get()
	items, err := o.items(ctx, "")
	if err != nil {
		return "", err
	}
	fit, _ := o.fit(items, s)
	hits := ranked(o.documents(), r.Query)
	all := len(hits)
	hits = hits[:min(all, r.Limit, mostHits)]
	change, lines, left := kept.Change{}, []string{}, o.room(s)
	for _, hit := range hits {
		if hit.tool == nil {
			lines = append(lines, hit.line)
			continue
		}
		size := o.size(*hit.tool, s)
		switch found := len(change.Keep); {
		case kept.Has(fit, hit.name):
			change.Use = append(change.Use, hit.name)
			lines = append(lines, nameOf(hit.name)+" was found before: see its definition.")
		case found > 0 && left < size: // what is found at once has room together
			lines = append(lines, lineOf(*hit.tool)+" (no room for its definition: search for it alone)")
		default:
			left -= size
			change.Keep = append(change.Keep, kept.Item{Name: hit.name, Call: call.ID})
			if o.Way == ByCall {
				lines = append(lines, o.block(*hit.tool, s))
			} else {
				lines = append(lines, lineOf(*hit.tool))
			}
		}
	}
	if err := o.change(ctx, change, s); err != nil {
		return "", err
	}
	if all == 0 {
		return "Nothing matches: use other words for what the tool does.", nil
	}
	head := fmt.Sprintf("%d of %d that match, the best first.", len(hits), all)
	if len(change.Keep) > 0 {
		head += map[Way]string{ByCall: " Call them by " + CallTool + ".", Declared: " They can be called from the next step on."}[o.Way]
	}
	return head + "\n" + strings.Join(lines, "\n"), nil
}

// lineOf returns a tool on a line.
func lineOf(t chat.Tool) string {
	return kept.Line(t.Name+": "+t.Description, 160)
}

// documents returns what the search finds.
func (o offer) documents() []document {
	var docs []document
	for _, t := range o.listed() {
		docs = append(docs, document{name: t.Name, description: t.Description, tool: t})
	}
	if o.Skills == nil {
		return docs
	}
	for _, sk := range o.Skills.List() {
		line := fmt.Sprintf("skill %s, which %s loads: %s", sk.Name, skills.ToolName, kept.Line(sk.Description, 160))
		docs = append(docs, document{name: sk.Name, description: sk.Description, line: line})
	}
	return docs
}

// document is something that the search finds: a tool, or a skill.
type document struct {
	name, description string

	tool *chat.Tool
	line string // of a skill
}

// ranked returns the documents that match a query, the best first: those whose name is the query, then the others, a word
// of a name counted three times. Equal ones keep their order.
func ranked(docs []document, query string) []document {
	q, ranks := rank.NewQuery(query), make([]rank.Document, len(docs))
	for i, doc := range docs {
		q.Widen(doc.name + " " + doc.description)
		ranks[i] = rank.Of(doc.name, doc.name, doc.name, doc.description)
	}
	named := func(doc document) bool { return strings.EqualFold(doc.name, strings.TrimSpace(query)) }
	var found []document
	for _, doc := range docs {
		if named(doc) {
			found = append(found, doc)
		}
	}
	for _, m := range rank.Best(q.Scores(ranks)) {
		if doc := docs[m.Document]; !named(doc) {
			found = append(found, doc)
		}
	}
	return found
}
