package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/internal/trim"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// MaxHalved is how often segments are halved because of earlier attempts, and how often a candidate that refuses requests as
// too large is asked again, also by two requests at once, until it answers one.
const MaxHalved = 4

// span is what is still to be summarised of something that an attempt covers. Its material has the summary of what was
// answered before.
type span struct {
	Attempt
	from   string         // the first unit's id if the span does not begin with the earlier summary
	rest   []history.Unit // what is left
	prefix int            // how many units at the end of rest belong to the turn that is cut
	most   int            // tokens of a segment, 0 if one request is to show everything
	before int            // characters of what was answered
	begun  bool           // something was answered, so the earlier summary is that of the answers
}

// halve makes segments of what is left: it is halved so often, 0 for all that fits.
func (s *span) halve(times int) {
	if s.most = 0; times > 0 {
		s.most = max(1, tokens(s.rest)>>times)
	}
}

// segment is what one request shows: n of the units that are left, or the earlier summary alone.
type segment struct {
	n        int
	material policy.Material
	request  *render.Result
}

// whole returns the span of everything that an attempt covers.
func (a *Attempt) whole() *span { return &span{Attempt: *a, rest: a.covered, prefix: a.prefix} }

// inSegments asks a candidate for a summary of a span: of all of it, if that fits, and else in segments, each with the
// summary of those before it. It goes on from what was answered before. Each answer that another segment follows is kept.
func (w *Writer) inSegments(ctx context.Context, c *Candidate, p NamedPrompt, s *span) (string, error) {
	text := ""
	var refused error
	if !p.Forks || w.settles { // a fork shows what the agent's request did
		done, err := w.resume(ctx, s)
		if text = done.Text; err != nil {
			return "", err
		}
		s.halve(w.Halved)
	}
	for len(s.rest) > 0 || !s.begun {
		next, err := w.next(ctx, c, p, s)
		if err != nil {
			return "", errors.Join(refused, err)
		}
		p.before, p.more, p.from, p.to = s.before, next.n < len(s.rest), s.from, ""
		if next.n > 0 {
			p.to = s.rest[next.n-1].Last
		}
		room := c.most(0)
		text, err = w.send(ctx, c, p, next.material, next.request)
		said := refusal.Of(err)
		if most := w.mostRefusals(said); c.refused < most {
			c.refused++
			if refused = err; c.most(0) < room { // what the candidate learnt from it
				s.most = max(1, tokens(s.rest[:next.n])/2)
			}
			continue
		} else if most > 0 && said.Kind != refusal.Output {
			c.err = err // it is not the size
		}
		if err != nil {
			return "", err
		}
		refused = nil
		if err := s.advance(ctx, next.n, text); err != nil {
			return "", err
		}
		if w.Halved > 0 || c.most(0) > room { // what can be used makes the next segment larger
			w.Halved /= 2
			s.halve(w.Halved)
		}
	}
	return text, nil
}

// mostRefusals returns how often a request for a summary is made smaller after refusals of a kind. What is refused at any
// size is not refused for its size.
func (w *Writer) mostRefusals(said refusal.Refusal) int {
	most := MaxHalved
	if w.OneWay { // the next attempt asks for less
		most = 0
	}
	switch {
	case said.Kind == refusal.Tokens, said.Sized:
		return most
	case said.OfContent():
		return 0
	case said.Kind == refusal.Output:
		return 1
	case said.Kind == refusal.Body, said.Kind == refusal.Dropped, said.Kind == refusal.Opaque && w.lastWay:
		return min(3, most)
	}
	return 0
}

