// Package models has models that write summaries without an adapter of a provider: [Offline] needs no network, [Remote]
// asks an HTTP endpoint, and [Script] is for tests.
package models

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/internal/toolname"
	"github.com/promptree-go/promptree/render"
)

// Offline is a [chat.Model] that needs neither a network nor a language model. It only writes summaries: it answers
// nothing else, so an agent needs another model beside it. Its summary is a digest of the messages:
// what the user said, the files that calls name, a line for each tool call, and errors. The digest is pruned to the
// limit that the request names, or else to 2,000 tokens. A digest of a digest keeps its lines.
type Offline struct {
	// Tokenizer counts the digest. Required.
	Tokenizer chat.Tokenizer
}

// sections are the sections of a digest in the order in which they are written. If not all lines fit, those of the
// section with the lowest priority are dropped first, and within a section the oldest.
var sections = [...]section{
	{"## Earlier summary", 2},
	{"## The user said", 4},
	{"## Files", 3},
	{"## Errors", 1},
	{"## Tool calls", 0},
	{"## Last words of the assistant", 5},
}

type section struct {
	title    string
	priority int
}

// Indices of sections.
const (
	sectionEarlier = iota
	sectionUser
	sectionFiles
	sectionErrors
	sectionCalls
	sectionLast
)

// digest collects lines by section, without repeats.
type digest struct {
	lines [len(sections)][]string
	seen  map[string]bool
}

// add appends a line to a section. If the section has the line already, the line moves to the end.
func (d *digest) add(section int, line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	if key := strconv.Itoa(section) + line; d.seen[key] {
		i := slices.Index(d.lines[section], line)
		d.lines[section] = slices.Delete(d.lines[section], i, i+1)
	} else {
		d.seen[key] = true
	}
	d.lines[section] = append(d.lines[section], line)
}

// Generate answers with a digest of the messages, and of the history that the last message holds as text. The last
// message is the request for the summary; it and system messages are not part of the digest. If it asks for a <summary>
// block, the digest is in one.
func (o Offline) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if o.Tokenizer == nil {
		return chat.Response{}, errors.New("models: Offline.Tokenizer is not set: set the tokenizer that counts the digest")
	}
	if len(req.Messages) == 0 {
		return chat.Response{}, errors.New("models: there is nothing to digest: the request has no messages")
	}
	last := len(req.Messages) - 1
	d := digest{seen: map[string]bool{}}
	ask := req.Messages[last].Text()
	d.earlierIn(ask)
	d.messages(req.Messages[:last])
	d.historyIn(ask)
	text, err := o.pack(ctx, d, limitIn(ask))
	if err != nil {
		return chat.Response{}, fmt.Errorf("models: packing the digest: %w", err)
	}
	if !strings.Contains(ask, "<summary> block") {
		return chat.Response{Message: chat.AssistantMessage(text), Digest: true}, nil
	}
	answer := fmt.Sprintf("<analysis>\nA digest of %d messages, made without a model.\n</analysis>\n<summary>\n%s\n</summary>", last, text)
	return chat.Response{Message: chat.AssistantMessage(answer), Digest: true}, nil
}

var limitPattern = regexp.MustCompile(`(?i)\broom for (\d+) tokens`)

// limitIn returns the limit that a request names for the summary, in tokens, or else 2,000.
func limitIn(request string) int {
	if m := limitPattern.FindStringSubmatch(request); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			return n
		}
	}
	return 2000
}

// messages adds the messages of a conversation.
func (d *digest) messages(messages []chat.Message) {
	calls := map[string]chat.ToolCall{}
	for _, m := range messages {
		switch m.Role {
		case chat.RoleUser:
			if earlier, ok := plaintext.Summary(m.Text()); ok {
				d.earlier(earlier)
			} else {
				d.add(sectionUser, plaintext.OneLine(m.Text(), 600))
			}
		case chat.RoleAssistant:
			for _, c := range m.ToolCalls {
				calls[c.ID] = c
				d.files(c.Arguments)
			}
			d.last(m.Text())
		case chat.RoleTool:
			d.result(calls[m.ToolCallID], m)
		}
	}
}

// result adds a line for a call, and another for its error.
func (d *digest) result(c chat.ToolCall, m chat.Message) {
	text := m.Text()
	outcome := "1 line"
	if n := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1; n > 1 {
		outcome = fmt.Sprintf("%d lines", n)
	}
	if m.IsError {
		outcome = "failed"
		d.add(sectionErrors, fmt.Sprintf("%s: %s", c.Name, plaintext.OneLine(text, 200)))
	}
	d.add(sectionCalls, fmt.Sprintf("%s(%s): %s", c.Name, plaintext.OneLine(strings.Trim(c.Arguments, "{}"), 80), outcome))
}

// earlier adds an earlier summary. If it is a digest, its lines go to their sections. Other lines stay as they are.
func (d *digest) earlier(text string) {
	at := sectionEarlier
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if i := slices.IndexFunc(sections[:], func(s section) bool { return s.title == line }); i >= 0 {
			at = i
			continue
		}
		item, isItem := strings.CutPrefix(line, "- ")
		switch {
		case at == sectionLast: // outdated: the conversation has continued
		case isItem && at != sectionEarlier:
			d.add(at, item)
		default:
			d.add(sectionEarlier, strings.TrimPrefix(line, "- "))
		}
	}
}

// earlierIn adds the earlier summary that a request holds as text.
func (d *digest) earlierIn(text string) {
	for _, tag := range [...]plaintext.Tag{plaintext.PreviousHistoryTag, plaintext.PreviousSummaryTag, plaintext.DraftTag} {
		for _, body := range plaintext.InTags(text, tag) {
			d.earlier(body)
		}
	}
}

