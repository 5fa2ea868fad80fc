package replay

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/stepping"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
)

// Run is what one policy did with one session. Tokens are those of one tokenizer throughout, but for the TokensBefore of a
// recorded compaction, which are what its recorder wrote.
type Run struct {
	Session string          `json:"session"`
	Format  importer.Format `json:"format"`
	// Policy by its name, or "recorded": the session as it was sent at the time.
	Policy string `json:"policy"`
	// Model that wrote the summaries, "" for a recorded run.
	Model string `json:"model,omitempty"`
	// AnsweredBy names the model that the policy was told answers, "" where that is not known.
	AnsweredBy string `json:"answeredBy,omitempty"`
	// Window that was asked for, and what of it the messages may take without what the recording does not have. A recorded run
	// is held to neither.
	Window int `json:"windowTokens"`
	Budget int `json:"budgetTokens"`
	// Requests that were rendered, of those that the session has.
	Requests   int `json:"requests"`
	RequestsIn int `json:"requestsInSession"`
	// Sent tokens of all requests, Cached those that the request before them began with too, Peak those of the largest.
	Sent   int `json:"sentTokens"`
	Cached int `json:"cachedTokens"`
	Peak   int `json:"peakTokens"`
	// LeftOut are tokens of the history that were neither sent nor summarised: cut, pruned or dropped. Over all requests.
	LeftOut int `json:"leftOutTokens"`
	// DroppedPieces of the prompts, over all requests.
	DroppedPieces int `json:"droppedPieces"`
	// Calls of the model that writes the summaries.
	Calls       Calls        `json:"modelCalls"`
	Compactions []Compaction `json:"compactions"`
	// Events that the compactor told of, by their kind. Those of [summarize.EventUsage] are left out.
	Events map[string]int `json:"events,omitempty"`
	// Bill in dollars, nil without prices.
	Bill *Bill `json:"bill,omitempty"`
	// Lookbacks of the run, nil without prices.
	Lookbacks *Lookbacks `json:"lookbacks,omitempty"`
	// Regret of the run, nil without prices, and of the recorded run, whose summaries have no price.
	Regret *Regret `json:"regret,omitempty"`
	// Front reports whether no other run of the session, in whatever window, costs as little with its look-backs and has as few
	// edits among them.
	Front bool `json:"front,omitempty"`
	// Check of the model of costs against what was recorded, of the recorded run; nil without prices, or if no usage was.
	Check *Check `json:"check,omitempty"`
	// Bundles that were written.
	Bundles int `json:"bundles,omitempty"`
	// Ended says why the run ended before the session did, "" where it did not.
	Ended string `json:"ended,omitempty"`
}

// Calls are requests for summaries.
type Calls struct {
	Number int `json:"number"`
	// Sent tokens, Cached those that the agent's last request began with too, Answered those of the answers.
	Sent     int `json:"sentTokens"`
	Cached   int `json:"cachedTokens"`
	Answered int `json:"answeredTokens"`
}

// Compaction is one that came about in a run.
type Compaction struct {
	// Request before which it was found in the session, and the line at which its recorded answer stands. After the last
	// request the line is 0.
	Request int `json:"request"`
	Line    int `json:"line"`
	// Reason is the occasion, and Background tells that the summary was made while the work went on: the compaction stands
	// where it was put in place. Mode is the prompt that was used.
	Reason     summarize.Occasion `json:"reason,omitempty"`
	Background bool               `json:"background,omitempty"`
	Mode       string             `json:"mode,omitempty"`
	// TokensBefore are what the prompt needed, TokensAfter what it took, 0 where that is not known.
	TokensBefore int `json:"tokensBefore"`
	TokensAfter  int `json:"tokensAfter"`
	// StandIn are the tokens of what was put in place.
	StandIn int `json:"standInTokens"`
	// Covered and Kept are messages: those that are no longer shown word for word, and those that are.
	Covered int `json:"coveredMessages"`
	Kept    int `json:"keptMessages"`
	// KeptTokens are those of the messages that are.
	KeptTokens int `json:"keptTokens"`
}

// measuring measures a run as it goes on.
type measuring struct {
	session   *history.Session
	tokenizer chat.Tokenizer
	meter     *meter
	run       *Run
	biller    *biller           // nil without prices
	looker    *looker           // nil without prices
	said      int               // messages of the path that the looker has
	latest    string            // compaction that was measured
	taken     func() []finished // what the compactor says of those that are new
}

