package folderagent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	steps "github.com/promptree-go/promptree/summarize/agent"
)

// Tools work on the files of one folder and on the transcript.
type Tools struct {
	root       *os.Root
	transcript string // absolute path; the only file outside the folder that may be read
}

// NewTools opens a folder.
func NewTools(dir, transcript string) (*Tools, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Tools{root: root, transcript: transcript}, nil
}

// Close closes the folder.
func (t *Tools) Close() error { return t.root.Close() }

// Limits of what a tool returns.
const (
	maxListed  = 200
	maxMatches = 20
	maxExcerpt = 120     // bytes shown of a line that matches
	maxFile    = 8 << 20 // bytes
	// maxTranscript is the largest transcript that is read, in bytes; the transcript is the only file that grows.
	maxTranscript = 64 << 20
)

// Toolboxes returns the tools for an agent.
func (t *Tools) Toolboxes() []chat.Toolbox {
	type folder struct {
		Path string `json:"path,omitempty" jsonschema:"a folder; the whole one if it is left out"`
	}
	type file struct {
		Path string `json:"path"`
	}
	type lines struct {
		Path   string `json:"path"`
		Offset int    `json:"offset,omitempty" jsonschema:"first line, from 1"`
		Limit  int    `json:"limit,omitempty" jsonschema:"most lines to read"`
	}
	type pattern struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path,omitempty" jsonschema:"a file; all files where it is left out"`
	}
	return []chat.Toolbox{
		readOnly("list_files", "List the text files below a folder with their sizes.", func(ctx context.Context, a folder) (string, error) { return t.list(ctx, a.Path) }),
		readOnly("read_file", "Read lines of a text file.", func(_ context.Context, a lines) (string, error) {
			first := max(1, a.Offset)
			text, total, err := t.lines(a.Path, first, a.Limit)
			if err == nil && text == "" {
				text = fmt.Sprintf("(no lines from %d on: %s has %d)", first, a.Path, total)
			}
			return text, err
		}),
		readOnly("search", "Find the lines that match a regular expression.", func(ctx context.Context, a pattern) (string, error) { return t.search(ctx, a.Pattern, a.Path) }),
		readOnly("count_file", "Count a file's lines, words and bytes and give its SHA-256.", func(_ context.Context, a file) (string, error) { return t.count(a.Path) }),
	}
}

// readOnly returns a tool that may run again, because it only reads.
func readOnly[In any](name, description string, run func(context.Context, In) (string, error)) *steps.Function {
	f, err := steps.Tool(name, description, run)
	if err != nil {
		panic(err) // a type of this file
	}
	f.Again = true
	return f
}

type file struct {
	path string
	size int64
}

// files lists the files of the folder by name. It leaves out files whose names are not UTF-8 or contain control
// characters, and the transcript, which grows all the time, with the file that names its writer.
func (t *Tools) files(ctx context.Context) ([]file, error) {
	var list []file
	transcript, _ := os.Stat(t.transcript) // nil if missing, which os.SameFile never matches
	writer, _ := os.Stat(t.transcript + ".writer")
	err := fs.WalkDir(t.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && p != ".":
			return nil // leave out unreadable files
		case err != nil:
			return err
		case p != "." && strings.HasPrefix(d.Name(), "."), d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata"):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular(), !utf8.ValidString(p), strings.ContainsFunc(p, unicode.IsControl):
			return nil
		}
		info, err := d.Info()
		if err == nil && info.Size() <= maxFile && !os.SameFile(info, transcript) && !os.SameFile(info, writer) {
			list = append(list, file{path: p, size: info.Size()})
		}
		return nil
	})
	return list, err
}

