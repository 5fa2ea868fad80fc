package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
)

// bundles writes a folder for each compaction, with what its model was asked and what it answered, to try another model or
// another prompt on the same history. A nil one writes nothing.
type bundles struct {
	dir string
	min int // messages that a compaction must cover
}

// newBundles makes the folder, which must be new or empty.
func newBundles(dir string, least int) (*bundles, error) {
	if dir == "" {
		return nil, nil
	}
	switch entries, err := os.ReadDir(dir); {
	case err == nil && len(entries) > 0:
		return nil, fmt.Errorf("-bundles: %s is not empty", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("-bundles: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("-bundles: %w", err)
	}
	return &bundles{dir: dir, min: least}, nil
}

// bundle is what is known of one compaction.
type bundle struct {
	meta    metadata
	asked   []exchange // for the summary
	history string     // what is summarised, as text
	output  string     // the summary
}

// metadata is the file metadata.json.
type metadata struct {
	Session string          `json:"session"`
	Format  importer.Format `json:"format"`
	// Policy whose prompt it is.
	Policy string `json:"policy"`
	// OutputBy is the model that answered: "recorded" is the session's own.
	OutputBy string `json:"outputBy"`
	// Compaction of the session under the policy, from 1.
	Compaction int `json:"compaction"`
	// Mode of the prompt.
	Mode string `json:"mode,omitempty"`
	// Requests that the policy made, in the order of their folders.
	Requests []requested `json:"requests"`
	// NotAsked says why the policy would have asked nothing here, "" where it asked.
	NotAsked string `json:"notAsked,omitempty"`
	// FirstCovered and FirstKept are indices of messages in the session, from 0: what lies between is summarised. Covered
	// is how many that are; where a turn is cut its first message is shown on.
	FirstCovered int `json:"firstCoveredMessage"`
	FirstKept    int `json:"firstKeptMessage"`
	Covered      int `json:"coveredMessages"`
	// Characters of the files, and of the summary before.
	Characters characters `json:"characters"`
	// Leak says which of the tags that are put around histories and summaries the summary holds, which it must not.
	Leak string `json:"leak"`
}

type characters struct {
	History         int `json:"history"`
	PreviousSummary int `json:"previousSummary"`
	Output          int `json:"output"`
}

// requested is one request: the characters of its files, and why it was not answered.
type requested struct {
	SystemPrompt int    `json:"systemPrompt"`
	UserMessage  int    `json:"userMessage"`
	Answer       int    `json:"answer"`
	Error        string `json:"error,omitempty"`
}

// wrapper is a tag around histories and summaries that begins a line or ends a text. Within a line it is spoken of.
var wrapper = regexp.MustCompile(`(?m)^ {0,3}` + wrapperTag + `|` + wrapperTag + `\s*\z`)

const wrapperTag = `</?(?:conversation-summary|transcript|previous-chat-history|previous-summary|conversation|history|additional-context)\b[^<>]*>`

// leak says which of the tags that are put around histories and summaries has leaked into a summary, "" where none has.
func leak(summary string) string {
	return strings.TrimSpace(wrapper.FindString(summary))
}

// write writes one into a folder of its own.
func (b *bundles) write(number int, name string, u bundle) error {
	title := strings.TrimSuffix(filepath.Base(u.meta.Session), filepath.Ext(u.meta.Session))
	dir := filepath.Join(b.dir, fmt.Sprintf("%03d-%s", number, plainName(title)), name, fmt.Sprintf("compaction-%03d", u.meta.Compaction))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	u.meta.Characters.History, u.meta.Characters.Output = chars(u.history), chars(u.output)
	u.meta.Requests = make([]requested, len(u.asked))
	for i, x := range u.asked {
		var err error
		if u.meta.Requests[i], err = writeRequest(filepath.Join(dir, fmt.Sprintf("request-%02d", i+1)), x); err != nil {
			return err
		}
	}
	var meta bytes.Buffer
	page := json.NewEncoder(&meta)
	page.SetEscapeHTML(false)
	page.SetIndent("", "  ")
	if err := page.Encode(u.meta); err != nil {
		return err
	}
	return writeFiles(dir, map[string]string{"compact-history.xml": u.history, "output.md": u.output, "metadata.json": meta.String()})
}

// writeRequest writes one request and its answer.
func writeRequest(dir string, x exchange) (requested, error) {
	system, user := ends(x.request.Messages)
	answer := x.response.Message.Text()
	about := requested{SystemPrompt: chars(system), UserMessage: chars(user), Answer: chars(answer)}
	if x.err != nil {
		about.Error = program.OneLine(x.err)
	}
	var request bytes.Buffer
	lines := json.NewEncoder(&request)
	lines.SetEscapeHTML(false)
	for _, m := range x.request.Messages {
		if err := lines.Encode(m); err != nil {
			return about, err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return about, err
	}
	return about, writeFiles(dir, map[string]string{
		"system-prompt.md": system, "user-message.md": user, "request.jsonl": request.String(), "answer.md": answer,
	})
}

// writeFiles writes texts into files of a folder, by their names.
func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ends returns what a request says first, for the system, and last, for the user.
func ends(request []chat.Message) (system, user string) {
	var said []string
	for _, m := range request {
		if m.Role == chat.RoleSystem {
			said = append(said, m.Text())
		}
	}
	if len(request) > 0 {
		user = request[len(request)-1].Text()
	}
	return strings.Join(said, "\n\n"), user
}

func chars(text string) int { return utf8.RuneCountInString(text) }

// plainName returns a name that every file system takes.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, name)
	const most = 60
	if r := []rune(name); len(r) > most {
		name = string(r[:most])
	}
	return strings.Trim(name, ".")
}
