// Package checkpoints writes summaries as numbered Markdown files, for people and for agents that look something up. A
// compactor does so if Checkpoints is set in the compactor and in Replace of its policy:
//
//	compactor.Checkpoints = &checkpoints.Folder{Dir: "checkpoints"}
//	compactor.Policy.Replace.Checkpoints = true // copilotcli's policy sets it already
//
// Each checkpoint costs two files that are synced to disk: the summary and the index.
package checkpoints

import (
	"cmp"
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
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/visible"
)

// Folder is a folder with the summaries of one session: 001-title.md and so on, and index.md, which counts and lists
// them. A checkpoint is never changed, replaced or deleted, unless it is erased ([Folder.Erase]). The index is rewritten.
//
// A Folder is safe for concurrent use. Several values and processes may use one folder, because writers lock the file
// .checkpoints.lock, which is never removed. A file named .new- and a number is being written, or was left by a writer
// that crashed; the next writer removes it. A method that writes returns [storage.ErrLocked] if other writers hold the
// lock for a minute, and [storage.ErrForeign] if something that is not the folder's own has the name of the lock or the
// index; that stays as it is.
type Folder struct {
	// Dir is the folder. It is created if it does not exist. Its file system must support hard links.
	Dir string
}

// Checkpoint is one summary's file.
type Checkpoint struct {
	// Number, from 1.
	Number int
	// Title of the summary.
	Title string
	// Path of the file.
	Path string
	// Compaction is the id of the compaction's entry in the session.
	Compaction string
}

// Add writes a summary and the index. The argument compaction is the id of the summary's compaction in the session.
// When Add returns, both files are durable. If only the index cannot be written, Add returns the checkpoint and an
// error.
func (f *Folder) Add(ctx context.Context, s *history.Session, compaction, title, summary string) (added Checkpoint, err error) {
	if err := makeDir(f.Dir); err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoints: creating the folder: %w", err)
	}
	err = f.locked(ctx, func(list []Checkpoint, next int) error {
		if next > maxNumber {
			return fmt.Errorf("checkpoints: no number is left after %d: %s: rename the file of that number", maxNumber, f.Dir)
		}
		point := Checkpoint{Number: next, Compaction: compaction}
		point.Title = cmp.Or(plaintext.OneLine(visible.Text(title), 200), "Checkpoint "+strconv.Itoa(next))
		point.Path = filepath.Join(f.Dir, fmt.Sprintf("%03d-%s.md", point.Number, slug(point.Title)))
		text := fmt.Sprintf("# %s\n\n%s%s -->\n\n%s\n", point.Title, compactionMark, comment.Replace(compaction), summary)
		if err := writeFile(point.Path, text, os.Link); err != nil { // a link never replaces a file
			return err
		}
		added = point
		return f.index(ctx, s, append(list, point))
	})
	return added, err
}

// Index writes the index for the path to a session's leaf. Checkpoints of other branches are listed separately. Call it
// after [history.Session.Branch]; summarize.Compactor.Navigate calls it for you. Without checkpoints it does nothing.
func (f *Folder) Index(ctx context.Context, s *history.Session) error {
	if list, err := f.List(); err != nil || len(list) == 0 {
		return err
	}
	// They are listed again, because others may have added some before the lock.
	return f.locked(ctx, func(list []Checkpoint, _ int) error { return f.index(ctx, s, list) })
}

