package entry

import (
	"cmp"
	"math"
	"time"

	"github.com/promptree-go/promptree/internal/clamp"
)

// Learnt is what a session has learnt of a model at a server from its answers and refusals. Another server of the same model
// may have other limits.
type Learnt struct {
	// Model is the model's name, and Server its server's ([chat.Origin]), "" if that is not known.
	Model  string `json:"model,omitempty"`
	Server string `json:"server,omitempty"`
	// Accepted is the largest input that the model accepted, in tokens by the provider's count, or else by ours. A
	// limit that the provider names is believed only if it is larger. Counted is our count of the same request, 0 if it
	// is not known.
	Accepted int `json:"accepted,omitempty"`
	Counted  int `json:"counted,omitempty"`
	// Agent is the limit of the agent's requests, and Summaries that of requests for summaries. A refusal of one kind says
	// nothing of the other.
	Agent     Fact `json:"agent,omitzero"`
	Summaries Fact `json:"summaries,omitzero"`
	// Bytes is the limit of a request's body, in bytes, and Body the largest that was accepted. PerByte is how many bytes
	// the newest body had for each by our count, 0 if the model did not say.
	// Output is the limit of the tokens of an answer. Doubt holds the newest refusals that named no size.
	Bytes   Fact    `json:"bytes,omitzero"`
	Body    int     `json:"body,omitempty"`
	PerByte float64 `json:"perByte,omitempty"`
	Output  Fact    `json:"output,omitzero"`
	Doubt   Doubt   `json:"doubt,omitzero"`
	// Failed is the failure of compactions of this model's prompts.
	Failed Fact `json:"failed,omitzero"`
}

