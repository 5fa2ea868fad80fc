package entry

import "github.com/promptree-go/promptree/internal/clamp"

// Learnt is what a session has learnt of a model from its answers and refusals.
type Learnt struct {
	// Model is the model's name.
	Model string `json:"model,omitempty"`
	// Accepted is the largest input that the model accepted, in tokens by the provider's count, or else by ours. A
	// limit that the provider names is believed only if it is larger. Counted is our count of the same request, 0 if it
	// is not known.
	Accepted int `json:"accepted,omitempty"`
	Counted  int `json:"counted,omitempty"`
	// Agent is the ceiling of the agent's requests, and Summaries that of requests for summaries. A refusal of one kind
	// says nothing of the other.
	Agent     Ceiling `json:"agent,omitzero"`
	Summaries Ceiling `json:"summaries,omitzero"`
}

// Ceiling is a size that was learnt from refusals of one kind of request to one model. Sizes are in tokens by our own
// count, of messages and tools. The zero value bounds nothing.
type Ceiling struct {
	// Refused is the size of the smallest request that was refused, or the limit that the provider named, if that is
	// smaller. 0 for none.
	Refused int `json:"refused,omitempty"`
	// Once reports that there was a single refusal, without a number to believe. It may have been a mistake, and bounds
	// no later request.
	Once bool `json:"once,omitempty"`
	// Holds is for how many accepted requests the ceiling holds, and Left how many of them are left. After that the
	// nominal budget is tried again. Holds is 3 at first, and doubles if the nominal budget is then refused at up to
	// 1.5 times the ceiling.
	Holds int `json:"holds,omitempty"`
	Left  int `json:"left,omitempty"`
	// Attempts is the number of refusals in a row, and Next the size of the next attempt; 0 means half of the nominal
	// size. Resent reports that the first of them may have been a mistake, so that the request was sent again.
	Attempts int  `json:"attempts,omitempty"`
	Next     int  `json:"next,omitempty"`
	Resent   bool `json:"resent,omitempty"`
}

// firstHold is for how many accepted requests a refusal is remembered at first.
const firstHold = 3

// MaxModels is the maximum number of models that a [Memory] holds.
const MaxModels = 64

// Size returns the largest size of the next request, in tokens, given the nominal one.
func (c Ceiling) Size(nominal int) int {
	size := nominal
	switch {
	case c.Attempts > 0 && c.Next == 0:
		size = nominal / 2
	case c.Attempts > 0:
		size = c.Next
	case c.Left > 0 && !c.Once:
		size = nineTenths(c.Refused)
	}
	return max(1, min(size, nominal))
}

// Confirmed returns the number of refusals in a row, without a first one that may have been a mistake.
func (c Ceiling) Confirmed() int {
	if c.Resent {
		return c.Attempts - 1
	}
	return c.Attempts
}

func nineTenths(n int) int { return max(1, clamp.Share(0.9, n)) }

// refuse records that a request of a size was refused. Named is the limit that the provider named, by our count, 0 if
// it named none that is believed.
func (c *Ceiling) refuse(counted, named int) {
	first := c.Attempts == 0
	attempts := c.Attempts + 1
	if named == 0 && c.Refused == 0 {
		*c = Ceiling{Refused: counted, Once: true, Holds: firstHold, Left: firstHold, Attempts: attempts, Resent: true}
		return
	}
	size := counted
	if named > 0 {
		size = min(size, named)
	}
	holds := max(firstHold, c.Holds)
	switch known := c.Refused > 0 && !c.Once; {
	case known && c.Left == 0 && counted <= c.Refused+c.Refused/2:
		holds = clamp.Sum(holds, holds)
	case !known && first: // something was accepted since the only refusal, so its size says nothing
		c.Refused = 0
	}
	if c.Refused > 0 {
		size = min(size, c.Refused)
	}
	next := nineTenths(size)
	if named == 0 || !first {
		next = max(1, min(next, counted/2))
	}
	*c = Ceiling{Refused: max(1, size), Holds: holds, Left: holds, Attempts: attempts, Next: next, Resent: c.Resent}
}

// endRow ends the refusals in a row.
func (c *Ceiling) endRow() { c.Attempts, c.Next, c.Resent = 0, 0, false }

// accepted records that a request was accepted. Its size does not matter.
func (c *Ceiling) accepted() {
	c.endRow()
	if c.Left = max(0, c.Left-1); c.Left == 0 && c.Once {
		*c = Ceiling{}
	}
}

// fits records the size of an accepted request.
func (c *Ceiling) fits(counted int) {
	if !c.Once && c.Refused > 0 && counted >= c.Refused {
		*c = Ceiling{}
	}
}

// Refuse records a refusal.
func (l *Learnt) Refuse(r Refusal) {
	named := 0
	if r.Limit > l.Accepted {
		named = l.ours(r)
	}
	if r.Summary {
		l.Summaries.refuse(max(1, r.Counted), named)
	} else {
		l.Agent.refuse(max(1, r.Counted), named)
	}
}

// Summarised records that the model answered requests for summaries, the largest of a size by our count.
func (l *Learnt) Summarised(answers, largest int) {
	l.accept(0, largest)
	for range min(answers, 1000) {
		l.Summaries.accepted()
	}
	l.Summaries.fits(largest)
}

// ours returns the limit that a refusal names in tokens by our count. The provider's tokens for one of ours are those
// of the refused request, else those of the largest that was accepted, and from 0.5 to 8.
func (l *Learnt) ours(r Refusal) int {
	ratio := 1.0
	switch {
	case r.Tokens > 0 && r.Counted > 0:
		ratio = float64(r.Tokens) / float64(r.Counted)
	case l.Counted > 0:
		ratio = float64(l.Accepted) / float64(l.Counted)
	case r.Counted > 0 && r.Limit > r.Counted: // the request takes more than the limit
		ratio = float64(r.Limit) / float64(r.Counted)
	}
	return max(1, clamp.Int(float64(r.Limit)/max(0.5, min(8, ratio))))
}

// accept records the size of an accepted request, by the provider's count, 0 if that is not known, and by ours.
func (l *Learnt) accept(input, counted int) {
	if input == 0 {
		input = counted
	}
	if input > l.Accepted {
		l.Accepted, l.Counted = input, counted
	}
}

// attempted ends the refusals in a row of an attempt to compact.
func (l *Learnt) attempted() { l.Summaries.endRow() }
