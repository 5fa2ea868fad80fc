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

// Sessions to count, relative to the root of the repository: a real one beside it, which may be missing, and a generated
// one in it.
const (
	recordedSession  = "../shared/sessions/pi-before-compaction.jsonl"
	generatedSession = "history/importer/testdata/generated.jsonl"
)

// sessionText returns everything said in a recorded session, as one text, and a note unless it is the session of the
// targets.
func (b *bench) sessionText() (text, note string, err error) {
	path := b.session
	if path == "" {
		path = recordedSession
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path, note = generatedSession, "there is no recorded session beside the repository: counted is the generated one"
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
	var said strings.Builder
	for _, m := range recording.Conversation() {
		for _, part := range m.Content {
			switch part := part.(type) {
			case chat.Text:
				said.WriteString(string(part) + "\n")
			case chat.Thinking:
				said.WriteString(part.Text + "\n")
			}
		}
		for _, call := range m.ToolCalls {
			said.WriteString(call.Arguments + "\n")
		}
	}
	text = said.String()
	if most := b.sizes.session; most > 0 && len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "\n"
	}
	if text == "" {
		return "", "", fmt.Errorf("%s: nothing is said in it", path)
	}
	return text, note, nil
}
