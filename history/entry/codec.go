package entry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/checksum"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// formatVersion is the version of the log's format, which is in its header. A log of another version is not read. A new
// type of entry does not raise it, because an older version keeps such entries as they are. A new field of an existing
// type does, because an older version refuses a line with a field that it would lose; but not before the first release.
const formatVersion = 4

// headerLine is the first line of a log.
type headerLine struct {
	Type    Type `json:"type"`
	Version int  `json:"version"`
	plainHeader
	CRC string `json:"crc,omitempty"`
}

type plainHeader Header

// headLine holds the fields that every entry's line starts with.
type headLine struct {
	Type   Type      `json:"type"`
	ID     string    `json:"id"`
	Parent string    `json:"parent,omitempty"`
	Time   time.Time `json:"time"`
}

// line is an entry as written. Exactly one body is set, the one that the type names.
type line struct {
	headLine
	Of             string          `json:"of,omitempty"`
	Redacted       []string        `json:"redacted,omitempty"`
	Message        *Message        `json:"message,omitempty"`
	Shell          *Shell          `json:"shell,omitempty"`
	CustomMessage  *CustomMessage  `json:"customMessage,omitempty"`
	Compaction     *Compaction     `json:"compaction,omitempty"`
	BranchSummary  *BranchSummary  `json:"branchSummary,omitempty"`
	Branch         *Branch         `json:"branch,omitempty"`
	Custom         *Custom         `json:"custom,omitempty"`
	Label          *Label          `json:"label,omitempty"`
	ModelChange    *ModelChange    `json:"modelChange,omitempty"`
	ThinkingChange *ThinkingChange `json:"thinkingChange,omitempty"`
	Todos          *Todos          `json:"todos,omitempty"`
	Usage          *Usage          `json:"usage,omitempty"`
	Clearing       *Clearing       `json:"clearing,omitempty"`
	Preamble       *Preamble       `json:"preamble,omitempty"`
	Plan           *Plan           `json:"plan,omitempty"`
	PlanEnd        *PlanEnd        `json:"planEnd,omitempty"`
	Refusal        *Refusal        `json:"refusal,omitempty"`
	Erasure        *Erasure        `json:"erasure,omitempty"`
	Pin            *Pin            `json:"pin,omitempty"`
	CRC            string          `json:"crc,omitempty"`
}

// fields holds the index of the line's field for the body of each type of entry that this version writes.
var fields = func() map[Type]int {
	fields := map[Type]int{}
	for f := range reflect.TypeFor[line]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.Type.Kind() == reflect.Pointer {
			fields[Type(name)] = f.Index[0]
		}
	}
	return fields
}()

// field returns the field for the body of a type, and false if this version does not write the type.
func (l *line) field(of Type) (reflect.Value, bool) {
	i, known := fields[of]
	return reflect.ValueOf(l).Elem().Field(i), known
}

// Encode returns the entry as a line, without the line break, which ends in its checksum: the field "crc" with the CRC-32C
// of the bytes before it. [Entry.CheckDepth] says whether it can be read back everywhere.
func (e Entry) Encode() ([]byte, error) {
	l := line{headLine: headLine{Type: e.Type(), ID: e.ID, Parent: e.Parent, Time: e.Time}, Of: e.Of, Redacted: e.Redacted}
	if u, ok := e.Body.(Unknown); ok {
		return checksum.Add(slices.Clip(u.Line)), nil
	}
	if e.Body == nil {
		return nil, errors.New("an entry without a body")
	}
	body := reflect.ValueOf(e.Body)
	field, known := l.field(l.Type)
	if !known || field.Type().Elem() != body.Type() {
		return nil, fmt.Errorf("unknown body type %T: use a value, not a pointer, of one of package history's types", e.Body)
	}
	field.Set(reflect.New(body.Type()))
	field.Elem().Set(body)
	return encoded(l, func(v *visitor) { v.body(e.Body) })
}

