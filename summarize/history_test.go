package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// From the budget error to the summary: render, compact, render.
func ExampleCompactor_Compact() {
	ctx, tokenizer := context.Background(), tiktoken.O200k()
	session := &history.Session{}
	if err := work(session); err != nil {
		log.Fatal(err)
	}
	compactor := &summarize.Compactor{
		Session: session,
		Target:  summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 1000},
		Policy:  copilotchat.Policy(),
	}
	defer compactor.Close()
	prompt := el.Prompt(el.System(el.Text("You are a coding agent.")), history.All{Session: session})
	options := render.Options{Budget: 1000, Tokenizer: tokenizer}

	result, err := render.Render(ctx, prompt, options)
	if _, over := errors.AsType[*render.BudgetExceededError](err); over {
		if _, err = compactor.Compact(ctx, ""); err == nil {
			result, err = render.Render(ctx, prompt, options)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Tokens <= 1000, len(result.Messages), "messages")
	// Output: true 5 messages
}

// The same by an element: the session is compacted if the tree does not fit.
func ExampleHistory() {
	ctx, tokenizer := context.Background(), tiktoken.O200k()
	session := &history.Session{}
	if err := work(session); err != nil {
		log.Fatal(err)
	}
	compactor := &summarize.Compactor{
		Session: session,
		Target:  summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 1000},
		Policy:  copilotchat.Policy(),
	}
	defer compactor.Close()
	result, err := render.Render(ctx, el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		summarize.History{Compactor: compactor, Compact: true},
	), render.Options{Budget: 1000, Tokenizer: tokenizer})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Tokens <= 1000, len(result.Messages), "messages")
	// Output: true 5 messages
}

// A compaction by hand: cut, ask, replace.
func ExampleMaterialOf() {
	ctx, tokenizer := context.Background(), tiktoken.O200k()
	session := &history.Session{}
	if err := work(session); err != nil {
		log.Fatal(err)
	}
	target := summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 1000}
	byHand := func() error {
		material, point, err := summarize.MaterialOf(ctx, session, history.Cut{Tokens: 400}, target)
		if err != nil {
			return err
		}
		answer, err := target.Model.Generate(ctx, chat.Request{Messages: append(material.Covered, chat.UserMessage("Summarise this conversation."))})
		if err != nil {
			return err
		}
		material.Summary = answer.Message.Text()
		stand, err := render.Render(ctx, prompts.ConversationSummary(material), render.Options{Budget: 600, Tokenizer: tokenizer})
		if err != nil {
			return err
		}
		return session.Compact(ctx, entry.Compaction{FirstKept: point.FirstKept, Messages: stand.Messages, Summary: entry.Summary{Text: material.Summary, Files: material.Files}})
	}
	if err := byHand(); err != nil {
		log.Fatal(err)
	}
	view, err := session.View(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(view.Compacted), "summary, rounds kept:", len(view.Turns[0].Rounds))
	// Output: 1 summary, rounds kept: 1
}

