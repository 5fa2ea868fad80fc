// Package sessionfile reads the recorded sessions that a command line names.
package sessionfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/regular"
)

// Stdin is the path that stands for the standard input.
const Stdin = "-"

// Open opens a regular file, the files of a folder as one, or the standard input for [Stdin]. The error is a
// [program.UsageError].
func Open(path string) (io.ReadCloser, error) {
	if path == Stdin {
		return io.NopCloser(os.Stdin), nil
	}
	if isFolder(path) {
		all, err := folder(path)
		if err != nil {
			err = program.UsageError{Err: err}
		}
		return io.NopCloser(bytes.NewReader(all)), err
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, program.UsageError{Err: err}
	}
	return f, nil
}

var number = regexp.MustCompile(`\d+`)

// folder returns the JSON files of a folder, or of the folder events in it, one on each line, in the order of the first
// numbers in their names. OpenHands keeps each event in a file of its own.
func folder(path string) ([]byte, error) {
	if events := filepath.Join(path, "events"); isFolder(events) {
		path = events
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() || filepath.Ext(e.Name()) != ".json" || !number.MatchString(e.Name())
	})
	if len(entries) == 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is a directory without files of events (0.json, 1.json, …): name a file")}
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
		x, y := strings.TrimLeft(number.FindString(a.Name()), "0"), strings.TrimLeft(number.FindString(b.Name()), "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
	var all bytes.Buffer
	for _, e := range entries {
		f, err := regular.Open(filepath.Join(path, e.Name()))
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if json.Compact(&all, data) != nil { // the importer says what is wrong
			all.Write(bytes.ReplaceAll(data, []byte("\n"), []byte(" ")))
		}
		all.WriteByte('\n')
	}
	return all.Bytes(), nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Read reads a session in any format from a file, or from the standard input for [Stdin]. The error is a
// [program.UsageError] that begins with the path, followed by the number of the line if one line is wrong.
func Read(path string, o importer.Options) (*importer.Recording, error) { return ReadAs(path, path, o) }

// ReadAs acts as [Read], and names the file otherwise in errors. A file that is being written is read as far as it goes
// when it is opened.
func ReadAs(name, path string, o importer.Options) (*importer.Recording, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := io.Reader(f)
	if file, ok := f.(*os.File); ok {
		info, err := file.Stat()
		if err != nil {
			return nil, program.UsageError{Err: err}
		}
		in = io.LimitReader(file, info.Size())
	}
	r, err := o.Read(in)
	if err != nil {
		return nil, program.UsageError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	return r, nil
}
