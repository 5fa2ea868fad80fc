package history

import "github.com/promptree-go/promptree/elements/chat"

// kind is a [EntryType], and for a message who said it.
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

// shown reports whether an entry stands in a view.
func (k kind) shown() bool { return k >= kindUser && k <= kindBranchSummary }

// startsTurn reports whether a turn begins with an entry.
func (k kind) startsTurn() bool { return k.shown() && k != kindAssistant && k != kindTool }

// unsaid reports whether an entry is the session's own: no model sees it, and it stands for nothing that one saw.
func (k kind) unsaid() bool { return !k.shown() && k != kindCompaction }

// kinds of the types that have one each.
var kinds = map[EntryType]kind{
	TypeShell: kindShell, TypeCustomMessage: kindCustomMessage, TypeBranchSummary: kindBranchSummary,
	TypeCompaction: kindCompaction, TypeBranch: kindBranch, TypeCustom: kindCustom, TypeLabel: kindLabel,
	TypeModelChange: kindModelChange, TypeThinkingChange: kindThinkingChange, TypeTodos: kindTodos, TypeUsage: kindUsage,
	TypeClearing: kindClearing, TypePreamble: kindPreamble, TypePlan: kindPlan, TypePlanEnd: kindPlanEnd, TypeRefusal: kindRefusal,
	TypeErasure: kindErasure,
}

// kindOf returns the kind of an entry. A message has that of its role, and a shell execution that is hidden is not shown.
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

// said reports whether somebody said something by the entry, or went another way.
func (k kind) said() bool { return k.shown() || k == kindBranch }
