package main

import (
	"container/list"
	"context"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// files stores each session in a file, in a folder for each tenant. A file has one writer, so a session
// stays open in this process, with the compactor that summarises it in the background, until another session needs its
// place.
type files struct {
	dir       string
	most      int // open sessions
	assistant *assistant

	mu   sync.Mutex
	open map[sessionID]*openFile
	idle *list.List // of *openFile, the least recently used first
}

// openFile is a session that is open, is being opened, or is being closed.
type openFile struct {
	id      sessionID
	users   int
	at      *list.Element // in idle, nil while it is used
	ready   chan struct{} // closed once it is open or failed to open
	gone    chan struct{} // closed once the session is closed
	closing bool
	c       *conversation
	err     error
}

const extension = ".jsonl"

func openFiles(dir string, most int, a *assistant) (*files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the sessions: %w", err)
	}
	return &files{dir: dir, most: most, assistant: a, open: map[sessionID]*openFile{}, idle: list.New()}, nil
}

// folder returns the folder of a tenant. Its name is the tenant's encoded in letters and digits, so that no two
// tenants share a folder in any file system.
func (f *files) folder(tenant string) string {
	return filepath.Join(f.dir, "tenant-"+strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(tenant))))
}

func (f *files) path(id sessionID) string {
	return filepath.Join(f.folder(id.tenant), id.name+extension)
}

func (f *files) create(_ context.Context, id sessionID) error {
	if err := os.MkdirAll(f.folder(id.tenant), 0o700); err != nil {
		return err
	}
	made, err := os.OpenFile(f.path(id), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // an empty file becomes a session when it is opened
	if errors.Is(err, fs.ErrExist) {
		return errExists
	} else if err != nil {
		return err
	}
	return made.Close()
}

func (f *files) use(ctx context.Context, id sessionID) (*conversation, func(), error) {
	for {
		o, mine, err := f.take(id)
		if err != nil {
			return nil, nil, err
		}
		if o.closing { // by another request
			select {
			case <-o.gone:
				continue
			case <-ctx.Done():
				return nil, nil, context.Cause(ctx)
			}
		}
		if mine {
			o.c, o.err = f.begin(id)
			close(o.ready)
		}
		<-o.ready
		if o.err != nil {
			f.release(o)
			return nil, nil, o.err
		}
		return o.c, func() { f.release(o) }, nil
	}
}

// take returns the session with an id, and whether the caller must open it. If the session is being closed, the caller
// waits for that and tries again.
func (f *files) take(id sessionID) (o *openFile, mine bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o = f.open[id]; o != nil {
		if !o.closing {
			o.users++
			if o.at != nil {
				f.idle.Remove(o.at)
				o.at = nil
			}
		}
		return o, false, nil
	}
	if len(f.open) >= f.most {
		oldest := f.idle.Front()
		if oldest == nil {
			return nil, false, errFull
		}
		return f.closing(oldest.Value.(*openFile)), false, nil // the caller tries again
	}
	o = &openFile{id: id, users: 1, ready: make(chan struct{}), gone: make(chan struct{})}
	f.open[id] = o
	return o, true, nil
}

// begin opens an existing session.
func (f *files) begin(id sessionID) (*conversation, error) {
	path := f.path(id)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errUnknown
	} else if err != nil {
		return nil, err
	}
	log, err := storage.OpenFile(path, storage.FileOptions{})
	if err != nil {
		return nil, err
	}
	session, err := history.New(context.Background(), transcribed{log, id.name}, history.Options{})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return f.assistant.conversation(session, func(ctx context.Context, from int) lines {
		log, err := storage.ReadFile(path, storage.FileOptions{})
		return skip(ctx, log, err, from)
	}), nil
}

// transcribed is a file whose transcript has the session's name, for the model's tool, instead of its path on this
// machine.
type transcribed struct {
	*storage.File
	name string
}

// Transcript returns the transcript that the breadcrumb beside a summary names.
func (t transcribed) Transcript() storage.Transcript {
	return storage.Transcript{Name: t.name, Tool: transcriptTool}
}

// release ends a use. A session that failed to open is forgotten.
func (f *files) release(o *openFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.users--; o.users > 0 {
		return
	}
	if o.err != nil || o.closing {
		f.closing(o)
		return
	}
	o.at = f.idle.PushBack(o)
}

// closing starts closing a session that nobody uses. The caller holds mu.
func (f *files) closing(o *openFile) *openFile {
	if o.at != nil {
		f.idle.Remove(o.at)
		o.at = nil
	}
	o.closing = true
	go func() {
		if o.c != nil {
			o.c.close()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, o.id)
		close(o.gone)
	}()
	return o
}

func (f *files) bytes(_ context.Context, id sessionID) (int64, error) {
	is, err := os.Stat(f.path(id))
	if err != nil {
		return 0, err
	}
	return is.Size(), nil
}

func (f *files) list(ctx context.Context, tenant, after string, limit int) ([]info, error) {
	found, err := os.ReadDir(f.folder(tenant))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range found {
		if name, is := strings.CutSuffix(e.Name(), extension); is && name > after && nameRule.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var listed []info
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if len(listed) == limit {
			break
		}
		i, err := f.info(ctx, sessionID{tenant, name})
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		} else if err != nil {
			return nil, err
		}
		listed = append(listed, i)
	}
	return listed, nil
}

func (f *files) info(ctx context.Context, id sessionID) (info, error) {
	is, err := os.Stat(f.path(id))
	if err != nil {
		return info{}, err
	}
	i := info{Name: id.name, Created: is.ModTime().UTC(), Appended: is.ModTime().UTC(), Bytes: is.Size()}
	log, err := storage.ReadFile(f.path(id), storage.FileOptions{})
	if err != nil {
		return i, nil // the file is still empty
	}
	for header, err := range log.Read(ctx, 0) {
		var h entry.Header
		if err == nil && json.Unmarshal(header.Data, &h) == nil {
			i.Created = h.Time
		}
		break
	}
	return i, log.Close()
}

func (f *files) remove(ctx context.Context, id sessionID) error {
	c, release, err := f.use(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	f.mu.Lock()
	f.open[id].closing = true // it closes once the last use is released
	f.mu.Unlock()
	_ = c.compactor.Close()
	return c.session.Remove(ctx)
}

func (f *files) ready(context.Context) error {
	_, err := os.Stat(f.dir)
	return err
}

func (f *files) opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}

// close closes all sessions. Nobody uses them any more.
func (f *files) close() error {
	f.mu.Lock()
	var all []*openFile
	for _, o := range f.open {
		if !o.closing {
			f.closing(o)
		}
		all = append(all, o)
	}
	f.mu.Unlock()
	for _, o := range all {
		<-o.gone
	}
	return nil
}
