package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/tracing"
)

// summarised answers with a summary and reports usage.
func summarised(ctx context.Context, req chat.Request) (chat.Response, error) {
	r, err := models.SaySummary("The build was mended.")(ctx, req)
	r.Usage = reported
	return r, err
}

func TestACompactionIsAChildOfItsRenderAndTheRequestIsItsChild(t *testing.T) {
	l := newLab(t, tracing.Options{Provider: "openai"})
	var asked trace.SpanContext
	d, _ := l.fixture(func(ctx context.Context, req chat.Request) (chat.Response, error) {
		asked = trace.SpanContextFromContext(ctx)
		return summarised(ctx, req)
	})
	result, err := d.Render(t.Context(), compacttest.Prompt(d.Session))
	require.NoError(t, err)

	rendered, compact, request := l.span("promptree.render"), l.span("compact"), l.span("chat gpt-5.4")
	require.Equal(t, rendered.SpanContext.SpanID(), compact.Parent.SpanID())
	require.Equal(t, compact.SpanContext.SpanID(), request.Parent.SpanID())
	require.Equal(t, request.SpanContext.SpanID(), asked.SpanID(), "the model is called in the context of its span")
	require.Equal(t, trace.SpanKindClient, request.SpanKind)
	for _, span := range []tracetest.SpanStub{rendered, compact, request} {
		require.Contains(t, span.Attributes, attribute.String("gen_ai.conversation.id", d.Session.Header().ID))
		require.Equal(t, codes.Unset, span.Status.Code)
	}
	require.Equal(t, map[string]any{
		"promptree.reason": "render", "promptree.budget": int64(compacttest.Budget), "promptree.tokens": int64(result.Tokens),
		"promptree.messages": int64(len(result.Messages)), "promptree.tokens.trimmed": int64(0), "promptree.tokens.dropped": int64(0),
	}, attributes(rendered.Attributes))
	require.Len(t, rendered.Events, 1)
	require.Equal(t, "promptree.started", rendered.Events[0].Name)

	got := attributes(compact.Attributes)
	require.Less(t, got["promptree.tokens.after"], got["promptree.tokens.before"])
	for _, key := range []string{"promptree.plan", "promptree.covered", "promptree.kept", "promptree.messages.before", "promptree.messages.after",
		"promptree.tokens.before", "promptree.tokens.after"} {
		require.NotEmpty(t, got[key], key)
		delete(got, key)
	}
	require.Equal(t, map[string]any{
		"gen_ai.operation.name": "compact", "gen_ai.request.model": "gpt-5.4", "promptree.policy": d.Policy.Name, "promptree.mode": "full",
		"promptree.reason": "budget exceeded", "promptree.why": "budget exceeded at 4227 of 4000 tokens, whatever is used",
		"promptree.outcome": "done", "promptree.calls": int64(1),
	}, got)

	got = attributes(request.Attributes)
	delete(got, "gen_ai.request.max_tokens")
	delete(got, "gen_ai.request.temperature")
	require.Equal(t, map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "gpt-5.4", "promptree.purpose": "summary",
		"gen_ai.usage.input_tokens": int64(3000), "gen_ai.usage.output_tokens": int64(200), "gen_ai.usage.cache_read.input_tokens": int64(1000),
		"gen_ai.usage.cache_creation.input_tokens": int64(500), "gen_ai.response.finish_reasons": []string{"stop"},
		"gen_ai.request.stream": true,
	}, got)
}