// next returns the next segment of a span: all that is left if that fits, else as many units from the front as take half
// of what the candidate takes in. A request that does not fit, or would leave messages out although less may be asked for,
// is made for less. If it shows a single round, the larger of that and the summary before it is made smaller: the round's
// texts are clipped; an earlier summary is asked for alone, and like that of the segments before is cut at a section.
func (w *Writer) next(ctx context.Context, c *Candidate, p NamedPrompt, s *span) (segment, error) {
	j, units := s.Attempt, s.rest
	if s.most > 0 && (w.Halved > 0 || tokens(units) > 2*s.most) { // else all that is left may fit
		units = upTo(s.most, units)
	}
	n, less := len(units), math.MaxInt // less is what the larger of the two may take
	for {
		if n == 0 { // the earlier summary alone
			alone, err := s.earlier(ctx, less)
			if err != nil {
				return segment{}, err
			}
			units, j.Material.Previous, j.Material.PreviousSummary = alone, nil, ""
		}
		next := segment{n: n, material: j.segment(units, max(0, min(n, n+s.prefix-len(s.rest))))}
		var err error
		next.request, err = w.render(ctx, c, p, next.material, n <= 1 || p.Forks)
		if err == nil && p.Drops && len(next.request.Report().Dropped()) > 0 && !w.mayDrop(c, p) {
			err = errDrops
		}
		if err == nil || !failure.TooLarge(err) && err != errDrops {
			return next, err
		}
		size, over := tokens(units), tokens(units)/2
		fits := over
		if exceeded, ok := errors.AsType[*render.BudgetExceededError](err); ok && exceeded.Needed > exceeded.Budget {
			over = exceeded.Needed - exceeded.Budget
			fits = int(float64(size) * float64(exceeded.Budget) / float64(exceeded.Needed))
		}
		if n > 1 && !p.Forks {
			if s.most == 0 {
				fits /= 2
			}
			s.most = max(1, min(fits, size/2))
			units = upTo(s.most, units)
			n = len(units)
			continue
		}
		before, wrong := guard.Value(ctx, guard.NameTokenizer, func() int { return plan.Replaced(j.Material.Tokenizer, j.Material.Previous, nil) })
		if wrong != nil {
			return segment{}, wrong
		}
		less = min(less, max(size, before))
		less -= max(over, less/8)
		switch {
		case p.Forks, less < policy.MinWords, n == 1 && before <= size && !w.mayClip:
			if !p.Forks && c.forget() {
				s.most = 0
				return w.next(ctx, c, p, s)
			}
			return segment{}, fmt.Errorf("%w: %w", errOneTooLarge, err)
		case (n == 0 || before > size) && !w.OneWay && c.forget(): // a summary loses nothing for a refusal that may be a mistake
			s.most = 0
			return w.next(ctx, c, p, s)
		case n == 0:
		case before > size && !s.begun:
			n, less = 0, math.MaxInt
		case before > size:
			if j, err = j.continued(ctx, j.Material.PreviousSummary, less); err != nil {
				return segment{}, err
			}
		default:
			clipped, err := guard.Value(ctx, guard.NameTokenizer, func() history.Unit { return units[0].Clipped(c.Tokenizer, less, history.DefaultHead) })
			if err != nil {
				return segment{}, err
			}
			units = []history.Unit{clipped}
		}
	}
}

var (
	errOneTooLarge = errors.New("summarize: a single round is larger than the model takes in")
	errDrops       = errors.New("summarize: the request leaves messages out")
)

// mayDrop reports whether a prompt may leave messages out: if it is the only one, or for want of room, but not after a
// refusal or an answer that could not be used.
func (w *Writer) mayDrop(c *Candidate, p NamedPrompt) bool {
	return policy.Mode(w.Attempt.Plan.Mode) == p.Mode || !w.failed && w.Halved == 0 && c.learnt.Summaries.Size(math.MaxInt) == math.MaxInt
}

// tokens returns the tokens of units.
func tokens(units []history.Unit) (n int) {
	for _, u := range units {
		n = clamp.Sum(n, guard.Counted(u.Tokens))
	}
	return n
}

