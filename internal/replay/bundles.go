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

// bundles writes a folder for each compaction, with the requests for its summary and their answers, so that another
// model or another prompt can be tried on the same history. A nil *bundles writes nothing.
type bundles struct {
	dir string
	min int // messages that a compaction must cover
}

// newBundles creates the folder. If it exists, it must be empty. Without a name the result is nil.
func newBundles(dir string, minMessages int) (*bundles, error) {
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
	return &bundles{dir: dir, min: minMessages}, nil
}

// bundle holds one compaction.
type bundle struct {
	meta    metadata
	asked   []exchange // for the summary
	history string     // the summarised messages, as text
	output  string     // the summary
}

// metadata is the file metadata.json.
type metadata struct {
	Session string          `json:"session"`
	Format  importer.Format `json:"format"`
	// Policy whose prompt is used.
	Policy string `json:"policy"`
	// OutputBy is the model that answered; "recorded" means the session's own.
	OutputBy string `json:"outputBy"`
	// Compaction is the number of the compaction in the session under the policy, from 1.
	Compaction int `json:"compaction"`
	// Mode of the prompt.
	Mode string `json:"mode,omitempty"`
	// Requests that the policy made, in the order of their folders.
	Requests []requested `json:"requests"`
	// NotAsked says why the policy would have asked nothing here; "" if it asked.
	NotAsked string `json:"notAsked,omitempty"`
	// FirstCovered and FirstKept are indices of messages in the session, from 0: the messages between them are
	// summarised. Covered is the number of summarised messages. It may be smaller: if a turn is cut, its first message
	// is still shown.
	FirstCovered int `json:"firstCoveredMessage"`
	FirstKept    int `json:"firstKeptMessage"`
	Covered      int `json:"coveredMessages"`
	// Characters of the files, and of the previous summary.
	Characters characters `json:"characters"`
	// Leak is a tag that belongs around histories and summaries but is part of the summary; "" if there is none.
	Leak string `json:"leak"`
}

type characters struct {
	History         int `json:"history"`
	PreviousSummary int `json:"previousSummary"`
	Output          int `json:"output"`
}

// requested describes one request: the characters of its files, and the error if it was not answered.
type requested struct {
	SystemPrompt int    `json:"systemPrompt"`
	UserMessage  int    `json:"userMessage"`
	Answer       int    `json:"answer"`
	Error        string `json:"error,omitempty"`
}

// wrapper matches a tag around histories and summaries that begins a line or ends a text. A tag within a line is a
// mention, not a leak.
var wrapper = regexp.MustCompile(`(?m)^ {0,3}` + wrapperTag + `|` + wrapperTag + `\s*\z`)

const wrapperTag = `</?(?:conversation-summary|transcript|previous-chat-history|previous-summary|conversation|history|additional-context)\b[^<>]*>`

// leak returns the first tag around histories and summaries that leaked into a summary, "" if none did.
func leak(summary string) string {
	return strings.TrimSpace(wrapper.FindString(summary))
}

// write writes one bundle into a new folder.
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

// writeRequest writes one request and its answer into a new folder.
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

// writeFiles writes texts, keyed by file name, into a folder.
func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ends returns the text of a request's system messages, and that of its last message.
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

// plainName returns a name that every file system accepts.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, name)
	const maxRunes = 60
	if r := []rune(name); len(r) > maxRunes {
		name = string(r[:maxRunes])
	}
	return strings.Trim(name, ".")
}