// historyIn adds the history that a request holds as text, in either of the forms that package summarize writes.
func (d *digest) historyIn(text string) {
	for _, tag := range [...]plaintext.Tag{plaintext.HistoryTag, plaintext.ConversationTag} {
		for _, body := range plaintext.InTags(text, tag) {
			d.plainHistory(body)
		}
	}
	for _, m := range compactBlock.FindAllStringSubmatch(text, -1) {
		d.compactHistory(m[1], m[2])
	}
}

// compactBlock matches a block of a stagewise.CompactHistory.
var compactBlock = regexp.MustCompile(`(?s)(?:^|\n)<(user|assistant)>\n(.*?)\n</(?:user|assistant)>`)

// compactHistory adds a block of a stagewise.CompactHistory: what one role said, and a line in brackets for each tool
// call.
func (d *digest) compactHistory(role, body string) {
	var words []string
	for line := range strings.SplitSeq(body, "\n") {
		note, isNote := strings.CutPrefix(line, "[")
		note, ends := strings.CutSuffix(note, "]")
		switch {
		case !isNote || !ends:
			words = append(words, line)
		case role == "assistant":
			d.add(sectionCalls, plaintext.OneLine(note, 120))
			if call, failure, ok := strings.Cut(note, " ✗ "); ok {
				d.add(sectionErrors, plaintext.OneLine(call+": "+failure, 200))
			}
			if verb, path, ok := strings.Cut(note, ": "); ok && slices.Contains([]string{"read", "wrote", "created", "edited"}, verb) {
				for _, end := range [...]string{" (", " ✗ ", " → "} {
					path, _, _ = strings.Cut(path, end)
				}
				for file := range strings.SplitSeq(path, ", ") {
					d.add(sectionFiles, plaintext.OneLine(file, 200))
				}
			}
		}
	}
	if text := strings.Join(words, "\n"); role == "user" {
		d.add(sectionUser, plaintext.OneLine(text, 600))
	} else {
		d.last(text)
	}
}

// plainHistory adds a history that prompts.PlainHistory wrote: first summaries, then items, each on a new line.
// Further lines of an item are indented.
func (d *digest) plainHistory(body string) {
	for strings.HasPrefix(body, plaintext.SummaryTag.Open()) {
		block, rest, _ := strings.Cut(body, plaintext.SummaryTag.Close())
		if earlier, ok := plaintext.Summary(block); ok {
			d.earlier(earlier)
		}
		body = strings.TrimPrefix(rest, "\n")
	}
	var item strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, plaintext.Indent) {
			d.plainItem(item.String())
			item.Reset()
		}
		item.WriteString(line)
	}
	d.plainItem(item.String())
}

// plainItem adds an item of a plain history.
func (d *digest) plainItem(item string) {
	kind, text, _ := strings.Cut(item, ": ")
	switch kind {
	case "user":
		d.add(sectionUser, plaintext.OneLine(text, 600))
	case "assistant":
		d.last(text)
	case "call":
		d.add(sectionCalls, plaintext.OneLine(text, 120))
		if _, arguments, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(text), ")"), "("); ok {
			d.files(arguments)
		}
	case "error":
		d.add(sectionErrors, plaintext.OneLine(text, 200))
	}
}

// files adds the files that a call's arguments name.
func (d *digest) files(arguments string) {
	for _, path := range toolname.Named(arguments, []string{"path", "file", "file_path", "filePath", "filename"}) {
		d.add(sectionFiles, plaintext.OneLine(path, 200))
	}
}

// last sets the last words of the assistant.
func (d *digest) last(text string) {
	if text = plaintext.OneLine(text, 300); text != "" {
		d.lines[sectionLast] = []string{text}
	}
}

// errNoLine is returned if a digest has no line that fits.
var errNoLine = errors.New("no line fits")

// pack renders the digest within a limit of tokens. It cuts each line to limit bytes, which usually take a quarter of
// the tokens, and to half of that as often as no line fits.
func (o Offline) pack(ctx context.Context, d digest, limit int) (text string, err error) {
	for length := limit; length > 0; length /= 2 {
		if text, err = o.packed(ctx, d, limit, length); !errors.Is(err, errNoLine) {
			break
		}
	}
	return text, err
}

// packed is pack with lines of at most length bytes.
func (o Offline) packed(ctx context.Context, d digest, limit, length int) (string, error) {
	var content elements.Nodes
	for i, s := range sections {
		if len(d.lines[i]) == 0 {
			continue
		}
		lines := make([]textblock.Ranked, len(d.lines[i]))
		for k, line := range d.lines[i] {
			lines[k] = textblock.Ranked{Text: "- " + plaintext.Cut(plaintext.Outside(line), length), Priority: k}
		}
		if i == sectionUser {
			lines[0].Priority = len(lines) // the task stays longer than remarks about it
		}
		content = append(content, textblock.Titled(elements.Props{Priority: new(s.priority)}, s.title, lines))
	}
	if len(content) == 0 {
		return "", errors.New("there is nothing to digest: an Offline only writes summaries of a history, so an agent needs another model")
	}
	prompt := elements.UserMessage{Children: content}
	result, err := render.Render(ctx, prompt, render.Options{Budget: limit, Tokenizer: o.Tokenizer})
	if _, empty := errors.AsType[*render.EmptyPromptError](err); empty || err == nil && len(result.Messages) == 0 {
		return "", fmt.Errorf("%w in %d tokens", errNoLine, limit)
	}
	if err != nil {
		return "", err
	}
	return result.Messages[0].Text(), nil
}
