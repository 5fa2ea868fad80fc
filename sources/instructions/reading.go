package instructions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// The limits of a reading, in files, paths and levels.
const (
	maxFiles   = 100
	maxLookUps = 1000
	maxDepth   = 5
	maxFolders = 100
	maxPath    = 1024 // bytes of a path behind an @
)

// reading is what the files were at one time.
type reading struct {
	blocks []block
	files  map[string]string // the content of each file that was read, by path; "" if it could not be
}

// block is a file with its tag, as it is shown.
type block struct{ path, text string }

// node returns the block as an element that is pruned whole, a lower rank first.
func (b block) node(rank int) elements.Node {
	return chunk(elements.Props{ReportName: plaintext.PathLine(b.path), Priority: &rank}, b.text)
}

func chunk(props elements.Props, text string) elements.Node {
	return elements.TextChunk{Props: props, Children: elements.Nodes{elements.Text(text)}}
}

// equal reports whether two readings show the same and read the same.
func (r *reading) equal(other *reading) bool {
	return slices.Equal(r.blocks, other.blocks) && maps.Equal(r.files, other.files)
}

// has reports whether a path is shown on its own.
func (r *reading) has(path string) bool {
	return slices.ContainsFunc(r.blocks, func(b block) bool { return b.path == path })
}

// lost reports whether a file that had content before is gone, blank, or only the beginning of what it was.
func (r *reading) lost(before *reading) bool {
	for path, content := range before.files {
		if now := r.files[path]; now != content && (strings.TrimSpace(now) == "" || strings.HasPrefix(content, now)) {
			return true
		}
	}
	return false
}

