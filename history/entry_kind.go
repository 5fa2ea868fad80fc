package history

import "github.com/promptree-go/promptree/elements/chat"

// kind is an [EntryType], and for a message also its role.
type kind uint8

const (
	kindOther kind = iota // of an unknown type, or not shown
	kindUser
	kindAssistant
	kindTool
	kindShell
	kindCustomMessage
	kindBranchSummary
	kindCompaction
	kindBranch
	kindCustom
	kindLabel
	kindModelChange
	kindThinkingChange
	kindTodos
	kindUsage
	kindClearing
	kindPreamble
	kindPlan
	kindPlanEnd
	kindRefusal
	kindErasure
)

// shown reports whether an entry is part of a view.
func (k kind) shown() bool { return k >= kindUser && k <= kindBranchSummary }

// startsTurn reports whether an entry starts a turn.
func (k kind) startsTurn() bool { return k.shown() && k != kindAssistant && k != kindTool }

// unsaid reports whether an entry is known only to the session: no model sees it, and it does not replace anything that
// one saw.
func (k kind) unsaid() bool { return !k.shown() && k != kindCompaction }

// kinds of the types whose entries all have the same one.
var kinds = map[EntryType]kind{
	TypeShell: kindShell, TypeCustomMessage: kindCustomMessage, TypeBranchSummary: kindBranchSummary,
	TypeCompaction: kindCompaction, TypeBranch: kindBranch, TypeCustom: kindCustom, TypeLabel: kindLabel,
	TypeModelChange: kindModelChange, TypeThinkingChange: kindThinkingChange, TypeTodos: kindTodos, TypeUsage: kindUsage,
	TypeClearing: kindClearing, TypePreamble: kindPreamble, TypePlan: kindPlan, TypePlanEnd: kindPlanEnd, TypeRefusal: kindRefusal,
	TypeErasure: kindErasure,
}

// kindOf returns the kind of an entry. That of a message depends on its role, and a hidden shell command is not shown.
func kindOf(e Entry) kind {
	switch b := e.Body.(type) {
	case Message:
		switch b.Role {
		case chat.RoleUser:
			return kindUser
		case chat.RoleAssistant:
			return kindAssistant
		case chat.RoleTool:
			return kindTool
		}
		return kindOther
	case Shell:
		if b.Hidden {
			return kindOther
		}
	}
	return kinds[e.Type()]
}

// is reports whether entries of a type have the kind.
func (k kind) is(t EntryType) bool {
	if t == TypeMessage {
		return k >= kindUser && k <= kindTool
	}
	return k == kinds[t] && k != kindOther
}

// said reports whether an entry adds something said, or changes the branch.
func (k kind) said() bool { return k.shown() || k == kindBranch }
