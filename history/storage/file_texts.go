package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/internal/filelock"
)

// ErrForeign is returned if something that promptree did not write has the place of a file or folder of its own. It is
// neither changed nor removed.
var ErrForeign = errors.New("storage: something that promptree did not write is in the way")

func foreign(path string) error {
	return fmt.Errorf("%w: %s: move it away, and open the log again", ErrForeign, path)
}

// textsSuffix is the suffix of the folder beside a log that holds the texts of its long entries.
const textsSuffix = ".texts"

// textPart matches the names of texts that are being written, or were when a process died.
var textPart = regexp.MustCompile(`^\.promptree-[A-Z2-7]{26}\.part$`)

// textMark ends what a [File] knows of the first line of a text.
const textMark = "), word for word from line 3 on."

// textStart returns how the first line of an entry's text starts.
func textStart(id string) string {
	if !isFileName(id) {
		id = strconv.Quote(id)
	}
	return "Entry " + id + " ("
}

// TextHead returns the start of the first line of an entry's text, by which a [File] knows that it wrote it, with a few
// words about the entry. The rest of the line and the next line are the caller's.
func TextHead(id, about string) string { return textStart(id) + about + textMark }

// isFileName reports whether an id may be the name of a file everywhere.
func isFileName(id string) bool {
	const plain = "0123456789abcdefghijklmnopqrstuvwxyz_-"
	return id != "" && len(id) <= 64 && strings.Trim(id, plain) == ""
}

// textName returns the name of the file of an entry's text: its id, or a digest if the id may not be a name everywhere.
func textName(id string) string {
	if !isFileName(id) {
		sum := sha256.Sum256([]byte(id))
		return fmt.Sprintf("id-%x.txt", sum[:16])
	}
	return id + ".txt"
}

// isText reports whether a file of a name that starts with a line is the text of an entry.
func isText(name, line string) bool {
	id := strings.TrimSuffix(name, ".txt")
	rest, _ := strings.CutPrefix(line, "Entry ")
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		id, _ = strconv.Unquote(quoted)
	}
	return textName(id) == name && strings.HasPrefix(line, textStart(id)) && strings.Contains(line, textMark)
}

// TextPath returns the path of the text of an entry, in the folder beside the log that has its name with ".texts". It is
// "" if [FileOptions] turn texts off, or something foreign is in the way ([File.TextsErr]).
func (f *File) TextPath(id string) string {
	if f.options.NoTexts || errors.Is(f.TextsErr(), ErrForeign) {
		return ""
	}
	return filepath.Join(f.path+textsSuffix, textName(id))
}

// TextsErr returns why texts are missing, or why some are left that should not be; nil if the texts are in step with the
// log. It is an [ErrForeign] if the folder of the texts, or a text, could not be written because something else has its
// place: then no texts are kept until the log is opened again.
func (f *File) TextsErr() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.textsErr
}

// setTextsErr records an error, unless a foreign file was found before.
func (f *File) setTextsErr(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && !errors.Is(f.textsErr, ErrForeign) {
		f.textsErr = err
	}
}

// texts opens the folder of texts, which must not be a link to one. The error is an [fs.ErrNotExist] if there is none, as
// there is none on a Disk of the caller's.
func (f *File) texts() (*os.Root, error) {
	if !f.onDisk {
		return nil, fs.ErrNotExist
	}
	dir := f.path + textsSuffix
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = foreign(dir)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) { // replaced since Lstat
		return nil, errors.Join(foreign(dir), root.Close())
	}
	return root, nil
}

// ownText returns nil for a file that is the text of an entry, an [fs.ErrNotExist] if there is none, and [ErrForeign] for
// anything else.
func ownText(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return foreign(filepath.Join(root.Name(), name))
	}
	file, err := root.OpenFile(name, os.O_RDONLY|filelock.OpenFlags, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 1<<10))
	if line, _, _ := bytes.Cut(head, []byte("\n")); err == nil && !isText(name, string(line)) {
		err = foreign(filepath.Join(root.Name(), name))
	}
	return err
}

