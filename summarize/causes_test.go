package summarize_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// cause is what a server refuses from the tenth step on.
type cause struct {
	name string
	// refuses returns the error of a request, nil if it is accepted.
	refuses func(r chat.Request, bytes, tokens int) error
	fails   int  // steps that fail
	once    bool // it refuses a single request
}

// said400 is an error with status 400.
type said400 string

func (s said400) Error() string   { return string(s) }
func (s said400) StatusCode() int { return 400 }

const (
	badPicture = "data:image/png;base64,QkFE"
	foreign    = "sealed elsewhere"
	forbidden  = "forbidden words"
	bytesMost  = 16_000
	tokensMost = 3_000
)

// holds reports whether a request holds a part.
func holds(r chat.Request, is func(chat.Part) bool) bool {
	return slices.ContainsFunc(r.Messages, func(m chat.Message) bool { return slices.ContainsFunc(m.Content, is) })
}

func aboveTokens(said string) func(chat.Request, int, int) error {
	return func(_ chat.Request, _, tokens int) error {
		if tokens > tokensMost {
			return said400(said)
		}
		return nil
	}
}

func aboveBytes(err error) func(chat.Request, int, int) error {
	return func(_ chat.Request, bytes, _ int) error {
		if bytes > bytesMost {
			return err
		}
		return nil
	}
}

var causes = []cause{
	{name: "413 for bytes", refuses: aboveBytes(said413("request body too large"))},
	{name: "413 of a proxy", refuses: aboveBytes(said413("<html><head><title>413 Request Entity Too Large</title></head><center>nginx</center></html>"))},
	{name: "a dropped connection", refuses: aboveBytes(&chat.TransientError{Err: errors.New(`post "https://api.example.com": EOF`)})},
	{name: "a connection dropped once", once: true, refuses: aboveBytes(&chat.TransientError{Err: errors.New("read tcp 10.0.0.1:5: connection reset by peer")})},
	{name: "400 without words", refuses: aboveTokens("400 Bad Request")},
	{name: "400 without words, once", once: true, refuses: func(chat.Request, int, int) error { return said400("400 Bad Request") }},
	{name: "413 of a proxy, once", once: true, refuses: func(chat.Request, int, int) error { return said413("<html><center>nginx</center></html>") }},
	{name: "a picture", refuses: func(r chat.Request, _, _ int) error {
		if holds(r, func(p chat.Part) bool { return p == chat.Part(chat.Image{URL: badPicture}) }) {
			return said400("messages.3.content.1: Could not process image")
		}
		return nil
	}},
	{name: "a picture, without words", refuses: func(r chat.Request, _, _ int) error {
		if holds(r, func(p chat.Part) bool { return p == chat.Part(chat.Image{URL: badPicture}) }) {
			return said400("400 Provider returned error")
		}
		return nil
	}},
	{name: "a filter", fails: 1, refuses: func(r chat.Request, _, _ int) error {
		if holds(r, func(p chat.Part) bool { t, _ := p.(chat.Text); return strings.Contains(string(t), forbidden) }) {
			return said400("The prompt was filtered: content_filter")
		}
		return nil
	}},
	{name: "an output limit", refuses: func(r chat.Request, _, _ int) error {
		if r.MaxTokens > 512 {
			return said400(fmt.Sprintf("max_tokens: %d > 512, which is the maximum allowed number of output tokens for m", r.MaxTokens))
		}
		return nil
	}},
	{name: "encrypted thinking", refuses: func(r chat.Request, _, _ int) error {
		if holds(r, func(p chat.Part) bool { t, _ := p.(chat.Thinking); return t.Encrypted == foreign }) {
			return said400("The encrypted content could not be verified. (invalid_encrypted_content)")
		}
		return nil
	}},
	{name: "German", refuses: aboveTokens("Der Kontext ist zu lang")},
	{name: "French", refuses: aboveTokens("Le contexte dépasse la taille permise")},
	{name: "Chinese", refuses: aboveTokens("输入过长,超出模型限制")},
	{name: "Japanese", refuses: aboveTokens("コンテキストが長すぎます")},
}

// server answers as a model until a step, and from then on refuses.
type server struct {
	cause    cause
	on       bool
	refused  int // requests of a step of the agent
	accepted []chat.Message
}

