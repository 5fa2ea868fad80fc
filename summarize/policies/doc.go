// Package policies returns policies by name: those of other systems and promptree's own. Each has its own package,
// whose documentation says what the system does and where the policy differs.
//
// When they compact:
//
//	copilotchat  80% of the window with a warm prompt cache, 90% with a cold one, in the background;
//	             if a prompt does not fit
//	copilotcli   80%, in the background; after a refusal by the provider; before a smaller window
//	a3s          80%, if clearing old tool output does not suffice
//	stagewise    65%, at most 200,000 tokens, in the background
//	frugal       once carrying the history has cost what compacting it costs, earlier if the prompt cache
//	             is cold; 80% at most
//	ohmypi       16,384 tokens before the end; after a refusal by the provider
//
// What stays word for word:
//
//	copilotchat  the newest round
//	copilotcli   the newest round, and copies of the user's messages
//	a3s          the first 2 and the newest 20 messages
//	stagewise    the newest 10 messages
//	frugal       8,000 tokens, and more if a loss is worth more
//	ohmypi       the newest 20,000 tokens
//
// What the model is asked for:
//
//	copilotchat  a handoff, first at the end of the request that the cache has
//	copilotcli   an account under a title
//	a3s          what must still be known
//	stagewise    a briefing in prose, by a small model
//	frugal       notes, by the cheapest model
//	ohmypi       notes, brought up to date each time, and a list of files
//
// If nothing makes the prompt fit, a3s, stagewise and ohmypi return the error. With copilotchat, history is pruned from
// this request, the oldest rounds first. With copilotcli and frugal, the oldest messages are left out of this request.
//
// If the provider refuses a request as too large, copilotcli, frugal and ohmypi compact the session. The other
// policies, and these if that does not help, leave history out of this request, the oldest first.
package policies