func TestTheOptInSelectsTheNames(t *testing.T) {
	ours := []string{"promptree.compaction.tokens", "promptree.compactions", "promptree.render.budget.ratio", "promptree.render.duration", "promptree.render.tokens"}
	inference := "gen_ai.client.inference."
	for _, test := range []struct {
		optIn    string
		latest   bool
		metrics  []string
		usage    string
		reported map[string]float64
	}{
		{"", false, []string{"gen_ai.client.operation.duration", "gen_ai.client.token.usage"}, "gen_ai.client.token.usage", map[string]float64{
			"gen_ai.operation.name=chat,gen_ai.request.model=gpt-5.4,gen_ai.system=_OTHER,gen_ai.token.type=input,promptree.purpose=summary":  3000,
			"gen_ai.operation.name=chat,gen_ai.request.model=gpt-5.4,gen_ai.system=_OTHER,gen_ai.token.type=output,promptree.purpose=summary": 200,
		}},
		{"http, gen_ai_latest_experimental", true, []string{
			inference + "duration", inference + "usage.cache_read.input_tokens", inference + "usage.cache_write.input_tokens",
			inference + "usage.input_tokens", inference + "usage.output_tokens",
		}, inference + "usage.cache_write.input_tokens", map[string]float64{
			"gen_ai.operation.name=chat,gen_ai.provider.name=_OTHER,gen_ai.request.model=gpt-5.4,gen_ai.token.modality=unknown,promptree.purpose=summary": 500,
		}},
		{"gen_ai_latest_experimental_too", false, []string{"gen_ai.client.operation.duration", "gen_ai.client.token.usage"}, "", nil},
	} {
		t.Run(test.optIn, func(t *testing.T) {
			t.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", test.optIn)
			l := newLab(t, tracing.Options{})
			d, _ := l.fixture(summarised)
			d.Messages()
			require.Equal(t, slices.Concat(test.metrics, ours), l.metrics())
			if test.usage != "" {
				require.Equal(t, test.reported, l.points(test.usage))
			}
			got := attributes(l.span("chat gpt-5.4").Attributes)
			for _, key := range []string{"gen_ai.provider.name", "gen_ai.usage.cache_write.input_tokens"} {
				require.Equal(t, test.latest, got[key] != nil, key)
			}
			for _, key := range []string{"gen_ai.system", "gen_ai.usage.cache_creation.input_tokens"} {
				require.Equal(t, test.latest, got[key] == nil, key)
			}
		})
	}
}

func TestContentIsRecordedOnlyOnRequest(t *testing.T) {
	said := []string{"Fix the build", "[output 001]", "file-1.go", "The build was mended", "quota of team red"}
	for _, content := range []bool{false, true} {
		l := newLab(t, tracing.Options{Content: content})
		d, c := l.fixture(models.Fail(errors.New("the quota of team red is used up")), summarised)
		d.Models = map[string]policy.Target{"other": c.Target(policy.Target{Name: "other", Model: d.Script})}
		d.Policy.Ask.Names = []string{"other"}
		d.Messages()
		call := chat.ToolCall{ID: "a", Name: "read", Arguments: `{"path":"file-1.go"}`}
		d.Always(func(context.Context, chat.Request) (chat.Response, error) {
			return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}, StopReason: chat.StopToolCalls}, nil
		})
		_, err := summarize.Generate(t.Context(), d.Target, chat.Request{Messages: compacttest.Overflowing()})
		require.NoError(t, err)
		exported := fmt.Sprintf("%+v", l.spans.GetSpans())
		for _, text := range said {
			require.Equal(t, content, strings.Contains(exported, text), text)
		}
	}
}

func TestMessagesFollowTheConventionsSchema(t *testing.T) {
	l := newLab(t, tracing.Options{Content: true})
	d, _ := l.fixture(models.Say("Yes."))
	asked := chat.AssistantMessage("Let me see.")
	asked.Content = append(chat.Parts{chat.Thinking{Text: "Hm.", Signature: "secret"}}, asked.Content...)
	asked.ToolCalls = []chat.ToolCall{{ID: "a", Name: "read", Arguments: `{"path":"x"}`}, {ID: "b", Name: "read", Arguments: `{"pa`}}
	_, err := summarize.Generate(t.Context(), d.Target, chat.Request{Messages: []chat.Message{
		{Role: chat.RoleUser, Name: "ann", Content: chat.Parts{
			chat.Text("Is it?"), chat.Image{URL: "https://example.com/a.png"}, chat.Image{URL: "data:image/png;base64,AAAA", MediaType: "image/png"},
			chat.NewDocument("application/pdf", []byte("pdf")), chat.CacheBreakpoint{Type: "ephemeral"},
		}},
		asked, chat.ToolResult("a", "1"), chat.ToolResult("b", ""),
	}})
	require.NoError(t, err)
	got := attributes(l.span("chat gpt-5.4").Attributes)
	require.JSONEq(t, `[
		{"role":"user","name":"ann","parts":[{"type":"text","content":"Is it?"},{"type":"uri","modality":"image","uri":"https://example.com/a.png"},
			{"type":"image","mime_type":"image/png"},{"type":"document","mime_type":"application/pdf"}]},
		{"role":"assistant","parts":[{"type":"reasoning","content":"Hm."},{"type":"text","content":"Let me see."},
			{"type":"tool_call","id":"a","name":"read","arguments":{"path":"x"}},{"type":"tool_call","id":"b","name":"read","arguments":"{\"pa"}]},
		{"role":"tool","parts":[{"type":"tool_call_response","id":"a","response":"1"}]},
		{"role":"tool","parts":[{"type":"tool_call_response","id":"b","response":""}]}
	]`, got["gen_ai.input.messages"].(string))
	require.JSONEq(t, `[{"role":"assistant","parts":[{"type":"text","content":"Yes."}],"finish_reason":"stop"}]`, got["gen_ai.output.messages"].(string))
}

