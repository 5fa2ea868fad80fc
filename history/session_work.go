package history

// ReadOnly reports whether the session was opened for reading, so that nothing can be added to it.
func (s *Session) ReadOnly() bool {
	store, ok := s.stored().(ReadOnlyer)
	return ok && ability(s.stored(), store.ReadOnly)
}

// Shared reports whether other processes may append to the session's store at the same time. That of a file has one
// writer, and that in memory is this process's own; a store of your own says so by a method Shared() bool.
func (s *Session) Shared() bool {
	store, ok := s.stored().(Sharer)
	return ok && ability(s.stored(), store.Shared)
}

// Claim claims work on the session for the caller, such as a [Plan] by the id of its entry, and reports whether it was
// free: false if it is claimed already. Claims are held in memory, for those who work on the session in this process.
// [Session.Release] ends one.
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

// Release ends a claim. Without one it does nothing.
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
