// Package checkpoints keeps summaries as numbered Markdown files in a folder.
package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/visible"
)

// Folder holds summaries as numbered Markdown files, for people and for agents that look something up:
// 001-title.md and so on, and index.md, which counts and lists them. It is made for one session. A checkpoint is never changed,
// replaced or deleted; the index is written anew. A Folder is safe for concurrent use, and so are several values and processes on
// one folder: writers take turns by a lock on the file .checkpoints.lock, which stays. A file named .new- and a number is being
// written, or was left behind by a writer that crashed; the next writer removes those.
type Folder struct {
	// Dir is the folder. It is made if there is none. Its file system needs hard links.
	Dir string
}

var (
	// ErrLocked is the error if other writers have held the lock for a minute.
	ErrLocked = errors.New("checkpoints: another writer holds the lock")
	// ErrForeign is the error if something else has the name of the lock or of the index. It is left as it is.
	ErrForeign = errors.New("checkpoints: a file that is not the folder's own is in the way")
)

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

// Add writes a summary, with the id of its compaction in the session, and the index. Once it returns, both are durable. If only
// the index cannot be written, it returns the checkpoint and the error.
func (f *Folder) Add(ctx context.Context, s *history.Session, compaction, title, summary string) (Checkpoint, error) {
	if err := makeDir(f.Dir); err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoints: making the folder: %w", err)
	}
	lock, err := f.lock(ctx)
	if err != nil {
		return Checkpoint{}, err
	}
	defer lock.Unlock()
	list, next, err := f.list()
	if err != nil {
		return Checkpoint{}, err
	}
	if next > maxNumber {
		return Checkpoint{}, fmt.Errorf("checkpoints: no number is left after %d: %s: rename the file of that number", maxNumber, f.Dir)
	}
	point := Checkpoint{Number: next, Compaction: compaction}
	if point.Title = plaintext.OneLine(visible.Text(title), 200); point.Title == "" {
		point.Title = "Checkpoint " + strconv.Itoa(point.Number)
	}
	point.Path = filepath.Join(f.Dir, fmt.Sprintf("%03d-%s.md", point.Number, slug(point.Title)))
	text := fmt.Sprintf("# %s\n\n%s%s -->\n\n%s\n", point.Title, compactionMark, comment.Replace(compaction), summary)
	if err := writeFile(point.Path, text, os.Link); err != nil { // a link never replaces a file
		return Checkpoint{}, err
	}
	return point, f.index(ctx, s, append(list, point))
}

// Index writes the index for the path to a session's leaf: what was made on ways that the session left stands apart. Whoever
// goes back or to another branch by [history.Session.Branch] calls it; summarize.Compactor.Navigate does. Without checkpoints
// it does nothing.
func (f *Folder) Index(ctx context.Context, s *history.Session) error {
	if list, err := f.List(); err != nil || len(list) == 0 {
		return err
	}
	lock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	list, _, err := f.list() // others may have added some meanwhile
	if err != nil {
		return err
	}
	return f.index(ctx, s, list)
}

// compactionMark stands before the id of the compaction in a file.
const compactionMark = "<!-- compaction "

// comment keeps an id from ending the comment that it stands in.
var comment = strings.NewReplacer("--", "- -", "\n", " ")

// List returns the checkpoints by their numbers; none if there is no folder. Only the start of each file is read, and only
// regular files count. It waits for no writer and changes nothing.
func (f *Folder) List() ([]Checkpoint, error) {
	list, _, err := f.list()
	return list, err
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
	e, found, err := s.Latest(ctx, history.TypeCompaction)
	for found && err == nil { // each names the one before it
		path[comment.Replace(e.ID)] = true
		var before []history.Entry
		before, err = s.Resolve(ctx, e.Compaction().Carried.Latest[history.TypeCompaction])
		if found = len(before) > 0; found {
			e = before[0]
		}
	}
	if err != nil {
		return nil, nil, err
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

// maxNumber is the highest that fileName matches.
const maxNumber = 999_999_999

// list returns the checkpoints by their numbers, and the number after the highest in any name.
func (f *Folder) list() (list []Checkpoint, next int, err error) {
	next = 1
	files, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, next, nil
	} else if err != nil {
		return nil, 0, fmt.Errorf("checkpoints: listing the folder: %w", err)
	}
	for _, file := range files {
		m := fileName.FindStringSubmatch(file.Name())
		if m == nil {
			continue
		}
		number, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		next = max(next, number+1)
		point := Checkpoint{Number: number, Path: filepath.Join(f.Dir, file.Name())}
		head, err := readHead(point.Path)
		if errors.Is(err, ErrForeign) || errors.Is(err, fs.ErrNotExist) {
			continue // a pipe or a link, or somebody has deleted it
		} else if err != nil {
			return nil, 0, err
		}
		first, rest, _ := strings.Cut(head, "\n")
		point.Title = strings.TrimPrefix(first, "# ")
		if id, ok := strings.CutPrefix(strings.TrimSpace(rest), compactionMark); ok {
			point.Compaction, _, _ = strings.Cut(id, " -->")
		}
		list = append(list, point)
	}
	slices.SortStableFunc(list, func(a, b Checkpoint) int { return a.Number - b.Number })
	return list, next, nil
}

// indexMark is in the third line of each index.
const indexMark = " made, each when the conversation was compacted."

// index lists the checkpoints for a reader.
func (f *Folder) index(ctx context.Context, s *history.Session, list []Checkpoint) error {
	path := filepath.Join(f.Dir, "index.md")
	if head, err := readHead(path); err == nil && !strings.Contains(head, indexMark) {
		return foreign(path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	on, left, err := parted(ctx, list, s)
	if err != nil {
		return err
	}
	var b strings.Builder
	entries := func(list []Checkpoint) {
		b.WriteString("\n")
		for _, p := range list {
			file := filepath.Base(p.Path)
			if strings.ContainsAny(file, "()<>\\ ") || visible.Line(file) != file { // it is not of this package
				file = url.PathEscape(file)
			}
			fmt.Fprintf(&b, "%d. [%s](%s)\n", p.Number, markdown.Replace(visible.Line(p.Title)), file)
		}
	}
	fmt.Fprintf(&b, "# Checkpoints\n\n%d%s\n", len(on), indexMark)
	entries(on)
	if len(left) > 0 {
		fmt.Fprintf(&b, "\n%d more where the conversation has gone another way since.\n", len(left))
		entries(left)
	}
	return writeFile(path, b.String(), os.Rename)
}

// markdown keeps a title from ending the link that it stands in, and from being read as markup.
var markdown = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<", `\<`, "`", "\\`")

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
