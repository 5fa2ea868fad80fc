package folderagent

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/sources/instructions"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/sources/tools"
)

// Sources holds the context that an agent finds rather than is given. Each field may be nil.
type Sources struct {
	// Instructions are the instruction files of the folder, in front of the conversation.
	Instructions *instructions.Files
	// Skills that the model may load.
	Skills *skills.Skills
	// Deferred holds the tools that the model finds by a search, instead of those of the agent, which are not declared.
	Deferred *tools.Deferred
}

// catalogue returns the list of skills.
func (s Sources) catalogue() elements.Node {
	if s.Skills == nil {
		return nil
	}
	return skills.Catalogue{Skills: s.Skills}
}

// front returns the instruction files, in front of the conversation.
func (s Sources) front() elements.Node {
	if s.Instructions == nil {
		return nil
	}
	return el.User(el.Required, s.Instructions)
}

// loaded returns the summaries of the conversation, and behind them what was loaded.
func (s Sources) loaded(session *history.Session) elements.Node {
	nodes := elements.Nodes{history.Compacted{Session: session, Props: el.Props(el.Priority(700))}}
	if s.Skills != nil {
		nodes = append(nodes, skills.Loaded{Skills: s.Skills})
	}
	if s.Deferred != nil {
		nodes = append(nodes, tools.Found{Deferred: s.Deferred})
	}
	return nodes
}

// toolboxes returns what answers calls: the agent's own tools, unless they are deferred, those of the sources, and of
// recall if it is set.
func (s Sources) toolboxes(own *Tools, r *recall.Tools) (list []chat.Toolbox) {
	if s.Deferred == nil {
		list = own.Toolboxes()
	} else {
		list = append(list, s.Deferred)
	}
	if s.Skills != nil {
		list = append(list, s.Skills)
	}
	if r != nil {
		list = append(list, r)
	}
	return list
}
