package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// Validate checks a request by the rules of [chat.ValidateRequest] and those of one of OpenAI's APIs. It returns nil or
// a [*chat.ValidationError] with every violation. [Repair] repairs nearly all of them.
func Validate(req chat.Request, api API) error { return accepted[api].Validate(req) }

// Repair changes a request so that [Validate] finds nothing wrong, and returns each change. The original is not
// modified, and a request that breaks no rule is returned as it was. Depending on the rule:
//
//   - An unknown role becomes the user's ("developer" becomes the system's). Calls and answers on messages that cannot
//     hold them are removed.
//   - Results move to their calls. A call without one gets a failed result that says so; a result without its call
//     becomes a user message. Ids of calls, names of tools and of participants are made valid; the
//     name of a tool that changes ends in a digest, and a [Model] returns calls under the real one.
//   - Bytes that are not UTF-8 are replaced. Blank text, thinking that is neither signed nor encrypted, opaque parts of
//     other providers, and messages that become empty are removed; a tool result without content becomes "(no output)".
//     Reasoning after other content becomes an opaque part. Reasoning that no item follows, or that cannot be read
//     back, is removed.
//   - Images and documents in messages that cannot hold them move to a user message after them; one of a kind that the
//     API does not accept is replaced by a text that says so. If there are too many images, the oldest are replaced
//     too, a quarter of the limit at a time.
//   - System messages at the end move before the question or the round that the model is to answer. A user message is
//     added after an answer at the end.
//   - The second of two tools with the same name is removed. A tool choice that requires a call is dropped if there are
//     no tools, and so is a token limit below 0.
//
// What cannot be repaired stays, and is reported by Validate: tools without a name or an acceptable schema, an unknown
// tool choice, a request without messages.
func Repair(req chat.Request, api API) (chat.Request, []chat.Repair) {
	return accepted[api].Repair(req)
}

// accepted is what the APIs accept.
var accepted = map[API]*provider.API{ChatCompletions: accepts(ChatCompletions), Responses: accepts(Responses)}

// sent is what a Model sends. OpenAI takes any text for arguments, but servers that parse them refuse each request that
// holds others than objects (llama.cpp#25510, koog#2095).
var sent = map[API]*provider.API{ChatCompletions: parsed(), Responses: accepted[Responses]}

func parsed() *provider.API {
	a := accepts(ChatCompletions)
	a.Arguments = func(c chat.ToolCall) error {
		if _, custom := completions.CallFields(c); custom { // its arguments are free text
			return nil
		}
		return provider.Object(c)
	}
	return a
}

func accepts(api API) *provider.API {
	a := &provider.API{
		CallID: provider.Form{Max: 40}, ToolName: provider.Words(64, "_-"), Participant: plainName, NewID: newID, Arguments: provider.Any, Signature: provider.Any,
		Images: imageLimits, Media: []chat.Role{chat.RoleUser, chat.RoleTool}, // Chat Completions takes a tool's in a separate user message
		Image: checkImage, Document: checkDocument, Opaque: api.checkOpaque, Faults: api.reasoningFaults, Says: api.hasContent, Late: late, Marked: marked, Mark: mark, Schema: provider.StrictSchemas,
	}
	if api == Responses { // it has no names
		a.CallID.Max, a.Participant, a.UniqueIDs = 64, provider.Form{}, true
		a.Media = append(a.Media, chat.RoleSystem)
	}
	return a
}

// newID returns an id made of a hash of another one and a number.
func newID(id string, n int) string {
	const length = 24 // of the hash, so that ids do not collide
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s", n, id))
	return "call_" + hex.EncodeToString(sum[:])[:length]
}

// late returns reasoning as an item, nil if it is another provider's.
func late(_ chat.Message, t chat.Thinking) chat.Part {
	item := items.Thought(t)
	if item == nil {
		return nil
	}
	return chat.Opaque{Value: item.All()}
}

// marked returns the id of the call whose place a part marks.
func marked(m chat.Message, p chat.Opaque) string {
	if at, o := items.PlaceOf(m.Role, p); at == items.Mark {
		return o.Peek("call_id")
	}
	return ""
}

// mark returns the mark of the place of a call with another id.
func mark(p chat.Opaque, id string) chat.Part {
	o := wire.ObjectOf(p.Value)
	o.PutText("call_id", id)
	return chat.Opaque{Value: o.All(), Tokens: p.Tokens}
}