// encoded returns a line. If it cannot be encoded, the error names the value that visit comes to. Bytes that are not UTF-8
// become U+FFFD, as in all texts.
func encoded(line any, visit func(*visitor)) ([]byte, error) {
	data, err := plainjson.Marshal(line)
	if err != nil {
		return nil, unwritable(err, visit)
	}
	if !utf8.Valid(data) { // it may hold JSON from elsewhere
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	return checksum.Add(data), nil
}

// UnmarshalJSON reads an entry from its line, given without its line break. An entry of an unknown type becomes an
// [Unknown]. A wrong checksum is an error, and so is an unknown field, because its content would be lost unnoticed: the
// line is damaged, or of another version.
func (e *Entry) UnmarshalJSON(raw []byte) error {
	if err := checkSum(raw); err != nil {
		return err
	}
	var l line
	if err := plainjson.Unmarshal(raw, &l); err != nil {
		var all struct { // the fields that lines of every type have
			headLine
			Redacted []string `json:"redacted"`
		}
		if json.Unmarshal(raw, &all) != nil || all.Type == "" || all.Type.Known() {
			return err
		}
		// In an entry of a later version, fields may mean something else.
		l = line{headLine: all.headLine, Redacted: all.Redacted}
	}
	if err := l.check(); err != nil {
		return err
	}
	read := Entry{ID: l.ID, Parent: l.Parent, Time: l.Time, Of: l.Of, Redacted: l.Redacted}
	field, known := l.field(l.Type)
	if known && !field.IsNil() {
		read.Body = field.Elem().Interface().(Body)
	}
	var err error
	switch b := read.Body.(type) {
	case Message:
		if b.Role == chat.RoleSystem {
			return fmt.Errorf("unknown role %q", b.Role)
		}
		err = checkRoles(b.Message)
	case Preamble:
		err = checkRoles(b.System...)
	case Compaction:
		err = checkRoles(b.Messages...)
	case nil:
		if known {
			return fmt.Errorf("a %s without a body", l.Type)
		}
		for t := range fields {
			if field, _ := l.field(t); !field.IsNil() {
				return fmt.Errorf("a %s that holds a %s", l.Type, t)
			}
		}
		read.Body = Unknown{Kind: l.Type, Line: checksum.Cut(raw)}
	}
	if err == nil {
		*e = read
	}
	return err
}

// checkSum returns an error unless a line is UTF-8 and ends in its checksum. If the line is not JSON, the error says where.
func checkSum(raw []byte) error {
	err := checksum.Check(raw)
	switch {
	case err != nil && !json.Valid(raw):
		return json.Unmarshal(raw, new(json.RawMessage))
	case err == nil && !utf8.Valid(raw):
		return errors.New("it is not valid UTF-8")
	}
	return err
}

// checkRoles returns an error if a message has an unknown role.
func checkRoles(messages ...chat.Message) error {
	for _, m := range messages {
		if !slices.Contains([]chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool}, m.Role) {
			return fmt.Errorf("unknown role %q", m.Role)
		}
	}
	return nil
}

// check returns an error if the start of a line is invalid.
func (h *headLine) check() error {
	switch {
	case h.Type == "":
		return errors.New("it has no type")
	case h.Type == typeSession:
		return errors.New("it is a second header")
	case h.ID == "":
		return errors.New("it has no id")
	case len(h.ID) > MaxID:
		return fmt.Errorf("its id has %d bytes, more than %d", len(h.ID), MaxID)
	}
	return nil
}

// Known reports whether this version writes entries of the type.
func (t Type) Known() bool {
	_, known := fields[t]
	return known
}

// Encode returns the header as the first line of a log, without the line break.
func (h Header) Encode() ([]byte, error) {
	return encoded(headerLine{Type: typeSession, Version: formatVersion, plainHeader: plainHeader(h)}, func(v *visitor) { v.header(h) })
}

// FormatError is returned for the header of a log whose format is not that of this version. Nothing of such a log can be
// read, and it is not damaged.
type FormatError struct{ Version int }

func (e *FormatError) Error() string {
	return fmt.Sprintf("the session has format %d, this version reads %d: use the version of promptree that wrote it, or package importer if another program did", e.Version, formatVersion)
}

