package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/replay/stepping"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// writeBundles writes a bundle for each compaction that was made before a request of a run. A recorded compaction has a
// bundle for each policy: the requests that the policy would have made there, beside the summary of the recorded model.
func (r *replayer) writeBundles(ctx context.Context, s source, run *Run, session *history.Session, made []placed) error {
	if r.bundles == nil {
		return nil
	}
	for i, w := range made {
		e := w.entry
		messages, first, kept, err := covered(ctx, session, e, r.tokenizer)
		if err != nil {
			return err
		}
		if len(messages) < r.bundles.min {
			continue
		}
		previous, err := previousSummary(ctx, session, e)
		if err != nil {
			return err
		}
		b := bundle{meta: metadata{
			Session: s.path, Format: run.Format, Policy: run.Policy, OutputBy: run.Model,
			Compaction: len(run.Compactions) - len(made) + i + 1, FirstCovered: first, FirstKept: kept, Covered: len(messages),
			Leak: leak(e.Compaction().Text),
		}}
		b.meta.Characters.PreviousSummary = chars(previous)
		if b.history, err = r.serialised(ctx, previous, messages); err != nil {
			return err
		}
		if run.Policy != recorded {
			b.asked, b.output, b.meta.Mode = inOrder(w.asked), e.Compaction().Text, e.Compaction().Mode
			if err := r.bundles.write(s.number, run.Policy, b); err != nil {
				return err
			}
			run.Bundles++
			continue
		}
		for _, p := range r.policies {
			asked, err := r.wouldAsk(ctx, p, r.answeredBy(s), session, e)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			b := b
			b.asked, b.output = inOrder(asked), e.Compaction().Text
			b.meta.Policy, b.meta.OutputBy = p.Name, recorded
			if len(asked) == 0 && err != nil {
				b.meta.NotAsked = program.OneLine(err)
			}
			if err := r.bundles.write(s.number, recorded+"-"+p.Name, b); err != nil {
				return err
			}
			run.Bundles++
		}
	}
	return nil
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
// history in one request. name is that of the agent's model.
func (r *replayer) wouldAsk(ctx context.Context, p policy.Policy, name string, session *history.Session, e entry.Entry) ([]exchange, error) {
	upTo, err := sessionUpTo(ctx, session, e)
	if err != nil {
		return nil, err
	}
	prompt := stepping.Prompt(upTo)
	rendered, err := unlimited{r.tokenizer, prompt}.request(ctx)
	if err != nil {
		return nil, err
	}
	m := r.meter()
	budget := max(r.budget, rendered.Tokens)
	c := &summarize.Compactor{
		Session: upTo, Policy: p,
		Target: policy.Target{Model: m, Name: name, Tokenizer: r.tokenizer, Budget: budget, ContextWindow: budget + promptRoom},
	}
	defer c.Close()
	c.Policy.Off, c.Policy.Cut = true, history.Cut{} // only Compact below compacts
	// A summary of more than half the history would be refused.
	c.Policy.Replace.Max = max(100, min(cmp.Or(c.Policy.Replace.Max, 10_000), rendered.Tokens/2))
	if _, err := c.Render(ctx, prompt); err != nil {
		return nil, err
	}
	_, err = c.Compact(ctx, "")
	return m.taken(), err
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
func (r *replayer) serialised(ctx context.Context, previous string, messages []chat.Message) (string, error) {
	tree := elements.UserMessage{Children: elements.Nodes{stagewise.CompactHistory{Messages: messages, Previous: previous}}}
	rendered, err := render.Render(ctx, tree, render.Options{Budget: math.MaxInt32, Tokenizer: r.tokenizer})
	if err != nil || len(rendered.Messages) == 0 {
		return "", err
	}
	return rendered.Messages[0].Text(), nil
}

// covered returns the messages that a compaction summarised, the index of the first of them among all messages of the
// session, and the index of the first message that was kept.
func covered(ctx context.Context, s *history.Session, e entry.Entry, t chat.Tokenizer) (messages []chat.Message, first, kept int, err error) {
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
