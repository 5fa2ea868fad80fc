package entry

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/history/storage"
)

// Entry is one line of a session: something that was said or done, and a reference to the entry that it follows.
type Entry struct {
	// ID is unique in its session and has at most [MaxID] bytes.
	ID string
	// Parent is the id of the entry that it follows, "" for the first. Two entries with the same parent start two
	// branches.
	Parent string
	// Of is the id of the entry that it is a copy of, the first one if that is a copy too, "" if it is none. What is said
	// again on another branch, because something before it changed, is a copy. They are erased together.
	Of string
	// Time at which it was appended, or at which it happened if it comes from elsewhere.
	Time time.Time
	// Body is what was said or done.
	Body Body
	// Redacted lists the paths, in the JSON of the entry's line, of values that history.Options.Redact changed before
	// they were written.
	Redacted []string
}

// MaxID is the maximum length, in bytes, of an entry's id.
const MaxID = 128

// Body is the content of an entry: [Message], [Shell], [Compaction], [BranchSummary], [CustomMessage], [Custom],
// [Label], [ModelChange], [ThinkingChange], [Todos], [Usage], [Clearing], [Preamble], [Plan], [PlanEnd], [Refusal],
// [Branch], [Pin], [Erasure], or [Unknown] for an entry of a later version. No other type implements it, so a switch over
// these is complete.
type Body interface{ bodyType() Type }

// Type returns the type of the entry, "" if it has no body.
func (e Entry) Type() Type {
	if e.Body == nil {
		return ""
	}
	return e.Body.bodyType()
}

// Type names a type of entry. In the log, the body of an entry is in the field of that name.
type Type string

// The types of entries.
const (
	// Shown to the model.
	TypeMessage       Type = "message"
	TypeShell         Type = "shell"
	TypeCustomMessage Type = "customMessage"
	TypeBranchSummary Type = "branchSummary"
	TypeCompaction    Type = "compaction"
	// Known only to the session.
	TypeBranch         Type = "branch"
	TypeCustom         Type = "custom"
	TypeLabel          Type = "label"
	TypeModelChange    Type = "modelChange"
	TypeThinkingChange Type = "thinkingChange"
	TypeTodos          Type = "todos"
	TypeUsage          Type = "usage"
	TypePin            Type = "pin"
	// Written by compaction.
	TypeClearing Type = "clearing"
	TypePreamble Type = "preamble"
	TypePlan     Type = "plan"
	TypePlanEnd  Type = "planEnd"
	TypeRefusal  Type = "refusal"
	// Written by erasure.
	TypeErasure Type = "erasure"
	// typeSession is of the first line of a log, its header, which is not an entry.
	typeSession Type = storage.KindHeader
)

// Header is the first line of a log.
type Header struct {
	// ID of the session. Defaults to a random one.
	ID string `json:"id"`
	// Time at which the session began. Defaults to now.
	Time time.Time `json:"time"`
	// From names the session that this one was made from.
	From string `json:"from,omitempty"`
	// Data that the application stores with the session, such as its folder.
	Data json.RawMessage `json:"data,omitempty"`
	// Redacted lists the paths of values that history.Options.Redact changed before they were written.
	Redacted []string `json:"redacted,omitempty"`
}

// PairingError is returned for a tool call and a result that do not match.
type PairingError struct {
	CallID string
	Reason string
}

func (e *PairingError) Error() string { return fmt.Sprintf("tool call %q %s", e.CallID, e.Reason) }

// BoundaryError is returned for a compaction that was dropped because it can no longer cut at its entry.
type BoundaryError struct {
	// ID of the entry: the compaction's FirstKept, or its LastCovered.
	ID string
	// Reason why the compaction cannot cut there.
	Reason string
}

func (e *BoundaryError) Error() string {
	return fmt.Sprintf("dropped: entry %q %s", e.ID, e.Reason)
}
