package folderagent

import (
	"context"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
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

// inPrompt reports whether the prompt declares the tools, which a target then must not.
func (s Sources) inPrompt() bool { return s.Skills != nil || s.Deferred != nil }

// catalogue returns the list of skills.
func (s Sources) catalogue() elements.Node {
	if s.Skills == nil {
		return nil
	}
	return skills.Catalogue{Skills: s.Skills}
}

// front returns what stands in front of the conversation: instruction files, and the agent's own tools if the prompt
// declares them.
func (s Sources) front(own []chat.Tool) elements.Node {
	var nodes elements.Nodes
	if s.Instructions != nil {
		nodes = append(nodes, el.User(el.Required, s.Instructions))
	}
	if s.Skills != nil && s.Deferred == nil {
		nodes = append(nodes, el.Each(own, func(t chat.Tool) el.Node { return el.Tool(t, el.Required) }))
	}
	return nodes
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

// answer answers a call of a tool of the sources, or by the agent's tools.
func (s Sources) answer(ctx context.Context, call chat.ToolCall, own *Tools) (chat.Message, error) {
	if s.Skills != nil {
		if result, ok, err := s.Skills.Answer(ctx, call); ok || err != nil {
			return result, err
		}
	}
	if s.Deferred != nil {
		if result, ok, err := s.Deferred.Answer(ctx, call); ok || err != nil {
			return result, err
		}
	}
	return own.Run(ctx, call), nil
}
