package folderagent

import (
	"github.com/promptree-go/promptree/elements/chat"
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
