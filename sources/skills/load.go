package skills

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/sources/internal/kept"
)

// ToolName is the name of the tool that loads skills and lets them go.
const ToolName = "load_skill"

const (
	toolDescription = `Load the instructions of a skill, or a file of its folder that they name. What was loaded stays in sight, whatever is summarised later; let go of it when you no longer need it. ` +
		`A long file is loaded in parts; each part ends with the call that loads the next.`

	toolSchema = `{"type":"object","properties":{` +
		`"skill":{"type":"string","description":"name of the skill"},` +
		`"file":{"type":"string","description":"path in the skill's folder; its instructions if left out"},` +
		`"from":{"type":"integer","description":"first byte; 0 if left out"},` +
		`"off":{"type":"boolean","description":"true to let go of the skill, or of the file if one is given"}},"required":["skill"]}`

	defaultFile = 256 << 10
	// blindPart is the length of a part, in bytes, if nothing was rendered before, so that no budget is known.
	blindPart = 16 << 10
	// leastPart is the smallest part, in tokens, however small the budget is.
	leastPart = 100
)

func wrong(format string, args ...any) error { return chat.WrongArguments("skills", format, args...) }

// request holds the arguments of the tool.
type request struct {
	Skill string `json:"skill"`
	File  string `json:"file,omitempty"`
	From  int    `json:"from,omitempty"`
	Off   bool   `json:"off,omitempty"`

	report func(fmt.Stringer) // who hears what is let go if OnLetGo is not set; may be nil
}