var errNotHeader = errors.New("it is not the header of a session (package importer reads those of other programs)")

// UnmarshalJSON reads the header from the first line of a log. The error is a [*FormatError] for a log of another
// version.
func (h *Header) UnmarshalJSON(line []byte) error {
	var l headerLine
	sum := checkSum(line)
	switch err := json.Unmarshal(line, &l); {
	case err != nil:
		return fmt.Errorf("%w: %w", errNotHeader, err)
	case l.Type != typeSession:
		return fmt.Errorf("%w: its type is %q, not %q", errNotHeader, l.Type, typeSession)
	case l.Version != formatVersion && !errors.Is(sum, checksum.ErrWrong): // the checksum of another version may have another form
		return &FormatError{l.Version}
	case sum != nil:
		return sum
	}
	*h = Header(l.plainHeader)
	return nil
}

// shellJSON is the JSON of a shell command, with its output in base64 if that is not UTF-8.
type shellJSON struct {
	plainShell
	Output *string `json:"output,omitempty"`
	Raw    []byte  `json:"base64,omitempty"`
}

type plainShell Shell

// MarshalJSON writes the output so that every byte of it is restored.
func (s Shell) MarshalJSON() ([]byte, error) {
	j := shellJSON{plainShell: plainShell(s), Output: &s.Output}
	if !utf8.ValidString(s.Output) {
		j.Output, j.Raw = nil, []byte(s.Output)
	}
	return plainjson.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Shell) UnmarshalJSON(data []byte) error {
	var j shellJSON
	if err := plainjson.Unmarshal(data, &j); err != nil {
		return err
	}
	*s = Shell(j.plainShell)
	s.Output = *cmp.Or(j.Output, new(string(j.Raw)))
	return nil
}

// maxDepth is the maximum number of levels of objects and arrays in a line that is written, its own object included.
// Some readers of JSON refuse more than 1,000 (those of Python and Jackson), and encoding/json refuses more than
// 10,000. Half of the former leaves room for programs that wrap a line in values of their own. Deeper lines that are
// already in a store are read.
const maxDepth = 500

// DepthError is returned for an entry, or a header, whose JSON is nested too deep to be read back everywhere. Nothing
// is written.
type DepthError struct {
	// Path in the line's JSON of the value that is too deep, such as "custom.data".
	Path string
	// Depth of the line in levels of objects and arrays, and the maximum.
	Depth, Max int
}

func (e *DepthError) Error() string {
	return fmt.Sprintf("its JSON is nested %d levels deep, more than %d: in %s: flatten the value, or keep it as text", e.Depth, e.Max, e.Path)
}

// levels returns the depth of a line that has a value at a path.
func levels(path string, value []byte) int {
	return 1 + strings.Count(path, ".") + strings.Count(path, "[") + plainjson.Depth(value)
}

// unwritable returns an error that names the JSON value that is too deep or invalid in what cannot be written, or err if
// there is none.
func unwritable(err error, visit func(*visitor)) error {
	visit(&visitor{value: func(path string, value []byte) []byte {
		if depth := levels(path, value); depth > maxDepth {
			err = &DepthError{Path: path, Depth: depth, Max: maxDepth}
		} else if len(value) > 0 && !json.Valid(value) {
			err = fmt.Errorf("%s is not valid JSON: %w", path, err)
		}
		return value
	}})
	return err
}

// CheckDepth returns a [*DepthError] if the entry's line is nested too deep to be written.
func (e Entry) CheckDepth(line []byte) error {
	return checkDepth(line, func(v *visitor) { v.body(e.Body) })
}

// CheckDepth does for a header what [Entry.CheckDepth] does for an entry.
func (h Header) CheckDepth(line []byte) error {
	return checkDepth(line, func(v *visitor) { v.header(h) })
}

func checkDepth(line []byte, visit func(*visitor)) error {
	if depth := plainjson.Depth(line); depth > maxDepth {
		return unwritable(&DepthError{Depth: depth, Max: maxDepth}, visit)
	}
	return nil
}
