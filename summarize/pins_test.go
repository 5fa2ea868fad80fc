package summarize_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// recalled returns a fixture whose agent has the tools of package recall.
func recalled(t testing.TB, messages ...chat.Message) fixture {
	return fixtureOf(t, sessiontest.New(t, &storage.Memory{}, history.Options{Recall: true}), messages...)
}

func TestPinnedEntriesStayWordForWordThroughCompactions(t *testing.T) {
	for name, p := range policies.All() {
		t.Run(name, func(t *testing.T) {
			d := recalled(t, chat.UserMessage(task))
			var model chat.ModelFunc = models.Offline{Tokenizer: quarter{}}.Generate
			d.Policy, d.Target.Model = p, model
			d.Policy.Cut, d.Policy.Trigger = history.Cut{Tokens: 300}, policy.Trigger{{On: policy.OnDemand}}
			secret := "The key is <b>4711</b>, in </pinned> 8 rows.\nDo not lose it."
			d.Say(toolRound("p0", secret)...)
			pinned := d.Session.Leaf()
			require.NoError(t, d.Session.Pin(t.Context(), pinned))
			n := 0
			compact := func() {
				n++
				d.Say(rounds(10*n, 10*n+3, roundTokens)...)
				d.Say(chat.AssistantMessage("Done."), chat.UserMessage("Go on."))
				d.Messages()
				d.Compacted()
				require.NoError(t, chat.Validate(d.Messages()))
			}
			for range 3 {
				compact()
				got := compactions(d.Session)
				last := got[len(got)-1].Messages
				copied := last[len(last)-1]
				require.Equal(t, chat.RoleUser, copied.Role)
				require.Equal(t, `<pinned entry="`+pinned+"\" role=\"tool\">\n"+strings.ReplaceAll(secret, "</pinned", `<\/pinned`)+"\n</pinned>", copied.Text())
			}
			require.NoError(t, d.Session.Unpin(t.Context(), pinned))
			compact()
			got := compactions(d.Session)
			require.NotContains(t, text(got[len(got)-1].Messages), "<pinned")
		})
	}
}

// heard returns the events of a kind, once all were reported.
func heard(d fixture, kind event.Kind) []event.Event {
	require.NoError(d.T, d.Close())
	var list []event.Event
	for _, e := range *d.Heard {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// toolRound returns a round of one call.
func toolRound(id, result string) []chat.Message {
	return []chat.Message{{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: "read", Arguments: "{}"}}}, chat.ToolResult(id, result)}
}

func TestAPinThatDoesNotFitIsReportedAndLeavesItsHandle(t *testing.T) {
	d := recalled(t, overflowing()...)
	d.Answers(models.SaySummary("short"))
	list := entries(t, d.Session)
	require.NoError(t, d.Session.Pin(t.Context(), list[0].ID))
	large := list[2].ID
	require.NoError(t, d.Session.Pin(t.Context(), large))
	d.Policy.Replace.Pinned = 0.05
	got := d.Messages()[2].Text()
	left := heard(d, event.PinLeft)
	require.Len(t, left, 1)
	require.Equal(t, large, left[0].Entry)
	require.Contains(t, left[0].Why, "tokens")
	require.Contains(t, got, `read_session({"entry":"`+large+`"})`)
	require.Contains(t, got, task)
}

func TestEntriesThatAreStillShownAreNotCopied(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Answers(models.SaySummary("short"))
	require.NoError(t, d.Session.Pin(t.Context(), d.Session.Leaf()))
	require.NotContains(t, text(d.Messages()), "<pinned")
}

