package main

import (
	"os"

	"github.com/promptree-go/promptree/history/storage"
)

// countingDisk counts the bytes that are read from a log. It does not lock the log.
type countingDisk struct{ read *int64 }

func (d countingDisk) Open(path string, readOnly bool) (storage.DiskFile, error) {
	flags := os.O_RDWR
	if readOnly {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	return countingFile{f, d.read}, nil
}

func (d countingDisk) Create(path string) (storage.DiskFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return countingFile{f, d.read}, nil
}

func (countingDisk) Remove(path string) error { return os.Remove(path) }
func (countingDisk) SyncDir(string) error     { return nil }

type countingFile struct {
	*os.File
	read *int64
}

func (f countingFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	*f.read += int64(n)
	return n, err
}

func (f countingFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (countingFile) Check() error { return nil }
