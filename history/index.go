package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// node is what is kept of an entry.
type node struct {
	id     string
	parent int32 // place of the parent, -1 for none
	line   int32 // in the store, from 0
	kind   kind
}

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
)

// shown tells what stands in a view.
func (k kind) shown() bool { return k >= kindUser && k <= kindBranchSummary }

// startsTurn tells what a turn begins with.
func (k kind) startsTurn() bool { return k.shown() && k != kindAssistant && k != kindTool }

// unsaid reports whether an entry is the session's own: no model sees it, and it stands for nothing that one saw.
func (k kind) unsaid() bool { return !k.shown() && k != kindCompaction }

// kinds of the types that have one each.
var kinds = map[EntryType]kind{
	TypeShell: kindShell, TypeCustomMessage: kindCustomMessage, TypeBranchSummary: kindBranchSummary,
	TypeCompaction: kindCompaction, TypeBranch: kindBranch, TypeCustom: kindCustom, TypeLabel: kindLabel,
	TypeModelChange: kindModelChange, TypeThinkingChange: kindThinkingChange, TypeTodos: kindTodos, TypeUsage: kindUsage,
	TypeClearing: kindClearing, TypePreamble: kindPreamble, TypePlan: kindPlan, TypePlanEnd: kindPlanEnd, TypeRefusal: kindRefusal,
}

// kindOf gives the kind of an entry of a type. A message has that of its role, and a shell execution that is hidden is
// not shown.
func kindOf(t EntryType, role chat.Role, hidden bool) kind {
	switch {
	case t == TypeMessage:
		switch role {
		case chat.RoleUser:
			return kindUser
		case chat.RoleAssistant:
			return kindAssistant
		case chat.RoleTool:
			return kindTool
		}
		return kindOther
	case hidden:
		return kindOther
	}
	return kinds[t]
}

// scanned is what is looked at of a line when a session is opened.
type scanned struct {
	headLine
	Message *struct {
		Role chat.Role `json:"role"`
	} `json:"message"`
	Shell *struct {
		Hidden bool `json:"hidden"`
	} `json:"shell"`
	CustomMessage  *struct{} `json:"customMessage"`
	Compaction     *struct{} `json:"compaction"`
	BranchSummary  *struct{} `json:"branchSummary"`
	Branch         *struct{} `json:"branch"`
	Custom         *struct{} `json:"custom"`
	Label          *struct{} `json:"label"`
	ModelChange    *struct{} `json:"modelChange"`
	ThinkingChange *struct{} `json:"thinkingChange"`
	Todos          *struct{} `json:"todos"`
	Usage          *struct{} `json:"usage"`
	Clearing       *struct{} `json:"clearing"`
	Preamble       *struct{} `json:"preamble"`
	Plan           *struct{} `json:"plan"`
	PlanEnd        *struct{} `json:"planEnd"`
	Refusal        *struct{} `json:"refusal"`
}

// whole tells whether the line has the body that its type names.
func (l *scanned) whole() bool {
	switch l.Type {
	case TypeMessage:
		return l.Message != nil
	case TypeShell:
		return l.Shell != nil
	case TypeCustomMessage:
		return l.CustomMessage != nil
	case TypeCompaction:
		return l.Compaction != nil
	case TypeBranchSummary:
		return l.BranchSummary != nil
	case TypeBranch:
		return l.Branch != nil
	case TypeCustom:
		return l.Custom != nil
	case TypeLabel:
		return l.Label != nil
	case TypeModelChange:
		return l.ModelChange != nil
	case TypeThinkingChange:
		return l.ThinkingChange != nil
	case TypeTodos:
		return l.Todos != nil
	case TypeUsage:
		return l.Usage != nil
	case TypeClearing:
		return l.Clearing != nil
	case TypePreamble:
		return l.Preamble != nil
	case TypePlan:
		return l.Plan != nil
	case TypePlanEnd:
		return l.PlanEnd != nil
	case TypeRefusal:
		return l.Refusal != nil
	}
	return true
}

// load reads the index of a store that is not empty.
func (s *Session) load(salvage bool) error {
	n := 0
	for raw, err := range s.store.Lines(0, s.store.Len()) {
		if _, long := errors.AsType[*LineTooLongError](err); err != nil && !long {
			return err
		}
		if err == nil {
			err = s.loadLine(raw, n, salvage)
		}
		if err != nil {
			corrupt := &CorruptError{Path: s.Path(), Line: n + 1, Err: err}
			if !salvage {
				return fmt.Errorf("%w; Options.Salvage reads what stands around it", corrupt)
			}
			s.skipped = append(s.skipped, corrupt)
		}
		n++
	}
	return nil
}

// loadLine takes in line n, from 0.
func (s *Session) loadLine(raw []byte, n int, salvage bool) error {
	if n == 0 {
		h, err := decodeHeader(raw)
		s.header = h
		return err
	}
	var l scanned
	if err := json.Unmarshal(raw, &l); err != nil {
		l = scanned{}
		if json.Unmarshal(raw, &l.headLine) != nil || known(l.Type) {
			return err
		}
	}
	if err := l.check(); err != nil {
		return err
	}
	if !l.whole() {
		return fmt.Errorf("it is a %s without one", l.Type)
	}
	if _, ok := s.ids[l.ID]; ok {
		return fmt.Errorf("a second entry with the id %q", l.ID)
	}
	parent, ok := s.ids[l.Parent]
	switch {
	case l.Parent == "":
		parent = -1
	case ok:
	case !salvage:
		return fmt.Errorf("there is no entry %q before it, which it follows", l.Parent)
	default:
		parent = int32(len(s.nodes) - 1)
	}
	var role chat.Role
	if l.Message != nil {
		role = l.Message.Role
	}
	at := int32(len(s.nodes))
	s.nodes = append(s.nodes, node{id: l.ID, parent: parent, line: int32(n), kind: kindOf(l.Type, role, l.Shell != nil && l.Shell.Hidden)})
	s.take(l.ID, at)
	return nil
}

// take makes an entry known by its id.
func (s *Session) take(id string, at int32) {
	if s.ids == nil {
		s.ids = map[string]int32{}
	}
	s.ids[id] = at
	const most = 1 << 30 // numbers that others gave may be of any size
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "e")); err == nil && n < most {
		s.next = max(s.next, n)
	}
}
