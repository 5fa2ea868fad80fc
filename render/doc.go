// Package render turns a tree of elements into messages that fit a token budget, and says what it dropped.
//
//	result, err := render.Render(ctx, prompt, render.Options{Budget: 8_000, Tokenizer: tokenizer})
//	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
//		log.Printf("needs %d tokens, has %d", over.Needed, over.Budget)
//	}
//	send(result.Messages)
//
// Three things are needed:
//
//   - A prompt: a tree of elements, which package elements/el writes. Its priorities say what goes first.
//   - A budget in tokens. [sizing.Window.Budget] works it out of the context window, the answer and the tools.
//   - A tokenizer, which counts: one of sizing/tiktoken, or a [sizing.Calibrated]. Share one among all renders.
//
// [Render] says in which steps it works. [Result.Report] lists every piece with its path, its tokens and what became of it;
// [Result.Outline] is the same as a tree, with sums and texts, and [Outline.Fold] and [Compare] print it.
//
// # The rules of pruning
//
// If a prompt, or what stands in a [elements.TokenLimit], is too large, pieces are taken out one at a time until its exact count
// fits. Given the tree that is left, what goes next is chosen by these rules. They are those of @vscode/prompt-tsx 0.4, except for
// rule 7.
//
//  1. From the container down, the child with the lowest priority is chosen, and among its children again, until something
//     is found that goes as a whole: a text, another part, a tool, a [elements.Chunk], or an element without children.
//  2. A priority that is not set is the highest. Text, line breaks and opaque values take that of the element they
//     stand in. An element that passes its priority on has 0 if its own is not set.
//  3. Among children of one priority the one goes whose own children hold the lowest: for a text, part or tool that is -1; for an element
//     the lowest of its direct children's priorities, the highest if it has none. Among equals there too, the earlier.
//  4. The children of an element with PassPriority compete in its place; a LegacyPrioritization with it has lost its own
//     rule. On messages and chunks it does nothing.
//  5. In a LegacyPrioritization the piece with the lowest priority goes, wherever it stands in it, the first among equals;
//     in a chunk with the whole chunk.
//  6. If the choice is among messages, or directly in one, candidates before the last cache breakpoint among them
//     are passed over, and the breakpoint itself; an element holds a breakpoint if a message in it does. A chosen
//     candidate with nothing to give is an error, even if its siblings could give.
//  7. Required pieces are passed over, and so is what holds nothing else. The next section says what is required.
//  8. An element in which only white space is left goes too, and the white space with it. So does a message, unless it
//     still calls tools.
//  9. With an element of a group ([elements.KeepWith]) in what went, or a call linked to one, all elements of the group go,
//     wherever they stand, and the tool calls linked to it; and what they leave empty, and the groups in that, in turn.
//  10. With a message or a tool in a chunk, taken out for a limit in there or with a group, the whole chunk goes.
//
// With [Options.Compatible] it is as in prompt-tsx: a Chunk with PassPriority has lost its own rule, a LegacyPrioritization takes a
// chunk apart, a call that goes leaves its group, and rule 10 is missing.
//
// The tests have these rules a second time, written as simply as can be from the text above, and compare.
//
// # Tools
//
// Definitions of tools ([elements.Tool]) compete with the messages beside them by the same rules. What they take is the tokenizer's count
// of their whole list, in the prompt and in each limit, and is counted anew once one of them went. Which tools the prompt calls is decided
// before anything is pruned, so that a smaller budget keeps no more than a larger one.
//
// A tool that goes breaks the provider's prompt cache from its very beginning, which a message that goes does only from its place on:
// prune tools with a low water, or give them priorities by which they go before what changes anyway.
//
// A render counts each tool once when it is laid out and their list once, and a few times more if tools go: 200 definitions, counted
// once in 15 ms with the counter of sizing/tiktoken, took 31 ms, and up to 88 ms if some of them went.
//
// # Trimming
//
// A [elements.TextChunk] with a break need not go as a whole. If it is the piece whose going brings the exact count within the limit or
// the budget, or with a low water within its target:
//
//   - It is put back with all that went along, and cut at the last break at which the exact count is within that. If it is cut
//     from its start or its middle, this is mirrored; a mark counts.
//   - If fewer than its Least tokens would be left, 16 by default, it goes.
//   - So at most one text is trimmed for each limit, and in the same order as pieces go. If no low water is set, the text at a smaller
//     budget is a prefix of the text at a larger one with the same limits.
//   - What went with it otherwise stays: its group, its tag, a call. Breaks are sought in the text before a tag escapes it.
//
// Never trimmed is what goes for another reason than its priority (in a chunk, with a group, because it is empty), what is required,
// finished or transferred, and what stands before the last cache breakpoint. Required text with a break is cut when it is laid out so
// that line breaks and tags around it fit too.
//
// # Required pieces
//
// Props.Required keeps an element from ever being pruned:
//
//   - A required element stays as it is, with everything in it. A chunk that holds something required is required whole.
//   - A group of which an element holds something required is required whole: each of its elements stays, and each message that
//     makes a call linked to it. The same goes if such a message is required.
//   - A message whose tool calls are required stays, though what is in it may go; so do the groups of these calls.
//   - What holds something required is never emptied.
//   - A tool that a message calls is required.
//
// What does not fit then is a [*BudgetExceededError] that names the largest pieces that could not go.
//
// They cost nothing but a pass over the tree, and that only where something is required.
//
// # What is offered to pruning
//
// A piece is offered if a priority is set on it or on an element that it stands in. [Options.KeepUnranked] requires all
// others, so that instructions to which nobody gave a priority do not go so that something else may stay. A token limit
// is kept all the same, by pruning what stands in it.
//
// Elements that show a conversation have the marker [elements.ShowsHistory]. [Options.History] requires all that stands in
// them, or lets their messages go by their priorities although the elements are Required.
//
// [Layout.FitWith] fits a layout with other such options, and [Layout.Floor] counts what is left once everything that may
// go has gone. So what a prompt takes without all that is offered, its history or not, is known from one layout:
//
//	needed, tools, err := layout.Floor(ctx, render.FitOptions{Budget: budget, KeepUnranked: true, History: render.HistoryRequired})
//
// # Low water
//
// A conversation that grows by a round a step is cut a little further at each step once it is over its budget, so its
// beginning is never the same twice, and the provider's prompt cache serves nothing. [Options.LowWater] prunes in steps
// instead: what is dropped is rounded up to a multiple of the budget less its low water, and so stays the same for many
// renders. On a droppable conversation in a window of 32,000 tokens with a low water of 0.7, growing by 500 tokens a
// step, the whole previous prompt up to the end of its conversation came again in 128 of the 136 steps in which it was
// over the budget; without a low water in none. It costs room: up to 30% of the window is left empty after a cut.
//
// # Backfill
//
// Where the last piece to go was a large one, room is left that smaller pieces, which went before it, would fit in.
// [Options.Backfill] puts them back, those of the highest priority first; the report says which. A piece that belongs to
// a chunk or a group comes back with all of it, and a tool call only with its result. Each piece that is small enough is
// tried by taking everything else out anew, so it costs a pass over the tree a try.
//
// # Other budgets
//
// [Lay] lays a tree out, and [Layout.Fit] fits it to any budget, as often as wanted: to see what would be dropped at
// another budget, or to find the largest prompt under a price. No element is rendered again but those that expand.
//
// What goes first does not depend on the budget, only how far pruning must go. So fits share one pruning, which goes on, or back,
// from where the fit before ended. That takes a tokenizer whose counts add up ([chat.Joiner], as those in sizing/tiktoken do),
// and a tree without expandables.
//
// [Result.Survey] tells of every piece the budget from which on it is kept, and of a text that may be trimmed its size from budget to
// budget. That takes one pruning as far as it goes: 5 ms for 2,000 tags with trimmed text in them, half of what a render of them takes,
// and 20 ms for 20,000. It is in proportion to the pieces as long as texts, tags and messages go; for each image, other part, call or
// tool that goes by itself its message, or the list of tools, is counted again.
//
// # What does not change
//
// A conversation is rendered at every step of an agent, and all of it but the last round is what it was. A round as an
// [elements.Finished] is laid out and counted once, and where it is required it is one piece to all later renders. The
// elements of package history do so. For another tokenizer, or one that has learnt since ([sizing.Calibrated]), it is only
// counted again.
//
// # Reports as JSON
//
// [Report.WriteJSON] writes a list with an object for each piece, in document order. Numbers are tokens if nothing else is said. Only
// path, kind and tokens are always there.
//
//	path         names of the elements from the root to that of the piece, joined by " > ", such as "User > file#2"
//	kind         text, image, document, thinking, opaque, cacheBreakpoint, toolCall or tool
//	priority     that decided, a number; missing if there is none, which is the highest
//	decidedBy    path of what was chosen to go, if that is another
//	group        name of the group that the piece belongs to
//	tokens       what the piece counts by itself
//	trimmedFrom  what it counted before it was trimmed
//	cut          true if it was cut to its share when it was laid out
//	required     true if it could not have been dropped
//	restored     true if it had been dropped and was put back
//	dropped      priority, chunk, group or emptied; missing if it was kept
//	limit        path of the TokenLimit for which it was dropped; missing if it was for the whole prompt
//	keptFrom     budget from which on it is kept, by a survey
//	sizes        list of objects with a budget and the tokens that a text counts from it on, by a survey
//	budget       in sizes
//
// [Outline.WriteJSON] writes a tree of objects. Only tokens is always there:
//
//	name      of the element as in paths
//	tag       opening end of a tag
//	role      of a message: system, user, assistant or tool
//	priority  that the element was given
//	tokens    object with what its pieces count: kept, trimmed and dropped
//	kept      in tokens: of what is left
//	trimmed   in tokens: what trimming took
//	dropped   in tokens: of what went
//	counted   what a message counts as it is sent; of the root, messages and tools
//	piece     object of the report, of a piece
//	text      of a piece as it was laid out
//	children  list of such objects, in document order
//
// # Trees from elsewhere
//
// [Transfer] renders content to JSON, in the form of prompt-tsx (content type [TransferContentType]), and
// [elements.Transferred] puts such content into a message, where it is pruned piece by piece like any other. So a tool
// server written in Go can answer a client in TypeScript, and the other way round.
//
// # Measuring a prompt of your own
//
// A benchmark shares the counter, as the program should: a counter remembers the words that it has counted.
//
//	func BenchmarkPrompt(b *testing.B) {
//		tokenizer := tiktoken.O200k()
//		for b.Loop() {
//			if _, err := render.Render(b.Context(), prompt(files, question), render.Options{Budget: 20_000, Tokenizer: tokenizer}); err != nil {
//				b.Fatal(err)
//			}
//		}
//	}
//
// Eight files, 84 kB in all, take 0.3 ms like this, and 2.2 ms if each render has a new counter. What an element of your own looks up is
// part of the time: render it with what it found, or measure it apart. Rounds of a conversation are measured by appending to one
// session, since what was shown before is not laid out again.
//
// # Providers
//
// The messages of a result are sent by a module for each provider: render/openai, render/anthropic and render/gemini. Before a request
// is sent, what the provider has no place for is mended, and each change is told:
//
//	                                       OpenAI Chat Completions        OpenAI Responses            Anthropic                         Gemini
//	parallel calls and results             yes                            yes                         yes                               yes; a call without a result is left out
//	a tool's failure                       in its words                   in its words                flag; only text                   flag
//	images and documents in results        in a user message after them   yes                         yes                               yes; beside them before Gemini 3
//	images and documents of the assistant  to a user message              to a user message           to a user message                 yes
//	thinking                               of servers that show it        encrypted, in its place     signed or redacted, in its place  thought signatures, in their place
//	thinking of another provider           left out                       left out                    left out where its form differs   sent as a thought's text
//	cache breakpoints                      GPT-5.6 and later              GPT-5.6 and later           the four that help most           left out: prefixes are cached anyway
//	system messages                        where they stand               where they stand            gathered in front                 first ones in front, later ones as user text
//	names of participants                  yes                            left out                    left out                          a user's before the text
//	opaque parts                           OpenAI's                       OpenAI's                    Anthropic's                       Gemini's
//	counting                               exact text, images by formula  the same, and its endpoint  its endpoint, images by formula   its endpoint, images by formula
//
// # What is an error
//
// prompt-tsx lets pass what is most often a mistake: a budget of 0, a message in a message, two tool calls of one id.
// Here these are errors ([ErrBudget], [ErrNestedMessage], [ErrDuplicateCall]) unless [Options.Compatible] is set, and so are
// a nil pointer as an element, text outside a message and a break that can match nothing.
//
// A tree that does not end, for an element renders itself or a list holds itself, is [ErrEndless]. An element or a tokenizer that
// panics, or ends its goroutine, is an error with its name, and so is one that has not returned a second after the context ended:
// the render ends then, and its goroutine is left behind.
//
// # Reading the source
//
// A render is a pipeline of packages, each of which imports only those before it:
//
//	internal/tree      the laid-out prompt as an array of nodes, and what is left of it: removal, and its undoing
//	internal/join      how pieces become messages: where texts meet, and where line breaks go
//	internal/count     the exact count of what is left, and bounds by which it need not be known
//	internal/order     which piece goes next, and what goes with it: rules 1 to 10, and what is required
//	internal/guard     limits on callers' code: panics, goroutines that end or never return, trees without an end
//	internal/draft     what layout writes, node by node, and the tree that is made of it
//	internal/transfer  a draft as JSON, in the form of prompt-tsx, and back
//	internal/layout    elements, rendered from the root down to a draft: flex groups, shares, text that is cut
//
// What a layout knows of each type of package elements is a case in builtinOf (internal/layout/kinds.go). A new element takes its
// struct, that case and a test.
//
// On top of them fit.go keeps the limits and the budget, trim.go shortens the last text that would go, survey.go says from which
// budget on pieces are kept, grow.go grows what may grow,
// skip.go takes out uncounted what must go whatever it counts, budgets.go prunes once for many budgets, offered.go fits with other
// requirements, backfill.go puts some back, report.go tells. A removal goes through them like this: fitting.step asks order for the next piece, and order takes it out of
// the tree's state with what goes along, which the state's log lists. When the counter is next asked it reads the log: it takes
// texts, tags and whole messages that went off the count, and of all else it adds up how much they may have counted at most, and
// counts their messages again once the rest may fit.
//
// What it costs: layout is one pass over the tree. A text is counted at layout where an element is told what is left, else
// when pruning first asks for it, and never where it surely goes. One more pass writes the tree down, and each pruning that fits do not
// share takes a pass to begin. After that a piece that goes costs a look at the head of a sorted list at each level above it, and the
// counting of a few bytes where its neighbours meet, or else its part of some ten more passes over what is left of its message: n pieces
// take n·(depth + log n).
//
// A prompt is laid out, and fitted, on a goroutine of its own, for which the caller waits: elements and tokenizers are others' code
// (internal/guard). Elements of the caller's own types that share a flex group render side by side; nothing else does.
//
// With a tokenizer that is no [chat.Joiner] such a pass counts the message as a whole: 10 to 32 times for a message of 1,000 to
// 10,000 pieces, in the tests. So it is with any tokenizer where a message stands in a message ([Options.Compatible]). A part or a call
// that goes takes two counts of a message of nothing else.
//
// The tree and what is known of it take memory in proportion to the tree, some 250 bytes a text chunk, the layout included.
package render
