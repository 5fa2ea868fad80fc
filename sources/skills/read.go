package skills

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/promptree-go/promptree/internal/plaintext"
)

// The limits of what is read, beside [Skills].MaxFile.
const (
	mostSkills      = 1000
	mostFolders     = 2000 // that are looked through for skills, in all of Folders
	mostEntries     = 4096 // of one folder
	deepest         = 4    // levels below Folders at which a skill may be
	mostMatter      = 32 << 10
	mostName        = 64
	mostDescription = 1024
	mostFiles       = 40 // that are listed beside a skill's body
	mostPath        = 512
)

// bodyFile is the file with the front matter and the instructions of a skill.
const bodyFile = "SKILL.md"

// found is what was found in the folders.
type found struct {
	skills  []Skill
	notes   []Note
	folders int
	full    bool
}

func (s *Skills) read() *found {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found != nil {
		return s.found
	}
	f := &found{}
	names := map[string]bool{}
	for i, in := range s.Folders {
		if in == nil {
			f.note(fmt.Sprintf("Folders[%d]", i), "left out: it is nil: %s", setFolder)
			continue
		}
		first := len(f.skills)
		f.look(in, ".", 0)
		list := f.skills[first:]
		slices.SortFunc(list, func(a, b Skill) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Folder, b.Folder)) })
		f.skills = f.skills[:first]
		for _, sk := range list {
			switch {
			case names[sk.Name]:
				f.note(sk.Folder, "left out: a skill named %q comes before it", sk.Name)
			case s.Allow == nil || s.Allow(sk):
				names[sk.Name] = true
				f.skills = append(f.skills, sk)
			}
		}
	}
	s.found = f
	return f
}

func (f *found) note(path, format string, args ...any) {
	if len(f.notes) < mostSkills {
		f.notes = append(f.notes, Note{Path: path, Text: fmt.Sprintf(format, args...)})
	}
}

// look adds the skills in a folder and the folders in it.
func (f *found) look(in fs.FS, dir string, depth int) {
	if f.folders++; f.folders > mostFolders || len(f.skills) == mostSkills {
		if !f.full {
			f.note(dir, "left out with all that follows: more than %d skills or %d folders", mostSkills, mostFolders)
		}
		f.full = true
		return
	}
	if depth > 0 {
		if info, err := fs.Stat(in, path.Join(dir, bodyFile)); err == nil || !errors.Is(err, fs.ErrNotExist) {
			if err == nil && info.IsDir() {
				err = errors.New("it is a folder")
			}
			f.add(in, dir, err)
			return
		}
	}
	entries, err := entriesOf(in, dir)
	if err != nil {
		f.note(dir, "left out: %v", err)
		return
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch link := e.Type()&fs.ModeSymlink != 0; {
		case strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules":
		case strings.EqualFold(e.Name(), bodyFile) && !e.IsDir():
			f.note(name, "left out: a skill is a folder with a file %s, in one of Folders", bodyFile)
		case link && depth == 0: // a folder that is elsewhere, as far as the file system follows
			if info, err := fs.Stat(in, name); err != nil {
				f.note(name, "left out: %v", err)
			} else if info.IsDir() {
				f.look(in, name, deepest)
			}
		case e.IsDir() && depth < deepest:
			f.look(in, name, depth+1)
		}
	}
}

