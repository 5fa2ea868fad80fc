package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/regular"
)

// Sessions to count, relative to the root of the repository: a real one outside of it, which may be missing, and a
// generated one.
const (
	recordedSession  = "../shared/sessions/pi-before-compaction.jsonl"
	generatedSession = "history/importer/testdata/generated.jsonl"
)

// sessionText returns the texts of a recorded session, in lines, and a note unless it is the session that the targets
// are set for.
func (b *bench) sessionText() (text, note string, err error) {
	path := b.session
	if path == "" {
		path = recordedSession
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path, note = generatedSession, "the recorded session is missing: the generated one is counted"
		}
	}
	f, err := regular.Open(path)
	if err != nil {
		return "", "", fmt.Errorf("no session to count: run this from the root of the repository, or name one with -session: %w", err)
	}
	defer f.Close()
	recording, err := importer.Read(f)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", path, err)
	}
	var texts strings.Builder
	for _, m := range recording.Conversation() {
		for _, part := range m.Content {
			switch part := part.(type) {
			case chat.Text:
				texts.WriteString(string(part) + "\n")
			case chat.Thinking:
				texts.WriteString(part.Text + "\n")
			}
		}
		for _, call := range m.ToolCalls {
			texts.WriteString(call.Arguments + "\n")
		}
	}
	text = texts.String()
	if limit := b.sizes.session; limit > 0 && len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "\n"
	}
	if text == "" {
		return "", "", fmt.Errorf("%s: the session has no text", path)
	}
	return text, note, nil
}
