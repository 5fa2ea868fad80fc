// Package el has constructors of the elements, so that a prompt reads like what it says. Options and children stand in one list:
//
//	el.Prompt(
//		el.System(el.Text("You are a coding agent.")),
//		history.Conversation{Session: session},
//		el.User(el.Priority(900), el.Grow(2),
//			el.Each(files, func(f File) el.Node {
//				return el.Tag("file", el.Priority(f.Importance), el.Attr("path", f.Path), el.Text(f.Source))
//			}),
//			el.Text(question, el.Required),
//		),
//	)
//
// Each constructor returns a struct of package elements and stands for the literal on its page. So both styles mix, a field that has
// no option can be set afterwards, and whatever is said of an element there holds here.
//
// # What to use
//
//   - Messages: [System], which is Required unless it has a priority, [User], [Assistant] with [Calls], [ToolResult].
//   - Text: [Text] is kept or dropped as one piece, [Lines] and [Words] are trimmed. [Tag] puts XML-style tags around it.
//   - What goes first: [Priority] among siblings; [Ranked] if the best stands first, [Chronological] if the newest stands last;
//     [Required] for what never goes.
//   - What goes along: [Together] for a whole, [KeepWith] for pieces apart from each other.
//   - Room: [Limit] bounds it, [Expand] fills it, [Grow] says who is laid out last and with what is left, [IfEmpty] what stands for
//     nothing.
//   - Parts and tools: [Image], [Document], [Tool]. Values that go along: [Ref], [Meta].
//   - Go: [If], [Iff], [Each], and [Func] for an element of one's own in a line.
//
// # Who is given room first
//
// Priorities say what goes first. They do not say how far [Lines] and [Words] are cut, or what an element of one's own is told it may
// take: that is decided before, when the tree is laid out, and siblings of one [Grow] share alike what is left. So that what matters
// more is given room first, let Grow fall as the priorities do:
//
//	el.Tag("file", el.Priority(f.Importance), el.Grow(f.Importance), el.Lines(f.Source))
//
// What is cut there may be left with less than [Least], or with nothing; the rest of a [KeepWith] group stays then, such as the tests of a
// file.
//
// # What is not here
//
// What is rare has no constructor, such as [elements.LineBreak], [elements.CacheBreakpoint] and [elements.Transferred]. An element
// with a struct of its own takes options by [Props].
//
// # What goes wrong
//
// An option that does not belong where it stands, such as [Attr] in a [User], is an error of the render, not a panic:
//
//	render: User: el: an option does not apply where it stands: write Attr directly among the arguments of Tag
//
// # What it costs
//
// A tag with two options and a text takes 2 µs to write, and its literal 0.6. To render it takes 6.
package el
