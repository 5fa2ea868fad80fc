// Package sessionfile reads the recorded sessions, and the catalogue of models, that a command line names.
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
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// Stdin is the path that stands for the standard input.
const Stdin = "-"

// Files returns the files that a path stands for: itself, or of a folder all that may be recordings, with those of the folders in
// it, in the order of their names. A folder of OpenHands is one recording.
func Files(path string) (files []string, err error) {
	if _, err := folder(path); !isFolder(path) || err == nil {
		return []string{path}, nil
	}
	err = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && slices.Contains([]string{".json", ".jsonl", ".md"}, filepath.Ext(file)) {
			files = append(files, file)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no file in it has a name that ends in .jsonl, .json or .md: name a file", path)
	}
	if err != nil {
		return nil, program.UsageError{Err: err}
	}
	return files, nil
}

// event matches the name of a file that holds an event of OpenHands.
var event = regexp.MustCompile(`^(?:event-)?0*(\d+)(?:-[0-9a-f-]+)?\.json$`)

// folder returns the events of a folder, or of the folder events in it, one on each line, in the order of the numbers in
// their names. OpenHands keeps each event in a file of its own.
func folder(path string) ([]byte, error) {
	if events := filepath.Join(path, "events"); isFolder(events) {
		path = events
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() || !event.MatchString(e.Name())
	})
	if len(entries) == 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is a directory without files of events (0.json, 1.json, …): name a file")}
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
		x, y := event.FindStringSubmatch(a.Name())[1], event.FindStringSubmatch(b.Name())[1]
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

// read reads a session in any format from a file, as far as it goes when it is opened, or from the files of a folder. An
// error about the content begins with a name, followed by the number of the line if one line is wrong.
func read(name, path string, o importer.Options) (*importer.Recording, error) {
	var in io.Reader
	if isFolder(path) {
		all, err := folder(path)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(all)
	} else {
		f, err := regular.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		in = io.LimitReader(f, info.Size())
	}
	r, err := o.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// ModelsUsage describes the flag -models.
const ModelsUsage = "read windows and prices of models from this JSON of models.dev, LiteLLM or catwalk, over those that the program has"

// Models returns the table of models, with the catalogue in a file over it if one is named.
func Models(path string) (*modelinfo.Table, error) {
	if path == "" {
		return modelinfo.Published(), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("-models: %w", err)
	}
	defer file.Close()
	table, err := modelinfo.Read(file)
	if err != nil {
		return nil, fmt.Errorf("-models: %s: %w", path, err)
	}
	return table, nil
}
