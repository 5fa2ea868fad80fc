// Package el has constructors of the elements, so that the code of a prompt reads like the prompt. Options and children
// are arguments in one list:
//
//	el.Prompt(
//		el.System(el.Text("You are a coding agent.")),
//		history.All{Session: session},
//		el.User(el.Priority(900), el.Grow(2),
//			el.Each(files, func(f File) el.Node {
//				return el.Tag("file", el.Priority(f.Importance), el.Attr("path", f.Path), el.Fence("go", f.Source))
//			}),
//			el.Text(question, el.Required),
//		),
//	)
//
// Each constructor returns the struct of package elements that its doc comment shows as a literal. So both styles can
// be mixed, a field without an option can be set afterwards, and the documentation of the struct applies.
//
// # What to use
//
//   - Messages: [System], which is Required unless it has a priority, [User], [Assistant] with [Calls], [ToolResult].
//   - Text: [Text] is kept or dropped as one piece, [Lines] and [Words] are trimmed ([CutStart], [Mark], [Least]). [Tag]
//     puts XML-style tags around it and escapes it; [Fence] is for code, which must not be escaped.
//   - Order of pruning: [Priority] among siblings; [Ranked] if the best comes first, [Chronological] if the newest
//     comes last; [Required] for content that is never pruned.
//   - Groups: [Together] for neighbours, [KeepWith] for elements apart from each other.
//   - Sharing the budget: [Limit] sets a maximum, [First] shows the largest version that fits, [Expand] fills tokens
//     that are left over, [Grow] says which elements are laid out last, with the tokens that are left. [IfEmpty] shows
//     something else if its children render to nothing.
//   - Parts and tools: [Image], [Document], [Tool]. Values without text: [Ref], [Meta].
//   - Control flow: [If], [Iff], [Each], and [Func] for an inline element of your own.
//
// # Priorities and shares of the budget
//
// Priorities decide what is pruned: with one for each file, the most important files are whole, one is trimmed, and the
// others are gone:
//
//	el.Tag("file", el.Priority(f.Importance), el.Fence("go", f.Source))
//
// To show the beginning of each text instead, let the texts themselves share what the rest of the message leaves, fairly
// and in proportion to their [Basis]:
//
//	el.Each(logs, func(log string) el.Node { return el.Lines(log, el.Basis(1)) })
//
// They share so as children of one element; in a [Tag] each, they get equal shares, and what one leaves is lost. All
// that does not ask for a share comes first, whatever the priorities.
//
// Priorities do not decide the budget that an element of your own is told: siblings with the same [Grow] get equal
// shares of the tokens that are left. If more important ones should get their tokens first, set Grow in the order of the
// priorities. Tokens to spare are offered to [First] and [Expand] by priority.
//
// # Elements without a constructor
//
// Rare elements have no constructor: [elements.LineBreak], [elements.CacheBreakpoint], [elements.Transferred]. For any
// other struct that embeds elements.Props, such as history.All, use [Props].
//
// # Coming from prompt-tsx
//
//	renderPrompt(P, props, …)            render.Render
//	a component's props, state, prepare  the fields of a struct; its method Render has a context, and may wait
//	<TextChunk breakOnWhitespace>        Words, and Lines for whole lines
//	<Chunk>, useKeepWith()               Together, KeepWith
//	<PrioritizedList descending>         Ranked, and Chronological without descending
//	<TokenLimit max>, <Expandable>       Limit, Expand
//	flexGrow, flexBasis, passPriority    Grow, Basis, PassPriority
//	flexReserve="/5", or a number        ReserveShare(0.2), Reserve
//	PromptMetadata, PromptReference      Meta, Ref
//
// With render.Options.Compatible the result is prompt-tsx's to the byte: compare with it first, and then leave it out.
//
// # What goes wrong
//
// An option in the wrong place, such as [Attr] in a [User], is an error of the render, not a panic:
//
//	render: User: el: the option does not apply here: write Attr directly among the arguments of Tag
//
// # What it costs
//
// A tag with two options and a text takes 2 µs to write, and its literal 0.6 µs. Rendering it among a hundred takes 4 µs.
package el
