// Package render turns a tree of elements into messages that fit a token budget, and reports what it dropped.
//
//	result, err := render.Render(ctx, prompt, render.Options{Budget: 8_000, Tokenizer: tokenizer})
//	if _, over := errors.AsType[*render.BudgetExceededError](err); over { // nothing more may be pruned
//		if _, err = compactor.Compact(ctx, ""); err == nil { // of package summarize: a summary replaces old history
//			result, err = render.Render(ctx, prompt, render.Options{Budget: 8_000, Tokenizer: tokenizer})
//		}
//	}
//	send(result.Messages)
//
// Three things are needed:
//
//   - A prompt: a tree of elements, built with package elements/el. Its priorities say what is dropped first.
//   - A budget in tokens. [sizing.Window.Budget] computes it from the context window, the answer and the tools.
//   - A tokenizer, which counts: one of sizing/tiktoken, or a [sizing.Calibrated]. Share one among all renders.
//
// [Render] describes its steps. [Result.Report] lists every piece with its path, its tokens and whether it was kept.
// [Result.Outline] is the same as a tree, with sums and texts; [Compare] prints it at several budgets, and
// inspect.Prompt makes a page of it, with a slider for the budget. [Result.Kept] and package rendertest test a prompt.
// A module for each provider sends the messages: render/openai, render/anthropic and render/gemini.
//
// # The rules of pruning
//
// If a prompt, or the contents of an [elements.TokenLimit], is too large, pieces are removed one at a time until the
// exact count fits. These rules choose the next piece from the tree that is left. They are those of @vscode/prompt-tsx
// 0.4, except for rules 6 and 7.
//
//  1. In the container, the child with the lowest priority is chosen, then the child with the lowest priority in that,
//     and so on, until something is found that is removed whole: a text, another part, a tool, an [elements.Chunk], or
//     an element without children.
//  2. An unset priority is the highest. Text, line breaks and opaque values have the priority of the element around
//     them. An element that passes its priority on has 0 if its own is not set.
//  3. Among children of equal priority, the one whose own children hold the lowest priority is chosen. A text, part or
//     tool counts as -1 here; an element as the lowest priority of its direct children, or the highest if it has none.
//     If these are equal too, the earlier child is chosen.
//  4. The children of an element with PassPriority compete in its place; a LegacyPrioritization with PassPriority loses
//     its own rule. On messages and chunks PassPriority does nothing.
//  5. In a LegacyPrioritization the piece with the lowest priority is removed, at whatever depth, the first among
//     equals. If it is in a chunk, the whole chunk is removed.
//  6. Cache breakpoints are held if that leaves enough to remove: everything before the last one in the prompt, or in
//     the limit, all tools in it and its last message are passed over as if they were required. If what may still be
//     removed is not enough, or all before them is required, all breakpoints are given up, and removal begins again as
//     if there were none.
//  7. Required pieces are passed over, and so are elements that hold nothing else. See "Required pieces" below.
//  8. An element in which only white space and breakpoints are left is removed with them. So is a message, unless it
//     still calls tools.
//  9. If an element of a group ([elements.KeepWith]), or a call linked to a group, is removed, so are all elements of
//     the group, wherever they are, and the tool calls linked to the group. Everything that this leaves empty is
//     removed next, with its own groups, and so on.
//  10. If a message or a tool in a chunk is removed, for a limit inside the chunk or with a group, the whole chunk is.
//
// So a breakpoint is a preference: a prompt that fits without it fits with it, and [Report.CacheLost] says whether
// something before one was removed. A larger budget never shows less, on each side of the budget from which on the
// breakpoints are held: just below, what is behind them is back, and what goes first by its priority is gone.
//
// With [Options.Compatible] the rules are exactly those of prompt-tsx: a Chunk with PassPriority loses its own rule, a
// LegacyPrioritization takes chunks apart, the removal of a call does not remove its group, there is no rule 10, and in
// a choice among messages, or among the direct contents of one, candidates before the last breakpoint among them are
// passed over: if nothing can be removed from the chosen one, that is an error.
//
// The tests implement these rules a second time, as simply as possible and from this text alone, and compare.
//
// # Tools
//
// Definitions of tools ([elements.Tool]) compete with the messages beside them by the same rules. They count as one
// list, in the prompt and in each limit; the tokenizer counts the list again after a tool is removed. Which tools the
// prompt calls is decided before pruning, so a smaller budget keeps no more tools than a larger one.
//
// Removing a tool breaks the provider's prompt cache from the very beginning; removing a message breaks it only from
// the message on. So prune tools with a low water, or give them priorities that remove them before anything else
// changes.
//
// # Trimming
//
// An [elements.TextChunk] with a break is laid out whole, unless it asks for a share (see "Shares"), and need not be
// removed whole. If its removal, by itself or with a chunk or a group, is the one that brings the exact count within
// the limit or the budget (with a low water: its target), then:
//
//   - It is put back, with everything removed along with it, and cut at the last break at which the exact count fits.
//     For a text that is cut from its start or its middle, this is mirrored. The tokens of its mark count.
//   - If it was not chosen itself, but a chunk or something of a group, the text with a break that has most tokens is
//     cut, of equals the last, of all that would go in the prompt or the limit.
//   - If fewer than its Least tokens would be left, 16 by default and without the mark, it is removed with the rest.
//   - So at most one text is trimmed for each limit, and the order of removal does not change. Without a low water, the
//     text at a smaller budget is a prefix of the text at a larger budget with the same limits.
//   - Its group, its tag and a linked call stay. Breaks are looked for in the text before a tag escapes it.
//
// Finished and transferred text is never trimmed.
//
// Required text is whole. Only an [elements.TokenLimit] on or around it trims it, if nothing more may be removed in the
// limit and it is still exceeded: each required text with a break that has more than N tokens is trimmed to N, the
// largest N with which the limit is kept, in chunks too. If nothing would be left of one, the render fails.
//
// # Shares
//
// Each element is told a share of the budget at layout ([elements.Sizing]). Only a text with a break that has a
// FlexGrow or a FlexBasis of its own is cut to it, at the last break up to which it fits. A required text is not. In
// the last flex group, such texts share what all other elements leave, max–min fair: none gets more than it counts,
// and what it leaves goes to the others, in proportion to FlexBasis. In earlier groups a share does not depend on what
// the others need. Pruning may trim such a text further, and if nothing is left of it, it is removed before pruning
// begins, with its group.
//
// With [Options.Compatible] each text with a break is cut to its share, and nothing is trimmed.
//
// # Required pieces
//
// Props.Required keeps an element from being pruned:
//
//   - A required element stays as it is, with everything in it, but for text that a limit trims. A chunk that holds
//     something required is required whole.
//   - If an element of a group holds something required, the group is required whole: each of its elements stays, and
//     each message that makes a call linked to it. The same holds if such a message is required.
//   - A message whose tool calls are required stays, although its content may be removed; so do the groups of these
//     calls.
//   - An element that holds something required is never emptied.
//   - A tool that a message calls is required.
//
// If the rest does not fit, the error is a [*BudgetExceededError] that names the largest pieces that could not be
// removed. If nothing is required, pruning may remove every message. That is an [*EmptyPromptError], which names the
// largest pieces that were removed and has the result without a message ([Options.Compatible] returns that result
// instead).
//
// # Pieces that are offered to pruning
//
// A piece is offered if a priority is set on it or on an element around it. [Options.KeepUnranked] requires all other
// pieces, so that instructions without a priority are not removed to make room for something else. Token limits are
// still kept, by pruning their contents.
//
// Elements that show a conversation have the marker [elements.ShowsHistory]. [Options.History] requires all their
// contents, or lets their messages be removed by priority although the elements are Required.
//
// [Layout.FitWith] fits a layout with other values of these options, and [Layout.Floor] counts what is left once
// everything that may be removed is. So one layout is enough to know what a prompt takes without its offered pieces,
// with or without its history:
//
//	options := render.FitOptions{Budget: budget, KeepUnranked: true, History: render.HistoryRequired}
//	needed, tools, err := layout.Floor(ctx, options)
//
// # Low water
//
// Once a conversation that grows by a round a step is over its budget, each step drops a little more of its beginning.
// The beginning then never repeats, and the provider's prompt cache serves nothing. [Options.LowWater] prunes in larger
// steps, so that the same tokens are dropped in many renders. On a droppable conversation in a window of 32,000 tokens
// with a low water of 0.7, growing by 500 tokens a step, 128 of the 136 steps over the budget repeated the previous
// prompt up to the end of its conversation; without a low water none did. The price is room: after a cut up to 30% of
// the window is empty.
//
// # Backfill
//
// If the last piece removed was a large one, it leaves room in which smaller pieces, removed before it, would fit.
// [Options.Backfill] puts them back, those of the highest priority first, and the report says which. It ends after a
// hundred pieces that did not fit. 10,000 droppable messages took 1.3 times a fit without it, 10,000 lines of one
// message up to three times.
//
// # Other budgets
//
// [Lay] lays a tree out, and [Layout.Fit] fits it to any budget, as often as wanted: to see what another budget would
// drop, or to find the largest prompt under a price. Only expandables are rendered again.
//
// Each fit prunes anew. But the order of removal does not depend on the budget; only how far pruning must go does. So
// [Result.Survey] prunes once for all budgets: it returns for every piece the budget from which on it is kept, and for
// a text that may be trimmed its size at each budget. It takes about half as long as the render.
//
// # Parts of a prompt that do not change
//
// An agent renders its conversation at every step, and all of it but the last round is unchanged. A round as an
// [elements.Finished] is laid out and counted once, and if it is required, it is one piece in all later renders. The
// elements of package history use it. For another tokenizer, or one that has learned since ([sizing.Calibrated]), it is
// only counted again.
//
// # Trees from elsewhere
//
// [Transfer] renders content to JSON, in the form of prompt-tsx, and [elements.Transferred] puts such content into a
// message, where it is pruned piece by piece like any other. So a tool server written in Go can answer a client in
// TypeScript, and the other way round.
//
// # Measuring a prompt of your own
//
// rendertest.Benchmark measures a prompt at several budgets. Share the tokenizer among renders in it, as the program
// should: it remembers the words that it has counted. Eight files of 84 kB in all take 0.3 ms then, and 2.2 ms if each
// render has a new one. What your own elements look up is in the time, too. For a conversation, append to one session:
// rounds that were shown before are not laid out again.
//
// # Mistakes that are errors
//
// prompt-tsx accepts some trees that are most often mistakes: a budget of 0, a message in a message, two tool calls of
// one id. Here they are errors ([ErrBudget], [ErrTree]) unless [Options.Compatible] is set. So are a nil pointer as an
// element, text outside a message and a break that can match nothing.
//
// If an element renders itself or a list holds itself, the tree does not end, which is an [ErrTree] too. If an element
// or a tokenizer panics, ends its goroutine, or has not returned a second after the context ended, the error names it.
// In the last case the render ends and leaves its goroutine behind.
package render