// item returns the name of what is loaded. No file that is loaded has a backslash in its path.
func (r request) item() string {
	name := r.Skill + "/" + r.File
	if r.From > 0 {
		name += `\` + strconv.Itoa(r.From)
	}
	return name
}

// Declared returns the tool that loads skills.
func (s *Skills) Declared() []chat.Tool {
	return []chat.Tool{{Name: ToolName, Description: toolDescription, Parameters: json.RawMessage(toolSchema)}}
}

// DeclaredFor returns the tool that loads skills, or nothing if there are no skills. The prompt must then hold a [Loaded].
func (s *Skills) DeclaredFor(ctx context.Context, _ elements.Sizing) ([]chat.Tool, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	items, err := s.store().Items(ctx, "")
	if err != nil || len(items) == 0 && len(s.List()) == 0 {
		return nil, err
	}
	marks.Add(ctx, marks.Wants{Of: s, Text: "skills: the model may load skills, and nothing shows what was loaded once its result is compacted: place skills.Loaded with the same Skills in the prompt, between history.Compacted and history.Conversation"})
	return s.Declared(), nil
}

// CallRules says that a call may be answered again.
func (s *Skills) CallRules(chat.ToolCall) chat.CallRules { return chat.CallRules{Again: true} }

// Answer returns the result of a call, and false if it is not a call of [ToolName]. The error is a [*chat.ArgumentError] if
// something is wrong with the arguments or a file, or that of the session, of the context or of OnLetGo.
func (s *Skills) Answer(ctx context.Context, call chat.ToolCall) (result chat.Message, ok bool, err error) {
	return s.AnswerReporting(ctx, call, nil)
}

// AnswerReporting is Answer. If OnLetGo is not set, report is called with each [Unloaded].
func (s *Skills) AnswerReporting(ctx context.Context, call chat.ToolCall, report func(fmt.Stringer)) (result chat.Message, ok bool, err error) {
	if call.Name != ToolName {
		return chat.Message{}, false, nil
	}
	r := request{report: report}
	if json.Unmarshal([]byte(call.Arguments), &r) != nil {
		return result, true, wrong(chat.NotAnObject)
	}
	text, err := s.guarded(ctx, r, call.ID)
	return chat.ToolResult(call.ID, text), true, err
}

// Load loads the instructions of a skill as if the agent had asked for them, for instance because the user named it.
// [Loaded] shows them. The error is a [*chat.ArgumentError] if there is no such skill, or it cannot be read.
func (s *Skills) Load(ctx context.Context, skill string) error {
	_, err := s.guarded(ctx, request{Skill: skill}, "")
	return err
}

// LetGo lets go of all that was loaded of a skill. If nothing was, it does nothing.
func (s *Skills) LetGo(ctx context.Context, skill string) error {
	_, err := s.guarded(ctx, request{Skill: skill, Off: true}, "")
	return err
}

// guarded calls do. If a function of the caller's panics or does not return, the error says so.
func (s *Skills) guarded(ctx context.Context, r request, call string) (string, error) {
	text, err := callback.Call(ctx, func(ctx context.Context) (string, error) { return s.do(ctx, r, call) })
	if callback.Misbehaved(err) {
		err = fmt.Errorf("skills: Allow, OnLetGo, a folder or a tokenizer: %w", err)
	}
	return text, err
}

// do answers a request of a call, or of the application if the call has no id.
func (s *Skills) do(ctx context.Context, r request, call string) (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	items, err := s.store().Items(ctx, "")
	if err != nil {
		return "", err
	}
	if r.Off {
		return s.letGo(ctx, r, items)
	}
	r.File = path.Clean(cmp.Or(r.File, bodyFile))
	sizing := s.sizing.Get()
	list := s.List()
	at := slices.IndexFunc(list, func(sk Skill) bool { return sk.Name == r.Skill })
	if at < 0 {
		return "", wrong("there is no skill %q: give a name from the list of skills", kept.Line(r.Skill, mostName))
	}
	text, err := s.block(list[at], r, sizing)
	if err != nil {
		return "", err
	}
	change := kept.Change{}
	if body := (request{Skill: r.Skill, File: bodyFile}).item(); body != r.item() && kept.Has(items, body) {
		change.Use = append(change.Use, body) // the instructions that name the file
	}
	if old := slices.IndexFunc(items, func(i kept.Item) bool { return i.Name == r.item() && i.Text == text }); old >= 0 {
		view, err := s.Session.View(ctx)
		if err != nil {
			return "", err
		}
		if fit, _ := s.fit(items, sizing); kept.Shown(view, sizing, items[old].Call, text) || kept.Has(fit, r.item()) {
			change.Use = append(change.Use, r.item())
			return "It is loaded and unchanged: see its text above.", s.store().Write(ctx, change)
		}
	}
	change.Keep = []kept.Item{{Name: r.item(), Text: text, Call: call}}
	if err := s.store().Write(ctx, change); err != nil {
		return "", err
	}
	if items, err = s.store().Items(ctx, ""); err != nil {
		return "", err
	}
	_, gone := s.fit(items, sizing) // the longest unused
	if err = s.end(ctx, r, gone, false); err == nil && len(gone) > 0 {
		text += "\n(To make room, this was let go: " + namesOf(gone) + ")"
	}
	return text, err
}

// letGo lets go of what was loaded of a skill, or of one of its files.
func (s *Skills) letGo(ctx context.Context, r request, items []kept.Item) (string, error) {
	gone := slices.DeleteFunc(items, func(i kept.Item) bool {
		skill, file := parts(i.Name)
		return skill != r.Skill || r.File != "" && file != path.Clean(r.File)
	})
	if len(gone) == 0 {
		return "Nothing of it is loaded.", nil
	}
	return "It is let go.", s.end(ctx, r, gone, true)
}

// end lets go of items.
func (s *Skills) end(ctx context.Context, r request, items []kept.Item, asked bool) error {
	if err := s.store().Write(ctx, kept.Change{End: kept.Names(items)}); err != nil {
		return err
	}
	for _, i := range items {
		skill, file := parts(i.Name)
		gone := Unloaded{Skill: skill, File: file, Tokens: kept.Tokens(s.sizing.Get(), i.Text), Asked: asked}
		switch {
		case s.OnLetGo != nil:
			s.OnLetGo(gone)
		case r.report != nil:
			r.report(gone)
		}
	}
	return nil
}

// parts returns the skill and the file of an item.
func parts(item string) (skill, file string) {
	skill, file, _ = strings.Cut(item, "/")
	file, _, _ = strings.Cut(file, `\`)
	return skill, file
}

// block returns a file of a skill, or a part of it, as it is shown: between tags that it cannot close.
func (s *Skills) block(sk Skill, r request, sizing elements.Sizing) (string, error) {
	limit := cmp.Or(max(0, s.MaxFile), defaultFile)
	text, err := readText(sk.in, sk.Folder, r.File, limit, false)
	if err != nil {
		return "", wrong("%s of skill %s cannot be loaded: %v", kept.Line(r.File, 200), sk.Name, err)
	}
	if r.File == bodyFile {
		if _, body, ok := cutMatter(text); ok {
			text = body
		}
	}
	text = strings.TrimSpace(plaintext.Plain(text))
	if r.From < 0 || r.From > len(text) {
		return "", wrong("from must be from 0 to %d, the length of the text", len(text))
	}
	r.From = plaintext.Align(text, r.From)
	tail := ""
	if r.File == bodyFile {
		tail = listing(sk, sizing.PromptBudget/16)
	}
	write := func(end int) string {
		part := plaintext.Outside(text[r.From:end])
		if end < len(text) {
			next, _ := json.Marshal(request{Skill: sk.Name, File: r.File, From: end})
			part += "\n" + plaintext.LeftOut(fmt.Sprintf("bytes %d-%d of %d; the next part is", r.From, end, len(text)), ToolName+"("+string(next)+")")
		}
		return plaintext.SkillTag.Holding(part+tail, "name", sk.Name, "file", plaintext.PathLine(r.File))
	}
	return write(s.partEnd(text, r.From, sizing, write)), nil
}

// partEnd returns where the part of a text from an offset on ends, so that it fits, at the end of a line if one is near.
// A part has at least one character, if any is left.
func (s *Skills) partEnd(text string, from int, sizing elements.Sizing, write func(end int) string) int {
	align := func(end int) int {
		end = plaintext.Align(text, end)
		if line := strings.LastIndexByte(text[from:end], '\n'); end < len(text) && line > (end-from)/2 {
			end = from + line + 1
		}
		_, size := utf8.DecodeRuneInString(text[from:])
		return max(end, from+size)
	}
	length := min(len(text)-from, blindPart)
	if sizing.Tokenizer != nil {
		room := max(s.room(sizing), leastPart)
		length = kept.MostThat(1, min(len(text)-from, 16*room), func(n int) bool { // a longer text is not counted
			return sizing.Tokenizer.CountText(write(align(from+n))) <= room
		})
	}
	return align(from + max(0, length))
}

// listing names the files of a skill, within limit bytes, or 1,000 if that is 0. It is "" if the skill has no others.
func listing(sk Skill, limit int) string {
	files, all := filesOf(sk)
	text := ""
	for _, f := range files {
		next := plaintext.PathLine(plaintext.Plain(f))
		if len(text)+len(next) > cmp.Or(limit, 1000) {
			all = false
			break
		}
		text += ", " + next
	}
	if text == "" {
		return ""
	}
	if !all {
		text += ", and more"
	}
	return "\n(Files of the skill, which " + ToolName + " loads: " + text[2:] + ")"
}