func (s *server) generate(ctx context.Context, r chat.Request) (chat.Response, error) {
	summary := !strings.HasPrefix(r.Messages[len(r.Messages)-1].Text(), momentMark) && !strings.HasPrefix(r.Messages[len(r.Messages)-1].Text(), "[message left out")
	if s.on {
		body, _ := json.Marshal(r.Messages)
		if err := s.cause.refuses(r, len(body), count(quarter{}, r.Messages)); err != nil {
			if s.on = !s.cause.once; !summary {
				s.refused++
			}
			return chat.Response{}, err
		}
	}
	if summary {
		return models.SaySummary(digest(r))(ctx, r)
	}
	s.accepted = r.Messages
	answer := chat.AssistantMessage(momentMark + "Done.")
	if !s.on {
		answer.Content = append(chat.Parts{chat.Thinking{Encrypted: foreign}}, answer.Content...)
	}
	return chat.Response{Message: answer}, nil
}

// contents are what the user says in a step.
var contents = map[string]func(n int) chat.Parts{
	"text": func(int) chat.Parts { return chat.Parts{chat.Text(words(300))} },
	"pictures": func(n int) chat.Parts {
		return chat.Parts{chat.Text(words(100)), chat.NewImage("image/png", fmt.Appendf(nil, "%d%s", n, strings.Repeat("x", 700)))}
	},
	"documents": func(n int) chat.Parts {
		data := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%d%s", n, strings.Repeat("x", 700)))
		return chat.Parts{chat.Text(words(100)), chat.Document{Data: data, MediaType: "application/pdf"}}
	},
}

// TestNoRefusalEndsASession runs policies by causes of refusals by what is said, restarted after each step or not. In the
// usual run each policy meets each cause once, and that of which requests for summaries have most refused with text too.
func TestNoRefusalEndsASession(t *testing.T) {
	kinds := []string{"text", "pictures", "documents"}
	for i, name := range policies.Names() {
		for k, c := range causes {
			for bits := range 6 {
				if !extremes.All() && bits != (i+k)%6 && (bits > 0 || c.name != "400 without words") {
					continue
				}
				kind, restarts := kinds[bits%3], bits >= 3
				t.Run(fmt.Sprintf("%s/%s/%s, restarted %v", name, c.name, kind, restarts), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { refuse(t, name, c, contents[kind], restarts) })
				})
			}
		}
	}
}

// refuse runs a session of 30 steps, from the tenth of which a server refuses.
func refuse(t *testing.T, name string, c cause, content func(int) chat.Parts, restarts bool) {
	s := &server{cause: c}
	path := filepath.Join(t.TempDir(), "session.jsonl")
	model := "m"
	open := func() fixture {
		d := fixtureOf(t, opened(t, path))
		d.Policy = policies.All()[name]
		d.Policy.Ask.Names = nil
		d.Target.Model, d.Target.Budget, d.Target.Name = chat.ModelFunc(s.generate), momentBudget, model
		return d
	}
	d := open()
	failed := 0
	step := func(n int, parts chat.Parts) {
		s.refused = 0
		d.Say(chat.Message{Role: chat.RoleUser, Content: append(chat.Parts{chat.Text(fmt.Sprintf("%ssaid%d ", momentMark, n))}, parts...)})
		worker := agent.Agent{Compactor: d.Compactor, Prompt: prompt(d.Session), MaxTokens: 2000}
		_, err := worker.Step(t.Context())
		if err != nil {
			failed++
			if c.fails >= failed {
				lost, ok := errors.AsType[*summarize.RecoveryError](err)
				require.True(t, ok, "step %d: %v", n, err)
				require.NotEmpty(t, lost.Entry, "the error names the message")
			} else {
				t.Errorf("step %d failed: %v", n, err)
			}
		}
		require.LessOrEqual(t, s.refused, 3, "step %d: refused requests", n)
		if restarts {
			require.NoError(t, d.Close())
			require.NoError(t, d.Session.Close())
			d = open()
		}
	}
	total := 0
	for n := range 30 {
		parts := content(n)
		if s.on = n == 10 || n > 10 && !c.once; n == 10 {
			parts = append(parts, chat.Image{URL: badPicture}, chat.Text(" "+forbidden))
			if c.name != "a filter" {
				parts = parts[:len(parts)-1]
			}
		}
		step(n, parts)
		total += s.refused
	}
	require.LessOrEqual(t, total, 8, "refused requests in all")
	if c.once { // nothing is taken away for a refusal that had another cause
		require.NotContains(t, text(s.accepted), " left out: the model's server")
		kept, err := d.Session.Retained(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, kept.Held)
		for _, l := range kept.Models {
			require.Equal(t, entry.Learnt{}, entry.Learnt{Agent: l.Agent, Bytes: l.Bytes, Output: l.Output, Doubt: l.Doubt})
		}
	}
	require.NoError(t, d.Wait(t.Context()))
	if strings.HasPrefix(c.name, "a picture") {
		shown := holds(chat.Request{Messages: s.accepted}, func(p chat.Part) bool { return p == chat.Part(chat.Image{URL: badPicture}) })
		require.False(t, shown)
		s.on = false
		require.NoError(t, d.Retarget(t.Context(), retargeted(d, "other")))
		model = "other"
		view, err := d.Session.View(t.Context())
		require.NoError(t, err)
		inView := holds(chat.Request{Messages: view.Messages()}, func(p chat.Part) bool { return p == chat.Part(chat.Image{URL: badPicture}) })
		step(30, content(30))
		shown = holds(chat.Request{Messages: s.accepted}, func(p chat.Part) bool { return p == chat.Part(chat.Image{URL: badPicture}) })
		require.True(t, shown || !inView, "another model is shown it")
	}
	require.NoError(t, d.Close())
}

