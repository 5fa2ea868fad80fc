package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf16"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/sources/internal/kept"
	"github.com/promptree-go/promptree/sources/skills"
)

// Way says how the model calls tools that it has found.
type Way int

// The ways.
const (
	// ByCall shows what was found as text, and the model calls it by [CallTool]. What is declared never changes, so the
	// provider's cache stays valid.
	ByCall Way = iota
	// Declared declares what was found, from the next request on. Each time, the provider reads the whole prompt anew.
	Declared
	// Native leaves the search to the provider ([chat.Tool].Deferred): Anthropic, and OpenAI's Responses.
	Native
)

// Deferred are tools of which the model sees only those that it has found. Set the fields before use. It is safe for
// concurrent use and must not be copied.
type Deferred struct {
	// Session that holds what was found.
	Session *history.Session
	// Tools in any number, each with a unique name. The order matters only for equal matches.
	Tools []chat.Tool
	// Toolboxes whose tools are deferred too, and which answer their calls, such as the servers of package sources/mcp. What
	// they declare may change from step to step. That does not change what is declared here, unless the way is [Native]:
	// the names that [SearchTool] lists stay those of the first step.
	Toolboxes []chat.Toolbox
	// Way of calling tools. Defaults to [ByCall].
	Way Way
	// Run runs a tool. The arguments fit its schema, and the call's id is that of the call that the model made. The result
	// becomes its answer.
	Run func(ctx context.Context, call chat.ToolCall) (chat.Message, error)
	// Skills, if set, are found by the search too.
	Skills *skills.Skills
	// IdleShare is the part of the prompt's budget that the declarations of [SearchTool] and [CallTool] take, with as many
	// names of tools as fit, up to 1. Defaults to 0.05.
	IdleShare float64
	// FoundShare is the part of the prompt's budget that definitions of found tools may take, up to 0.5. Defaults to 0.1.
	FoundShare float64
	// OnChange, if set, is called when tools were found or let go. If it is not set, the observers of an agent's compactor
	// hear of it (event.SourceChanged).
	OnChange func(Change)

	sizing kept.Sizing
	named  atomic.Pointer[[]string] // the names of the first step, if there are toolboxes
}

// offer is the tools that there are at a moment.
type offer struct {
	*Deferred
	list   []chat.Tool
	report func(fmt.Stringer) // who hears of changes if OnChange is not set; may be nil
}

func (d *Deferred) offer() offer {
	list := d.Tools
	for _, box := range d.Toolboxes {
		list = slices.Concat(list, box.Declared())
	}
	return offer{Deferred: d, list: list}
}

// Change says which tools were found, or let go to make room.
type Change struct {
	Found, LetGo []string
	// Tokens of the definitions that were found, 0 if nothing was rendered before.
	Tokens int
	// Reread is the number of tokens that the provider has to read again because of tools that are declared: the input of
	// the latest request of which the session holds the usage. It is 0 unless the way is [Declared]. What it costs in
	// dollars, the compactor's event says (event.CacheBroken).
	Reread int
}

// String returns a text such as "tools found: mail_send; let go: file_read".
func (c Change) String() string {
	text := "tools"
	if len(c.Found) > 0 {
		text += " found: " + strings.Join(c.Found, ", ") + ";"
	}
	if len(c.LetGo) > 0 {
		text += " let go: " + strings.Join(c.LetGo, ", ")
	}
	return strings.TrimSuffix(text, ";")
}

// Found shows the definitions that were found and are shown by no result: because that was compacted or cleared. The tools
// must be declared: by an agent of whose tools the Deferred is one. Place it between [history.Compacted] and
// [history.Conversation]. It is required, and shows nothing if there are no tools.
type Found struct {
	elements.Props
	Deferred *Deferred
}

// ElementProps returns the properties, with Required and the category of tools.
func (f Found) ElementProps() elements.Props {
	return kept.Props(f.Props, elements.CategoryTools, true)
}

// IgnoresBudget marks the element as one whose size does not depend on its share of the budget.
func (f Found) IgnoresBudget() {}

const foundHead = "Definitions of tools that were found earlier in this conversation:"

// Render shows definitions.
func (f Found) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	d := f.Deferred
	if d == nil || d.Session == nil {
		return nil, fmt.Errorf("tools: the element has no Deferred with a Session: %w", history.ErrSessionUnset)
	}
	o := d.offer()
	if err := o.check(); err != nil || len(o.list)+len(d.Toolboxes) == 0 {
		return nil, err
	}
	marks.Add(ctx, marks.Shows{Of: d})
	first := SearchTool
	if d.Way == Native {
		if len(o.list) == 0 {
			return nil, nil
		}
		first = o.list[0].Name
	}
	marks.Add(ctx, marks.Needs{Tool: first, Text: "tools: the prompt shows found tools, and no tool " + nameOf(first) + " is declared: add the Deferred to the agent's tools, or what it declares to the target's"})
	if d.Way != ByCall {
		return nil, nil
	}
	view, items, err := o.look(ctx, s)
	if err != nil {
		return nil, err
	}
	fit, _ := o.fit(items, s)
	var texts []string
	for _, i := range fit {
		if block := d.block(*o.tool(i.Name), s); !kept.Shown(view, s, i.Call, block) {
			texts = append(texts, block)
		}
	}
	return kept.Message(foundHead, texts), nil
}

