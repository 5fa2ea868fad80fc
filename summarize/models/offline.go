// Package models holds models that write summaries and are no provider's: [Offline], which needs no network, [Remote], an
// HTTP endpoint, and [Script], which is for tests.
package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/render"
)

// Offline is a [chat.Model] that needs no network. It understands nothing: its summary is a digest of what the messages
// hold on their surface, namely what the user said, which files the calls name, a line for each tool call, and errors,
// packed to the room it is given by this module's own renderer. A digest of a digest carries its lines on.
type Offline struct {
	// Tokenizer that the digest is measured with.
	Tokenizer chat.Tokenizer
}

// defaultDigest is how many tokens a digest takes where the request names no limit.
const defaultDigest = 2000

// sections of a digest, in the order in which they are written, with what their lines are worth: where there is no room
// for all, those of a lower section go first, and in a section the oldest.
var sections = [...]section{
	{"## Earlier summary", 2},
	{"## The user said", 4},
	{"## Files", 3},
	{"## Errors", 1},
	{"## Tool calls", 0},
	{"## Last words of the assistant", 5},
}

type section struct {
	title string
	worth int
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

// digest collects lines, each once.
type digest struct {
	lines [len(sections)][]string
	seen  map[string]bool
}

// add appends a line to a section. One that is there already moves to the end, where the newest stand.
func (d *digest) add(section int, line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	if key := strconv.Itoa(section) + line; d.seen[key] {
		i := slices.Index(d.lines[section], line)
		d.lines[section] = slices.Delete(d.lines[section], i, i+1)
	} else {
		d.seen[key] = true
	}
	d.lines[section] = append(d.lines[section], line)
}

// Generate answers with a digest of all messages but the system's and the last, which asks for it, and of the history that
// the last holds as text. It answers in a <summary> block if it is asked for one.
func (o Offline) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if o.Tokenizer == nil {
		return chat.Response{}, errors.New("models: Offline.Tokenizer is not set")
	}
	if len(req.Messages) == 0 {
		return chat.Response{}, errors.New("models: there is nothing to digest")
	}
	last := len(req.Messages) - 1
	var d digest
	ask := req.Messages[last].Text()
	d.textBefore(ask)
	d.messages(req.Messages[:last])
	d.textHistory(ask)
	text, err := o.pack(ctx, d, limitIn(ask))
	if err != nil {
		return chat.Response{}, fmt.Errorf("models: packing the digest: %w", err)
	}
	if !strings.Contains(ask, "<summary> block") {
		return chat.Response{Message: chat.AssistantMessage(text)}, nil
	}
	answer := fmt.Sprintf("<analysis>\nA digest of %d messages, made without a model.\n</analysis>\n<summary>\n%s\n</summary>", last, text)
	return chat.Response{Message: chat.AssistantMessage(answer)}, nil
}

var roomHint = regexp.MustCompile(`(?i)\broom for (\d+) tokens`)

// limitIn reads the room that a request leaves for the summary.
func limitIn(request string) int {
	if m := roomHint.FindStringSubmatch(request); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			return n
		}
	}
	return defaultDigest
}

// messages collects what messages hold on their surface.
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

// result records a call in one line, and its error.
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

// earlier reads a summary that was made before. The lines of a digest go to their sections, anything else is kept as
// it is.
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
		case at == sectionLast: // of a conversation that has gone on
		case isItem && at != sectionEarlier:
			d.add(at, item)
		default:
			d.add(sectionEarlier, strings.TrimPrefix(line, "- "))
		}
	}
}

// textBefore reads the summary of what went before that a request shows as text.
func (d *digest) textBefore(text string) {
	for _, tag := range [...]string{plaintext.PreviousHistoryTag, plaintext.PreviousSummaryTag, plaintext.DraftTag} {
		for _, body := range plaintext.InTags(text, tag) {
			d.earlier(body)
		}
	}
}

// textHistory reads what was said that a request shows as text, in either of the forms that package summarize writes.
func (d *digest) textHistory(text string) {
	for _, tag := range [...]string{plaintext.HistoryTag, plaintext.ConversationTag} {
		for _, body := range plaintext.InTags(text, tag) {
			d.plainHistory(body)
		}
	}
	for _, m := range compactBlock.FindAllStringSubmatch(text, -1) {
		d.compact(m[1], m[2])
	}
}

