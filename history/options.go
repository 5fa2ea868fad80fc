package history

import (
	"cmp"
	"context"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
)

// Options say how a session is opened. The zero value holds the defaults.
type Options struct {
	// File configures the log.
	File storage.FileOptions
	// Header of a new session. Defaults to a random id and the current time.
	Header entry.Header
	// MaxLine is the maximum length, in bytes, of a line that is written to any store. Defaults to File.MaxLine.
	MaxLine int64
	// Redact, if set, is called with each text before it is written and returns what is written instead, so that a
	// secret reaches neither the store nor what is made from the session: prompts, plans and summaries. [entry.Passage]
	// lists the texts that it is called with, and [entry.Entry.Redacted] the places that it changed. Texts that are in
	// the store already are not changed.
	//
	//   - JSON stays JSON: strings, numbers and keys are passed one by one, and a number that is changed becomes a string.
	//   - An image or a document that is changed becomes a text.
	//   - Thinking that is changed loses its signature, so that it is not sent to a model again.
	//   - A preamble keeps the digest of its original, by which plans find it.
	//
	// It sees one text at a time, so a secret that spans two texts is missed. If it panics, or returns text that is not
	// valid UTF-8, nothing is written, and the error is a [*entry.RedactError]. It runs in the goroutine that adds
	// entries, possibly in several at a time, and blocks only that one.
	Redact func(entry.Passage) string
	// Shrink, if set, is called once with each picture of a message before that is written, and returns the URL of a smaller
	// one, usually a data URL, to send instead: servers limit the bytes and the sides of pictures. The entry holds both
	// ([chat.Image].Original), so every later request has the same bytes, in any process and on any branch. "" and a URL
	// that is not shorter keep the picture as it is. If it panics nothing is written, and the error is a [*chat.CallbackError].
	// None by default.
	Shrink func(chat.Image) string
	// Recall says that the agent has the tools of package recall. What is left out of a prompt is then marked by a call of
	// them ([Session.Handle]), and a file has no text files beside it ([storage.Texter]). Off by default.
	Recall bool
	// Salvage skips lines that cannot be read ([Session.Skipped] lists them) and reads those around them: an entry
	// whose parent was lost follows the one before it in the log, and a compaction that cut at an entry that was lost
	// cuts at the one that followed it. If the header cannot be read the session gets one with the id of its first
	// entry. The log keeps the lines. Opening reads the whole log. A file without an entry in one of its first lines is
	// not a log, and is still refused. Without Salvage, a line that cannot be read is a [*storage.CorruptError] when it
	// is needed. Off by default.
	Salvage bool
	// IDs returns the id of each new entry. An id that an entry has already is skipped. Defaults to 20 characters that
	// sort by time, 9 of them random, so that two writers do not choose the same.
	IDs func() string
	// Now is the clock. Defaults to [time.Now].
	Now func() time.Time
	// Cache for entries that were recently read or appended. Defaults to one of 64 MiB that all sessions of the process
	// share.
	Cache *Cache
}

// forLog returns the options of the session's log.
func (o Options) forLog() log.Options {
	of := log.Options{
		Header: o.Header, MaxLine: cmp.Or(o.MaxLine, o.File.MaxLine), Redact: o.Redact, Salvage: o.Salvage, Recall: o.Recall,
		IDs: guarded("Options.IDs", o.IDs), Now: guarded("Options.Now", o.Now),
	}
	if o.Shrink != nil {
		of.Shrink = func(ctx context.Context, p chat.Image) (string, error) {
			return guarded("Options.Shrink", func() string { return o.Shrink(p) })(ctx)
		}
	}
	if o.Cache != nil {
		of.Cache = o.Cache.entries
	}
	return of
}

// Cache holds the entries that were most recently read or appended, and what searches have made of entries, of all
// sessions that share it, within a number of bytes. The least recently used are dropped first. It is safe for concurrent
// use.
type Cache struct{ entries *log.Cache }

// NewCache returns a cache of at most that many bytes of lines.
func NewCache(bytes int) *Cache { return &Cache{log.NewCache(bytes)} }

// guarded returns a function of the options that cannot harm its caller, nil for none.
func guarded[T any](name string, f func() T) func(context.Context) (T, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context) (T, error) {
		value, err := callback.Call(ctx, func(context.Context) (T, error) { return f(), nil })
		if err != nil {
			err = &chat.CallbackError{Package: "history", Name: name, Err: err}
		}
		return value, err
	}
}