// upTo returns the first units that take at most so many tokens, at least one.
func upTo(most int, units []history.Unit) []history.Unit {
	n, size := 1, tokens(units[:1])
	for ; n < len(units); n++ {
		if size = clamp.Sum(size, guard.Counted(units[n].Tokens)); size > most {
			break
		}
	}
	return units[:n]
}

// cutTo returns a summary as it may stand between promptree's tags, cut at a section to so many tokens.
func cutTo(most int, t chat.Tokenizer, summary string) string {
	return trim.ToSection(plaintext.Outside(summary), func(text string) bool { return guard.Counted(t.CountText(text)) <= most })
}

// earlier returns the summary of an earlier compaction as a unit, cut at a section to so many tokens.
func (s *span) earlier(ctx context.Context, words int) ([]history.Unit, error) {
	m := s.Material
	return guard.Call(ctx, guard.NameTokenizer, 0, func(context.Context) ([]history.Unit, error) {
		said := chat.UserMessage(plaintext.PreviousSummaryTag.Around(cutTo(words, m.Tokenizer, prompts.Earlier(m))))
		return []history.Unit{{Messages: []chat.Message{said}, Tokens: guard.Counted(m.Tokenizer.CountMessage(said))}}, nil
	})
}

// resume goes on from the answer for the largest part of a span, and returns it, the zero value if there is none.
func (w *Writer) resume(ctx context.Context, s *span) (done entry.SummaryAnswer, err error) {
	n := -1
	for _, part := range w.Parts {
		at := slices.IndexFunc(s.rest, func(u history.Unit) bool { return u.Last == part.To }) + 1
		if part.From == s.from && at >= max(n, 0) && (at > 0 || part.To == "") {
			n, done = at, part
		}
	}
	w.unseen, w.doubt = w.unseen || done.Unseen, cmp.Or(done.Doubt, w.doubt)
	if n >= 0 {
		err = s.advance(ctx, n, done.Text)
	}
	return done, err
}

// advance records the summary of everything up to a unit.
func (s *span) advance(ctx context.Context, n int, summary string) (err error) {
	s.before += utf8.RuneCountInString(said(history.UnitMessages(s.rest[:n])))
	s.rest, s.begun = s.rest[n:], true
	s.prefix = min(s.prefix, len(s.rest))
	if len(s.rest) > 0 {
		s.Attempt, err = s.continued(ctx, summary, s.Material.Words)
	}
	return err
}

// continued returns the attempt that continues from the summary of a segment, cut at a section to so many tokens.
func (a Attempt) continued(ctx context.Context, summary string, words int) (Attempt, error) {
	m := a.Material
	text, err := guard.Value(ctx, guard.NameTokenizer, func() string { return cutTo(words, m.Tokenizer, summary) })
	if err != nil {
		return a, err
	}
	// The next segment needs only the words of this summary.
	m.Summary, m.Room, m.Reminder = text, math.MaxInt32, ""
	m.Breadcrumb, m.Workspace, m.Files, m.Said, m.SaidHandles, m.SaidLeft, m.Head, m.Pinned = policy.Breadcrumb{}, policy.Workspace{}, entry.Files{}, nil, nil, 0, nil, nil
	stand, err := a.replacement(ctx, m)
	if err != nil {
		return a, err
	}
	a.Material.Previous, a.Material.PreviousSummary = stand, text
	return a, nil
}

// answered returns the summary of a plan for all of which there is an answer already; its text is "" if there is none. No
// model is asked.
func (w *Writer) answered(ctx context.Context, mode policy.Mode) (Written, error) {
	s := w.Attempt.whole()
	done, err := w.resume(ctx, s)
	if done.Text == "" || len(s.rest) > 0 || err != nil {
		return Written{}, err
	}
	d, err := w.finish(ctx, nil, NamedPrompt{Prompt: policy.Prompt{Mode: mode}}, done.Text)
	d.Model, d.Unseen, d.Doubt = done.Model, done.Unseen, done.Doubt
	return d, err
}