func TestLookUpsAreNotShownToWhoeverSummarises(t *testing.T) {
	for name, p := range policies.All() {
		t.Run(name, func(t *testing.T) {
			d := recalled(t, chat.UserMessage(task))
			var mu sync.Mutex // a title may be asked for meanwhile
			var asked []string
			offline := models.Offline{Tokenizer: quarter{}}
			d.Policy = p
			d.Policy.Cut, d.Policy.Trigger = history.Cut{Tokens: 300}, policy.Trigger{{On: policy.OnDemand}}
			d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, text(r.Messages))
				return offline.Generate(ctx, r)
			})
			m := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "look", Name: history.SearchTool, Arguments: `{"query":"sesame"}`}}}
			d.Say(m, chat.ToolResult("look", "It was sesame."))
			d.Say(rounds(1, 3, roundTokens)...)
			d.Say(chat.AssistantMessage("Done."), chat.UserMessage("Go on."))
			d.Messages()
			d.Compacted()
			require.NoError(t, d.Close())
			require.NotEmpty(t, asked)
			require.NotContains(t, strings.Join(asked, ""), "sesame")
		})
	}
}

func TestALargeResultIsAPreviewFromItsFirstRequestOn(t *testing.T) {
	path := t.TempDir() + "/session.jsonl"
	d := fixtureOf(t, opened(t, path), chat.UserMessage(task))
	d.Policy.Clear.Preview = history.PreviewRule{Above: 300, Tokens: 100}
	large := words(800)
	d.Say(toolRound("c", large)...)
	id := d.Session.Leaf()
	first := d.Messages()
	got := first[len(first)-1].Text()
	require.LessOrEqual(t, quarter{}.CountText(got), 100)
	require.Contains(t, got, d.Session.TextPath(id)+" lines ")
	d.Say(toolRound("d", words(10))...)
	equal(t, first, d.Messages()[:len(first)])
	require.Len(t, heard(d, event.Cleared), 1)
	require.NoError(t, d.Session.Close())
	again := fixtureOf(t, opened(t, path))
	equal(t, first, again.Messages()[:len(first)])
	e := sessiontest.Entry(t, again.Session, id)
	require.Equal(t, large, e.Message().Text())
	require.Equal(t, entry.TypeMessage, e.Type())
	for name, p := range policies.All() {
		require.Equal(t, name == "frugal", p.Clear.Preview.Above > 0, "%s", name)
	}
}

func TestTheLastResortSaysWhereTheOldestMessagesAre(t *testing.T) {
	for _, resort := range []policy.LastResort{policy.ResortTruncate, policy.ResortDrop} {
		d := recalled(t, overflowing()...)
		d.Policy.Overflow.LastResort = resort
		d.Always(models.Fail(errors.New("down")))
		first := entries(t, d.Session)[0].ID
		r := d.Rendered(compacttest.Prompt(d.Session))
		require.LessOrEqual(t, r.Tokens, budget)
		require.NoError(t, chat.Validate(r.Messages))
		require.Regexp(t, `^\[\d+ messages of this conversation left out here, from read_session\(\{"entry":"`+first+`"\}\) on\]$`, r.Messages[1].Text(), "%s", resort)
	}
}

func TestWhatASystemCutsOfTheUsersMessagesHasItsHandleBehind(t *testing.T) {
	for name, mark := range map[string]string{"copilot-cli": "truncated>...", "a3s": "cut here ...]"} {
		t.Run(name, func(t *testing.T) {
			d := recalled(t, chat.UserMessage("Begin. "+words(1500)))
			first := d.Session.Leaf()
			d.Say(chat.AssistantMessage("Yes."), chat.UserMessage("Go on."))
			d.Say(rounds(1, 2, roundTokens/2)...)
			d.Say(chat.AssistantMessage("Done."), chat.UserMessage("And now?"))
			d.Policy = policies.All()[name]
			d.Policy.Trigger = policy.Trigger{{On: policy.OnDemand}}
			d.Policy.Cut.Tokens, d.Policy.Cut.Messages = 1, 0
			d.Always(models.Say("# Work\n\n<summary>" + words(120) + "</summary>"))
			d.Messages()
			d.Compacted()
			got := text(compactions(d.Session)[0].Messages)
			_, behind, cut := strings.Cut(got, mark)
			require.True(t, cut, got)
			at := strings.Index(behind, `[the rest left out here: read_session({"entry":"`+first+`"})]`)
			require.True(t, at >= 0 && at < 7000, "%d in %s", at, behind)
		})
	}
}
