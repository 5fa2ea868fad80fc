// Package counting says where counts of a tokenizer add up, and whether they may be kept.
package counting

import (
	"reflect"

	"github.com/promptree-go/promptree/elements/chat"
)

// MayKeep reports whether the counts of a tokenizer may be kept and used again: it does not learn, and is comparable.
func MayKeep(t chat.Tokenizer) bool {
	if l, ok := t.(interface{ Learns() bool }); ok && l.Learns() {
		return false
	}
	return t != nil && reflect.ValueOf(t).Comparable()
}
