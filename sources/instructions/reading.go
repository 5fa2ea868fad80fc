package instructions

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/sources/internal/kept"
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
	room   int               // tokens that they might take
	cut    []string          // paths of files that are shown in part or, beyond the limits, not
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
	all := maps.Clone(r.files)
	maps.Copy(all, next.files)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		was, before := r.files[path]
		if is, now := next.files[path]; now != before || is != was {
			paths = append(paths, path)
		}
	}
	return paths
}

// loader makes a reading.
type loader struct {
	fsys         fs.FS
	tokenizer    chat.Tokenizer // nil if tokens are not limited
	maxFile      int            // bytes
	left, tokens int            // bytes and tokens that are not shown yet
	full         bool           // the limit was reached, and is said
	*reading
	contents       map[string]string // paths, by the content that they were first shown with
	own            map[string]bool   // paths of files that are shown on their own
	read, lookedUp int               // files and paths
}

// load reads the files as they are now.
func (f *Files) load(s elements.Sizing) (*reading, error) {
	if f.FS == nil {
		return nil, errors.New("instructions: Files.FS is not set: set the FS of an os.Root of the project's folder")
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
	r := &reading{files: map[string]string{}, room: kept.Share(f.Share, kept.Instructions, s)}
	l := &loader{
		fsys: f.FS, tokenizer: s.Tokenizer, maxFile: cmp.Or(max(0, f.MaxFile), 64<<10), left: cmp.Or(max(0, f.MaxTotal), 256<<10), tokens: r.room,
		reading: r, contents: map[string]string{}, own: map[string]bool{},
	}
	var found []string
	for _, name := range rootNames {
		if l.exists(name) && !l.own[name] {
			found, l.own[name] = append(found, name), true
		}
	}
	for _, folder := range folders {
		for _, name := range names {
			if name = path.Join(folder, name); l.exists(name) && !l.isBlank(name) {
				if !l.own[name] {
					found, l.own[name] = append(found, name), true
				}
				break
			}
		}
	}
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

// exists reports whether there is a regular file of a name, or something that cannot be read: because it leads out of the
// root, or is not permitted. Any other error means that nothing is there.
func (l *loader) exists(name string) bool {
	info, err := fs.Stat(l.fsys, name)
	switch {
	case err == nil:
		return info.Mode().IsRegular()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return false
	}
	return errors.Is(err, fs.ErrPermission) || l.link(name) >= 0
}

// isBlank reports whether a file can be read and has no text, which is recorded: it may be that it is being saved.
func (l *loader) isBlank(name string) bool {
	text, _, err := l.content(name)
	if err != nil || strings.TrimSpace(text) != "" {
		return false
	}
	l.files[name] = text
	return true
}

// link returns where the first symbolic link in a path ends, -1 if there is none.
func (l *loader) link(name string) int {
	for at, c := range name + "/" {
		if c != '/' {
			continue
		}
		if info, err := fs.Lstat(l.fsys, name[:at]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return at
		}
	}
	return -1
}

// mostLinks is how many symbolic links of a path are followed.
const mostLinks = 40

// target returns the path to which the symbolic links in another lead, "" if that is not known.
func (l *loader) target(name string) string {
	for range mostLinks {
		at := l.link(name)
		if at < 0 {
			return name
		}
		to, err := fs.ReadLink(l.fsys, name[:at])
		if err != nil {
			break
		}
		name = path.Join(path.Dir(name[:at]), filepath.ToSlash(to), name[at:])
	}
	return ""
}

var (
	errUnreadable = errors.New("it cannot be read, or leads out of the root folder")
	errNotText    = errors.New("it is not text")
	errLink       = errors.New("it is a link to a file that is not imported")
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
	if to := l.target(name); to != name && !importable(to) {
		return "", 0, errLink
	}
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return text, size, nil
}

// say returns a tag that says something of a file whose text is not shown: a note, or why it is refused.
func (l *loader) say(tag plaintext.Tag, path, kind, text string) string {
	return l.spend(tag, path, empty(tag, path, kind, text))
}

// spend returns a tag that stands for a file if there is room for it; beyond the limits one that says so, once.
func (l *loader) spend(tag plaintext.Tag, path, text string) string {
	if l.fits(text) {
		l.take(text)
		return text
	}
	l.cut = append(l.cut, path)
	if l.full {
		return ""
	}
	l.full, l.left = true, 0
	return empty(tag, plaintext.OneLine(path, 60), "refused", beyond)
}

// beyond says that neither a file nor what follows it is shown.
const beyond = "the limit of all instructions is reached"

// fits reports whether there is room for a text as it is shown. No text has more tokens than bytes.
func (l *loader) fits(text string) bool {
	return len(text) <= l.left && (l.tokenizer == nil || len(text) <= l.tokens || l.tokenizer.CountText(text) <= l.tokens)
}

// take takes the room of a text that is shown.
func (l *loader) take(text string) {
	l.left -= len(text)
	if l.tokenizer != nil {
		l.tokens -= l.tokenizer.CountText(text)
	}
}

// empty returns a tag without content, with the path of a file and another attribute.
func empty(tag plaintext.Tag, path, name, value string) string {
	return strings.TrimSuffix(tag.Open("path", path, name, value), ">") + "/>"
}

// file returns a file between tags, with its imports; "" if it is blank and shown on its own. It is depth imports deep.
func (l *loader) file(tag plaintext.Tag, name string, depth int) string {
	switch {
	case l.read >= maxFiles:
		return l.say(tag, name, "refused", fmt.Sprintf("%d files were read already", maxFiles))
	case l.full:
		l.cut = append(l.cut, name)
		return ""
	}
	l.read++
	text, size, err := l.content(name)
	l.files[name] = text
	if err != nil {
		return l.say(tag, name, "refused", err.Error())
	}
	first, known := l.contents[text]
	switch blank := strings.TrimSpace(text) == ""; {
	case (blank || known) && tag == plaintext.InstructionsTag:
		return ""
	case blank:
		return l.say(tag, name, "note", "the file is empty")
	case known:
		return l.say(tag, name, "note", "the same as "+first)
	}
	l.contents[text] = name
	whole := tag.Holding("", "path", name, "shown", fmt.Sprintf(shownOf, size, size)) + "\n"
	if !l.fits(whole) {
		return l.spend(tag, name, whole)
	}
	l.take(whole)
	attributes := []string{"path", name}
	if part := l.part(text); len(part) < len(text) || size > l.maxFile {
		if text = part; text == "" {
			l.left = 0
			return l.spend(tag, name, whole)
		}
		attributes = append(attributes, "shown", fmt.Sprintf(shownOf, len(text), size))
		l.cut = append(l.cut, name)
	}
	l.take(asData(text))
	return tag.Holding(l.expand(text, name, depth), attributes...)
}

const shownOf = "the first %d bytes of %d"

// part returns as much of the beginning of a text as there is room for.
func (l *loader) part(text string) string {
	within := func(n int) bool {
		shown := asData(cut(text, n))
		return len(shown) <= l.maxFile && l.fits(shown)
	}
	if len(text) <= l.maxFile && within(len(text)) {
		return text
	}
	return cut(text, max(0, kept.MostThat(1, min(len(text), l.maxFile), within)))
}

// cut returns the lines that are whole in the first limit bytes of a text; of a single line, the characters.
func cut(text string, limit int) string {
	if end := strings.LastIndexByte(text[:limit], '\n'); end > 0 && limit < len(text) {
		return text[:end+1]
	}
	return text[:plaintext.Align(text, limit)]
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
		return l.say(plaintext.ImportedTag, ref, "refused", fmt.Sprintf("%d paths were looked up already; this and all others are not", maxLookUps))
	case ref[0] == '/', ref[0] == '~', windowsPath.MatchString(ref):
		return l.say(plaintext.ImportedTag, ref, "refused", "only paths relative to the file are imported")
	}
	name := ""
	for tried := ref; name == ""; {
		at := path.Join(path.Dir(in), tried)
		if at == ".." || strings.HasPrefix(at, "../") {
			return l.say(plaintext.ImportedTag, ref, "refused", "it leads out of the root folder")
		}
		if fs.ValidPath(at) && importable(at) && l.exists(at) {
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
		return l.say(plaintext.ImportedTag, name, "note", "the file is shown on its own")
	case depth > maxDepth:
		return l.say(plaintext.ImportedTag, name, "refused", fmt.Sprintf("imports are at most %d deep", maxDepth))
	}
	if _, read := l.files[name]; read {
		return l.say(plaintext.ImportedTag, name, "note", "the file is shown elsewhere in these instructions")
	}
	return l.file(plaintext.ImportedTag, name, depth)
}

// importable reports whether a path may be one of instructions: no part of it is .git, and with a part that begins with a
// dot, such as .env, it ends as Markdown or text does.
func importable(name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	return name != "" && !slices.Contains(parts, ".git") && (slices.Contains([]string{".md", ".mdc", ".markdown", ".txt"}, path.Ext(strings.ToLower(name))) ||
		!slices.ContainsFunc(parts, func(part string) bool { return part[0] == '.' }))
}