func (t *Tools) list(ctx context.Context, folder string) (string, error) {
	files, err := t.files(ctx)
	if err != nil {
		return "", err
	}
	folder = path.Clean(filepath.ToSlash(folder))
	if _, err := t.root.Stat(filepath.FromSlash(folder)); err != nil {
		return "", err
	}
	var b strings.Builder
	listed := 0
	for _, f := range files {
		if folder != "." && !strings.HasPrefix(f.path, folder+"/") {
			continue
		}
		if listed < maxListed {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			if _, err := t.read(f.path); err != nil {
				continue // not a text file
			}
			fmt.Fprintf(&b, "%s\t%d bytes\n", f.path, f.size)
		}
		listed++
	}
	switch {
	case listed == 0:
		return "no files", nil
	case listed > maxListed:
		fmt.Fprintf(&b, "and %d more\n", listed-maxListed)
	}
	return b.String(), nil
}

// read returns the content of a text file. Only regular files up to a size are read; the size is checked while reading,
// not by the file's own claim.
func (t *Tools) read(name string) ([]byte, error) {
	name = filepath.FromSlash(name)
	stat, open, most := t.root.Stat, t.root.Open, int64(maxFile)
	if t.transcript != "" && filepath.Clean(name) == t.transcript {
		stat, open, most = os.Stat, os.Open, maxTranscript
	}
	if info, err := stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() { // opening a pipe or a device may wait
		return nil, fmt.Errorf("%s is not a regular file: name another", name)
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	err = errors.Join(err, f.Close())
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%s is larger than %d bytes", name, most)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("%s is not a text file", name)
	}
	return data, nil
}

// lines returns lines of a file, starting at offset, from 1, and the number of all lines.
func (t *Tools) lines(name string, offset, limit int) (string, int, error) {
	data, err := t.read(name)
	if err != nil {
		return "", 0, err
	}
	var b strings.Builder
	total := 0
	for line := range bytes.Lines(data) {
		if total++; total >= offset && (limit <= 0 || total-offset < limit) {
			b.Write(line)
		}
	}
	return b.String(), total, nil
}

func (t *Tools) search(ctx context.Context, pattern, name string) (string, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	files := []file{{path: name}}
	if name == "" {
		if files, err = t.files(ctx); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	found := 0
	for _, f := range files {
		data, err := t.read(f.path)
		if err != nil {
			if name == "" {
				continue
			}
			return "", err
		}
		number := 0
		for line := range bytes.Lines(data) {
			number++
			at := expression.FindIndex(line)
			if at == nil {
				continue
			}
			if found++; found <= maxMatches {
				fmt.Fprintf(&b, "%s:%d: %s\n", f.path, number, excerpt(line, at[0]))
			}
		}
	}
	switch {
	case found == 0:
		return "no matches", nil
	case found > maxMatches:
		fmt.Fprintf(&b, "and %d more\n", found-maxMatches)
	}
	return b.String(), nil
}

// excerpt returns the part of a line around a match at a byte.
func excerpt(line []byte, at int) string {
	from := max(0, at-maxExcerpt/4)
	to := min(len(line), from+maxExcerpt)
	return strings.TrimSpace(strings.ToValidUTF8(string(line[from:to]), ""))
}

func (t *Tools) count(name string) (string, error) {
	data, err := t.read(name)
	if err != nil {
		return "", err
	}
	lines := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		lines++
	}
	return fmt.Sprintf("%s: %d lines, %d words, %d bytes, sha256 %x", name, lines, len(bytes.Fields(data)), len(data), sha256.Sum256(data)), nil
}

// Describe describes an assistant message in a few words.
func Describe(m chat.Message) string {
	if len(m.ToolCalls) == 0 {
		return "answers"
	}
	var did []string
	for _, c := range m.ToolCalls {
		var args struct{ Path, Pattern string }
		_ = json.Unmarshal([]byte(c.Arguments), &args) // the tool says what is wrong with them
		if args.Path != "" {
			args.Path = path.Base(filepath.ToSlash(args.Path))
		}
		did = append(did, strings.TrimSpace(c.Name+" "+cmp.Or(args.Pattern, args.Path)))
	}
	return strings.Join(did, ", ")
}

// Sum returns the SHA-256 of a file, in hex, to check what a model says about it.
func (t *Tools) Sum(name string) (string, error) {
	data, err := t.read(name)
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}
