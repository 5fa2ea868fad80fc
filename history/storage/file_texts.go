package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// textsSuffix is the suffix of the folder beside a log that holds the texts of its long entries.
const textsSuffix = ".texts"

// partSuffix ends the name of a text that is being written.
const partSuffix = ".part"

// TextPath returns the path of the text of an entry, in the folder beside the log that has its name with ".texts". It is
// "" if [FileOptions] turn texts off.
func (f *File) TextPath(id string) string {
	if f.options.NoTexts {
		return ""
	}
	return filepath.Join(f.path+textsSuffix, textName(id))
}

// textName returns the name of the file of an entry's text: its id, or a digest if the id may not be a name everywhere.
func textName(id string) string {
	const plain = "0123456789abcdefghijklmnopqrstuvwxyz_-"
	if id == "" || len(id) > 64 || strings.Trim(id, plain) != "" {
		sum := sha256.Sum256([]byte(id))
		return fmt.Sprintf("id-%x.txt", sum[:16])
	}
	return id + ".txt"
}

// WriteText writes the text of an entry, whole or not at all. It is durable with the next Append.
func (f *File) WriteText(_ context.Context, id string, text []byte) (err error) {
	path := f.TextPath(id)
	if path == "" {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("storage: writing the text of entry %q: %w", id, err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), "*"+partSuffix)
	if err != nil {
		return err
	}
	_, err = part.Write(text)
	if err == nil && f.options.Sync == SyncAlways {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}

// RemoveText removes the text of an entry, if there is one.
func (f *File) RemoveText(_ context.Context, id string) error {
	path := f.TextPath(id)
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("storage: removing the text of entry %q: %w", id, err)
	}
	return nil
}

// removeTexts removes the texts of all entries, and their folder if nothing else is in it.
func (f *File) removeTexts() error {
	if f.options.NoTexts {
		return nil
	}
	dir := f.path + textsSuffix
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range files {
		if name := file.Name(); strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, partSuffix) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
	}
	if rest, _ := os.ReadDir(dir); err == nil && len(rest) == 0 {
		err = os.Remove(dir)
	}
	return err
}

// SweepTexts removes what a process that died while it wrote a text has left: texts that are not whole, and those of
// entries that were not appended. Call it after opening for writing. Has reports whether the log has an entry.
func (f *File) SweepTexts(has func(id string) (bool, error)) error {
	if f.options.NoTexts {
		return nil
	}
	dir := f.path + textsSuffix
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	log, statErr := os.Stat(f.path)
	if err = errors.Join(err, statErr); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			continue // it was removed
		}
		id, whole := strings.CutSuffix(file.Name(), ".txt")
		stray := !whole && strings.HasSuffix(id, partSuffix)
		if whole && !info.ModTime().Before(log.ModTime()) && !strings.HasPrefix(id, "id-") {
			known, err := has(id)
			if err != nil {
				return err
			}
			stray = !known
		}
		if stray {
			if err := os.Remove(filepath.Join(dir, file.Name())); err != nil {
				return fmt.Errorf("storage: %w", err)
			}
		}
	}
	return nil
}
