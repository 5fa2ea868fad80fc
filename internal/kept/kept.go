// Package kept is where a renderer keeps something with a value that is not its own.
package kept

import "sync/atomic"

// Slot holds one value. The zero Slot is empty. It is safe for concurrent use, and is not copied once it was used.
type Slot struct{ value atomic.Value }

// Load returns the value that is kept, nil if there is none.
func (s *Slot) Load() any { return s.value.Load() }

// Store keeps a value, which is of the same type each time, in place of the one before.
func (s *Slot) Store(value any) { s.value.Store(value) }
