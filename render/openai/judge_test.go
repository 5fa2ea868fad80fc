package openai_test

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// The judge checks requests by OpenAI's documentation and by errors that its API is known to return. It does not use
// the package's own rules.

var (
	toolPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	namePattern = regexp.MustCompile(`^[^\s<|\\/>\x{00a0}\x{2000}-\x{200a}]{1,64}$`)
	reasoners   = regexp.MustCompile(`^(o[13](-.*)?|o4-mini.*|gpt-5(-mini|-nano)?(-20.*)?)$`)
)

// judgeChat returns the refusal of a request to Chat Completions, "" if it is accepted.
func judgeChat(r gjson.Result) string {
	messages := r.Get("messages").Array()
	if len(messages) == 0 {
		return "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
	}
	if why := judgeOptions(r, "max_tokens"); why != "" {
		return why
	}
	if r.Get("stream_options").Exists() && !r.Get("stream").Bool() {
		return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
	}
	for i, t := range r.Get("tools").Array() {
		if !toolPattern.MatchString(t.Get("function.name").String()) {
			return fmt.Sprintf("Invalid 'tools[%d].function.name': string does not match pattern.", i)
		}
	}
	var open []string
	for i, m := range messages {
		role := m.Get("role").String()
		if role != "tool" && len(open) > 0 {
			return unanswered(open)
		}
		if name := m.Get("name"); name.Exists() && !namePattern.MatchString(name.String()) {
			return fmt.Sprintf("Invalid 'messages[%d].name': string does not match pattern. Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'.", i)
		}
		if why := judgeChatContent(i, m); why != "" {
			return why
		}
		switch role {
		case "tool":
			k := slices.Index(open, m.Get("tool_call_id").String())
			if k < 0 {
				return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
			}
			open = slices.Delete(open, k, k+1)
		case "assistant":
			calls := m.Get("tool_calls")
			if calls.Exists() && len(calls.Array()) == 0 {
				return fmt.Sprintf("Invalid 'messages[%d].tool_calls': empty array. Expected an array with minimum length 1.", i)
			}
			for k, c := range calls.Array() {
				body, words := c.Get("function"), "arguments"
				if c.Get("type").String() == "custom" {
					body, words = c.Get("custom"), "input"
				}
				id, name := c.Get("id").String(), body.Get("name").String()
				switch {
				case id == "" || len([]rune(id)) > 40:
					return fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].id': string too long. Expected a string with maximum length 40.", i, k)
				case slices.Contains(open, id):
					return fmt.Sprintf("Duplicate value for 'tool_call_id' of '%s'", id)
				case body.Get(words).Type != gjson.String:
					return fmt.Sprintf("Missing required parameter: 'messages[%d].tool_calls[%d].function.arguments'.", i, k)
				case !toolPattern.MatchString(name):
					return fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i, k)
				}
				open = append(open, id)
			}
		case "system", "developer", "user":
			if m.Get("tool_calls").Exists() || m.Get("tool_call_id").Exists() {
				return fmt.Sprintf("Unknown parameter: 'messages[%d].tool_calls'.", i)
			}
		default:
			return fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return ""
}

func unanswered(ids []string) string {
	return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
		"The following tool_call_ids did not have response messages: " + strings.Join(ids, ", ")
}

// judgeOptions checks the fields that both APIs have.
func judgeOptions(r gjson.Result, oldLimit string) string {
	model := r.Get("model").String()
	switch {
	case model == "":
		return "you must provide a model parameter"
	case r.Get("tool_choice").Exists() && len(r.Get("tools").Array()) == 0:
		return "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
	case r.Get("temperature").Exists() && reasoners.MatchString(model):
		return "Unsupported parameter: 'temperature' is not supported with this model."
	case r.Get(oldLimit).Exists() && reasoners.MatchString(model):
		return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
	case strings.Contains(r.Raw, `"prompt_cache_breakpoint"`) && !strings.HasPrefix(model, "gpt-5.6") && !strings.HasPrefix(model, "gpt-6"):
		return "prompt_cache_breakpoint is not supported with this model"
	}
	return ""
}

