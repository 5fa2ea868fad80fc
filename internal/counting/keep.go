// Package counting answers what renders and histories ask of a tokenizer beyond its counts.
package counting

import (
	"reflect"

	"github.com/promptree-go/promptree/elements/chat"
)

// MayKeep reports whether what a tokenizer counted may be kept and used again: it does not learn, and can be told from other
// tokenizers.
func MayKeep(t chat.Tokenizer) bool {
	if l, ok := t.(interface{ Learns() bool }); ok && l.Learns() {
		return false
	}
	return t != nil && reflect.ValueOf(t).Comparable()
}
