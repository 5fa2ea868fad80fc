package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// The types of blocks that only this package reads.
const (
	typeReference  = "tool_reference"
	typeCompaction = "compaction"
	// typeSearchResult is the type of what the API's own search for tools has found.
	typeSearchResult = "tool_search_tool_result"
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
	return slices.IndexFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == b.ID })
}

// onlyAssistant reports whether only assistant messages may hold the block: thinking, the API's own tools with their
// results, citations, compactions.
func (b opaqueBlock) onlyAssistant() bool {
	switch b.Type {
	case messages.TypeThinking, messages.TypeRedacted, messages.TypeCitations, typeCompaction:
		return true
	case messages.TypeToolResult:
		return false
	}
	return strings.HasSuffix(b.Type, messages.TypeToolUse) || strings.HasSuffix(b.Type, messages.TypeToolResult)
}

// neverAssistant are the types of the blocks that assistant messages may not hold.
var neverAssistant = []string{"image", "document", "search_result", "container_upload"}

// marksCall reports whether the block marks the place of one of the message's calls.
func (b opaqueBlock) marksCall(m chat.Message) bool {
	return b.Type == messages.TypeToolUse && m.Role == chat.RoleAssistant && b.call(m) >= 0
}