func TestTokensOfPiecesAreCountedByOutcome(t *testing.T) {
	l := newLab(t, tracing.Options{})
	chunk := func(p elements.Props, breakOn, text string) elements.Node {
		return elements.TextChunk{Props: p, BreakOn: breakOn, Children: elements.Nodes{elements.Text(text)}}
	}
	result, err := l.Render(t.Context(), elements.UserMessage{Children: elements.Nodes{
		elements.Chunk{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{chunk(elements.Props{}, "", "a note"), chunk(elements.Props{}, "", "that goes with it")}},
		chunk(elements.Props{Priority: new(2)}, "", "a chunk that is not to be cut"),
		chunk(elements.Props{Priority: new(3)}, " ", strings.Repeat("some words. ", 20)),
		chunk(elements.Props{FlexGrow: 1}, "", strings.Repeat("What is said last, and needs some room?", 6)), // laid out after the others
	}}, render.Options{Budget: 80, Tokenizer: compacttest.Quarter{}})
	require.NoError(t, err)
	want := map[string]float64{}
	for _, p := range result.Report().Pieces {
		switch {
		case p.Dropped != render.Kept:
			want["promptree.outcome=dropped,promptree.reason="+string(p.Dropped)] += float64(p.Tokens)
		default:
			want["promptree.outcome=kept"] += float64(p.Tokens)
			if p.TrimmedFrom > 0 {
				want["promptree.outcome=trimmed"] += float64(p.TrimmedFrom - p.Tokens)
			}
		}
	}
	require.Len(t, want, 4, "the prompt has a piece of each kind: %v", want)
	require.Equal(t, want, l.points("promptree.render.tokens"))
	require.Equal(t, map[string]float64{"": float64(result.Tokens) / 80}, l.points("promptree.render.budget.ratio"))
	require.Contains(t, l.metrics(), "promptree.render.duration")
	require.Equal(t, int64(result.Tokens), attributes(l.span("promptree.render").Attributes)["promptree.tokens"])
}

func TestCompactionsAreCountedByPolicyReasonAndOutcome(t *testing.T) {
	l := newLab(t, tracing.Options{})
	d, _ := l.fixture(summarised)
	d.Messages()
	d.Always(models.Fail(errors.New("connection refused")))
	d.Say(compacttest.Rounds(7, 12, compacttest.RoundTokens)...)
	d.Fails()
	by := "promptree.policy=" + d.Policy.Name + ",promptree.reason=budget exceeded"
	require.Equal(t, map[string]float64{"promptree.outcome=done," + by: 1, "promptree.outcome=failed," + by: 1}, l.points("promptree.compactions"))
	placed := compacttest.Compactions(d.Session)[0]
	require.Equal(t, map[string]float64{by + ",promptree.when=before": float64(placed.TokensBefore), by + ",promptree.when=after": float64(placed.TokensAfter)},
		l.points("promptree.compaction.tokens"))
}

func TestTheCostOfARequestWithPricesIsRecorded(t *testing.T) {
	l := newLab(t, tracing.Options{})
	d := compacttest.New(t, compacttest.Overflowing()...)
	d.Target.Prices = sizing.Prices{Rates: sizing.Rates{Input: 2, Output: 10, CacheRead: 0.5, CacheWrite: 2}}
	d.Answers(summarised)
	l.Attach(d.Compactor)
	d.Messages()
	cost := d.Target.Prices.Of(reported).Total()
	require.Positive(t, cost)
	require.Equal(t, map[string]float64{"gen_ai.operation.name=chat,gen_ai.system=_OTHER,promptree.purpose=summary": cost}, l.points("promptree.cost"))
	require.Equal(t, cost, attributes(l.span("chat").Attributes)["promptree.dollars"])
}

