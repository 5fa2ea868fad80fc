package summarize_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
)

// writingTracer records each call in a line that begins with the work to which it belongs.
type writingTracer struct {
	mu    sync.Mutex
	lines []string
}

type withinKey struct{}

// within returns the work to which a context belongs, such as "render/compaction".
func within(ctx context.Context) string {
	path, _ := ctx.Value(withinKey{}).(string)
	return path
}

func (t *writingTracer) write(ctx context.Context, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, strings.TrimSpace(within(ctx)+": "+fmt.Sprintf(format, args...)))
}

func (t *writingTracer) Start(ctx context.Context, w summarize.Work) context.Context {
	t.write(ctx, "begins %s %s%s", w.Kind, w.Reason, w.Plan)
	return context.WithValue(ctx, withinKey{}, strings.TrimPrefix(within(ctx)+"/"+string(w.Kind), "/"))
}

func (t *writingTracer) Event(ctx context.Context, e event.Event) {
	if e.Compacted {
		e.Kind += ", compacted"
	}
	t.write(ctx, "%s", e.Kind)
}

func (t *writingTracer) End(ctx context.Context, result *render.Result, err error) {
	t.write(ctx, "ends with a result: %t, an error: %t", result != nil, err != nil)
}

// traced returns the lines since the last call.
func (t *writingTracer) traced() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	t.lines = nil
	return lines
}

// asked returns a step that records in which work the model is asked.
func (t *writingTracer) asked(step models.Reply) models.Reply {
	return func(ctx context.Context, req chat.Request) (chat.Response, error) {
		t.write(ctx, "the model is asked")
		return step(ctx, req)
	}
}

// tracedElement records in which work it is rendered.
type tracedElement struct{ t *writingTracer }

func (e tracedElement) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	e.t.write(ctx, "an element is rendered")
	return nil, nil
}

func TestATracerFollowsWorkInItsContexts(t *testing.T) {
	tracer := &writingTracer{}
	d := newFixture(t, overflowing()...)
	d.Observers = []summarize.Observer{tracer}
	d.Answers(tracer.asked(models.SaySummary("Done.")))
	d.Rendered(elements.Nodes{prompt(d.Session), tracedElement{tracer}})
	lines := tracer.traced()
	require.Contains(t, lines, "render: an element is rendered")
	var rest []string
	for _, line := range lines {
		if !strings.Contains(line, "element") {
			rest = append(rest, line)
		}
	}
	require.Equal(t, []string{
		": begins render render", "render: started", "render: begins compaction e15", "render/compaction: the model is asked",
		"render/compaction: answered", "render/compaction: done", "render/compaction: ends with a result: false, an error: false",
		"render: usage, compacted", "render: ends with a result: true, an error: false",
	}, rest)

	d.Always(models.Fail(errDown))
	d.Say(rounds(7, 12, roundTokens)...)
	_, err := d.Render(t.Context(), prompt(d.Session))
	require.Error(t, err)
	lines = tracer.traced()
	require.Equal(t, []string{"render/compaction: failed", "render/compaction: ends with a result: false, an error: true",
		"render: ends with a result: false, an error: true"}, lines[len(lines)-3:])
}

func TestATracedCompactionInTheBackgroundEndsOnceItsSummaryIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := &writingTracer{}
		d := backgroundFixture(t, 3400)
		d.Observers = []summarize.Observer{tracer}
		d.Answers(slowly(time.Minute, models.SaySummary("Made meanwhile.")))
		d.Messages()
		synctest.Wait()
		lines := tracer.traced()
		require.Contains(t, lines, "render: ends with a result: true, an error: false")
		require.Contains(t, lines, "render: begins compaction e11")
		require.NoError(t, d.Wait(t.Context()))
		require.Equal(t, []string{"render/compaction: answered", "render/compaction: ready", "render/compaction: ends with a result: false, an error: false"},
			tracer.traced())
		d.Say(round(5, 100)...)
		d.Messages()
		require.Equal(t, []string{": begins render render", "render: done", "render: usage, compacted", "render: ends with a result: true, an error: false"},
			tracer.traced())
	})
}