// WriteText writes the text of an entry, which begins with its [TextHead], whole or not at all. It is durable with the next
// Append. If something foreign is in the way, no text is written from then on ([File.TextsErr]).
func (f *File) WriteText(_ context.Context, id string, text []byte) error {
	if f.TextPath(id) == "" {
		return nil
	}
	err := f.writeText(id, text)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrForeign):
		f.setTextsErr(err)
		return nil
	}
	return fmt.Errorf("storage: writing the text of entry %q: %w", id, err)
}

func (f *File) writeText(id string, text []byte) error {
	if err := os.Mkdir(f.path+textsSuffix, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := f.texts()
	if err != nil {
		return err
	}
	defer root.Close()
	name, part := textName(id), ".promptree-"+rand.Text()+".part"
	if err := ownText(root, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil && f.options.Sync == SyncAlways {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return nil
}

// RemoveText removes the text of an entry, if there is one, also if [FileOptions] turn texts off.
func (f *File) RemoveText(_ context.Context, id string) error {
	root, err := f.texts()
	if err == nil {
		defer root.Close()
		err = removeText(root, textName(id))
	}
	return removing(err)
}

// removing returns the error of a removal of texts. Where promptree has no folder, nothing of its own is left.
func removing(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrForeign) {
		return nil
	}
	return fmt.Errorf("storage: removing texts: %w", err)
}

// removeText removes a file if promptree wrote it.
func removeText(root *os.Root, name string) error {
	var err error
	if !textPart.MatchString(name) {
		err = ownText(root, name)
	}
	if err == nil {
		err = root.Remove(name)
	}
	return removing(err)
}

// removeAllTexts removes the texts of all entries, and their folder if nothing else is in it.
func (f *File) removeAllTexts() error {
	root, err := f.texts()
	if err != nil {
		return removing(err)
	}
	files, err := fs.ReadDir(root.FS(), ".")
	errs := []error{err}
	for _, file := range files {
		errs = append(errs, removeText(root, file.Name()))
	}
	if err = errors.Join(append(errs, root.Close())...); err == nil {
		_ = os.Remove(f.path + textsSuffix) // which fails if there is anything in it
	}
	return removing(err)
}

// MendTexts brings the texts in step with the log, after opening for writing: it writes those that are missing, unless
// texts are turned off, and removes those of entries that the log does not have, as a process that died leaves them. Each
// calls a function with the id of each entry that has a text, and with what returns the text. It reads the log only if
// something may be amiss: the last writer died, one of the recent texts is missing, or the folder was changed since the
// log was. An error is not returned but recorded ([File.TextsErr]).
func (f *File) MendTexts(ctx context.Context, recent []string, each func(func(id string, text func() []byte) error) error) {
	f.setTextsErr(f.mendTexts(ctx, recent, each))
}

func (f *File) mendTexts(ctx context.Context, recent []string, each func(func(id string, text func() []byte) error) error) error {
	stale := f.crashed || f.recovery != nil
	left := map[string]bool{} // files that no entry of the log has
	root, err := f.texts()
	if err == nil {
		defer root.Close()
		files, err := fs.ReadDir(root.FS(), ".")
		folder, statErr := root.Stat(".")
		log, logErr := os.Stat(f.path)
		if err = errors.Join(err, statErr, logErr); err != nil {
			return err
		}
		for _, file := range files {
			left[file.Name()] = true
		}
		stale = stale || !folder.ModTime().Before(log.ModTime())
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, id := range recent {
		stale = stale || !left[textName(id)]
	}
	if !stale || len(left) == 0 && f.options.NoTexts {
		return nil
	}
	err = each(func(id string, text func() []byte) error {
		if had := left[textName(id)]; had {
			delete(left, textName(id))
			return nil
		}
		return f.WriteText(ctx, id, text())
	})
	if err != nil {
		return err // it is not known which entries the log has
	}
	var errs []error
	for name := range left {
		errs = append(errs, removeText(root, name))
	}
	return errors.Join(errs...)
}