func TestACacheBreakIsCountedByWhatChanged(t *testing.T) {
	l := newLab(t, tracing.Options{})
	d, c := l.fixture()
	ctx := c.Start(t.Context(), summarize.Work{Kind: summarize.WorkRender, Reason: policy.OnRender})
	c.Event(ctx, event.Event{
		Kind: event.CacheBroken, Policy: d.Policy.Name, Break: event.CacheBreak{Change: sizing.ChangeToolOrder, Tokens: 1200, Dollars: 0.01},
	})
	c.End(ctx, nil, nil)
	require.Equal(t, map[string]float64{"promptree.change=" + string(sizing.ChangeToolOrder) + ",promptree.policy=" + d.Policy.Name: 1}, l.points("promptree.cache.breaks"))
	event := l.span("promptree.render").Events[0]
	require.Equal(t, "promptree.cache_break", event.Name)
	require.Equal(t, int64(1200), attributes(event.Attributes)["promptree.tokens.lost"])
}

func TestAnAnswerSaysThatItsConversationWasCompacted(t *testing.T) {
	for name, reopened := range map[string]bool{"in the process that compacted": false, "after reopening the session": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, tracing.Options{})
			d, _ := l.fixture(models.Say("Yes."), summarised, models.Say("Yes."))
			ask := func() any {
				l.spans.Reset()
				_, err := summarize.Generate(t.Context(), d.Target, chat.Request{Messages: []chat.Message{chat.UserMessage("Is it?")}})
				require.NoError(t, err)
				return attributes(l.span("chat gpt-5.4").Attributes)["gen_ai.conversation.compacted"]
			}
			require.Nil(t, ask(), "the attribute is absent before a compaction")
			d.Messages()
			if reopened {
				again := compacttest.Of(t, d.Session)
				again.Target.Name = "gpt-5.4"
				again.Answers(models.Say("Yes."))
				d = again
				l.Attach(d.Compactor)
				d.Messages()
			}
			require.Equal(t, true, ask())
		})
	}
}

func TestTheSpanOfABackgroundSummaryEndsBeforeTheSummaryIsPlaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, tracing.Options{})
		d, _ := l.fixture(func(ctx context.Context, req chat.Request) (chat.Response, error) {
			time.Sleep(time.Minute)
			return summarised(ctx, req)
		})
		d.Target.Budget = 5000
		d.Policy.Trigger = policy.Trigger{{Ratio: 0.8, Background: true}}
		d.Messages()
		require.NoError(t, d.Wait(t.Context()))
		compact, rendered := l.span("compact"), l.span("promptree.render")
		require.Equal(t, rendered.SpanContext.SpanID(), compact.Parent.SpanID())
		require.Equal(t, "ready", attributes(compact.Attributes)["promptree.outcome"])
		require.GreaterOrEqual(t, compact.EndTime.Sub(compact.StartTime), time.Minute)
		require.Empty(t, l.points("promptree.compactions"), "the compaction has not ended")
		l.spans.Reset()
		d.Messages()
		require.Equal(t, "promptree.done", l.span("promptree.render").Events[0].Name)
		require.Len(t, l.points("promptree.compactions"), 1)
	})
}

type refused int

func (r refused) Error() string   { return "refused" }
func (r refused) StatusCode() int { return int(r) }

