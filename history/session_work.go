package history

import "github.com/promptree-go/promptree/history/storage"

// ReadOnly reports whether the session was opened for reading only.
func (s *Session) ReadOnly() bool {
	store, ok := s.stored().(storage.ReadOnlyer)
	return ok && ability(s.stored(), store.ReadOnly)
}

// Shared reports whether other processes may append to the session's store at the same time, as reported by a
// [storage.Sharer]. A file has one writer, and a store in memory belongs to this process.
func (s *Session) Shared() bool {
	store, ok := s.stored().(storage.Sharer)
	return ok && ability(s.stored(), store.Shared)
}

// Claim claims work on the session, such as a [Plan] by the id of its entry, and reports whether it succeeded: it
// returns false if the work is claimed already. Claims are held in memory and coordinate goroutines of this process.
// [Session.Release] ends a claim.
func (s *Session) Claim(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims[id] {
		return false
	}
	if s.claims == nil {
		s.claims = map[string]bool{}
	}
	s.claims[id] = true
	return true
}

// Release ends a claim. It does nothing if there is none.
func (s *Session) Release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, id)
}

// Claimed reports whether work on the session is claimed.
func (s *Session) Claimed(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.claims[id]
}
