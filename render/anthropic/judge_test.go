package anthropic_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"image"
	_ "image/png" // for image.DecodeConfig
	"regexp"
	"slices"
	"strings"
)

// request is a request as the server reads it.
type request struct {
	Model       string   `json:"model"`
	MaxTokens   int      `json:"max_tokens"`
	Messages    []turn   `json:"messages"`
	System      []block  `json:"system"`
	Tools       []block  `json:"tools"`
	ToolChoice  block    `json:"tool_choice"`
	Thinking    block    `json:"thinking"`
	Temperature *float64 `json:"temperature"`
	Stream      bool     `json:"stream"`
	Compaction  block    `json:"compaction"`
	Editing     editing  `json:"context_management"`
}

type editing struct {
	Edits []block `json:"edits"`
}

type turn struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

func (m turn) onlyResults() bool {
	return m.Role == "user" && !slices.ContainsFunc(m.Content, func(b block) bool { return b["type"] != "tool_result" })
}

// paused reports whether the API paused an answer in a call of one of its own tools.
func (m turn) paused() bool {
	open := 0
	for _, b := range m.Content {
		switch kind := fmt.Sprint(b["type"]); {
		case kind == "server_tool_use":
			open++
		case kind != "tool_result" && strings.HasSuffix(kind, "_tool_result"):
			open--
		}
	}
	return open > 0
}

func (r request) thinks() bool {
	return r.Thinking["type"] == "enabled" || r.Thinking["type"] == "adaptive"
}

// sign returns the server's signature of a thought.
func sign(thought string) string {
	sum := sha256.Sum256([]byte("salt" + thought))
	return hex.EncodeToString(sum[:8])
}

var (
	idPattern   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// judge returns the refusal of a request by the documentation of the Messages API: the reference of the endpoint, and
// the guides to tool use, thinking, prompt caching, vision and PDFs.
func judge(r request) error {
	for _, check := range []func(request) error{
		judgeParams, judgeTools, judgeSystem, judgeRoles, judgeBlocks, judgeCalls, judgeServerTools, judgeImages, judgeThinking, judgeCache,
	} {
		if err := check(r); err != nil {
			return err
		}
	}
	return nil
}

func judgeParams(r request) error {
	switch {
	case r.Model == "":
		return fmt.Errorf("model: Field required")
	case r.MaxTokens < 1:
		return fmt.Errorf("max_tokens: must be greater than or equal to 1")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return fmt.Errorf("temperature: range: 0..1")
	case len(r.Messages) == 0:
		return fmt.Errorf("messages: at least one message is required")
	case len(r.Messages) > 100_000:
		return fmt.Errorf("messages: too many")
	}
	return nil
}

// judgeBetas refuses fields and blocks without the beta that they require.
func judgeBetas(r request, betas string) error {
	switch {
	case r.Compaction != nil && !strings.Contains(betas, "compact-2026-09-04"):
		return fmt.Errorf("compaction: Extra inputs are not permitted")
	case r.Compaction != nil && r.Editing.Edits != nil:
		return fmt.Errorf("compaction: cannot be combined with context_management")
	}
	for _, e := range r.Editing.Edits {
		beta := "context-management-2025-06-27"
		if e["type"] == "compact_20260112" {
			beta = "compact-2026-01-12"
		}
		if !strings.Contains(betas, beta) {
			return fmt.Errorf("context_management: Extra inputs are not permitted")
		}
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if b["type"] == "compaction" && !strings.Contains(betas, "compact-") {
				return fmt.Errorf("Input tag 'compaction' found using 'type' does not match any of the expected tags")
			}
		}
	}
	return nil
}