func retargeted(d fixture, name string) (target policy.Target) {
	target = d.Current()
	target.Name = name
	return target
}

// TestAWindowOfAMillionBehindAProxyThatLimitsBytes runs policies by what is said by whether the limit is set. In the usual
// run each policy meets one of them.
func TestAWindowOfAMillionBehindAProxyThatLimitsBytes(t *testing.T) {
	t.Parallel()
	cells := []struct {
		name, said string
		limit      int
		content    func(n int) chat.Parts
	}{
		{"text, nginx", "<html><center>nginx</center></html>", 1 << 20, func(int) chat.Parts { return chat.Parts{chat.Text(words(12_000))} }},
		{"pictures, nginx", "<html><center>nginx</center></html>", 1 << 20, func(n int) chat.Parts { return chat.Parts{chat.NewImage("image/png", make([]byte, 150_000+n))} }},
		{"pictures, a gateway", `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, 5 << 20,
			func(n int) chat.Parts { return chat.Parts{chat.NewImage("image/png", make([]byte, 252_000+n))} }},
	}
	for i, name := range policies.Names() {
		for k, c := range cells {
			for _, set := range []int{0, c.limit} {
				if !extremes.All() && (k != i%3 || (set > 0) != (i < 3)) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s, set to %d", name, c.name, set), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { behindProxy(t, name, c.said, c.limit, set, c.content) })
				})
			}
		}
	}
}

// behindProxy runs a session of 50 steps with a server that takes no more bytes than a limit.
func behindProxy(t *testing.T, name, said string, limit, set int, content func(int) chat.Parts) {
	s := &server{on: true, cause: cause{refuses: func(_ chat.Request, bytes, _ int) error {
		if bytes > limit {
			return said413(said)
		}
		return nil
	}}}
	d := newFixture(t)
	d.Policy = policies.All()[name]
	d.Policy.Ask.Names = nil
	d.Target.Model, d.Target.Budget, d.Target.Name, d.Target.MaxBytes = chat.ModelFunc(s.generate), 900_000, "m", set
	total := 0
	for n := range 50 {
		s.refused = 0
		d.Say(chat.Message{Role: chat.RoleUser, Content: append(chat.Parts{chat.Text(fmt.Sprintf("%ssaid%d ", momentMark, n))}, content(n)...)})
		_, err := (&agent.Agent{Compactor: d.Unjudged(), Prompt: prompt(d.Session)}).Step(t.Context())
		require.NoError(t, err, "step %d", n)
		total += s.refused
		require.Contains(t, text(s.accepted), fmt.Sprintf("said%d ", n))
	}
	require.NoError(t, d.Wait(t.Context()))
	require.LessOrEqual(t, total, 6)
	if set > 0 {
		require.Zero(t, total, "a limit that is set is kept")
	}
	switch _, picture := content(0)[0].(chat.Image); {
	case picture:
		require.Contains(t, text(s.accepted), "said0 ", "pictures leave before text does")
		require.True(t, holds(chat.Request{Messages: s.accepted[len(s.accepted)-1:]}, func(p chat.Part) bool { _, is := p.(chat.Image); return is }), "the newest stays")
	case set > 0:
		require.NotEmpty(t, compactions(d.Session), "history is compacted within it")
	}
}

func TestWhatCannotBeCompactedIsWarnedOfBeforeAStepFails(t *testing.T) {
	d := newFixture(t)
	d.Target.Name = "m"
	var warnings []string
	d.Observers = append(d.Observers, summarize.OnEvent(func(e event.Event) {
		if e.Kind == event.Crowded {
			warnings = append(warnings, e.Why)
		}
	}))
	d.Say(chat.UserMessage(words(100)))
	_, err := d.Render(t.Context(), prompt(d.Session))
	require.NoError(t, err)
	d.Say(chat.AssistantMessage("Yes."), chat.UserMessage(words(budget*85/100)))
	for range 2 {
		_, err = d.Render(t.Context(), elements.Nodes{elements.Message(elements.Props{Required: true}, chat.SystemMessage(words(budget*7/100))), prompt(d.Session)})
		require.NoError(t, err)
	}
	require.NoError(t, d.Close())
	require.Len(t, warnings, 1, "once")
}

// at is a model at a server.
type at struct {
	chat.Model
	server string
}

func (m at) Origin() chat.Origin { return chat.Origin{Server: m.server} }

func TestAPictureThatAServerRefusesIsShownToTheSameModelElsewhere(t *testing.T) {
	t.Parallel()
	picture := func(r chat.Request) bool {
		return holds(r, func(p chat.Part) bool { _, is := p.(chat.Image); return is })
	}
	var shown []bool // at each request
	serves := func(server string, takes bool) chat.Model {
		return at{server: server, Model: chat.ModelFunc(func(_ context.Context, r chat.Request) (chat.Response, error) {
			shown = append(shown, picture(r))
			if picture(r) && !takes {
				return chat.Response{}, said400("Could not process image")
			}
			return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("Done.")}, Origin: chat.Origin{Model: "m", Server: server}}}, nil
		})}
	}
	d := newFixture(t)
	d.Target.Model, d.Target.Name = serves("https://here", false), "m"
	step := func(parts ...chat.Part) []bool {
		shown = nil
		d.Say(chat.Message{Role: chat.RoleUser, Content: parts})
		_, err := (&agent.Agent{Compactor: d.Unjudged(), Prompt: prompt(d.Session)}).Step(t.Context())
		require.NoError(t, err)
		return shown
	}
	require.Equal(t, []bool{true, false}, step(chat.Text("See."), chat.Image{URL: badPicture}))
	require.Equal(t, []bool{true, false}, step(chat.Text("More.")), "it comes back once, and is the cause")
	require.Equal(t, []bool{false}, step(chat.Text("More.")))
	target := d.Current()
	target.Model = serves("https://there", true)
	require.NoError(t, d.Retarget(t.Context(), target))
	require.Equal(t, []bool{true}, step(chat.Text("More.")))
}

func TestALimitHoldsForItsServerAlone(t *testing.T) {
	t.Parallel()
	for name, refuses := range map[string]func(r chat.Request, bytes, tokens int) error{
		"tokens": aboveTokens(fmt.Sprintf("This model's maximum context length is %d tokens.", tokensMost)),
		"bytes":  aboveBytes(said413("request body too large")),
		"output": func(r chat.Request, _, _ int) error {
			if r.MaxTokens > 512 {
				return said400(fmt.Sprintf("max_tokens: %d > 512, which is the maximum allowed number of output tokens for m", r.MaxTokens))
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failures := func(said []error) []error { return slices.DeleteFunc(said, func(err error) bool { return err == nil }) }
			var here, there []error // what the server with the limit said, and would say to what the other was sent
			serves := func(server string, said *[]error, limited bool) chat.Model {
				return at{server: server, Model: chat.ModelFunc(func(_ context.Context, r chat.Request) (chat.Response, error) {
					body, _ := json.Marshal(r.Messages)
					err := refuses(r, len(body), count(quarter{}, r.Messages))
					if *said = append(*said, err); limited && err != nil {
						return chat.Response{}, err
					}
					answer := chat.AssistantMessage("Done.")
					answer.Origin = chat.Origin{Model: "m", Server: server}
					return chat.Response{Message: answer}, nil
				})}
			}
			first, second := serves("https://here", &here, true), serves("https://there", &there, false)
			path := filepath.Join(t.TempDir(), "session.jsonl")
			step := func(model chat.Model) {
				d := fixtureOf(t, opened(t, path))
				d.Policy.Overflow.LastResort = policy.ResortDrop
				d.Target.Model, d.Target.Name, d.Target.Budget = model, "m", 8*tokensMost
				d.Say(chat.UserMessage(words(tokensMost / 3)))
				_, err := (&agent.Agent{Compactor: d.Unjudged(), Prompt: prompt(d.Session), MaxTokens: 2000}).Step(t.Context())
				require.NoError(t, err)
				require.NoError(t, d.Close())
				require.NoError(t, d.Session.Close())
			}
			for refused := 0; refused < 2; {
				here = nil
				if step(first); len(failures(here)) > 0 {
					refused++
				}
			}
			step(second)
			require.NotEmpty(t, failures(there), "nothing is left out where nothing was refused")
			here = nil
			step(first)
			require.Empty(t, failures(here), "the limit is still known")
		})
	}
}

// Texts of code have more bytes in JSON than characters. What the model says of its requests is believed from then on, in
// another process too.
func TestALimitOfBytesIsKeptByWhatTheModelSaysOfItsRequests(t *testing.T) {
	t.Parallel()
	const limit = 20_000
	refused, largest := 0, 0
	model := chat.ModelFunc(func(_ context.Context, r chat.Request) (chat.Response, error) {
		body, err := json.Marshal(r.Messages)
		require.NoError(t, err)
		largest = max(largest, len(body))
		if len(body) > limit {
			refused++
			return chat.Response{}, said413("request body too large")
		}
		return chat.Response{Message: chat.AssistantMessage("Done."), RequestBytes: len(body)}, nil
	})
	path := filepath.Join(t.TempDir(), "session.jsonl")
	for range 20 {
		d := fixtureOf(t, opened(t, path))
		d.Policy.Overflow.LastResort = policy.ResortDrop
		d.Target.Model, d.Target.Name, d.Target.Budget, d.Target.MaxBytes = model, "m", 100_000, limit
		var sizes []event.Event
		d.Observers = append(d.Observers, summarize.OnEvent(func(e event.Event) {
			if e.Kind == event.Usage {
				sizes = append(sizes, e)
			}
		}))
		d.Say(chat.UserMessage(strings.Repeat("<a href=\"b\">\n", 150)))
		_, err := (&agent.Agent{Compactor: d.Unjudged(), Prompt: prompt(d.Session)}).Step(t.Context())
		require.NoError(t, err)
		m := d.Explain(t.Context()).Measurement
		require.Equal(t, limit-limit/10, m.MaxBytes)
		require.Contains(t, d.Explain(t.Context()).String(), fmt.Sprintf("body: %d of %d bytes", m.Bytes, m.MaxBytes))
		require.NoError(t, d.Close())
		require.NotEmpty(t, sizes)
		last := sizes[len(sizes)-1]
		require.Equal(t, m.MaxBytes, last.MaxBytes)
		require.LessOrEqual(t, last.Bytes, last.MaxBytes)
		require.NoError(t, d.Session.Close())
	}
	require.Zero(t, refused)
	require.Greater(t, largest, limit/2, "the limit is used")
}

// TestASummaryIsAskedForWithoutWhatItsModelRefuses has a model of its own asked for summaries, which refuses something that
// the agent's model takes, or which its filter refuses too.
func TestASummaryIsAskedForWithoutWhatItsModelRefuses(t *testing.T) {
	t.Parallel()
	picture := func(r chat.Request) bool {
		return holds(r, func(p chat.Part) bool { _, is := p.(chat.Image); return is })
	}
	for name, c := range map[string]struct {
		refuses func(chat.Request) error
		line    string
		agent   bool // the agent's model refuses it too
	}{
		"a picture": {func(r chat.Request) error {
			if picture(r) {
				return said400("Could not process image")
			}
			return nil
		}, "[picture left out: ", false},
		"a picture that is too large": {func(r chat.Request) error {
			if picture(r) {
				return said413("messages.2.content.1.image: image exceeds 5 MB maximum")
			}
			return nil
		}, "[picture left out: ", false},
		"encrypted thinking": {func(r chat.Request) error {
			if holds(r, func(p chat.Part) bool { t, _ := p.(chat.Thinking); return t.Encrypted == foreign }) {
				return said400("The encrypted content could not be verified. (invalid_encrypted_content)")
			}
			return nil
		}, "Done.", false},
		"a message": {func(r chat.Request) error {
			if strings.Contains(text(r.Messages), forbidden) {
				return said400("The prompt was filtered: content_filter")
			}
			return nil
		}, "[message left out: ", true},
	} {
		for _, usable := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, usable %v", name, usable), func(t *testing.T) {
				var asked [][]chat.Message
				refused, titles := 0, 0
				small := at{server: "https://small", Model: chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
					if r.Purpose == chat.PurposeTitle {
						titles++
					}
					if asked = append(asked, r.Messages); c.refuses(r) != nil {
						refused++
						return chat.Response{}, c.refuses(r)
					}
					if !usable {
						return chat.Response{Message: chat.AssistantMessage("…")}, nil
					}
					return models.SaySummary(digest(r))(ctx, r)
				})}
				var seen bool
				large := at{server: "https://large", Model: chat.ModelFunc(func(_ context.Context, r chat.Request) (chat.Response, error) {
					if c.agent && c.refuses(r) != nil {
						return chat.Response{}, c.refuses(r)
					}
					if !strings.HasPrefix(r.Messages[len(r.Messages)-1].Text(), momentMark) {
						return chat.Response{Message: chat.AssistantMessage("…")}, nil // no summary
					}
					seen = picture(r)
					return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Encrypted: foreign}, chat.Text("Done.")}}}, nil
				})}
				request := func(m policy.Material) elements.Node {
					var shown elements.Nodes
					for _, message := range m.Covered {
						shown = append(shown, elements.Message(elements.Props{Required: true}, message))
					}
					return append(shown, elements.Message(elements.Props{Required: true}, chat.UserMessage("Summarise.")))
				}
				path := filepath.Join(t.TempDir(), "session.jsonl")
				for n := range 14 {
					d := fixtureOf(t, opened(t, path))
					d.Policy = policies.All()["a3s"]
					d.Policy.Ask.Names, d.Policy.Ask.Routes = []string{"small"}, nil
					d.Policy.Ask.Prompts = []policy.Prompt{{Mode: policy.ModeFull, Request: request, Title: request}}
					d.Models = map[string]policy.Target{"small": {Model: small}}
					d.Target.Model, d.Target.Name, d.Target.Budget = large, "m", momentBudget
					parts := chat.Parts{chat.Text(fmt.Sprintf("%ssaid%d %s", momentMark, n, words(momentBudget/8)))}
					if n == 1 {
						parts = append(parts, chat.Image{URL: badPicture}, chat.Text(forbidden))
					}
					d.Say(chat.Message{Role: chat.RoleUser, Content: parts})
					_, err := (&agent.Agent{Compactor: d.Unjudged(), Prompt: prompt(d.Session)}).Step(t.Context())
					require.True(t, err == nil || c.agent && n == 1, "step %d: %v", n, err)
					require.NoError(t, d.Wait(t.Context()))
					if made := compactions(d.Session); len(made) > 0 {
						require.Equal(t, "small", made[0].Model)
					} else if n > 1 && n < 5 && !c.agent {
						require.True(t, seen, "the agent's model is shown it")
					}
					require.NoError(t, d.Close())
					require.NoError(t, d.Session.Close())
				}
				require.Greater(t, len(asked), refused)
				require.Equal(t, 1, refused, "it is remembered, whether or not the answer could be used")
				require.True(t, !usable || titles > 0, "a title is asked for in the same way")
				require.Contains(t, text(asked[1]), c.line)
			})
		}
	}
}