// request measures one that is sent, and gives the compactions that were made before it, and, with prices, what the provider
// would have reported.
func (m *measuring) request(ctx context.Context, step stepping.Step, rendered *render.Result) (made []placed, usage chat.Usage, err error) {
	whole := m.meter.whole(rendered.Messages)
	tokens, cached := m.meter.sends(rendered.Messages)
	r := m.run
	r.Requests = step.Number
	if m.biller != nil {
		answered := step.Usage.Output
		if step.Usage.Input == 0 {
			answered = m.tokenizer.CountMessage(step.Answer)
		}
		usage = m.biller.request(r.Bill, step, tokens, whole, answered)
	}
	r.Sent += tokens
	r.Cached += cached
	r.Peak = max(r.Peak, tokens)
	r.DroppedPieces += len(rendered.Report().Dropped())
	view, err := m.session.View(ctx)
	if err != nil {
		return nil, usage, err
	}
	all := m.count(view.Messages())
	for _, message := range rendered.Messages {
		if message.Role == chat.RoleSystem {
			all += m.tokenizer.CountMessage(message)
		}
	}
	r.LeftOut += max(0, all-tokens)

	made, err = m.made(ctx, step.Number, step.Line, tokens)
	if err == nil && m.looker != nil {
		if len(made) > 0 {
			m.looker.compacted()
		}
		err = m.look(ctx, rendered.Messages, tokens, step.Answer)
	}
	return made, usage, err
}

// look takes in what was said since the last request, and looks through the answer to this one.
func (m *measuring) look(ctx context.Context, request []chat.Message, tokens int, answer chat.Message) error {
	n := 0
	for e, err := range m.session.PathTo(ctx, "") {
		if err != nil {
			return err
		}
		if e.Type() != history.TypeMessage {
			continue
		}
		if n++; n > m.said {
			m.looker.add(e.Message())
		}
	}
	m.said = n
	m.looker.answer(m.run.Lookbacks, request, tokens, answer)
	return nil
}

// placed is a compaction in the session, and what its model was asked, where that is known.
type placed struct {
	entry history.Entry
	asked []exchange
}

// made measures the compactions that are new, and gives them. They were found before a request of so many tokens; after
// the last there is none.
func (m *measuring) made(ctx context.Context, number, line, tokens int) ([]placed, error) {
	entries, err := m.compactions(ctx)
	if err != nil {
		return nil, err
	}
	told := m.taken()
	made := make([]placed, len(entries))
	for i, e := range entries {
		c, err := m.compaction(ctx, e)
		if err != nil {
			return nil, err
		}
		made[i].entry = e
		if i < len(told) {
			made[i].asked = told[i].asked
			c.Reason, c.Background = told[i].event.Reason, told[i].event.Background
		}
		if c.Request, c.Line = number, line; c.TokensAfter == 0 {
			c.TokensAfter = tokens
		}
		m.run.Compactions = append(m.run.Compactions, c)
	}
	return made, nil
}

// compactions gives those on the path that are new.
func (m *measuring) compactions(ctx context.Context) ([]history.Entry, error) {
	latest, ok, err := m.session.Latest(ctx, history.TypeCompaction)
	if err != nil || !ok || latest.ID == m.latest {
		return nil, err
	}
	var list []history.Entry
	for e, err := range m.session.PathTo(ctx, latest.ID) {
		if err != nil {
			return nil, err
		}
		if e.Type() == history.TypeCompaction {
			list = append(list, e)
		}
		if e.ID == m.latest {
			list = nil
		}
	}
	m.latest = latest.ID
	return list, nil
}

// compaction measures what one changed.
func (m *measuring) compaction(ctx context.Context, e history.Entry) (Compaction, error) {
	before, err := m.session.ViewAt(ctx, e.Parent)
	if err != nil {
		return Compaction{}, err
	}
	after, err := m.session.ViewAt(ctx, e.ID)
	if err != nil {
		return Compaction{}, err
	}
	shown := after.Messages()
	kept := len(shown) - len(after.Compacted)
	c := e.Compaction()
	return Compaction{
		Mode: c.Mode, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter, StandIn: m.count(c.Messages),
		Covered: len(before.Messages()) - len(before.Compacted) - kept, Kept: kept, KeptTokens: m.count(shown[len(after.Compacted):]),
	}, nil
}

func (m *measuring) count(messages []chat.Message) (tokens int) {
	for _, message := range messages {
		tokens += m.tokenizer.CountMessage(message)
	}
	return tokens
}
