// Package checkpoints keeps summaries as numbered Markdown files in a folder.
package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// Folder holds summaries as numbered Markdown files, for people and for agents that look something up:
// 001-title.md and so on, and index.md, which counts and lists them. It is made for one session. Such a file is never changed
// or deleted; the index is written anew. It is safe for concurrent use within a process.
type Folder struct {
	// Dir is the folder. It is made if there is none.
	Dir string

	mu sync.Mutex
}

// Checkpoint is one file.
type Checkpoint struct {
	// Number from 1.
	Number int
	// Title of the summary.
	Title string
	// Path of the file.
	Path string
	// Compaction is the id of its entry in the session.
	Compaction string
}

// Add writes a summary, with the id of its compaction in the session, and the index.
func (f *Folder) Add(ctx context.Context, s *history.Session, compaction, title, summary string) (Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return Checkpoint{}, err
	}
	list, err := f.list()
	if err != nil {
		return Checkpoint{}, err
	}
	point := Checkpoint{Number: 1, Title: title, Compaction: compaction}
	if n := len(list); n > 0 {
		point.Number = list[n-1].Number + 1
	}
	if point.Title = plaintext.OneLine(title, 200); point.Title == "" {
		point.Title = "Checkpoint " + strconv.Itoa(point.Number)
	}
	point.Path = filepath.Join(f.Dir, fmt.Sprintf("%03d-%s.md", point.Number, slug(point.Title)))
	text := fmt.Sprintf("# %s\n\n%s%s -->\n\n%s\n", point.Title, compactionMark, comment.Replace(compaction), summary)
	if err := replaceFile(point.Path, text); err != nil {
		return Checkpoint{}, err
	}
	return point, f.index(ctx, s, append(list, point))
}

// Index writes the index for the path to a session's leaf: what was made on ways that the session left stands apart. Whoever
// goes back or to another branch by [history.Session.Branch] calls it; summarize.Compactor.Navigate does. Without checkpoints
// it does nothing.
func (f *Folder) Index(ctx context.Context, s *history.Session) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	list, err := f.list()
	if err != nil || len(list) == 0 {
		return err
	}
	return f.index(ctx, s, list)
}

// compactionMark stands before the id of the compaction in a file.
const compactionMark = "<!-- compaction "

// comment keeps an id from ending the comment that it stands in.
var comment = strings.NewReplacer("--", "- -", "\n", " ")

// List returns the checkpoints by their numbers; none if there is no folder.
func (f *Folder) List() ([]Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list()
}

// ListOn returns those whose compactions are on the path to a session's leaf, by their numbers. Once somebody went back, those of
// what was left are not among them; their files stay.
func (f *Folder) ListOn(ctx context.Context, s *history.Session) ([]Checkpoint, error) {
	list, err := f.List()
	if err != nil {
		return nil, err
	}
	on, _, err := parted(ctx, list, s)
	return on, err
}

// parted parts checkpoints into those whose compactions are on the path to a session's leaf, and those that are not.
func parted(ctx context.Context, list []Checkpoint, s *history.Session) (on, left []Checkpoint, err error) {
	path := map[string]bool{}
	for e, err := range s.PathTo(ctx, "") {
		if err != nil {
			return nil, nil, err
		}
		if e.Type() == history.TypeCompaction {
			path[comment.Replace(e.ID)] = true
		}
	}
	for _, p := range list {
		if path[p.Compaction] {
			on = append(on, p)
		} else {
			left = append(left, p)
		}
	}
	return on, left, nil
}

var fileName = regexp.MustCompile(`^(\d{3,9})-.*\.md$`)

func (f *Folder) list() ([]Checkpoint, error) {
	files, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var list []Checkpoint
	for _, file := range files {
		m := fileName.FindStringSubmatch(file.Name())
		if m == nil || file.IsDir() {
			continue
		}
		number, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		point := Checkpoint{Number: number, Path: filepath.Join(f.Dir, file.Name())}
		head, err := readHead(point.Path)
		if err != nil {
			return nil, err
		}
		first, rest, _ := strings.Cut(head, "\n")
		point.Title = strings.TrimPrefix(first, "# ")
		if id, ok := strings.CutPrefix(strings.TrimSpace(rest), compactionMark); ok {
			point.Compaction, _, _ = strings.Cut(id, " -->")
		}
		list = append(list, point)
	}
	slices.SortFunc(list, func(a, b Checkpoint) int { return a.Number - b.Number })
	return list, nil
}

// readHead returns the start of a file.
func readHead(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 2048)
	n, err := f.Read(head)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return string(head[:n]), nil
}

// index lists the checkpoints for a reader.
func (f *Folder) index(ctx context.Context, s *history.Session, list []Checkpoint) error {
	on, left, err := parted(ctx, list, s)
	if err != nil {
		return err
	}
	var b strings.Builder
	entries := func(list []Checkpoint) {
		b.WriteString("\n")
		for _, p := range list {
			title := strings.NewReplacer("[", "\\[", "]", "\\]").Replace(p.Title)
			fmt.Fprintf(&b, "%d. [%s](%s)\n", p.Number, title, filepath.Base(p.Path))
		}
	}
	fmt.Fprintf(&b, "# Checkpoints\n\n%d made, each when the conversation was compacted.\n", len(on))
	entries(on)
	if len(left) > 0 {
		fmt.Fprintf(&b, "\n%d more where the conversation has gone another way since.\n", len(left))
		entries(left)
	}
	return replaceFile(filepath.Join(f.Dir, "index.md"), b.String())
}

// replaceFile writes a file whole or not at all.
func replaceFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

var notInSlug = regexp.MustCompile(`[^\p{L}\p{N}]+`)

// slug makes a short file name of a title.
func slug(title string) string {
	s := strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(title), "-"), "-")
	if r := []rune(s); len(r) > 40 {
		s = strings.TrimRight(string(r[:40]), "-")
	}
	if s == "" {
		return "checkpoint"
	}
	return s
}
