package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/replay/stepping"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/replay"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// writeBundles writes a bundle for each compaction that was made before a step. A recorded compaction, of which asked is
// nil, has a bundle for each policy: the requests that the policy would have made there, beside the summary of the
// recorded model.
func (c *comparison) writeBundles(ctx context.Context, s *source, run *Run, step replay.Step, asked *asking) error {
	if c.bundles == nil {
		return nil
	}
	for _, e := range step.Compactions {
		run.made++
		b, ok, err := c.bundleOf(ctx, s, run, step.Session, e)
		if err != nil {
			return err
		}
		write := func(name string, exchanges []exchange) error {
			b.asked = inOrder(exchanges)
			run.Bundles++
			return c.bundles.write(s.number, name, b)
		}
		if asked != nil {
			b.meta.Policy, b.meta.OutputBy, b.meta.Mode = step.Compactor.Policy.Name, modelOffline, e.Compaction().Mode
			if exchanges := asked.next(); ok {
				err = write(b.meta.Policy, exchanges)
			}
			if err != nil {
				return err
			}
			continue
		}
		for _, p := range c.options.policies {
			if !ok {
				break
			}
			exchanges, why := c.wouldAsk(ctx, p, s, step.Session, e)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			b.meta.Policy, b.meta.OutputBy, b.meta.NotAsked = p.Name, recorded, ""
			if len(exchanges) == 0 && why != nil {
				b.meta.NotAsked = program.OneLine(why)
			}
			if err := write(recorded+"-"+p.Name, exchanges); err != nil {
				return err
			}
		}
	}
	return nil
}

// bundleOf returns the bundle of a compaction without its requests, and false if it covers too few messages.
func (c *comparison) bundleOf(ctx context.Context, s *source, run *Run, session *history.Session, e entry.Entry) (b bundle, ok bool, err error) {
	messages, first, kept, err := covered(ctx, session, e)
	if err != nil || len(messages) < c.bundles.min {
		return b, false, err
	}
	previous, err := previousSummary(ctx, session, e)
	if err != nil {
		return b, false, err
	}
	b.meta = metadata{
		Session: s.path, Format: run.Format, Compaction: run.made, FirstCovered: first, FirstKept: kept, Covered: len(messages), Leak: leak(e.Compaction().Text),
	}
	b.output = e.Compaction().Text
	b.meta.Characters.PreviousSummary = chars(previous)
	tokenizer, err := s.session.Tokenizer(ctx)
	if err == nil {
		b.history, err = serialised(ctx, tokenizer, previous, messages)
	}
	return b, true, err
}

// modelOffline is the name of the model that writes summaries: a digest, which needs no network.
const modelOffline = "offline"

// exchange is a request for a summary and its response or error.
type exchange struct {
	request  chat.Request
	response chat.Response
	err      error
}

// asking is a model that keeps the requests for summaries.
type asking struct {
	chat.Model
	mu   sync.Mutex
	last []exchange   // since the last compaction ended
	done [][]exchange // of the compactions that were made, since the last call of next
}

func newAsking(t chat.Tokenizer) *asking { return &asking{Model: models.Offline{Tokenizer: t}} }

// Generate passes a request on.
func (a *asking) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	response, err := a.Model.Generate(ctx, req)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = append(a.last, exchange{req, response, err})
	return response, err
}

func (a *asking) hear(e event.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e.Kind {
	case event.Done:
		a.done, a.last = append(a.done, a.last), nil
	case event.Failed, event.Cancelled, event.Discarded, event.Dropped:
		a.last = nil
	}
}

// next returns the requests of the next compaction.
func (a *asking) next() (list []exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.done) > 0 {
		list, a.done = a.done[0], a.done[1:]
	}
	return list
}

