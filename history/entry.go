package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Entry is one line of a session: a message, a compaction, or something that this version does not know.
type Entry struct {
	// ID of the entry, unique in its session.
	ID string
	// Parent is the entry that it follows, "" for the first.
	Parent string
	// Time at which it was appended.
	Time time.Time
	// Type says which of the fields below is set. Entries of other types stay in the log and are not looked into.
	Type EntryType
	// Message that was said.
	Message chat.Message
	// Compaction that was made.
	Compaction Compaction
}

// EntryType names a kind of entry.
type EntryType string

// The kinds of entries. The first line of a session is its header and no entry.
const (
	TypeMessage    EntryType = "message"
	TypeCompaction EntryType = "compaction"
	typeSession    EntryType = "session"
)

// Compaction stands for what was said before: the messages that replace it and the place from which on everything is
// kept. The entries that it covers stay in the session.
type Compaction struct {
	// Messages that are shown in place of what is covered: a summary, most often. They are finished, and shown byte
	// for byte.
	Messages []chat.Message `json:"messages"`
	// FirstKept is the id of the first message that is kept word for word: a user message, or the assistant message
	// of a round. "" covers everything said so far. The user message of a turn that is cut stays, whatever FirstKept
	// says.
	FirstKept string `json:"firstKept,omitempty"`
	// TokensBefore and TokensAfter are what the prompt needed before and takes after.
	TokensBefore int `json:"tokensBefore,omitempty"`
	TokensAfter  int `json:"tokensAfter,omitempty"`
	// Mode says how the summary was made, for the reader of the log.
	Mode string `json:"mode,omitempty"`
}

// header is the first line of a session.
type header struct {
	Type    EntryType `json:"type"`
	Version int       `json:"version"`
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
}

// version of the log's format.
const version = 1

// line is an entry as it is written.
type line struct {
	Type       EntryType     `json:"type"`
	ID         string        `json:"id"`
	Parent     string        `json:"parent,omitempty"`
	Time       time.Time     `json:"time"`
	Message    *chat.Message `json:"message,omitempty"`
	Compaction *Compaction   `json:"compaction,omitempty"`
}

// encode writes the entry as a line, its end included.
func (e *Entry) encode() ([]byte, error) {
	l := line{Type: e.Type, ID: e.ID, Parent: e.Parent, Time: e.Time}
	switch e.Type {
	case TypeMessage:
		l.Message = &e.Message
	case TypeCompaction:
		l.Compaction = &e.Compaction
	}
	return encodeLine(l)
}

func encodeLine[T any](v T) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // people and models read transcripts
	err := enc.Encode(v)
	return b.Bytes(), err
}

// decode reads a line, its end left off.
func decode(raw []byte) (Entry, error) {
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return Entry{}, err
	}
	e := Entry{ID: l.ID, Parent: l.Parent, Time: l.Time, Type: l.Type}
	switch {
	case l.Type == "":
		return Entry{}, errors.New("it has no type")
	case l.ID == "":
		return Entry{}, errors.New("it has no id")
	case l.Type == TypeMessage && l.Message != nil:
		e.Message = *l.Message
	case l.Type == TypeCompaction && l.Compaction != nil:
		e.Compaction = *l.Compaction
	case l.Type == TypeMessage, l.Type == TypeCompaction:
		return Entry{}, fmt.Errorf("it is a %s without one", l.Type)
	}
	return e, nil
}