// Declared returns what is declared before anything is rendered or found: with Native all tools, otherwise those by which
// the model searches and calls, with names of tools up to 2,000 bytes.
func (d *Deferred) Declared() []chat.Tool {
	if d.Way == Native {
		return d.offer().native(history.View{}, nil, elements.Sizing{})
	}
	return d.offer().idle(elements.Sizing{})
}

// DeclaredFor returns the tools to declare with a prompt, nothing if there are none: those by which the model searches and
// calls, with the names of as many tools as fit, and in the ways [Declared] and [Native] those that were found. With
// [ByCall] the prompt must hold a [Found].
func (d *Deferred) DeclaredFor(ctx context.Context, s elements.Sizing) ([]chat.Tool, error) {
	if d.Session == nil {
		return nil, fmt.Errorf("tools: Deferred.Session is not set: %w", history.ErrSessionUnset)
	}
	for _, box := range d.Toolboxes {
		if sized, ok := box.(elements.SizedToolbox); ok { // brings its list up to date
			if _, err := sized.DeclaredFor(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	o := d.offer()
	if err := o.check(); err != nil || len(o.list)+len(d.Toolboxes) == 0 {
		return nil, err
	}
	if names := o.names(); len(d.Toolboxes) > 0 && len(names) > 0 {
		d.named.CompareAndSwap(nil, &names)
	}
	if d.Skills != nil && len(d.Skills.List()) > 0 {
		marks.Add(ctx, marks.Needs{Tool: skills.ToolName, Text: "tools: the search finds skills (Deferred.Skills), and no tool " + skills.ToolName + " is declared: add the same Skills to the agent's tools"})
	}
	if d.Way == ByCall {
		marks.Add(ctx, marks.Wants{Of: d, Text: "tools: the model may search for tools, and nothing shows what was found once its result is compacted: place tools.Found with the same Deferred in the prompt, between history.Compacted and history.Conversation"})
		return o.idle(s), nil
	}
	view, items, err := o.look(ctx, s)
	if err != nil {
		return nil, err
	}
	if d.Way == Native {
		return o.native(view, items, s), nil
	}
	list := o.idle(s)
	fit, _ := o.fit(items, s)
	for _, i := range fit {
		list = append(list, *o.tool(i.Name))
	}
	return list, nil
}

// native declares all tools as deferred, but those that were called and to which the view holds no reference any more,
// because the provider's search was compacted.
func (o offer) native(view history.View, items []kept.Item, s elements.Sizing) []chat.Tool {
	referred := map[string]bool{}
	for _, t := range view.Turns {
		for _, r := range t.Rounds {
			for _, p := range r.Assistant.Message().Content {
				if o, ok := p.(chat.Opaque); ok {
					for _, i := range items {
						quoted, _ := json.Marshal(i.Name)
						referred[i.Name] = referred[i.Name] || strings.Contains(string(o.Value), string(quoted))
					}
				}
			}
		}
	}
	fit, _ := o.fit(items, s)
	list := slices.Clone(o.list)
	for n, t := range list {
		list[n].Deferred = referred[t.Name] || !kept.Has(fit, t.Name)
	}
	return list
}

// check returns an error for tools that cannot be told apart.
func (o offer) check() error {
	seen := map[string]bool{SearchTool: true, CallTool: true}
	for _, t := range o.list {
		if t.Name == "" || seen[t.Name] {
			return fmt.Errorf("tools: a deferred tool has the name %q: give each a name of its own, other than %s and %s", t.Name, SearchTool, CallTool)
		}
		seen[t.Name] = true
	}
	return nil
}

// tool returns the tool with a name, nil if there is none.
func (o offer) tool(name string) *chat.Tool {
	if at := slices.IndexFunc(o.list, func(t chat.Tool) bool { return t.Name == name }); at >= 0 {
		return &o.list[at]
	}
	return nil
}

func (d *Deferred) store() kept.Store {
	return kept.Store{Session: d.Session, Kind: marks.SourceName + "tools"}
}

// items returns the found tools that there are still, in the order in which they were found.
func (o offer) items(ctx context.Context, id string) ([]kept.Item, error) {
	items, err := o.store().Items(ctx, id)
	return slices.DeleteFunc(items, func(i kept.Item) bool { return o.tool(i.Name) == nil }), err
}

// look returns the view that a prompt shows and the tools found on its path, and records the prompt's sizing.
func (o offer) look(ctx context.Context, s elements.Sizing) (view history.View, items []kept.Item, err error) {
	o.sizing.Set(s)
	if view, err = o.Session.LookIn(ctx); err == nil {
		items, err = o.items(ctx, view.Leaf())
	}
	return view, items, err
}

// fit divides found tools by their share of the budget.
func (o offer) fit(items []kept.Item, s elements.Sizing) (fit, over []kept.Item) {
	size := func(i kept.Item) int { return o.size(*o.tool(i.Name), s) }
	room := o.room(s)
	if o.Way != ByCall && len(items) > 0 { // the model must be able to call any tool, however large its definition
		room = max(room, size(kept.Latest(items)))
	}
	return kept.Fit(items, room, size)
}

// size returns the tokens of a tool that was found, 0 before the first render.
func (d *Deferred) size(t chat.Tool, s elements.Sizing) int {
	if d.Way == ByCall || s.Tokenizer == nil {
		return kept.Tokens(s, d.block(t, s))
	}
	t.Deferred = false
	return s.Tokenizer.CountTools([]chat.Tool{t})
}

// room returns the tokens for the definitions of found tools.
func (d *Deferred) room(s elements.Sizing) int {
	return kept.Room(d.FoundShare, kept.Found, foundHead, s)
}

// block returns the definition of a tool as text, between tags that it cannot close. Where it has more tokens than all
// found tools may have, its middle is cut out.
func (d *Deferred) block(t chat.Tool, s elements.Sizing) string {
	body := plaintext.Outside(strings.TrimSpace(plaintext.Plain(t.Description)))
	if schema := t.Schema(); schema != nil {
		body = strings.TrimSpace(body + "\n" + schemaText(schema))
	}
	write := func(body string) string {
		return plaintext.DefinitionTag.Holding(body, "name", t.Name)
	}
	if room := max(d.room(s), 100); kept.Tokens(s, write(body)) > room {
		body = history.Clip(s.Tokenizer, body, room-kept.Tokens(s, write(""))-4, 0.8)
	}
	return write(body)
}

// schemaText returns a schema as text that forges nothing, and is the same JSON: if it must be, most characters of its
// strings are escapes, so that no word of a mark is left.
func schemaText(schema json.RawMessage) string {
	text := string(schema)
	if plaintext.Outside(text) == text {
		return text
	}
	var b strings.Builder
	inString, escaped := false, false
	for _, r := range text {
		if r == '"' && !escaped {
			inString = !inString
		}
		escaped = r == '\\' && !escaped
		if !inString || r < 0x7F && (unicode.IsLetter(r) && r|0x20 != 'h' || unicode.IsDigit(r) || strings.ContainsRune(`"\-.,:/`, r)) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return plaintext.Outside(b.String())
}

// nameOf returns the name of a tool on a line.
func nameOf(name string) string { return kept.Line(name, mostName) }

// mostName is the length of a tool's name, in bytes, up to which it is listed and found. Providers take no more.
const mostName = 128

// listed returns the tools whose names are names, and no sentences.
func (o offer) listed() []*chat.Tool {
	var list []*chat.Tool
	for i, t := range o.list {
		if len(t.Name) <= mostName && !strings.ContainsFunc(t.Name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }) {
			list = append(list, &o.list[i])
		}
	}
	return list
}

// Notes says which tools are neither listed nor found, and why.
func (d *Deferred) Notes() (notes []string) {
	o := d.offer()
	listed := o.listed()
	for i, t := range o.list {
		if !slices.Contains(listed, &o.list[i]) {
			notes = append(notes, fmt.Sprintf("%q: left out: a name has at most %d bytes and no white space: give it another", plaintext.OneLine(t.Name, mostName), mostName))
		}
	}
	return notes
}

// change writes what was found or let go, and calls OnChange.
func (o offer) change(ctx context.Context, c kept.Change, s elements.Sizing) error {
	if err := o.store().Write(ctx, c); err != nil {
		return err
	}
	items, err := o.items(ctx, "")
	if err != nil {
		return err
	}
	fit, over := o.fit(items, s)
	done := Change{LetGo: kept.Names(over)}
	for _, i := range c.Keep {
		if kept.Has(fit, i.Name) {
			done.Found = append(done.Found, i.Name)
			done.Tokens += o.size(*o.tool(i.Name), s)
		}
	}
	if err := o.store().Write(ctx, kept.Change{End: done.LetGo}); err != nil || o.OnChange == nil && o.report == nil || len(done.Found)+len(done.LetGo) == 0 {
		return err
	}
	if o.Way == Declared {
		latest, _, err := o.Session.Latest(ctx, entry.TypeUsage)
		if err != nil {
			return err
		}
		usage, _ := latest.Body.(entry.Usage)
		done.Reread = cmp.Or(usage.Size(), usage.Counted)
	}
	if err := callback.Do(ctx, func(context.Context) error {
		if o.OnChange == nil {
			o.report(done)
		} else {
			o.OnChange(done)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("tools: Deferred.OnChange: %w", err)
	}
	return nil
}
