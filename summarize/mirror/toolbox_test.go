package mirror_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/mirror"
)

func TestAMirrorAnswersCallsOfItsTools(t *testing.T) {
	s := sessiontest.New(t, &storage.Memory{}, history.Options{Recall: true})
	m := mirror.New(compactorOn(t, s, plenty))
	m.Tools = []chat.Toolbox{recall.Tools{}, summarize.CompactTool{}}
	fit(t, m, script("u1 c1 r1 u2"))
	result, ok, err := m.Answer(t.Context(), chat.ToolCall{ID: "x", Name: history.SearchTool, Arguments: `{"query":"r1"}`})
	require.NoError(t, err)
	require.True(t, ok)
	require.Contains(t, result.Text(), "result of read")
	result, ok, err = m.Answer(t.Context(), chat.ToolCall{ID: "x", Name: summarize.CompactToolName, Arguments: `{"keep":"r1"}`})
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, result.IsError)
	require.Contains(t, result.Text(), "Not compacted: it would save")
	_, ok, err = m.Answer(t.Context(), chat.ToolCall{ID: "x", Name: "read"})
	require.NoError(t, err)
	require.False(t, ok)
	_, _, err = (&mirror.Mirror[chat.Message]{}).Answer(t.Context(), chat.ToolCall{})
	require.ErrorContains(t, err, "there is no session")
}

// stuck is a toolbox whose tool never returns.
type stuck struct{}

func (stuck) Declared() []chat.Tool { return []chat.Tool{{Name: "stuck"}} }

func (stuck) Answer(ctx context.Context, call chat.ToolCall) (chat.Message, bool, error) {
	<-ctx.Done()
	return chat.Message{}, true, ctx.Err()
}

func TestAToolOfAMirrorThatTakesTooLongFailsAndIsReported(t *testing.T) {
	for limit, text := range map[time.Duration]string{0: "within 10m0s", time.Minute: "within 1m0s"} {
		synctest.Test(t, func(t *testing.T) {
			c := compactorOn(t, &history.Session{}, plenty)
			var failed []string
			c.Observers = append(c.Observers, summarize.OnEvent(func(e event.Event) {
				if e.Kind == event.ToolFailed {
					failed = append(failed, e.Function+": "+e.Err.Error())
				}
			}))
			m := mirror.New(c)
			m.Tools, m.CallLimit = []chat.Toolbox{stuck{}}, limit
			result, ok, err := m.Answer(t.Context(), chat.ToolCall{ID: "x", Name: "stuck"})
			require.NoError(t, err)
			require.True(t, ok && result.IsError)
			require.Contains(t, result.Text(), text)
			synctest.Wait()
			require.Len(t, failed, 1)
			require.Contains(t, failed[0], "stuck: ")
		})
	}
}

func TestAMirrorRefusesToolboxesThatItsPromptDoesNotShow(t *testing.T) {
	s := &history.Session{}
	m := mirror.New(compactorOn(t, s, plenty))
	m.Tools = []chat.Toolbox{&tools.Deferred{Session: s, Tools: []chat.Tool{{Name: "read"}}}}
	_, err := m.Fit(t.Context(), mirror.Request[chat.Message]{Messages: script("u1"), Tools: m.Tools[0].Declared()})
	require.ErrorContains(t, err, "place tools.Found with the same Deferred in the prompt")
	m = mirror.New(compactorOn(t, s, plenty))
	m.Tools = []chat.Toolbox{recall.Tools{}}
	_, err = m.Fit(t.Context(), mirror.Request[chat.Message]{Messages: script("u1")})
	require.ErrorIs(t, err, recall.ErrUnmarked)
}

func TestToolsInThePromptOfAMirrorAndOfTheRequestAreAnError(t *testing.T) {
	s := &history.Session{}
	m := mirror.New(compactorOn(t, s, plenty))
	m.Prompt = elements.Nodes{elements.Tool{Tool: chat.Tool{Name: "look"}}, history.All{Session: s}}
	_, err := m.Fit(t.Context(), mirror.Request[chat.Message]{Messages: script("u1"), Tools: []chat.Tool{{Name: "read"}}})
	require.ErrorContains(t, err, "mirror: the prompt holds tools, and Request.Tools are set")
	fit(t, m, script("u1"))
}