// inOrder sorts exchanges in an order that is the same in each run, although some were made at the same time: a request
// that shows the answer to another comes after it; all others are sorted by their texts.
func inOrder(asked []exchange) []exchange {
	type placed struct {
		exchange
		text  string
		after int // the longest chain of answers that it shows
	}
	list := make([]placed, len(asked))
	for i, x := range asked {
		data, err := json.Marshal(x.request.Messages)
		if err != nil {
			data = nil // sort it as an empty text
		}
		list[i] = placed{exchange: x, text: string(data)}
	}
	for range list { // a chain is no longer than the list
		for i := range list {
			for k := range list {
				if answer := quoted(list[k].response.Message.Text()); i != k && answer != "" && strings.Contains(list[i].text, answer) {
					list[i].after = min(len(list), max(list[i].after, list[k].after+1))
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Or(cmp.Compare(a.after, b.after), strings.Compare(a.text, b.text)) })
	sorted := make([]exchange, len(list))
	for i, p := range list {
		sorted[i] = p.exchange
	}
	return sorted
}

// quoted returns a text as it appears in JSON, without the quotation marks.
func quoted(text string) string {
	data, err := json.Marshal(strings.TrimSpace(text))
	if err != nil {
		return ""
	}
	return string(data[1 : len(data)-1])
}

// promptRoom is the number of tokens that a request for a summary may take besides the history.
const promptRoom = 20_000

// wouldAsk returns the requests that a policy would have made at a recorded compaction. The policy compacts the session
// as it was then, and keeps only the first message that the compaction kept. The window is large enough for the whole
// history in one request.
func (c *comparison) wouldAsk(ctx context.Context, p policy.Policy, s *source, session *history.Session, e entry.Entry) ([]exchange, error) {
	upTo, err := sessionUpTo(ctx, session, e)
	if err != nil {
		return nil, err
	}
	tokenizer, err := s.session.Tokenizer(ctx)
	if err != nil {
		return nil, err
	}
	prompt := stepping.Prompt(upTo)
	rendered, err := render.Render(ctx, prompt, render.Options{Budget: math.MaxInt32, Tokenizer: tokenizer})
	if err != nil {
		return nil, err
	}
	asked := newAsking(tokenizer)
	budget := rendered.Tokens
	if len(c.options.windows) > 0 {
		budget = max(budget, c.options.windows[0])
	}
	for i := range p.Ask.Prompts {
		p.Ask.Prompts[i].Title = nil
	}
	compactor := &summarize.Compactor{
		Session: upTo, Policy: p,
		Target: policy.Target{
			Model: asked, Name: cmp.Or(c.options.modelName, s.model), Tokenizer: tokenizer, Budget: budget, ContextWindow: budget + promptRoom,
		},
	}
	defer compactor.Close()
	compactor.Policy.Off, compactor.Policy.Cut = true, history.Cut{} // only Compact below compacts
	// A summary of more than half the history would be refused.
	compactor.Policy.Replace.Max = max(100, min(cmp.Or(p.Replace.Max, 10_000), rendered.Tokens/2))
	if _, err := compactor.Render(ctx, prompt); err != nil {
		return nil, err
	}
	_, err = compactor.Compact(ctx, "")
	return asked.last, err
}

// sessionUpTo returns a session in memory that ends with the first message that a compaction kept.
func sessionUpTo(ctx context.Context, s *history.Session, e entry.Entry) (*history.Session, error) {
	upTo := numbered.Session()
	reached := false
	for found, err := range s.PathTo(ctx, e.Parent) {
		if err != nil {
			return nil, err
		}
		found.Parent = ""
		if _, err := upTo.Add(ctx, found); err != nil {
			return nil, err
		}
		reached = reached || found.ID == e.Compaction().FirstKept
		if _, shown := found.Shown(); reached && shown {
			return upTo, nil
		}
	}
	return upTo, upTo.Append(ctx, chat.UserMessage("Go on.")) // the compaction kept nothing
}

// previousSummary returns the summary of the compaction before e, "" if there is none.
func previousSummary(ctx context.Context, s *history.Session, e entry.Entry) (previous string, err error) {
	for found, err := range s.PathTo(ctx, e.Parent) {
		if err != nil {
			return "", err
		}
		if found.Type() == entry.TypeCompaction {
			previous = found.Compaction().Text
		}
	}
	return previous, nil
}

// serialised returns messages as text: what was said in full, and a line for each tool call.
func serialised(ctx context.Context, t chat.Tokenizer, previous string, messages []chat.Message) (string, error) {
	tree := elements.UserMessage{Children: elements.Nodes{stagewise.CompactHistory{Messages: messages, Previous: previous}}}
	rendered, err := render.Render(ctx, tree, render.Options{Budget: math.MaxInt32, Tokenizer: t})
	if err != nil || len(rendered.Messages) == 0 {
		return "", err
	}
	return rendered.Messages[0].Text(), nil
}

// covered returns the messages that a compaction summarised, the index of the first of them among all messages of the
// session, and the index of the first message that was kept.
func covered(ctx context.Context, s *history.Session, e entry.Entry) (messages []chat.Message, first, kept int, err error) {
	view, err := s.ViewAt(ctx, e.Parent)
	if err != nil {
		return nil, 0, 0, err
	}
	places := map[string]int{} // by entry: the number of messages before it
	said := 0
	for found, err := range s.PathTo(ctx, e.Parent) {
		if err != nil {
			return nil, 0, 0, err
		}
		places[found.ID] = said
		if _, shown := found.Shown(); shown {
			said++
		}
	}
	kept, ok := places[e.Compaction().FirstKept]
	if !ok {
		kept = said
	}
	first = kept
	add := func(id string, list ...chat.Message) {
		if at, ok := places[id]; ok && at < kept {
			messages = append(messages, list...)
			first = min(first, at)
		}
	}
	for _, t := range view.Turns {
		if m, ok := t.Message(); ok {
			add(t.Start.ID, m)
		}
		for _, r := range t.Rounds {
			add(r.Assistant.ID, r.Messages()...)
		}
	}
	return messages, first, kept, nil
}