func TestMaterialOfHasWhatAReplacementNeeds(t *testing.T) {
	d := newFileFixture(t, overflowing()...)
	target := summarize.Target{Budget: budget, Tokenizer: quarter{}, Tools: []chat.Tool{{Name: "read_file", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer"}}}`)}}}
	m, point, err := summarize.MaterialOf(t.Context(), d.Session, history.Cut{}, target)
	require.NoError(t, err)
	require.NotEmpty(t, m.Covered)
	require.NotEmpty(t, m.Kept)
	require.NotEmpty(t, m.Files.Read)
	require.Equal(t, d.Session.Path(), m.Breadcrumb.Path)
	require.Equal(t, "read_file", m.Breadcrumb.Tool)
	require.Equal(t, `read_file({"path": {path}, "offset": {from}})`, m.Breadcrumb.Example)
	require.Positive(t, m.Breadcrumb.Lines)
	require.NoError(t, d.Session.Compact(t.Context(), entry.Compaction{FirstKept: point.FirstKept, Messages: []chat.Message{chat.UserMessage("Before.")}, Summary: entry.Summary{Text: "Before."}}))
	require.NoError(t, d.Session.Append(t.Context(), append(rounds(20, 22, 100), chat.UserMessage("And now?"))...))
	m, _, err = summarize.MaterialOf(t.Context(), d.Session, history.Cut{}, target)
	require.NoError(t, err)
	require.Equal(t, "Before.", m.PreviousSummary)
	require.Len(t, m.Previous, 1)
	require.NotEmpty(t, m.Said)
}

// overBy returns the tokens by which a prompt is over its budget in a plain render, 0 if it fits.
func overBy(t *testing.T, root elements.Node, within int) int {
	_, err := render.Render(t.Context(), root, render.Options{Budget: within, Tokenizer: quarter{}})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return over.Needed - over.Budget
	}
	require.NoError(t, err)
	return 0
}

func TestABudgetErrorLeadsToASummaryUnderEveryPolicy(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for name, of := range map[string]func(testing.TB, ...chat.Message) fixture{"in memory": newFixture, "in a file": newFileFixture} {
			t.Run(name, func(t *testing.T) {
				d := of(t, overflowing()...)
				d.Policy, d.Target.Model = p, models.Offline{Tokenizer: quarter{}}
				root := prompt(d.Session)
				require.Positive(t, overBy(t, root, budget))
				d.Compacted()
				require.Zero(t, overBy(t, root, budget))
				require.Len(t, compactions(d.Session), 1)
			})
		}
	})
}

func TestASessionOfFewMessagesIsCompactedForWhatStandsBesideIt(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		of := func() (fixture, elements.Node) {
			d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 4, roundTokens)...)...) // it fits alone
			d.Policy, d.Target.Model = p, models.Offline{Tokenizer: quarter{}}
			return d, userText("You are an agent. " + words(2000))
		}
		d, beside := of()
		root := elements.Nodes{beside, history.All{Session: d.Session}}
		require.Positive(t, overBy(t, root, budget))
		d.Compacted()
		require.Zero(t, overBy(t, root, budget))
		d, beside = of()
		require.Zero(t, overBy(t, elements.Nodes{beside, summarize.History{Compactor: d.Compactor, Compact: true}}, budget))
	})
}

func TestHistoryCompactsASessionThatDoesNotFitInAPlainRender(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, overflowing()...)
		d.Policy, d.Target.Model = p, models.Offline{Tokenizer: quarter{}}
		files := elements.UserMessage{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{elements.Text(words(3000))}}
		tree := func(compact bool) elements.Node {
			return elements.Nodes{userText("You are an agent. " + words(300)), files, summarize.History{Compactor: d.Compactor, Compact: compact}}
		}
		require.Zero(t, overBy(t, tree(true), 20_000))
		require.Empty(t, compactions(d.Session), "it fits")
		require.Positive(t, overBy(t, tree(false), budget))
		require.Zero(t, overBy(t, tree(true), budget))
		require.Len(t, compactions(d.Session), 1)
	})
}

func TestHistoryThatCannotBeCompactedIsTheBudgetErrorWithItsReason(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Target.Model = chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{}, errors.New("no such model")
	})
	_, err := render.Render(t.Context(), summarize.History{Compactor: d.Compactor, Compact: true}, render.Options{Budget: budget, Tokenizer: quarter{}})
	require.ErrorAs(t, err, new(*render.BudgetExceededError))
	require.ErrorContains(t, err, "no such model")
	require.Empty(t, compactions(d.Session))
}

func TestInACompactorHistoryShowsTheSessionAndCompactIsAnError(t *testing.T) {
	d := newFixture(t, chat.UserMessage("Hello."))
	require.Len(t, d.Rendered(summarize.History{Compactor: d.Compactor}).Messages, 1)
	_, err := d.Render(t.Context(), summarize.History{Compactor: d.Compactor, Compact: true})
	require.ErrorContains(t, err, "the compactor compacts by itself")
	for _, h := range []summarize.History{{}, {Compactor: &summarize.Compactor{}}} {
		_, err = render.Render(t.Context(), h, render.Options{Budget: budget, Tokenizer: quarter{}})
		require.ErrorContains(t, err, "History.Compactor is not set, or has no Session")
	}
}