// differ returns the paths of files that differ, in order.
func (r *reading) differ(next *reading) (paths []string) {
	for path, content := range r.files {
		if now, read := next.files[path]; !read || now != content {
			paths = append(paths, path)
		}
	}
	for path := range next.files {
		if _, read := r.files[path]; !read {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// loader makes a reading.
type loader struct {
	fsys           fs.FS
	maxFile, left  int // bytes
	files          map[string]string
	contents       map[string]string // paths, by the content that they were first shown with
	own            map[string]bool   // paths of files that are shown on their own
	read, lookedUp int               // files and paths
}

// load reads the files as they are now.
func (f *Files) load() (*reading, error) {
	if f.FS == nil {
		return nil, ErrNoFS
	}
	dir := path.Clean(f.Dir)
	folders := folders(dir)
	if !fs.ValidPath(dir) || len(folders) > maxFolders {
		return nil, fmt.Errorf("instructions: Files.Dir is %q: set a folder below the root, at most %d deep, such as services/api", f.Dir, maxFolders)
	}
	if f.found == nil || dir != *f.found { // one that is removed later shows no files of its own
		if info, err := fs.Stat(f.FS, dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("instructions: Files.Dir is %q: there is no such folder in Files.FS: set a folder below the root, or none", f.Dir)
		}
		f.found = &dir
	}
	names, rootNames := f.Names, f.RootNames
	if len(names) == 0 {
		names = DefaultNames()
	}
	if rootNames == nil {
		rootNames = DefaultRootNames()
	}
	l := &loader{
		fsys: f.FS, maxFile: f.MaxFile, left: f.MaxTotal, files: map[string]string{}, contents: map[string]string{}, own: map[string]bool{},
	}
	if l.maxFile <= 0 {
		l.maxFile = 64 << 10
	}
	if l.left <= 0 {
		l.left = 256 << 10
	}
	var found []string
	for _, name := range rootNames {
		if l.exists(name) && !l.own[name] {
			found, l.own[name] = append(found, name), true
		}
	}
	for _, folder := range folders {
		for _, name := range names {
			if name = path.Join(folder, name); l.exists(name) {
				if !l.own[name] {
					found, l.own[name] = append(found, name), true
				}
				break
			}
		}
	}
	r := &reading{files: l.files}
	for _, name := range slices.Backward(found) { // the nearest has the first claim to what there is room for
		if text := l.file(plaintext.InstructionsTag, name, 0); text != "" {
			r.blocks = append(r.blocks, block{name, text})
		}
	}
	slices.Reverse(r.blocks)
	return r, nil
}

// folders returns the folders from the root to dir.
func folders(dir string) []string {
	list := []string{"."}
	for at, c := range dir + "/" {
		if c == '/' && dir[:at] != "." {
			list = append(list, dir[:at])
		}
	}
	return list
}

// exists reports whether there is a regular file of a name, or a link in the path that cannot be followed.
func (l *loader) exists(name string) bool {
	info, err := fs.Stat(l.fsys, name)
	return err == nil && info.Mode().IsRegular() || err != nil && l.refuses(name, err)
}

// refuses reports whether an error means that something is there and cannot be read: it leads out of the root, or is not
// permitted. Any other means that nothing is there.
func (l *loader) refuses(name string, err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return false
	}
	if errors.Is(err, fs.ErrPermission) {
		return true
	}
	for at, c := range name + "/" {
		if c != '/' {
			continue
		}
		if info, err := fs.Lstat(l.fsys, name[:at]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

var (
	errUnreadable = errors.New("it cannot be read, or leads out of the root folder")
	errNotText    = errors.New("it is not text")
)

// content returns the beginning of a regular file, and its size in bytes.
func (l *loader) content(name string) (text string, size int, err error) {
	for range 3 { // a file that is written meanwhile is read again
		file, err := l.fsys.Open(name)
		if err != nil {
			return "", 0, errUnreadable
		}
		before, err := file.Stat()
		if err != nil || !before.Mode().IsRegular() {
			file.Close()
			return "", 0, errUnreadable
		}
		data, err := io.ReadAll(io.LimitReader(file, int64(l.maxFile)+1))
		after, statErr := file.Stat()
		file.Close()
		if err != nil || statErr != nil {
			return "", 0, errUnreadable
		}
		if bytes.IndexByte(data, 0) >= 0 {
			return "", 0, errNotText
		}
		text, size = string(data), max(int(after.Size()), len(data))
		if after.Size() == before.Size() && after.ModTime().Equal(before.ModTime()) && (len(data) > l.maxFile || len(data) == int(after.Size())) {
			break
		}
	}
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return text, size, nil
}

// note returns a tag that says something of a file whose text is not shown.
func note(tag plaintext.Tag, path, text string) string { return empty(tag, path, "note", text) }

// refused returns the tag of a file that is refused.
func refused(tag plaintext.Tag, path, why string) string { return empty(tag, path, "refused", why) }

// empty returns a tag without content, with the path of a file and another attribute.
func empty(tag plaintext.Tag, path, name, value string) string {
	return strings.TrimSuffix(tag.Open("path", path, name, value), ">") + "/>"
}

// file returns a file between tags, with its imports; "" if it is blank and shown on its own. It is depth imports deep.
func (l *loader) file(tag plaintext.Tag, name string, depth int) string {
	switch {
	case l.read >= maxFiles:
		return refused(tag, name, fmt.Sprintf("%d files were read already", maxFiles))
	case l.left <= 0:
		return refused(tag, name, "the limit of all instructions is reached")
	}
	l.read++
	text, size, err := l.content(name)
	l.files[name] = text
	if err != nil {
		return refused(tag, name, err.Error())
	}
	if strings.TrimSpace(text) == "" {
		if tag == plaintext.InstructionsTag {
			return ""
		}
		return note(tag, name, "the file is empty")
	}
	if first, known := l.contents[text]; known {
		if tag == plaintext.InstructionsTag {
			return ""
		}
		return note(tag, name, "the same as "+first)
	}
	l.contents[text] = name
	attributes := []string{"path", name}
	if limit := min(l.maxFile, l.left); len(text) > limit || size > l.maxFile {
		text = cut(text, min(limit, len(text)))
		attributes = append(attributes, "shown", fmt.Sprintf("the first %d bytes of %d", len(text), size))
	}
	l.left -= len(text)
	return tag.Holding(l.expand(text, name, depth), attributes...)
}

// cut returns the lines that are whole in the first limit bytes of a text; of a single line, the characters.
func cut(text string, limit int) string {
	text = text[:limit]
	if end := strings.LastIndexByte(text, '\n'); end > 0 {
		return text[:end+1]
	}
	for range utf8.UTFMax - 1 {
		if last, size := utf8.DecodeLastRuneInString(text); last == utf8.RuneError && size == 1 {
			text = text[:len(text)-1]
		}
	}
	return text
}

// expand returns the text of a file as data, with each import below the line that names it.
func (l *loader) expand(text, name string, depth int) string {
	var b strings.Builder
	at := 0
	for _, lines := range references(text) {
		var blocks []string
		for _, ref := range lines.paths {
			if imported := l.imported(ref, name, depth+1); imported != "" {
				blocks = append(blocks, imported)
			}
		}
		if len(blocks) == 0 {
			continue
		}
		line := text[at:lines.end]
		b.WriteString(asData(line))
		if !strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Join(blocks, "\n") + "\n")
		at = lines.end
	}
	b.WriteString(asData(text[at:]))
	return b.String()
}

// asData returns text from a file as it may stand between the tags.
func asData(text string) string {
	return plaintext.Outside(strings.ToValidUTF8(text, "\ufffd"))
}

// windowsPath matches the beginning of an absolute path of Windows.
var windowsPath = regexp.MustCompile(`^(?:[A-Za-z]:[\\/]|\\\\)`)

// imported returns what is shown for a path behind an @ in a file; "" if it names no file.
func (l *loader) imported(ref, in string, depth int) string {
	l.lookedUp++
	switch {
	case len(ref) > maxPath, l.lookedUp > maxLookUps+1:
		return ""
	case l.lookedUp > maxLookUps:
		return refused(plaintext.ImportedTag, ref, fmt.Sprintf("%d paths were looked up already; this and all others are not", maxLookUps))
	case ref[0] == '/', ref[0] == '~', windowsPath.MatchString(ref):
		return refused(plaintext.ImportedTag, ref, "only paths relative to the file are imported")
	}
	name := ""
	for tried := ref; name == ""; {
		at := path.Join(path.Dir(in), tried)
		if at == ".." || strings.HasPrefix(at, "../") {
			return refused(plaintext.ImportedTag, ref, "it leads out of the root folder")
		}
		if fs.ValidPath(at) && l.exists(at) {
			name = at
			break
		}
		shorter := strings.TrimRight(tried, ".,;:!?)]}'\"*_>")
		if shorter == "" || shorter == tried {
			return ""
		}
		tried = shorter
	}
	switch {
	case l.own[name]:
		return note(plaintext.ImportedTag, name, "the file is shown on its own")
	case depth > maxDepth:
		return refused(plaintext.ImportedTag, name, fmt.Sprintf("imports are at most %d deep", maxDepth))
	}
	if _, read := l.files[name]; read {
		return note(plaintext.ImportedTag, name, "the file is shown elsewhere in these instructions")
	}
	return l.file(plaintext.ImportedTag, name, depth)
}