// Fact is a bad moment that a session remembers: a limit that refusals taught, or a failure. It holds for 2^Tries accepted
// requests, and the first refusal for two. The zero value says nothing.
type Fact struct {
	// Tokens of a limit is the size of the smallest request that was refused, or the limit that the provider named, if that
	// is smaller: messages and tools by our own count. Tokens of a failure of content is what the policy measured before it.
	Tokens int `json:"tokens,omitempty"`
	// Cause is the text of a failure, and Since the time of the newest. Both are zero for a limit, which has no time.
	Cause string    `json:"cause,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Tries of a limit is how often it was refused since it was let go for a while: 0 if there was a single refusal without
	// a number to believe, which may have been a mistake. Tries of a failure is how often it was tried again since the first.
	Tries int `json:"tries,omitempty"`
	// Left is for how many accepted requests the fact still holds. After that the nominal budget is tried again.
	Left int `json:"left,omitempty"`
	// Attempts counts the refusals in a row: 1 is one that may have been a mistake, 2 the first that was none. Next is the
	// size of the attempt after these, 0 for half of the nominal size.
	Attempts int `json:"attempts,omitempty"`
	Next     int `json:"next,omitempty"`
	// Halved is how often the segments of a summary are halved because the same failed again: an answer that could not be
	// used, or one that took too long. Each answer that can be used halves it.
	Halved int `json:"halved,omitempty"`
	// Owed is how many accepted requests the requests of failures cost: ten each, of which so many have passed.
	Owed int `json:"owed,omitempty"`
}

// Doubt holds the refusals in a row that may have had another cause than the size: if a smaller request is accepted after
// them, it was the size, and if anything else is said, nothing is known.
type Doubt struct {
	// Attempts is the number of refusals. Tokens and Bytes are our counts of the newest that was answered with fewer of
	// them, 0 for none.
	Attempts int `json:"attempts,omitempty"`
	Tokens   int `json:"tokens,omitempty"`
	Bytes    int `json:"bytes,omitempty"`
}

// Failures returns the number of failures in a row, of which the fact is the newest.
func (f Fact) Failures() int {
	if f.Cause == "" {
		return 0
	}
	return f.Tries + 1
}

// MaxModels is the maximum number of models that a [Remembered] holds.
const MaxModels = 64

// hold returns for how many accepted requests a fact holds.
func hold(tries int) int { return 1 << min(tries, 30) }

// Size returns the largest size of the next request, in tokens, given the nominal one.
func (f Fact) Size(nominal int) int {
	size := nominal
	switch {
	case f.Attempts == 1:
		size = nominal / 2
	case f.Attempts > 1:
		size = f.Next
	case f.Left > 0 && f.Tries > 0:
		size = nineTenths(f.Tokens)
	}
	return max(1, min(size, nominal))
}

// Confirmed returns the size within which compactions are planned, given the nominal one: less than that only once smaller
// requests were accepted and one of the limit's size was refused again.
func (f Fact) Confirmed(nominal int) int {
	if f.Left == 0 || f.Tries < 2 {
		return nominal
	}
	return min(nominal, nineTenths(f.Tokens))
}

func nineTenths(n int) int { return max(1, clamp.Share(0.9, n)) }

// refuse records that a request of a size was refused. Named is the limit that the provider named, by our count, 0 if
// it named none that is believed.
func (f *Fact) refuse(counted, named int) {
	if named == 0 && f.Tokens == 0 {
		*f = Fact{Tokens: counted, Left: hold(1), Attempts: 1}
		return
	}
	size, first := counted, f.Attempts == 0
	if named > 0 {
		size = min(size, named)
	}
	switch {
	case f.Tries > 0 && f.Left == 0 && (named > 0 || counted <= f.Tokens+f.Tokens/2):
		f.Tries++
	case f.Tries == 0 && first: // something was accepted since the only refusal, so its size says nothing
		f.Tokens = 0
	}
	if f.Tokens > 0 {
		size = min(size, f.Tokens)
	}
	next := nineTenths(size)
	if named == 0 || !first {
		next = max(1, min(next, counted/2))
	}
	tries := max(1, f.Tries)
	*f = Fact{Tokens: max(1, size), Tries: tries, Left: hold(tries), Attempts: max(2, f.Attempts+1), Next: next}
}

// endRow ends the refusals in a row.
func (f *Fact) endRow() { f.Attempts, f.Next = 0, 0 }

// accepted records that a request was accepted. Its size does not matter.
func (f *Fact) accepted() {
	f.endRow()
	if f.Left = max(0, f.Left-1); f.Left == 0 && f.Tries == 0 {
		*f = Fact{}
	}
}

// fits records the size of an accepted request.
func (f *Fact) fits(counted int) {
	if f.Tries > 0 && counted >= f.Tokens {
		*f = Fact{}
	}
}

// Refuse records a refusal.
func (l *Learnt) Refuse(r Refusal) {
	named := 0
	switch r.Unit {
	case UnitBytes: // whatever the limit counts, half of what was refused is tried
		switch f := &l.Bytes; {
		case f.Tokens == 0:
			f.Tokens = r.Counted
		case f.Left == 0 && r.Counted > f.Tokens+f.Tokens/2: // it was let go, and the history has grown
			f.Tries++
		}
		l.Bytes.refuse(max(1, r.Counted), 0)
		return
	case UnitOutput:
		l.Output.refuse(max(1, r.Counted), r.Limit)
		return
	case UnitHeld:
		if r.Summary {
			return
		}
		l.Doubt = Doubt{Attempts: l.Doubt.Attempts + 1, Tokens: cmp.Or(r.Counted, l.Doubt.Tokens), Bytes: cmp.Or(r.Bytes, l.Doubt.Bytes)}
		return
	}
	if r.Limit > l.Accepted {
		named = l.ours(r)
	}
	if r.Summary {
		l.Summaries.refuse(max(1, r.Counted), named)
	} else {
		l.Agent.refuse(max(1, r.Counted), named)
	}
}

// accepted records that a request of the agent was accepted.
func (l *Learnt) accepted() {
	if d := l.Doubt; d.Tokens > 0 {
		if l.Agent.Tokens == 0 { // it was no mistake
			l.Refuse(Refusal{Counted: d.Tokens})
		}
		l.Refuse(Refusal{Counted: d.Tokens})
	}
	if l.Doubt.Bytes > 0 {
		l.Refuse(Refusal{Unit: UnitBytes, Counted: l.Doubt.Bytes})
	}
	l.Agent.accepted()
	l.Bytes.accepted()
	l.Output.accepted()
	l.Failed.Left, l.Failed.Owed = max(0, l.Failed.Left-1), max(0, l.Failed.Owed-1)
}

// Summarized records that the model answered requests for summaries, the largest of a size by our count.
func (l *Learnt) Summarized(answers, largest int) {
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
	if input = cmp.Or(input, counted); input > l.Accepted {
		l.Accepted, l.Counted = input, counted
	}
}

// sent records that a body was accepted, with its bytes by our count and their number, 0 if that is not known.
func (l *Learnt) sent(counted, bytes int) {
	if counted > 0 && bytes > 0 {
		l.PerByte = max(0.5, min(8, float64(bytes)/float64(counted)))
	}
	bytes = cmp.Or(bytes, l.BodyOf(counted))
	l.Body = max(l.Body, bytes)
	l.Bytes.fits(bytes)
}

// BodyOf returns how many bytes a body has, given our count.
func (l Learnt) BodyOf(counted int) int {
	return clamp.Int(math.Ceil(cmp.Or(l.PerByte, 1) * float64(counted)))
}

// MaxOutput returns how many tokens of an answer to ask for, given the nominal number; 0 for no limit.
func (l Learnt) MaxOutput(nominal int) int {
	if f := l.Output; f.Left > 0 && (nominal == 0 || f.Tokens < nominal) {
		return f.Tokens
	}
	return nominal
}
