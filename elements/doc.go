// Package elements is what a prompt is built of: a tree of struct literals that says what stands where and what
// matters how much. It holds data only; package render turns a tree into messages that fit a budget. Package elements/el has
// constructors, with which most trees are written.
//
//	prompt := elements.Nodes{
//		elements.SystemMessage{Children: elements.Nodes{
//			elements.Text("You are a coding agent."),
//		}},
//		elements.UserMessage{Children: elements.Nodes{
//			elements.Tag{Name: "file", Props: elements.Props{Priority: new(10)}, Children: elements.Nodes{
//				elements.Text(source),
//			}},
//			elements.PrioritizedList{Children: hints},
//			elements.TextChunk{Children: elements.Nodes{elements.Text(question)}},
//		}},
//	}
//
// # What there is
//
// Messages: [SystemMessage], [UserMessage], [AssistantMessage] with each [ToolCall], [ToolMessage]. Text in them:
// [Text], [TextChunk], [Tag], [LineBreak]. Other parts: [Image], [Document], [Thinking], [Opaque], [CacheBreakpoint].
// Elements that say what is kept: [Chunk], [PrioritizedList], [TokenLimit], [KeepWith], [Expandable], [IfEmpty], [Wrap],
// [LegacyPrioritization]. Outside messages: [Tool]. Values that go along: [Meta], [Reference]. Content rendered elsewhere: [Transferred].
// What was said: [Finished] messages, or a single [Message].
//
// The page of each says what it is for, when something else is better, and what it costs.
//
// # Elements of your own
//
// Any type with a Render method is a [Node]. It is handed its share of the budget and the means to measure:
//
//	type Retrieval struct {
//		elements.Props
//		Query string
//	}
//
//	func (r Retrieval) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
//		files, err := search(ctx, r.Query, s.TokenBudget)
//		if err != nil {
//			return nil, err
//		}
//		return el.Each(files, func(f File) elements.Node { return el.Text(f.Source) }), nil
//	}
//
// Embedding [Props] gives it a priority and the rest of the properties. The same value may stand in a tree twice.
package elements