// compactBlock is what was said at once in a stagewise.CompactHistory.
var compactBlock = regexp.MustCompile(`(?s)(?:^|\n)<(user|assistant)>\n(.*?)\n</(?:user|assistant)>`)

// compact reads what was said at once: words, and lines that tell what tools did.
func (d *digest) compact(role, body string) {
	var words []string
	for line := range strings.SplitSeq(body, "\n") {
		told, isNote := strings.CutPrefix(line, "[")
		told, ends := strings.CutSuffix(told, "]")
		switch {
		case !isNote || !ends:
			words = append(words, line)
		case role == "assistant":
			d.add(sectionCalls, plaintext.OneLine(told, 120))
			if call, failure, ok := strings.Cut(told, " ✗ "); ok {
				d.add(sectionErrors, plaintext.OneLine(call+": "+failure, 200))
			}
			if verb, path, ok := strings.Cut(told, ": "); ok && slices.Contains([]string{"read", "wrote", "created", "edited"}, verb) {
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

// plainHistory reads a history as summarize.PlainHistory writes it: summaries that stand before it, then what was said, each thing
// from a line of its own on, its further lines indented.
func (d *digest) plainHistory(body string) {
	for strings.HasPrefix(body, plaintext.SummaryOpen) {
		block, rest, _ := strings.Cut(body, plaintext.SummaryClose)
		if earlier, ok := plaintext.Summary(block); ok {
			d.earlier(earlier)
		}
		body = strings.TrimPrefix(rest, "\n")
	}
	var said strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, plaintext.Indent) {
			d.plain(said.String())
			said.Reset()
		}
		said.WriteString(line)
	}
	d.plain(said.String())
}

// plain reads one thing that was said.
func (d *digest) plain(said string) {
	kind, text, _ := strings.Cut(said, ": ")
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

// files records the files that a call's arguments name.
func (d *digest) files(arguments string) {
	for _, path := range paths(arguments) {
		d.add(sectionFiles, plaintext.OneLine(path, 200))
	}
}

// last records what the assistant said, in place of what it said before.
func (d *digest) last(text string) {
	if text = plaintext.OneLine(text, 300); text != "" {
		d.lines[sectionLast] = []string{text}
	}
}

// pack renders the digest into a number of tokens. Where there are few, lines are cut to about a quarter of them, so that one
// fits at least.
func (o Offline) pack(ctx context.Context, d digest, limit int) (string, error) {
	var content elements.Nodes
	for i, s := range sections {
		if len(d.lines[i]) == 0 {
			continue
		}
		lines := make(elements.Nodes, len(d.lines[i]))
		longest := len(lines) - 1 // the line that stays longest; the title goes with it
		if i == sectionUser {
			longest = 0 // the task outlasts what was said about it
		}
		group := &elements.Group{Name: s.title}
		title := elements.KeepWith{Group: group, Children: elements.Nodes{elements.TextChunk{Children: elements.Nodes{elements.Text(s.title)}}}}
		for k, line := range d.lines[i] {
			text := elements.Nodes{elements.Text("- " + plaintext.Cut(plaintext.Untagged(line), limit))}
			if k == longest {
				lines[k] = elements.KeepWith{Props: elements.Props{Priority: new(len(lines))}, Group: group, Children: elements.Nodes{elements.TextChunk{Children: text}}}
			} else {
				lines[k] = elements.TextChunk{Props: elements.Props{Priority: new(k)}, Children: text}
			}
		}
		content = append(content, elements.Wrap{Props: elements.Props{Priority: new(s.worth)}, Children: elements.Nodes{title, lines}})
	}
	if len(content) == 0 {
		return "", errors.New("there is nothing to digest")
	}
	prompt := elements.UserMessage{Children: content}
	result, err := render.Render(ctx, prompt, render.Options{Budget: limit, Tokenizer: o.Tokenizer})
	if err != nil {
		return "", err
	}
	if len(result.Messages) == 0 {
		return "", fmt.Errorf("there is no room for anything in %d tokens", limit)
	}
	return result.Messages[0].Text(), nil
}

// paths returns the files that a call's arguments name, by the usual names of such arguments.
func paths(arguments string) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &fields) != nil {
		return nil
	}
	var list []string
	for _, key := range [...]string{"path", "file", "file_path", "filePath", "filename"} {
		var path string
		if json.Unmarshal(fields[key], &path) == nil && path != "" {
			list = append(list, path)
		}
	}
	return list
}