// Erase replaces the checkpoints of compactions, given by the ids of their entries, by files without their titles and
// texts, and writes the index. Call it after [history.Session.Erase], for each folder of the erasure, with its entries,
// copies and, if their words must go too, summaries. What a file system keeps of removed files stays on the disk. If it
// fails halfway it can be called again.
func (f *Folder) Erase(ctx context.Context, s *history.Session, compactions ...string) error {
	if _, err := os.Stat(f.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.locked(ctx, func(list []Checkpoint, _ int) error {
		for i, p := range list {
			if !slices.ContainsFunc(compactions, func(id string) bool { return comment.Replace(id) == p.Compaction }) {
				continue
			}
			list[i].Title, list[i].Path = erased, filepath.Join(f.Dir, fmt.Sprintf("%03d-erased.md", p.Number))
			if slices.ContainsFunc(list, func(o Checkpoint) bool { return o.Path == list[i].Path && o.Compaction != p.Compaction }) {
				return foreign(list[i].Path)
			}
			err := writeFile(list[i].Path, fmt.Sprintf("# %s\n\n%s%s -->\n", erased, compactionMark, p.Compaction), os.Rename)
			if err == nil && p.Path != list[i].Path {
				err = os.Remove(p.Path)
			}
			if err != nil {
				return fmt.Errorf("checkpoints: erasing checkpoint %d: %w", p.Number, err)
			}
		}
		return f.index(ctx, s, slices.Compact(list))
	})
}

// erased is the title of a checkpoint that was erased.
const erased = "[erased]"

// compactionMark comes before the compaction's id in a file.
const compactionMark = "<!-- compaction "

// comment replaces the parts of an id that could end the comment around it.
var comment = strings.NewReplacer("--", "- -", "\n", " ")

// List returns the checkpoints in the order of their numbers, or none if the folder does not exist. It reads only the
// start of each file, and ignores files that are not regular. It does not wait for writers.
func (f *Folder) List() ([]Checkpoint, error) {
	list, _, err := f.list()
	return list, err
}

// split splits checkpoints into those whose compactions are on the path to a session's leaf, and the others.
func split(ctx context.Context, list []Checkpoint, s *history.Session) (on, others []Checkpoint, err error) {
	path := map[string]bool{}
	e, found, err := s.Latest(ctx, entry.TypeCompaction)
	for found && err == nil { // each compaction names the one before it
		path[comment.Replace(e.ID)] = true
		var before []entry.Entry
		before, err = s.Resolve(ctx, e.Compaction().Retained.Latest[entry.TypeCompaction])
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
			others = append(others, p)
		}
	}
	return on, others, nil
}

var fileName = regexp.MustCompile(`^(\d{3,9})-.*\.md$`)

// maxNumber is the highest number that fileName matches.
const maxNumber = 999_999_999

// list returns the checkpoints in the order of their numbers, and the number after the highest in any file name.
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
		number, _ := strconv.Atoi(m[1]) // at most maxNumber
		next = max(next, number+1)
		point := Checkpoint{Number: number, Path: filepath.Join(f.Dir, file.Name())}
		head, err := readHead(point.Path)
		if errors.Is(err, storage.ErrForeign) || errors.Is(err, fs.ErrNotExist) {
			continue // not a regular file, or deleted meanwhile
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

// indexMark is in the third line of each index, by which index recognises its own file.
const indexMark = " made, each when the conversation was compacted."

// index writes the index.
func (f *Folder) index(ctx context.Context, s *history.Session, list []Checkpoint) error {
	path := filepath.Join(f.Dir, "index.md")
	if head, err := readHead(path); err == nil && !strings.Contains(head, indexMark) {
		return foreign(path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	on, others, err := split(ctx, list, s)
	if err != nil {
		return err
	}
	var b strings.Builder
	entries := func(list []Checkpoint) {
		b.WriteString("\n")
		for _, p := range list {
			file := filepath.Base(p.Path)
			if strings.ContainsAny(file, "()<>\\ ") || visible.Line(file) != file { // not a name that Add makes
				file = url.PathEscape(file)
			}
			fmt.Fprintf(&b, "%d. [%s](%s)\n", p.Number, markdown.Replace(visible.Line(p.Title)), file)
		}
	}
	fmt.Fprintf(&b, "# Checkpoints\n\n%d%s\n", len(on), indexMark)
	entries(on)
	if len(others) > 0 {
		fmt.Fprintf(&b, "\n%d more where the conversation has gone another way since.\n", len(others))
		entries(others)
	}
	return writeFile(path, b.String(), os.Rename)
}

// markdown escapes the characters of a title that could end the link around it or be read as markup.
var markdown = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<", `\<`, "`", "\\`")

var notInSlug = regexp.MustCompile(`[^\p{L}\p{N}]+`)

// slug returns a title as a short file name.
func slug(title string) string {
	s := strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(title), "-"), "-")
	if r := []rune(s); len(r) > 40 {
		s = strings.TrimRight(string(r[:40]), "-")
	}
	return cmp.Or(s, "checkpoint")
}
