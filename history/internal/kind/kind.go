// Package kind tells the kinds of a session's entries apart in a byte: their types, and for messages their roles.
package kind

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// Kind is an [entry.Type], and for a message also its role.
type Kind uint8

// The kinds of entries.
const (
	Other Kind = iota // of an unknown type, or not shown
	User
	Assistant
	Tool
	Shell
	CustomMessage
	BranchSummary
	Compaction
	Branch
	Custom
	Label
	ModelChange
	ThinkingChange
	Todos
	Usage
	Clearing
	Preamble
	Plan
	PlanEnd
	Refusal
	Erasure
	Pin
)

// Shown reports whether an entry is part of a view.
func (k Kind) Shown() bool { return k >= User && k <= BranchSummary }

// StartsTurn reports whether an entry starts a turn.
func (k Kind) StartsTurn() bool { return k.Shown() && k != Assistant && k != Tool }

// Unsaid reports whether an entry is known only to the session: no model sees it, and it does not replace anything that
// one saw.
func (k Kind) Unsaid() bool { return !k.Shown() && k != Compaction }

// kinds of the types whose entries all have the same one.
var kinds = map[entry.Type]Kind{
	entry.TypeShell: Shell, entry.TypeCustomMessage: CustomMessage, entry.TypeBranchSummary: BranchSummary,
	entry.TypeCompaction: Compaction, entry.TypeBranch: Branch, entry.TypeCustom: Custom, entry.TypeLabel: Label,
	entry.TypeModelChange: ModelChange, entry.TypeThinkingChange: ThinkingChange, entry.TypeTodos: Todos, entry.TypeUsage: Usage,
	entry.TypeClearing: Clearing, entry.TypePreamble: Preamble, entry.TypePlan: Plan, entry.TypePlanEnd: PlanEnd, entry.TypeRefusal: Refusal,
	entry.TypeErasure: Erasure, entry.TypePin: Pin,
}

// Of returns the kind of an entry. That of a message depends on its role, and a hidden shell command is not shown.
func Of(e entry.Entry) Kind {
	switch b := e.Body.(type) {
	case entry.Message:
		switch b.Role {
		case chat.RoleUser:
			return User
		case chat.RoleAssistant:
			return Assistant
		case chat.RoleTool:
			return Tool
		}
		return Other
	case entry.Shell:
		if b.Hidden {
			return Other
		}
	}
	return kinds[e.Type()]
}

// Is reports whether entries of a type have the kind.
func (k Kind) Is(t entry.Type) bool {
	if t == entry.TypeMessage {
		return k >= User && k <= Tool
	}
	return k == kinds[t] && k != Other
}

// Said reports whether an entry adds something said, or changes the branch.
func (k Kind) Said() bool { return k.Shown() || k == Branch }