func judgeChatContent(i int, m gjson.Result) string {
	role, content := m.Get("role").String(), m.Get("content")
	switch {
	case content.Type == gjson.String:
		return ""
	case role == "assistant" && m.Get("tool_calls").Exists() && content.Type == gjson.Null:
		return ""
	case !content.IsArray() || len(content.Array()) == 0:
		return fmt.Sprintf("Invalid value for 'content': expected a string, got null. (messages[%d])", i)
	}
	takes := map[string][]string{"user": {"text", "image_url", "input_audio", "file"}, "assistant": {"text", "refusal"}}[role]
	if takes == nil {
		takes = []string{"text"}
	}
	for k, p := range content.Array() {
		kind := p.Get("type").String()
		if !slices.Contains(takes, kind) {
			return fmt.Sprintf("Invalid value: '%s'. Supported values are: %s. (messages[%d].content[%d].type)", kind, strings.Join(takes, ", "), i, k)
		}
		if why := judgeBreakpoint(role, p); why != "" {
			return why
		}
		switch kind {
		case "text":
			if p.Get("text").Type != gjson.String {
				return fmt.Sprintf("Missing required parameter: 'messages[%d].content[%d].text'.", i, k)
			}
		case "image_url":
			if why := judgeURL(p.Get("image_url.url").String()); why != "" {
				return why
			}
		case "file":
			if why := judgeFile(p.Get("file")); why != "" {
				return why
			}
		}
	}
	return ""
}

func judgeBreakpoint(role string, p gjson.Result) string {
	b := p.Get("prompt_cache_breakpoint")
	if !b.Exists() {
		return ""
	}
	if role == "assistant" {
		return "prompt_cache_breakpoint is not supported on this content block"
	}
	if b.Get("mode").String() != "explicit" || !slices.Contains([]string{"", "30m", "12h"}, b.Get("ttl").String()) {
		return "Invalid prompt_cache_breakpoint: " + b.Raw
	}
	return ""
}

func judgeURL(url string) string {
	if strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "data:") {
		return ""
	}
	return "Invalid 'image_url'. Expected a base64-encoded data URL with an image MIME type, but got an unsupported URL."
}

func judgeFile(file gjson.Result) string {
	data, ok := strings.CutPrefix(file.Get("file_data").String(), "data:")
	_, encoded, found := strings.Cut(data, ";base64,")
	_, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || !found || err != nil || encoded == "" {
		return "Invalid 'file_data'. Expected a base64-encoded data URL."
	}
	if file.Get("filename").String() == "" {
		return "Missing required parameter: 'file.filename'."
	}
	return ""
}

// memory holds the items that a server of the Responses API returned.
type memory struct {
	encrypted map[string]string // of reasoning items
	requires  map[string]string // the reasoning item that an item followed
	following map[string]string // the item that followed a reasoning item
}

func newMemory() memory {
	return memory{map[string]string{}, map[string]string{}, map[string]string{}}
}

func (m memory) issue(items []item) {
	reasoning, pending := "", ""
	for _, it := range items {
		id, _ := it["id"].(string)
		if pending != "" {
			m.following[pending] = id
			pending = ""
		}
		if it["type"] == "reasoning" {
			reasoning, pending = id, id
			m.encrypted[id], _ = it["encrypted_content"].(string)
		} else if reasoning != "" {
			m.requires[id] = reasoning
		}
	}
}

