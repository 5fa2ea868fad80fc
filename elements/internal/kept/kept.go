// Package kept lets a renderer store data with a value of another package.
package kept

import "sync/atomic"

// Slot holds one value. The zero Slot is empty. It is safe for concurrent use. A Slot must not be copied after first
// use.
type Slot struct{ value atomic.Value }

// Load returns the value, nil if there is none.
func (s *Slot) Load() any { return s.value.Load() }

// Store replaces the value. All values must have the same type.
func (s *Slot) Store(value any) { s.value.Store(value) }