// entriesOf returns the entries of a folder by name, at most [mostEntries].
func entriesOf(in fs.FS, dir string) ([]fs.DirEntry, error) {
	d, err := in.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, ok := d.(fs.ReadDirFile)
	if !ok {
		return nil, errors.New("not a folder")
	}
	entries, err := list.ReadDir(mostEntries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

// add adds the skill in a folder, or notes why not.
func (f *found) add(in fs.FS, dir string, err error) {
	file := path.Join(dir, bodyFile)
	text := ""
	if err == nil {
		text, err = readText(in, dir, bodyFile, mostMatter, true)
	}
	var matter map[string]any
	if err == nil {
		head, _, ok := cutMatter(text)
		if !ok {
			err = fmt.Errorf("it does not begin with front matter between lines of --- within %d bytes", mostMatter)
		} else {
			matter, err = f.parse(file, head)
		}
	}
	name, description := textOf(matter["name"]), textOf(matter["description"])
	if err == nil && description == "" {
		err = errors.New("it has no description")
	}
	if err != nil {
		f.note(file, "left out: %v", err)
		return
	}
	folder := path.Base(dir)
	if name != folder {
		f.note(file, "the name %q differs from the folder's", plaintext.OneLine(name, 100))
	}
	if !valid(name) {
		if name = strings.ToLower(folder); !valid(name) {
			f.note(file, "left out: a name has 1 to %d lowercase letters, digits and single hyphens between them", mostName)
			return
		}
	}
	if utf8.RuneCountInString(description) > mostDescription {
		f.note(file, "the description has more than %d characters", mostDescription)
		description = string([]rune(description)[:mostDescription])
	}
	f.skills = append(f.skills, Skill{Name: name, Description: description, Matter: matter, Folder: dir, in: in})
}

// textOf returns a field of front matter as text, "" for one that is a list or has fields itself.
func textOf(field any) string {
	switch field.(type) {
	case nil, []any, map[string]any:
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(field))
}

// properName matches the names by the specification, without their limit.
var properName = regexp.MustCompile(`^[\p{Ll}\p{Lt}\p{Lm}\p{Lo}\p{Nd}]+(-[\p{Ll}\p{Lt}\p{Lm}\p{Lo}\p{Nd}]+)*$`)

// valid reports whether a name is one by the specification.
func valid(name string) bool {
	return utf8.RuneCountInString(name) <= mostName && properName.MatchString(name)
}

// fieldLine matches the first line of a field of front matter.
var fieldLine = regexp.MustCompile(`(?m)^([A-Za-z][\w-]*):(?:[ \t]+|\r?$)`)

// mostFields is how many fields of front matter are read.
const mostFields = 100

// parse reads front matter. What is not YAML as a whole, as by a colon in a value, is read field by field, with a note.
func (f *found) parse(file, head string) (map[string]any, error) {
	matter, err := decode(head)
	if err == nil {
		return matter, nil
	}
	fields, matter := fieldLine.FindAllStringSubmatchIndex(head, mostFields), map[string]any{}
	for i, at := range fields {
		end := len(head)
		if i+1 < len(fields) {
			end = fields[i+1][0]
		}
		name := head[at[2]:at[3]]
		if field, err := decode(head[at[0]:end]); err == nil {
			matter[name] = field[name]
		} else {
			matter[name] = strings.Join(strings.Fields(head[at[1]:end]), " ")
		}
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("its front matter is not YAML: %s", plaintext.OneLine(err.Error(), 300))
	}
	f.note(file, "its front matter is not YAML, and was read field by field: put values with a colon or brackets in quotes: %s", plaintext.OneLine(err.Error(), 300))
	return matter, nil
}

// decode reads YAML. Whatever the parser makes of hostile text, it is that text's mistake.
func decode(text string) (matter map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	var node yaml.Node
	if err = yaml.Unmarshal([]byte(text), &node); err == nil {
		err = unlike(&node)
	}
	if err == nil {
		err = node.Decode(&matter)
	}
	return matter, err
}

// unlike returns an error if fields have the same name or are too many: the parser's decoder compares each with each,
// and has an error for each pair.
func unlike(node *yaml.Node) error {
	names := map[string]bool{}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			if names[child.Value] || len(names) == mostFields {
				return fmt.Errorf("line %d: a field is there twice, or is one of more than %d", child.Line, mostFields)
			}
			names[child.Value] = true
		}
		if err := unlike(child); err != nil {
			return err
		}
	}
	return nil
}

// cutMatter divides a text into its front matter and what follows.
func cutMatter(text string) (head, body string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(text, "\uFEFF"), "---")
	first, rest, more := strings.Cut(rest, "\n")
	if !ok || !more || strings.TrimSpace(first) != "" {
		return "", "", false
	}
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t\r") == "---" {
			return rest[:at], strings.TrimPrefix(rest[at+len(line):], "\n"), true
		}
		at += len(line) + 1
	}
	return "", "", false
}

// readText reads a text file of a skill's folder, at most limit bytes; a larger one is an error unless its head is
// enough. No symbolic link is followed below the folder, so nothing outside of it is read.
func readText(in fs.FS, folder, file string, limit int64, head bool) (string, error) {
	if !fs.ValidPath(file) || file == "." || len(file) > mostPath || strings.Contains(file, `\`) {
		return "", errors.New("not a path in the skill's folder: write it as references/guide.md, without .. and without a / at its start")
	}
	var info fs.FileInfo
	for at, r := range file + "/" {
		if r != '/' {
			continue
		}
		var err error
		if info, err = fs.Lstat(in, path.Join(folder, file[:at])); err != nil {
			return "", outcome(err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return "", errors.New("a symbolic link, which is not followed")
		}
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := in.Open(path.Join(folder, file))
	if err != nil {
		return "", outcome(err)
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || os.SameFile(info, info) && !os.SameFile(info, opened) {
		return "", errors.New("it changed while it was opened: try again")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", outcome(err)
	}
	if int64(len(data)) > limit {
		if !head {
			return "", fmt.Errorf("it has more than %d bytes", limit)
		}
		data = bytes.ToValidUTF8(data[:limit], nil)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", fmt.Errorf("not text: %d bytes", len(data))
	}
	return string(data), nil
}

// outcome returns what went wrong without the paths of the machine.
func outcome(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// filesOf lists the files of a skill's folder without [bodyFile], those of its own level first, at most [mostFiles], and
// reports whether these are all.
func filesOf(sk Skill) (files []string, all bool) {
	seen := 0
	for dirs := []string{"."}; len(dirs) > 0; dirs = dirs[1:] {
		entries, _ := entriesOf(sk.in, path.Join(sk.Folder, dirs[0])) // what cannot be listed may still be loaded
		for _, e := range entries {
			name := path.Join(dirs[0], e.Name())
			if seen++; seen > mostEntries || len(files) == mostFiles {
				return files, false
			}
			switch {
			case strings.HasPrefix(e.Name(), "."), name == bodyFile:
			case e.Type().IsRegular():
				files = append(files, name)
			case e.IsDir() && strings.Count(name, "/") < deepest:
				dirs = append(dirs, name)
			}
		}
	}
	return files, true
}
