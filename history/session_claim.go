package history

import (
	"context"
	"time"

	"github.com/promptree-go/promptree/history/internal/log"
)

// ClaimState is the state of a claim on work on a session.
type ClaimState int

// The states of a claim.
const (
	// ClaimNone: nobody holds a claim.
	ClaimNone = ClaimState(log.ClaimNone)
	// ClaimHeld: somebody holds a claim, here or in another process.
	ClaimHeld = ClaimState(log.ClaimHeld)
	// ClaimExpired: another process held a claim, and died or lost its connection before it released it.
	ClaimExpired = ClaimState(log.ClaimExpired)
	// ClaimUnknown: nobody holds a claim here. Other processes may, but the store keeps no leases, or failed.
	ClaimUnknown = ClaimState(log.ClaimUnknown)
)

// Claim claims work on the session, such as an [entry.Plan] by the id of its entry, and reports whether it succeeded:
// it returns false if the work is claimed already. [Session.Release] ends a claim.
//
// Claims are held in memory and coordinate goroutines of this process. If the store is a [storage.Leaser], they also
// coordinate processes: Claim takes a lease of 9 seconds, and a goroutine renews it every 3 seconds until the claim is
// released, the limit has passed or the session is closed. When a process dies, its claims are [ClaimExpired] at most 9
// seconds later. If the renewals fail for that long and another process takes the lease, the claim is lost: others are
// at work, and what they write must be looked for before a result is written.
//
// The error is that of the store. The work is not claimed then.
func (s *Session) Claim(ctx context.Context, id string, limit time.Duration) (bool, error) {
	return s.log.Claim(ctx, id, limit)
}

// Release ends a claim. It does nothing if there is none. A lease ends in the store too; if the store fails or takes
// longer than 2 seconds, the lease expires.
func (s *Session) Release(id string) { s.log.Release(id) }

// Claimed returns the state of a claim. If the store fails, that is [ClaimUnknown], with the store's error.
func (s *Session) Claimed(ctx context.Context, id string) (ClaimState, error) {
	state, err := s.log.Claimed(ctx, id)
	return ClaimState(state), err
}
