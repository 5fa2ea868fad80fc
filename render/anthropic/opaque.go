package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// The types of blocks that this package reads.
const (
	typeText       = "text"
	typeThinking   = "thinking"
	typeRedacted   = "redacted_thinking"
	typeToolUse    = "tool_use"
	typeToolResult = "tool_result"
	typeReference  = "tool_reference"
	typeCompaction = "compaction"
	// typeSearchResult is the type of what the API's own search for tools has found.
	typeSearchResult = "tool_search_tool_result"
	// typeCitations is not a type of the API: [Response] stores under it the citations of the preceding text.
	typeCitations = "citations"
)

// opaqueBlock holds the fields of an opaque part that this package reads.
type opaqueBlock struct {
	Type         string          `json:"type"`
	ID           string          `json:"id"`
	ToolUseID    string          `json:"tool_use_id"`
	ToolName     string          `json:"tool_name"`
	Content      json.RawMessage `json:"content"`
	CacheControl *struct {
		TTL string `json:"ttl"`
	} `json:"cache_control"`
	Citations []json.RawMessage `json:"citations"`
}

func parseOpaque(p chat.Opaque) (opaqueBlock, error) {
	var b opaqueBlock
	if !utf8.Valid(p.Value) || !bytes.HasPrefix(bytes.TrimLeft(p.Value, " \t\r\n"), []byte("{")) {
		return b, errors.New("it is not a JSON object")
	}
	if err := json.Unmarshal(p.Value, &b); err != nil {
		return opaqueBlock{}, fmt.Errorf("it is not a block: %w", err)
	}
	if b.Type == "" {
		return opaqueBlock{}, errors.New("it has no type")
	}
	return b, nil
}

// call returns the index of the call whose place the block marks, or -1 if there is none.
func (b opaqueBlock) call(m chat.Message) int {
	for k, c := range m.ToolCalls {
		if c.ID == b.ID {
			return k
		}
	}
	return -1
}

// onlyAssistant reports whether only assistant messages may hold the block: thinking, the API's own tools with their
// results, citations, compactions.
func (b opaqueBlock) onlyAssistant() bool {
	switch b.Type {
	case typeThinking, typeRedacted, typeCitations, typeCompaction:
		return true
	case typeToolResult:
		return false
	}
	return strings.HasSuffix(b.Type, typeToolUse) || strings.HasSuffix(b.Type, typeToolResult)
}

// notAssistant reports whether assistant messages may not hold the block.
func (b opaqueBlock) notAssistant() bool {
	switch b.Type {
	case "image", "document", "search_result", "container_upload":
		return true
	}
	return false
}

// marksCall reports whether the block marks the place of one of the message's calls.
func (b opaqueBlock) marksCall(m chat.Message) bool {
	return b.Type == typeToolUse && m.Role == chat.RoleAssistant && b.call(m) >= 0
}
