// Package kind tells the kinds of a session's entries apart: their types, and for messages their roles.
package kind

import (
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// Kind is an [entry.Type], and for a message also its role. It is "" for an entry of an unknown type, and for a hidden shell
// command, which is not shown.
type Kind string

// The kinds that are told apart.
const (
	User          Kind = "message user"
	Assistant     Kind = "message assistant"
	Tool          Kind = "message tool"
	Shell              = Kind(entry.TypeShell)
	CustomMessage      = Kind(entry.TypeCustomMessage)
	BranchSummary      = Kind(entry.TypeBranchSummary)
	Compaction         = Kind(entry.TypeCompaction)
	Branch             = Kind(entry.TypeBranch)
	Custom             = Kind(entry.TypeCustom)
	Clearing           = Kind(entry.TypeClearing)
	Plan               = Kind(entry.TypePlan)
	PlanEnd            = Kind(entry.TypePlanEnd)
	Erasure            = Kind(entry.TypeErasure)
)

// messages holds the kinds of messages, by their roles.
var messages = map[chat.Role]Kind{chat.RoleUser: User, chat.RoleAssistant: Assistant, chat.RoleTool: Tool}

// Of returns the kind of an entry.
func Of(e entry.Entry) Kind {
	switch b := e.Body.(type) {
	case entry.Message:
		return messages[b.Role]
	case entry.Shell:
		if b.Hidden {
			return ""
		}
	case entry.Unknown:
		return ""
	}
	return Kind(e.Type())
}

// Is reports whether entries of a type have the kind.
func (k Kind) Is(t entry.Type) bool {
	of, _, _ := strings.Cut(string(k), " ")
	return k != "" && of == string(t)
}

// Shown reports whether an entry is part of a view.
func (k Kind) Shown() bool { return k == Assistant || k == Tool || k.StartsTurn() }

// StartsTurn reports whether an entry starts a turn.
func (k Kind) StartsTurn() bool {
	return k == User || k == Shell || k == CustomMessage || k == BranchSummary
}

// Unsaid reports whether an entry is known only to the session: no model sees it, and it does not replace anything that
// one saw.
func (k Kind) Unsaid() bool { return !k.Shown() && k != Compaction }

// Said reports whether an entry adds something said, or changes the branch.
func (k Kind) Said() bool { return k.Shown() || k == Branch }