func TestFailuresAreNamedByTheirKind(t *testing.T) {
	for kind, err := range map[string]error{
		"_OTHER":        errors.New("connection refused"),
		"400":           refused(400),
		"529":           &chat.TransientError{Err: refused(529)},
		"transient":     &chat.TransientError{Err: errors.New("lost")},
		"context_limit": &chat.ContextLimitError{Err: refused(400)},
		"timeout":       context.DeadlineExceeded,
		"cancelled":     context.Canceled,
	} {
		l := newLab(t, tracing.Options{})
		d, _ := l.fixture(models.Fail(err))
		_, got := summarize.Generate(t.Context(), d.Target, chat.Request{Messages: []chat.Message{chat.UserMessage("Hi.")}})
		require.ErrorIs(t, got, err)
		span := l.span("chat gpt-5.4")
		require.Equal(t, codes.Error, span.Status.Code)
		require.Equal(t, kind, attributes(span.Attributes)["error.type"])
		require.Equal(t, []string{"error"}, attributes(span.Attributes)["gen_ai.response.finish_reasons"])
	}
	l := newLab(t, tracing.Options{})
	_, err := l.Render(t.Context(), elements.UserMessage{Children: elements.Nodes{elements.TextChunk{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("more than fits")}}}}, render.Options{Budget: 1, Tokenizer: compacttest.Quarter{}})
	require.Error(t, err)
	require.Equal(t, "budget_exceeded", attributes(l.span("promptree.render").Attributes)["error.type"])
}

func TestAModelThatPanicsEndsItsSpan(t *testing.T) {
	l := newLab(t, tracing.Options{})
	d, _ := l.fixture(func(context.Context, chat.Request) (chat.Response, error) { panic("boom") })
	_, err := summarize.Generate(t.Context(), d.Target, chat.Request{Messages: []chat.Message{chat.UserMessage("Hi.")}})
	require.ErrorContains(t, errtest.As[*chat.CallbackError](t, err), "boom")
	require.Equal(t, codes.Error, l.span("chat gpt-5.4").Status.Code)
}

func TestSpansOfTheApplicationAreNotWrittenTo(t *testing.T) {
	l := newLab(t, tracing.Options{})
	d, c := l.fixture()
	ctx := c.Start(t.Context(), summarize.Work{Kind: summarize.WorkRender})
	mine := trace.SpanFromContext(ctx)
	foreign := trace.ContextWithSpan(context.Background(), mine)
	c.Event(foreign, event.Event{Kind: event.Titled, Written: event.Written{Title: "x"}})
	c.End(foreign, nil, nil)
	c.End(ctx, nil, nil)
	require.Empty(t, l.span("promptree.render").Events)
	require.NotNil(t, d)
}

func TestATracerTracesManyCompactorsConcurrently(t *testing.T) {
	l := newLab(t, tracing.Options{})
	var all sync.WaitGroup
	for range 4 {
		d, _ := l.fixture(summarised)
		all.Go(func() {
			_, err := d.Render(t.Context(), compacttest.Prompt(d.Session))
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for _, sum := range l.points("promptree.compactions") {
		require.Equal(t, 4.0, sum)
	}
	traces := map[trace.TraceID][]string{}
	for _, span := range l.spans.GetSpans() {
		traces[span.SpanContext.TraceID()] = append(traces[span.SpanContext.TraceID()], span.Name)
	}
	require.Len(t, traces, 4)
	for _, names := range traces {
		require.Equal(t, []string{"chat gpt-5.4", "compact", "promptree.render"}, names)
	}
}

func TestASecondAttachChangesNothing(t *testing.T) {
	l := newLab(t, tracing.Options{})
	d, c := l.fixture(summarised)
	require.Same(t, c, l.Attach(d.Compactor))
	d.Messages()
	l.span("chat gpt-5.4")
}

func TestACompactorWithoutASessionReturnsAnError(t *testing.T) {
	l := newLab(t, tracing.Options{})
	compactor := &summarize.Compactor{Target: policy.Target{Model: chat.ModelFunc(summarised), Tokenizer: compacttest.Quarter{}, Budget: 100}}
	l.Attach(compactor)
	_, err := compactor.Render(t.Context(), elements.Nodes{})
	require.ErrorContains(t, err, "Compactor.Session is not set")
	_, err = summarize.Generate(t.Context(), compactor.Target, chat.Request{Messages: []chat.Message{chat.UserMessage("Hi.")}})
	require.NoError(t, err)
}

func TestACompactorWorksWithoutProviders(t *testing.T) {
	tracer, err := tracing.New(tracing.Options{})
	require.NoError(t, err)
	d := compacttest.New(t, compacttest.Overflowing()...)
	d.Answers(summarised)
	tracer.Attach(d.Compactor)
	require.Contains(t, compacttest.Text(d.Messages()), "The build was mended.")
}
