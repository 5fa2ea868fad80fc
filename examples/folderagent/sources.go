package folderagent

import (
	"github.com/promptree-go/promptree/elements/chat"
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

// Toolboxes returns what answers calls: the agent's own tools, unless they are deferred, and those of the sources.
func (s Sources) Toolboxes(own *Tools) []chat.Toolbox {
	list := own.Toolboxes()
	if s.Deferred != nil {
		list = []chat.Toolbox{s.Deferred}
	}
	if s.Skills != nil {
		list = append(list, s.Skills)
	}
	return list
}
