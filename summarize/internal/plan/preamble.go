package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// newPreamble returns a preamble with its digest; that of nothing is "".
func newPreamble(system []chat.Message, tools []chat.Tool) (entry.Preamble, error) {
	p := entry.Preamble{System: system, Tools: tools}
	if len(system)+len(tools) == 0 {
		return p, nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return p, fmt.Errorf("summarize: the system messages and tools: %w", err)
	}
	sum := sha256.Sum256(data)
	p.Digest = hex.EncodeToString(sum[:16])
	return p, nil
}
