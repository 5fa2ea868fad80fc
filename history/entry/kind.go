package entry

import "github.com/promptree-go/promptree/elements/chat"

// Kind is an [Type], and for a message also its role.
type Kind uint8

// The kinds of entries.
const (
	KindOther Kind = iota // of an unknown type, or not shown
	KindUser
	KindAssistant
	KindTool
	KindShell
	KindCustomMessage
	KindBranchSummary
	KindCompaction
	KindBranch
	KindCustom
	KindLabel
	KindModelChange
	KindThinkingChange
	KindTodos
	KindUsage
	KindClearing
	KindPreamble
	KindPlan
	KindPlanEnd
	KindRefusal
	KindErasure
	KindPin
)

// Shown reports whether an entry is part of a view.
func (k Kind) Shown() bool { return k >= KindUser && k <= KindBranchSummary }

// StartsTurn reports whether an entry starts a turn.
func (k Kind) StartsTurn() bool { return k.Shown() && k != KindAssistant && k != KindTool }

// Unsaid reports whether an entry is known only to the session: no model sees it, and it does not replace anything that
// one saw.
func (k Kind) Unsaid() bool { return !k.Shown() && k != KindCompaction }

// kinds of the types whose entries all have the same one.
var kinds = map[Type]Kind{
	TypeShell: KindShell, TypeCustomMessage: KindCustomMessage, TypeBranchSummary: KindBranchSummary,
	TypeCompaction: KindCompaction, TypeBranch: KindBranch, TypeCustom: KindCustom, TypeLabel: KindLabel,
	TypeModelChange: KindModelChange, TypeThinkingChange: KindThinkingChange, TypeTodos: KindTodos, TypeUsage: KindUsage,
	TypeClearing: KindClearing, TypePreamble: KindPreamble, TypePlan: KindPlan, TypePlanEnd: KindPlanEnd, TypeRefusal: KindRefusal,
	TypeErasure: KindErasure, TypePin: KindPin,
}

// Kind returns the kind of the entry. That of a message depends on its role, and a hidden shell command is not shown.
func (e Entry) Kind() Kind {
	switch b := e.Body.(type) {
	case Message:
		switch b.Role {
		case chat.RoleUser:
			return KindUser
		case chat.RoleAssistant:
			return KindAssistant
		case chat.RoleTool:
			return KindTool
		}
		return KindOther
	case Shell:
		if b.Hidden {
			return KindOther
		}
	}
	return kinds[e.Type()]
}

// Is reports whether entries of a type have the kind.
func (k Kind) Is(t Type) bool {
	if t == TypeMessage {
		return k >= KindUser && k <= KindTool
	}
	return k == kinds[t] && k != KindOther
}

// Said reports whether an entry adds something said, or changes the branch.
func (k Kind) Said() bool { return k.Shown() || k == KindBranch }
