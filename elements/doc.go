// Package elements declares the elements of a prompt: a tree of struct literals with priorities. It holds data only;
// package render turns a tree into messages that fit a budget. Package elements/el has constructors, and most trees are
// written with them.
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
// # The elements
//
// Messages: [SystemMessage], [UserMessage], [AssistantMessage] with each [ToolCall], [ToolMessage]. Text in messages:
// [Text], [TextChunk], [Tag], [Fence], [LineBreak]. Other parts: [Image], [Document], [Thinking], [Opaque],
// [CacheBreakpoint]. Elements that control pruning: [Chunk], [PrioritizedList], [TokenLimit], [KeepWith], [Expandable],
// [First], [IfEmpty], [Wrap], [LegacyPrioritization]. Outside messages: [Tool]. Values without text: [Meta], [Reference].
// Content rendered elsewhere: [Transferred]. Messages of a conversation: [Finished], or a single [Message].
//
// The page of each element says when to use it, when another is better, and what it costs.
//
// # Elements of your own
//
// Any type with a Render method is a [Node]. Render receives the element's share of the budget and the tokenizer:
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
// Embedding [Props] gives it a priority and the other properties. The same value may occur twice in a tree.
package elements