// judge returns the refusal of a request to the Responses API, "" if it is accepted.
func (m memory) judge(r gjson.Result) string {
	if why := judgeOptions(r, "max_tokens"); why != "" {
		return why
	}
	if strings.Contains(r.Get("include").Raw, "reasoning.encrypted_content") && strings.HasPrefix(r.Get("model").String(), "gpt-4") {
		return "Encrypted content is not supported with this model."
	}
	for i, t := range r.Get("tools").Array() {
		if t.Get("type").String() != "function" || !toolPattern.MatchString(t.Get("name").String()) || !t.Get("parameters").IsObject() {
			return fmt.Sprintf("Invalid 'tools[%d]'.", i)
		}
		if !t.Get("strict").Exists() || t.Get("strict").Bool() {
			return fmt.Sprintf("Invalid schema for function '%s': in strict mode, 'additionalProperties' is required to be supplied and to be false.", t.Get("name"))
		}
	}
	input := r.Get("input").Array()
	if len(input) == 0 {
		return "One of \"input\" or \"previous_response_id\" or 'prompt' must be provided."
	}
	calls, outputs, ids := map[string]string{}, map[string]bool{}, map[string]bool{}
	for i, it := range input {
		kind, id := it.Get("type").String(), it.Get("id").String()
		if id != "" {
			if ids[id] {
				return fmt.Sprintf("Duplicate item found with id %s. Remove duplicate items from your input and try again.", id)
			}
			ids[id] = true
		}
		if needed := m.requires[id]; id != "" && needed != "" && !ids[needed] {
			return fmt.Sprintf("Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", id, kind, needed)
		}
		switch kind {
		case "message", "":
			if why := judgeInput(i, it); why != "" {
				return why
			}
		case "reasoning":
			if why := m.judgeReasoning(i, input); why != "" {
				return why
			}
		case "function_call", "custom_tool_call":
			callID := it.Get("call_id").String()
			words, prefix := "arguments", "fc"
			if kind == "custom_tool_call" {
				words, prefix = "input", "ctc"
			}
			switch {
			case callID == "" || len([]rune(callID)) > 64:
				return fmt.Sprintf("Invalid 'input[%d].call_id': string too long. Expected a string with maximum length 64.", i)
			case calls[callID] != "":
				return "Duplicate call_id " + callID
			case !toolPattern.MatchString(it.Get("name").String()):
				return fmt.Sprintf("Invalid 'input[%d].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i)
			case it.Get(words).Type != gjson.String:
				return fmt.Sprintf("Missing required parameter: 'input[%d].%s'.", i, words)
			case id != "" && !strings.HasPrefix(id, prefix):
				return fmt.Sprintf("Invalid 'input[%d].id': '%s'. Expected an ID that begins with '%s'.", i, id, prefix)
			}
			calls[callID] = kind
		case "function_call_output", "custom_tool_call_output":
			callID := it.Get("call_id").String()
			if calls[callID]+"_output" != kind {
				return fmt.Sprintf("No tool call found for function call output with call_id %s.", callID)
			}
			if outputs[callID] {
				return "Duplicate function call output found for call_id " + callID
			}
			outputs[callID] = true
			if why := judgeParts(i, "user", it.Get("output")); why != "" {
				return why
			}
		case "web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "compaction", "item_reference":
		default:
			return fmt.Sprintf("Invalid value: '%s'. (input[%d].type)", kind, i)
		}
	}
	for callID := range calls {
		if !outputs[callID] {
			return fmt.Sprintf("No tool output found for function call %s.", callID)
		}
	}
	return ""
}

func (m memory) judgeReasoning(i int, input []gjson.Result) string {
	it := input[i]
	id := it.Get("id").String()
	if !it.Get("summary").IsArray() {
		return fmt.Sprintf("Missing required parameter: 'input[%d].summary'.", i)
	}
	encrypted := it.Get("encrypted_content").String()
	if encrypted == "" && it.Get("content.0.text").String() == "" {
		return fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id)
	}
	if was, known := m.encrypted[id]; known && was != encrypted {
		return fmt.Sprintf("The encrypted content for item %s could not be verified.", id)
	}
	missing := fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", id)
	if i+1 == len(input) {
		return missing
	}
	next := input[i+1]
	if follower := m.following[id]; follower != "" && next.Get("id").String() != follower {
		return missing
	}
	switch kind := next.Get("type").String(); {
	case kind == "message" || kind == "":
		if next.Get("role").String() != "assistant" {
			return missing
		}
	case strings.HasSuffix(kind, "_output"):
		return missing
	}
	return ""
}

func judgeInput(i int, it gjson.Result) string {
	role := it.Get("role").String()
	if !slices.Contains([]string{"user", "assistant", "system", "developer"}, role) {
		return fmt.Sprintf("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'. (input[%d].role)", role, i)
	}
	if it.Get("name").Exists() {
		return fmt.Sprintf("Unknown parameter: 'input[%d].name'.", i)
	}
	return judgeParts(i, role, it.Get("content"))
}

func judgeParts(i int, role string, content gjson.Result) string {
	if content.Type == gjson.String {
		return ""
	}
	if !content.IsArray() || len(content.Array()) == 0 {
		return fmt.Sprintf("Invalid type for 'input[%d].content': expected one of an array of objects or string, but got null instead.", i)
	}
	takes := []string{"input_text", "input_image", "input_file", "input_audio"}
	if role == "assistant" {
		takes = []string{"output_text", "refusal"}
	}
	for k, p := range content.Array() {
		kind := p.Get("type").String()
		if !slices.Contains(takes, kind) {
			return fmt.Sprintf("Invalid value: '%s'. Supported values are: %s. (input[%d].content[%d])", kind, strings.Join(takes, ", "), i, k)
		}
		if why := judgeBreakpoint(role, p); why != "" {
			return why
		}
		switch kind {
		case "input_text", "output_text":
			if p.Get("text").Type != gjson.String {
				return fmt.Sprintf("Missing required parameter: 'input[%d].content[%d].text'.", i, k)
			}
		case "input_image":
			if why := judgeURL(p.Get("image_url").String()); why != "" {
				return why
			}
		case "input_file":
			if why := judgeFile(p); why != "" {
				return why
			}
		}
	}
	return ""
}