func judgeTools(r request) error {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		name, _ := t["name"].(string)
		schema, _ := t["input_schema"].(map[string]any)
		switch {
		case !namePattern.MatchString(name):
			return fmt.Errorf("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case seen[name]:
			return fmt.Errorf("tools: Tool names must be unique.")
		case t["type"] == "tool_search_tool_bm25_20251119":
			if t["defer_loading"] != nil || schema != nil {
				return fmt.Errorf("tools.%d.tool_search_tool_bm25: Extra inputs are not permitted", i)
			}
		case schema == nil:
			return fmt.Errorf("tools.%d.custom.input_schema: Field required", i)
		case schema["type"] != "object":
			return fmt.Errorf("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		seen[name] = true
	}
	if len(r.Tools) == 0 && r.ToolChoice != nil {
		return fmt.Errorf("tool_choice: may only be specified while providing tools")
	}
	return nil
}

func judgeSystem(r request) error {
	for i, b := range r.System {
		if b["type"] != "text" {
			return fmt.Errorf("system.%d.type: Input should be 'text'", i)
		}
		if err := judgeText(b); err != nil {
			return fmt.Errorf("system: %w", err)
		}
	}
	return nil
}

func judgeText(b block) error {
	s, ok := b["text"].(string)
	switch {
	case !ok || s == "":
		return fmt.Errorf("text content blocks must be non-empty")
	case strings.TrimSpace(s) == "":
		return fmt.Errorf("text content blocks must contain non-whitespace text")
	}
	return nil
}

func judgeRoles(r request) error {
	for i, m := range r.Messages {
		switch {
		case m.Role != "user" && m.Role != "assistant":
			return fmt.Errorf("messages.%d.role: Input should be 'user' or 'assistant'", i)
		case i == 0 && m.Role != "user" && (len(m.Content) != 1 || m.Content[0]["type"] != "compaction"):
			return fmt.Errorf("messages: first message must use the \"user\" role")
		case i > 0 && m.Role == r.Messages[i-1].Role:
			return fmt.Errorf("messages: roles must alternate between \"user\" and \"assistant\"")
		case len(m.Content) == 0:
			return fmt.Errorf("messages.%d: all messages must have non-empty content", i)
		}
	}
	if last := r.Messages[len(r.Messages)-1]; last.Role == "assistant" && !last.paused() {
		return fmt.Errorf("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}

func judgeBlocks(r request) error {
	deferred := map[string]bool{}
	for _, t := range r.Tools {
		if t["defer_loading"] == true && t["cache_control"] != nil {
			return fmt.Errorf("Tool '%v' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.", t["name"])
		}
		if t["defer_loading"] == true {
			deferred[fmt.Sprint(t["name"])] = true
		}
	}
	for i, m := range r.Messages {
		for k, b := range m.Content {
			if err := judgeBlock(m.Role, b, deferred); err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, k, err)
			}
		}
	}
	return nil
}

func judgeBlock(role string, b block, deferred map[string]bool) error {
	switch kind := b["type"]; kind {
	case "text":
		return judgeText(b)
	case "image", "document":
		if role != "user" {
			return fmt.Errorf("%s blocks are not permitted in assistant messages", kind)
		}
		return judgeMedia(b)
	case "thinking":
		thought, _ := b["thinking"].(string)
		switch {
		case role != "assistant":
			return fmt.Errorf("thinking blocks are only permitted in assistant messages")
		case b["signature"] != sign(thought):
			return fmt.Errorf("Invalid `signature` in `thinking` block")
		}
	case "redacted_thinking":
		data, _ := b["data"].(string)
		switch {
		case role != "assistant":
			return fmt.Errorf("redacted_thinking blocks are only permitted in assistant messages")
		case !strings.HasPrefix(data, "enc:"):
			return fmt.Errorf("Invalid `data` in `redacted_thinking` block")
		}
	case "tool_use":
		_, object := b["input"].(map[string]any)
		switch {
		case role != "assistant":
			return fmt.Errorf("tool_use blocks can only be in assistant messages")
		case !idPattern.MatchString(fmt.Sprint(b["id"])):
			return fmt.Errorf("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
		case !namePattern.MatchString(fmt.Sprint(b["name"])):
			return fmt.Errorf("tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
		case !object:
			return fmt.Errorf("tool_use.input: Input should be a valid dictionary")
		}
	case "tool_result":
		if role != "user" {
			return fmt.Errorf("tool_result blocks can only be in user messages")
		}
		content, _ := b["content"].([]any)
		if b["is_error"] == true && len(content) == 0 {
			return fmt.Errorf("tool_result: content cannot be empty if `is_error` is true")
		}
		for _, c := range content {
			part, _ := c.(map[string]any)
			switch part["type"] {
			case "text":
				if err := judgeText(part); err != nil {
					return err
				}
			case "image", "document":
				if err := judgeMedia(part); err != nil {
					return err
				}
			case "tool_reference":
				if !deferred[fmt.Sprint(part["tool_name"])] {
					return fmt.Errorf("Tool reference '%v' not found in available tools", part["tool_name"])
				}
			case "search_result":
			default:
				return fmt.Errorf("tool_result.content: unexpected type %v", part["type"])
			}
			if b["is_error"] == true && part["type"] != "text" {
				return fmt.Errorf("tool_result: all content must be type \"text\" if `is_error` is true")
			}
		}
	case "compaction":
		switch {
		case role != "assistant":
			return fmt.Errorf("compaction blocks can only be in assistant messages")
		case b["id"] != nil:
			return fmt.Errorf("compaction.id: Extra inputs are not permitted")
		}
	case "search_result":
		if role != "user" {
			return fmt.Errorf("search_result blocks can only be in user messages")
		}
	case "server_tool_use", "web_search_tool_result", "tool_search_tool_result", "code_execution_tool_result":
		found, _ := b["content"].(map[string]any)
		references, _ := found["tool_references"].([]any)
		for _, r := range references {
			if name := fmt.Sprint(r.(map[string]any)["tool_name"]); !deferred[name] {
				return fmt.Errorf("Tool reference '%v' not found in available tools", name)
			}
		}
		if role != "assistant" {
			return fmt.Errorf("%s blocks can only be in assistant messages", kind)
		}
	default:
		return fmt.Errorf("Input tag '%v' found using 'type' does not match any of the expected tags", kind)
	}
	return nil
}

func judgeMedia(b block) error {
	source, _ := b["source"].(map[string]any)
	data, _ := source["data"].(string)
	url, _ := source["url"].(string)
	_, notBase64 := base64.StdEncoding.DecodeString(data)
	switch source["type"] {
	case "base64":
		kinds := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
		if b["type"] == "document" {
			kinds = []string{"application/pdf"}
		}
		if !slices.Contains(kinds, fmt.Sprint(source["media_type"])) {
			return fmt.Errorf("source.base64.media_type: Input should be one of %v", kinds)
		}
		if data == "" || notBase64 != nil {
			return fmt.Errorf("source.base64.data: invalid base64 data")
		}
	case "url":
		if !strings.HasPrefix(url, "https://") {
			return fmt.Errorf("source.url.url: Only HTTPS URLs are supported.")
		}
	case "text":
		if b["type"] != "document" || source["media_type"] != "text/plain" || strings.TrimSpace(data) == "" {
			return fmt.Errorf("source.text: plain text of a document is expected")
		}
	default:
		return fmt.Errorf("source: unexpected type %v", source["type"])
	}
	return nil
}

func judgeCalls(r request) error {
	seen := map[string]bool{}
	var open []string // calls of the message before
	for i, m := range r.Messages {
		var calls []string
		answered := map[string]bool{}
		other := false
		for k, b := range m.Content {
			id := fmt.Sprint(b["id"])
			switch b["type"] {
			case "tool_use":
				if seen[id] {
					return fmt.Errorf("messages.%d.content.%d: `tool_use` ids must be unique", i, k)
				}
				seen[id] = true
				calls = append(calls, id)
			case "tool_result":
				id = fmt.Sprint(b["tool_use_id"])
				switch {
				case !slices.Contains(open, id):
					return fmt.Errorf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, k, id)
				case answered[id]:
					return fmt.Errorf("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, k, id)
				case other:
					return fmt.Errorf("messages.%d.content.%d: `tool_result` blocks must come first in the content", i, k)
				}
				answered[id] = true
			default:
				other = true
			}
		}
		for _, id := range open {
			if !answered[id] {
				return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, id)
			}
		}
		open = calls
	}
	if len(seen) > 0 && len(r.Tools) == 0 {
		return fmt.Errorf("Requests which include `tool_use` or `tool_result` blocks must define tools")
	}
	return nil
}

// judgeServerTools refuses unpaired calls and results of the API's own tools, in the API's words.
func judgeServerTools(r request) error {
	open := map[string]bool{}
	called := map[string]bool{}
	for i, m := range r.Messages {
		if m.Role == "user" {
			if m.onlyResults() {
				continue
			}
			for id := range open {
				return fmt.Errorf("messages.%d: `web_search` tool use with id `%s` was found without a corresponding `web_search_tool_result` block", i-1, id)
			}
			clear(called)
			continue
		}
		for k, b := range m.Content {
			kind, id := fmt.Sprint(b["type"]), fmt.Sprint(b["id"])
			switch {
			case kind == "server_tool_use":
				if called[id] {
					return fmt.Errorf("messages.%d.content.%d: `server_tool_use` ids must be unique", i, k)
				}
				open[id], called[id] = true, true
			case strings.HasSuffix(kind, "_tool_result"):
				id = fmt.Sprint(b["tool_use_id"])
				if !open[id] {
					return fmt.Errorf("messages.%d.content.%d: unexpected `tool_use_id` found in `%s` blocks: %s. Each `%s` block must have a corresponding `server_tool_use` block before it.", i, k, kind, id, kind)
				}
				delete(open, id)
			}
		}
	}
	return nil
}

// largeWindow is a model with a context window of more than 200,000 tokens.
const largeWindow = "claude-large-window"

func judgeImages(r request) error {
	var sizes []int
	longest, most := 0, 100
	if r.Model == largeWindow {
		most = 600
	}
	look := func(b block) {
		if source, ok := b["source"].(map[string]any); ok && b["type"] == "image" {
			data, _ := base64.StdEncoding.DecodeString(fmt.Sprint(source["data"]))
			longest = max(longest, len(fmt.Sprint(source["data"])))
			config, _, _ := image.DecodeConfig(bytes.NewReader(data))
			sizes = append(sizes, config.Width, config.Height)
		}
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			look(b)
			content, _ := b["content"].([]any)
			for _, c := range content {
				if part, ok := c.(map[string]any); ok {
					look(part)
				}
			}
		}
	}
	switch {
	case len(sizes) == 0:
	case len(sizes)/2 > most:
		return fmt.Errorf("Too much media: 0 document pages + %d images > %d", len(sizes)/2, most)
	case longest > 10<<20:
		return fmt.Errorf("image.source.base64: image exceeds 10 MB maximum: %d bytes > 10485760 bytes", longest)
	case slices.Max(sizes) > 8000:
		return fmt.Errorf("image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels")
	case slices.Max(sizes) > 2000 && len(sizes)/2 > 20:
		return fmt.Errorf("image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels")
	}
	return nil
}

func isThought(b block) bool { return b["type"] == "thinking" || b["type"] == "redacted_thinking" }

func judgeThinking(r request) error {
	for i, m := range r.Messages {
		if slices.ContainsFunc(m.Content, isThought) && !isThought(m.Content[0]) && r.Thinking["type"] != "adaptive" {
			return fmt.Errorf("messages.%d.content.0: Expected `thinking` or `redacted_thinking`, but found `%v`", i, m.Content[0]["type"])
		}
	}
	if !r.thinks() {
		return nil
	}
	if r.Temperature != nil && *r.Temperature != 1 {
		return fmt.Errorf("`temperature` may only be set to 1 when thinking is enabled")
	}
	if kind := r.ToolChoice["type"]; kind == "any" || kind == "tool" {
		return fmt.Errorf("Thinking may not be enabled when tool_choice forces tool use.")
	}
	if r.Thinking["type"] != "enabled" {
		return nil
	}
	budget, _ := r.Thinking["budget_tokens"].(float64)
	switch {
	case budget < 1024:
		return fmt.Errorf("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case int(budget) >= r.MaxTokens:
		return fmt.Errorf("`max_tokens` must be greater than `thinking.budget_tokens`")
	}
	first := len(r.Messages) // of the tool loop, whose messages are one turn
	for first > 1 && r.Messages[first-1].onlyResults() {
		first -= 2
	}
	if first < len(r.Messages) && !isThought(r.Messages[first].Content[0]) {
		return fmt.Errorf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%v`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", first, r.Messages[first].Content[0]["type"])
	}
	return nil
}

func judgeCache(r request) error {
	n, short := 0, false
	look := func(b block) error {
		c, ok := b["cache_control"].(map[string]any)
		if !ok {
			return nil
		}
		n++
		ttl, said := c["ttl"]
		switch {
		case isThought(b):
			return fmt.Errorf("cache_control: Extra inputs are not permitted on thinking")
		case c["type"] != "ephemeral":
			return fmt.Errorf("cache_control.type: Input should be 'ephemeral'")
		case said && ttl != "5m" && ttl != "1h":
			return fmt.Errorf("cache_control.ttl: Input should be '5m' or '1h'")
		case n > 4:
			return fmt.Errorf("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
		case ttl == "1h" && short:
			return fmt.Errorf("cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
		}
		short = short || ttl != "1h"
		return nil
	}
	for _, b := range slices.Concat(r.Tools, r.System) {
		if err := look(b); err != nil {
			return err
		}
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			content, _ := b["content"].([]any)
			for _, c := range content {
				if part, ok := c.(map[string]any); ok {
					if err := look(part); err != nil {
						return err
					}
				}
			}
			if err := look(b); err != nil {
				return err
			}
		}
	}
	return nil
}
