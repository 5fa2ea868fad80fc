package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// object is a JSON object whose values are kept as they are. Its keys are written in order, so that the same object
// always has the same JSON.
type object map[string]json.RawMessage

// objectOf reads a JSON object; nil if it is not one.
func objectOf(raw []byte) object {
	var o object
	if !utf8.Valid(raw) || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// text returns a field that holds a text, "" if it does not.
func (o object) text(key string) string {
	var s string
	if json.Unmarshal(o[key], &s) != nil {
		return ""
	}
	return s
}

func (o object) set(key, value string) { o[key] = quoted(value) }

// without returns the object without these fields.
func (o object) without(keys ...string) object {
	kept := maps.Clone(o)
	for _, key := range keys {
		delete(kept, key)
	}
	return kept
}

// extra returns the fields but for the type, in the form in which the SDK takes extra fields.
func (o object) extra() map[string]any {
	fields := map[string]any{}
	for key, value := range o.without("type") {
		fields[key] = value
	}
	return fields
}

func (o object) raw() json.RawMessage { return wire.Marshal(o) }

func quoted(s string) json.RawMessage { return wire.Marshal(s) }

// place is the role of an opaque part in a request to an API.
type place int

const (
	nowhere   place = iota // not OpenAI's, or not valid for the role
	asContent              // a part of the message's content
	asItem                 // an item of its own; for Chat Completions, reasoning that it does not accept
	asHead                 // the fields of the message item to which the following texts belong
	asCall                 // the place of a call that is among the message's tool calls
	asFields               // fields of an assistant message of Chat Completions
)

// Heads and places of calls store fields of a message item or a call of the Responses API that [chat.Message] has no
// field for. They lack a role and a name, which an item as the API writes it has.

// placeOf returns the place of an opaque part in a message of that role, and the part as an object.
func (a API) placeOf(role chat.Role, part chat.Opaque) (place, object) {
	o := objectOf(part.Value)
	kind := o.text("type")
	if kind == "" {
		return nowhere, nil
	}
	if slices.Contains(contentTypes[a][role], kind) {
		return asContent, o
	}
	if kind == "message" && o["role"] == nil && role != chat.RoleAssistant {
		return nowhere, nil // a head without a body
	}
	if role == chat.RoleAssistant {
		switch kind {
		case dialect.Fields:
			if a == ChatCompletions {
				return asFields, o
			}
			return nowhere, nil
		case "message":
			if o["role"] == nil {
				return asHead, o
			}
		case "function_call", "custom_tool_call":
			if o["name"] == nil && o.text("call_id") != "" {
				return asCall, o
			}
			return nowhere, nil // a whole call belongs among the tool calls
		}
	}
	switch {
	case kind == "compaction" && (o.text("encrypted_content") == "" || o["content"] != nil):
		return nowhere, nil // of another provider
	case kind == "reasoning": // Chat Completions has no place for it and leaves it out
		if role == chat.RoleAssistant {
			return asItem, o
		}
	case a == Responses && role != chat.RoleTool && isItem(kind):
		return asItem, o
	}
	return nowhere, nil
}

// contentTypes are the content parts that each API accepts from each role.
var contentTypes = map[API]map[chat.Role][]string{
	ChatCompletions: {
		chat.RoleSystem:    {"text"},
		chat.RoleUser:      {"text", "image_url", "input_audio", "file"},
		chat.RoleAssistant: {"text", "refusal"},
		chat.RoleTool:      {"text"},
	},
	Responses: {
		chat.RoleSystem:    {"input_text", "input_image", "input_file"},
		chat.RoleUser:      {"input_text", "input_image", "input_file", "input_audio"},
		chat.RoleAssistant: {"output_text", "refusal"},
		chat.RoleTool:      {"input_text", "input_image", "input_file"},
	},
}

// isItem reports whether the Responses API accepts items of a type, other than the calls and outputs that messages
// represent.
func isItem(kind string) bool {
	switch kind {
	case "message", "compaction", "compaction_trigger", "item_reference", "additional_tools",
		"configuration_update", "program", "program_output", "tool_search_call", "tool_search_output",
		"mcp_list_tools", "mcp_approval_request", "mcp_approval_response":
		return true
	case "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output":
		return false
	default:
		return strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output")
	}
}
