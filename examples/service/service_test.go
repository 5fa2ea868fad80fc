package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/postgrestest"
	"github.com/promptree-go/promptree/summarize/policies"
)

func TestAConversationIsStreamedAndStored(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at)
		require.Equal(t, object{"session": "first"}, c.ok("POST", "/v1/sessions", object{"name": "first"}))
		list := c.say("/v1/sessions/first", "How are you, ünïcode?\nSecond line.")
		require.Equal(t, "said", list[0].name)
		last := list[len(list)-1]
		require.Equal(t, "answer", last.name)
		require.Equal(t, true, last.data["done"])
		streamed := ""
		for _, piece := range named(list, "text") {
			streamed += piece["text"].(string)
		}
		require.Equal(t, streamed, last.data["text"])
		require.Contains(t, streamed, "ünïcode")
		require.Greater(t, len(named(list, "text")), 1)
		require.LessOrEqual(t, last.data["tokens"], last.data["budget"])
		page := c.ok("GET", "/v1/sessions/first", nil)
		require.Equal(t, last.data["entry"], page["leaf"])
		kept := c.transcript("/v1/sessions/first")
		require.Equal(t, []string{"user: How are you, ünïcode?\nSecond line.", "assistant: " + streamed}, texts(kept))
		require.Equal(t, list[0].data["entry"], kept[0]["entry"])
		require.Equal(t, last.data["entry"], kept[1]["entry"])
		require.Equal(t, kept[0]["entry"], kept[1]["parent"])
	})
}

func TestTheModelLooksUpTheTranscript(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at)
		session := c.session()
		c.answered(session, "My number is 4711.")
		list := c.say(session, "What is in the transcript?")
		calls, results := named(list, "call"), named(list, "result")
		require.Len(t, calls, 1)
		require.Equal(t, transcriptTool, calls[0]["name"])
		require.Len(t, results, 1)
		require.Contains(t, results[0]["text"], "2 user: My number is 4711.")
		answers := named(list, "answer")
		require.Len(t, answers, 2)
		require.NotContains(t, answers[0], "done")
		require.Equal(t, true, answers[1]["done"])
		kept := c.transcript(session)
		require.Len(t, kept, 6)
		require.Equal(t, results[0]["entry"], kept[4]["entry"])
		require.Equal(t, "tool", kept[4]["role"])
		require.Equal(t, []any{object{"name": transcriptTool, "arguments": calls[0]["arguments"]}}, kept[3]["calls"])
	})
}

func TestEachInvalidRequestHasItsStatusAndType(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at, "-max-body", "30000", "-max-session", "9000")
		session := c.session()
		c.ok("POST", "/v1/sessions", object{"name": "taken"})
		full := c.session()
		for range 2 {
			c.answered(full, strings.Repeat("word ", 1000))
		}
		answer := c.answered(session, "Hello.")["entry"].(string)
		long := strings.Repeat("n", 101)
		for _, test := range []struct {
			rule         string
			method, path string
			body         any
			status       int
			kind         string
		}{
			{"a body that is not JSON", "POST", session + "/messages", "{", 400, "bad_request"},
			{"a body that is not an object", "POST", session + "/messages", "[]", 400, "bad_request"},
			{"an unknown field", "POST", session + "/messages", `{"text": "x", "model": "y"}`, 400, "bad_request"},
			{"a field of another type", "POST", session + "/messages", `{"text": 1}`, 400, "bad_request"},
			{"two objects", "POST", session + "/messages", `{"text": "x"} {}`, 400, "bad_request"},
			{"a blank text", "POST", session + "/messages", object{"text": " \n"}, 400, "bad_request"},
			{"no text", "POST", session + "/messages", object{}, 400, "bad_request"},
			{"a body that is too large", "POST", session + "/messages", object{"text": strings.Repeat("x", 30000)}, 413, "body_too_large"},
			{"a text that is too large for the window", "POST", session + "/messages", object{"text": strings.Repeat("x y ", 5000)}, 413, "message_too_large"},
			{"a full session", "POST", full + "/messages", object{"text": "x"}, 413, "session_too_large"},
			{"an unknown session", "POST", "/v1/sessions/nobody/messages", object{"text": "x"}, 404, "not_found"},
			{"an after that is not the newest message", "POST", session + "/messages", object{"text": "x", "after": "other"}, 409, "conflict"},
			{"an empty after in a session with messages", "POST", session + "/messages", object{"text": "x", "after": ""}, 409, "conflict"},
			{"a last message that has an answer", "POST", session + "/answer", object{}, 409, "nothing_to_answer"},
			{"an empty session to answer", "POST", "/v1/sessions/taken/answer", object{}, 409, "nothing_to_answer"},
			{"an unknown session to answer", "POST", "/v1/sessions/nobody/answer", object{}, 404, "not_found"},
			{"a name that is taken", "POST", "/v1/sessions", object{"name": "taken"}, 409, "exists"},
			{"a name that is hidden", "POST", "/v1/sessions", object{"name": ".x"}, 400, "bad_request"},
			{"a name that is a path", "POST", "/v1/sessions", object{"name": "../x"}, 400, "bad_request"},
			{"a name with other letters", "POST", "/v1/sessions", object{"name": "ä"}, 400, "bad_request"},
			{"a name with a line break", "POST", "/v1/sessions", object{"name": "x\n"}, 400, "bad_request"},
			{"a name that is too long", "POST", "/v1/sessions", object{"name": long}, 400, "bad_request"},
			{"a name that is a path, in an address", "GET", "/v1/sessions/..%2Fx", nil, 400, "bad_request"},
			{"a name with a NUL", "GET", "/v1/sessions/x%00", nil, 400, "bad_request"},
			{"a list after an invalid name", "GET", "/v1/sessions?after=%00%ff", nil, 400, "bad_request"},
			{"a list after a path", "GET", "/v1/sessions?after=..", nil, 400, "bad_request"},
			{"a page after an entry with a NUL", "GET", session + "?after=%00%ff", nil, 404, "unknown_entry"},
			{"a branch from an entry with a NUL", "POST", session + "/branch", `{"entry": "\u0000"}`, 404, "unknown_entry"},
			{"a limit that is not a number", "GET", "/v1/sessions?limit=many", nil, 400, "bad_request"},
			{"a limit that is too large", "GET", session + "?limit=1001", nil, 400, "bad_request"},
			{"a limit that is too small", "GET", session + "?limit=0", nil, 400, "bad_request"},
			{"an unknown session to read", "GET", "/v1/sessions/nobody", nil, 404, "not_found"},
			{"a page after an unknown entry", "GET", session + "?after=other", nil, 404, "unknown_entry"},
			{"a branch without an entry", "POST", session + "/branch", object{}, 400, "bad_request"},
			{"a branch from an unknown entry", "POST", session + "/branch", object{"entry": "other"}, 404, "unknown_entry"},
			{"a branch of an unknown session", "POST", "/v1/sessions/nobody/branch", object{"entry": answer}, 404, "not_found"},
			{"a compaction of an empty session", "POST", "/v1/sessions/taken/compact", object{}, 409, "nothing_to_compact"},
			{"a compaction of an unknown session", "POST", "/v1/sessions/nobody/compact", object{}, 404, "not_found"},
			{"a removal of an unknown session", "DELETE", "/v1/sessions/nobody", nil, 404, "not_found"},
			{"an unknown address", "GET", "/v2", nil, 404, "not_found"},
			{"another method", "PUT", session, nil, 404, "not_found"},
		} {
			status, kind := c.refused(test.method, test.path, test.body)
			require.Equal(t, fmt.Sprint(test.status, " ", test.kind), fmt.Sprint(status, " ", kind), test.rule)
		}
		require.Len(t, c.transcript(session), 2, "nothing of that was kept")
	})
}

func TestEveryRequestNeedsAToken(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at)
		for _, path := range []string{"/v1/sessions", "/v1/sessions/x", "/metrics", "/anything"} {
			for _, token := range []string{"", "wrong", "acme-toke", "acme-tokens", "acme", "acme acme-token"} {
				status, kind := c.as(token).refused("GET", path, nil)
				require.Equal(t, "401 unauthorized", fmt.Sprint(status, " ", kind), "%s with %q", path, token)
			}
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			require.Equal(t, "ok\n", c.as("").ok("GET", path, nil)["text"])
		}
		require.Equal(t, c.ok("GET", "/v1/sessions", nil), c.as("acme-second-token").ok("GET", "/v1/sessions", nil))
	})
}

func TestATenantSeesOnlyItsOwnSessions(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		acme := begin(t, at)
		other := acme.as("other-token")
		for _, c := range []client{acme.client, other} {
			c.ok("POST", "/v1/sessions", object{"name": "same"})
			c.answered("/v1/sessions/same", "I am "+c.token)
		}
		acme.ok("POST", "/v1/sessions", object{"name": "acmes"})
		for _, request := range []struct{ method, path string }{
			{"GET", ""}, {"POST", "/messages"}, {"POST", "/answer"}, {"POST", "/branch"}, {"POST", "/compact"}, {"DELETE", ""},
		} {
			body := object{}
			switch request.path {
			case "/messages":
				body = object{"text": "x"}
			case "/branch":
				body = object{"entry": ""}
			}
			status, kind := other.refused(request.method, "/v1/sessions/acmes"+request.path, body)
			require.Equal(t, "404 not_found", fmt.Sprint(status, " ", kind), request)
		}
		require.Equal(t, "user: I am acme-token", texts(acme.transcript("/v1/sessions/same"))[0])
		require.Equal(t, "user: I am other-token", texts(other.transcript("/v1/sessions/same"))[0])
		require.Equal(t, []string{"acmes", "same"}, listed(acme.client, 10))
		require.Equal(t, []string{"same"}, listed(other, 10))
		other.ok("DELETE", "/v1/sessions/same", nil)
		require.Len(t, acme.transcript("/v1/sessions/same"), 2)
	})
}

// listed returns the names of all sessions, read in pages of a size.
func listed(c client, limit int) (names []string) {
	for after := ""; ; {
		page := c.ok("GET", fmt.Sprintf("/v1/sessions?limit=%d&after=%s", limit, after), nil)
		for _, s := range page["sessions"].([]any) {
			names = append(names, s.(object)["name"].(string))
		}
		next, more := page["next"].(string)
		if !more {
			return names
		}
		after = next
	}
}

func TestSessionsAreListedByName(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at)
		require.Empty(t, listed(c.client, 10))
		want := []string{"-", "0", "A", "A.b", "A.jsonl", "A.jsonl.writer", "Z", "_", "a", "a-b", "a.b", "a0"}
		for _, name := range slices.Backward(want) {
			c.ok("POST", "/v1/sessions", object{"name": name})
		}
		for _, limit := range []int{1, 5, len(want), 100} {
			require.Equal(t, want, listed(c.client, limit), limit)
		}
		c.answered("/v1/sessions/A", "Hello.")
		page := c.ok("GET", "/v1/sessions?limit=1&after=0", nil)
		is := page["sessions"].([]any)[0].(object)
		require.Greater(t, is["bytes"], 100.0)
		for _, at := range []string{"created", "appended"} {
			when, err := time.Parse(time.RFC3339, is[at].(string))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), when, time.Minute)
		}
	})
}

func TestABranchContinuesFromAnEntry(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at)
		session := c.session()
		first := c.answered(session, "First.")["entry"]
		left := c.answered(session, "Second.")["entry"]
		require.Equal(t, first, c.ok("POST", session+"/branch", object{"entry": first})["leaf"])
		require.Equal(t, first, c.ok("GET", session, nil)["leaf"])
		status, kind := c.refused("POST", session+"/messages", object{"text": "Other.", "after": left})
		require.Equal(t, "409 conflict", fmt.Sprint(status, " ", kind), "it is on the branch that was left")
		list := c.events(c.send(t.Context(), "POST", session+"/messages", object{"text": "Other.", "after": first}))
		require.Equal(t, "said", list[0].name)
		kept := c.transcript(session)
		require.Len(t, kept, 4)
		require.Equal(t, []string{"user: First.", "user: Other."}, []string{texts(kept)[0], texts(kept)[2]})
		c.ok("POST", session+"/branch", object{"entry": left})
		require.Equal(t, "user: Second.", texts(c.transcript(session))[2], "nothing is lost")
		require.Equal(t, "", c.ok("POST", session+"/branch", object{"entry": ""})["leaf"])
		require.Empty(t, c.transcript(session))
		c.answered(session, "From the beginning.")
		require.Len(t, c.transcript(session), 2)
	})
}

func TestARemovedSessionIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at)
		c.ok("POST", "/v1/sessions", object{"name": "x"})
		c.answered("/v1/sessions/x", "Hello.")
		c.ok("DELETE", "/v1/sessions/x", nil)
		status, _ := c.refused("GET", "/v1/sessions/x", nil)
		require.Equal(t, 404, status)
		status, _ = c.refused("POST", "/v1/sessions/x/messages", object{"text": "Hello?"})
		require.Equal(t, 404, status, "saying something does not make it again")
		require.Empty(t, listed(c.client, 10))
		c.ok("POST", "/v1/sessions", object{"name": "x"})
		require.Empty(t, c.transcript("/v1/sessions/x"))
	})
}

// paragraph returns a text of several hundred tokens that differs for each number.
func paragraph(n int) string {
	return fmt.Sprintf("This is the paragraph of number %d, which goes on: %s", n, strings.Repeat(fmt.Sprintf("word%d and ", n), 80))
}

func TestCompactionsLoseNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at, "-window", "3000")
		session := c.session()
		var said []string
		events := 0
		for n := range 12 {
			list := c.say(session, paragraph(n))
			require.Empty(t, named(list, "error"))
			for _, answer := range named(list, "answer") {
				require.LessOrEqual(t, answer["tokens"], answer["budget"])
			}
			for _, e := range named(list, "compaction") {
				require.Equal(t, "copilot-chat", e["policy"])
				events++
			}
			said = append(said, "user: "+paragraph(n))
		}
		var kept []string
		for _, text := range texts(c.transcript(session)) {
			if strings.HasPrefix(text, "user: ") {
				kept = append(kept, text)
			}
		}
		require.Equal(t, said, kept)
		require.Greater(t, events, 1)
		require.Greater(t, c.ok("GET", session, nil)["compactions"], 1.0)
	})
}

func TestACompactionIsMadeOnRequest(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at)
		session := c.session()
		for n := range 4 {
			c.answered(session, paragraph(n))
		}
		before := c.transcript(session)
		made := c.ok("POST", session+"/compact", object{"instructions": "Keep the numbers."})
		require.NotEmpty(t, made["entry"])
		require.Less(t, made["tokensAfter"], made["tokensBefore"])
		require.Equal(t, 1.0, c.ok("GET", session, nil)["compactions"])
		require.Equal(t, before, c.transcript(session))
		status, kind := c.refused("POST", session+"/compact", nil)
		require.Equal(t, "409 nothing_to_compact", fmt.Sprint(status, " ", kind))
		answer := c.answered(session, "Go on.")
		require.Less(t, answer["tokens"], made["tokensBefore"])
	})
}

func TestAClientThatDisconnectsCancelsItsStep(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		slow := begin(t, at, "-think", "1h")
		session := slow.session()
		ctx, leave := context.WithCancel(t.Context())
		response := slow.send(ctx, "POST", session+"/messages", object{"text": "Are you there?"})
		for e := range scan(t, response.Body) {
			require.Equal(t, "said", e.name)
			break
		}
		slow.until("promptree_steps_running", "1")
		leave()
		slow.until("promptree_steps_running", "0")
		slow.until(`promptree_steps_total{outcome="gone"}`, "1")
		require.NoError(t, response.Body.Close())
		require.Equal(t, []string{"user: Are you there?"}, texts(slow.transcript(session)))
		require.NoError(t, slow.stop())

		c := begin(t, at) // as after a crash
		list := c.events(c.send(t.Context(), "POST", session+"/answer", nil))
		require.Empty(t, named(list, "said"))
		require.Equal(t, true, list[len(list)-1].data["done"])
		require.Len(t, c.transcript(session), 2)
	})
}

func TestACallWithoutItsResultIsFinishedFirst(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at)
		session := c.session()
		list := c.say(session, "Read the transcript.")
		called := named(list, "answer")[0]["entry"]
		c.ok("POST", session+"/branch", object{"entry": called}) // as if the process had ended there
		list = c.events(c.send(t.Context(), "POST", session+"/answer", object{}))
		require.Equal(t, "result", list[0].name)
		require.Equal(t, true, list[len(list)-1].data["done"])
		require.Len(t, c.transcript(session), 4)
	})
}

func TestASessionHandlesOneRequestAtATimeAndAFewWait(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at, "-think", "1h", "-queue", "2", "-steps", "2")
		session, other, third := c.session(), c.session(), c.session()
		ctx, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		say := func(session string) {
			group.Go(func() { c.begun(ctx, session) })
		}
		say(session)
		c.until("promptree_steps_running", "1")
		say(session)
		say(session)
		c.until("promptree_requests_waiting", "2")
		status, kind := c.refused("POST", session+"/messages", object{"text": "x"})
		require.Equal(t, "429 queue_full", fmt.Sprint(status, " ", kind))
		require.LessOrEqual(t, len(c.transcript(session)), 1, "reading does not wait")
		say(other)
		c.until("promptree_steps_running", "2")
		response := c.send(t.Context(), "POST", third+"/messages", object{"text": "x"})
		require.Equal(t, 503, response.StatusCode)
		require.NotEmpty(t, response.Header.Get("Retry-After"))
		require.NoError(t, response.Body.Close())
		leave()
		group.Wait()
		c.until("promptree_steps_running", "0")
		c.until("promptree_requests_waiting", "0")
	})
}

// begun sends a message and reads the answer until the context ends.
func (c client) begun(ctx context.Context, session string) {
	r, err := http.NewRequestWithContext(ctx, "POST", c.url+session+"/messages", strings.NewReader(`{"text": "x"}`))
	if err != nil {
		return
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer response.Body.Close()
	for range scan(c.t, response.Body) {
	}
}

func TestTheWaitingRequestsOfATenantAreLimited(t *testing.T) {
	ts := newTurns(10, 3)
	var ends []func()
	for _, name := range []string{"a", "b"} {
		end, err := ts.take(t.Context(), sessionID{"acme", name})
		require.NoError(t, err)
		ends = append(ends, end)
	}
	ctx, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, name := range []string{"a", "a", "b"} {
		group.Go(func() {
			_, err := ts.take(ctx, sessionID{"acme", name})
			if err == nil {
				t.Error("two have their turn at once")
			}
		})
	}
	require.Eventually(t, func() bool { return ts.queued() == 3 }, 10*time.Second, time.Millisecond)
	_, err := ts.take(t.Context(), sessionID{"acme", "b"})
	require.ErrorIs(t, err, errQueue)
	end, err := ts.take(t.Context(), sessionID{"acme", "c"})
	require.NoError(t, err, "nobody is there")
	end()
	end, err = ts.take(t.Context(), sessionID{"other", "b"})
	require.NoError(t, err, "another tenant's")
	end()
	leave()
	group.Wait()
	for _, end := range ends {
		end()
	}
	require.Empty(t, ts.sessions)
	require.Empty(t, ts.tenants)
}

func TestTheNumberOfOpenFilesIsLimited(t *testing.T) {
	t.Parallel()
	at := inFiles(t)
	c := begin(t, at, "-open", "3", "-think", "5ms")
	var sessions []string
	for range 8 {
		sessions = append(sessions, c.session())
	}
	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() {
			for round := range 3 {
				for j, session := range sessions {
					if j%3 == i {
						list := c.say(session, paragraph(round))
						if last := list[len(list)-1]; last.name != "answer" {
							t.Error(last)
						}
					}
				}
			}
		})
	}
	group.Wait()
	for _, session := range sessions {
		require.Len(t, c.transcript(session), 6)
	}
	var open int
	_, err := fmt.Sscan(c.metric("promptree_sessions_open"), &open)
	require.NoError(t, err)
	require.LessOrEqual(t, open, 3)
}

func TestAHalfWrittenLineIsSetAside(t *testing.T) {
	t.Parallel()
	at := inFiles(t)
	c := begin(t, at)
	session := c.session()
	c.answered(session, "Hello.")
	before := c.transcript(session)
	require.NoError(t, c.stop())
	found, err := filepath.Glob(filepath.Join(at[1], "*", "*"+extension))
	require.NoError(t, err)
	require.Len(t, found, 1)
	file, err := os.OpenFile(found[0], os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"type":"message","id":"x","par`)
	require.NoError(t, errors.Join(err, file.Close()))

	c = begin(t, at)
	require.Equal(t, before, c.transcript(session))
	c.answered(session, "Are you there?")
	require.Equal(t, before, c.transcript(session)[:2])
}

func TestAFileThatAnotherProcessHasOpenIsLocked(t *testing.T) {
	t.Parallel()
	at := inFiles(t)
	a, b := begin(t, at), begin(t, at)
	session := a.session()
	a.answered(session, "Hello.")
	status, kind := b.refused("POST", session+"/messages", object{"text": "Hello?"})
	require.Equal(t, "409 locked", fmt.Sprint(status, " ", kind))
	require.NoError(t, a.stop())
	b.answered(session, "Hello?")
	require.Len(t, b.transcript(session), 4)
}

func TestTwoReplicasOnOneSessionConflict(t *testing.T) {
	t.Parallel()
	at := inPostgres(t)
	a, b := begin(t, at, "-think", "3s"), begin(t, at)
	session := a.session()
	response := a.send(t.Context(), "POST", session+"/messages", object{"text": "From a.", "after": ""})
	defer response.Body.Close()
	var list []streamed
	for e := range scan(t, response.Body) {
		if e.name == "said" {
			status, kind := b.refused("POST", session+"/messages", object{"text": "From b.", "after": ""})
			require.Equal(t, "409 conflict", fmt.Sprint(status, " ", kind))
			b.answered(session, "From b.")
		}
		list = append(list, e)
	}
	last := list[len(list)-1]
	require.Equal(t, "error", last.name)
	require.Equal(t, "conflict", last.data["type"])
	kept := texts(a.transcript(session))
	require.Equal(t, []string{"user: From a.", "user: From b."}, kept[:2])
	require.Len(t, kept, 3)
	require.Equal(t, kept, texts(b.transcript(session)))
	b.ok("DELETE", session, nil)
	status, _ := a.refused("GET", session, nil)
	require.Equal(t, 404, status)
}

func TestASummaryIsMadeByTheWorkerOfAnotherProcess(t *testing.T) {
	t.Parallel()
	at := inPostgres(t)
	at = append(at, "-window", "16000")
	replicas := []*replica{begin(t, at, "-work", "0"), begin(t, at, "-work", "0")}
	session := replicas[0].session()
	for n, planned := 0, false; !planned; n++ {
		list := replicas[n%2].say(session, paragraph(n))
		for _, e := range named(list, "compaction") {
			require.Equal(t, "started render", fmt.Sprint(e["kind"], " ", e["reason"]), "nobody waits")
			planned = true
		}
	}
	require.Zero(t, replicas[0].ok("GET", session, nil)["compactions"], "there is no worker")
	worker := begin(t, at, "-serve=false")
	require.Eventually(t, func() bool { return replicas[1].ok("GET", session, nil)["compactions"] == 1.0 }, 10*time.Second, 5*time.Millisecond)
	before := replicas[0].transcript(session)
	answer := replicas[0].answered(session, "What is left?")
	require.Less(t, answer["tokens"], answer["budget"].(float64)/2)
	require.Equal(t, before, replicas[1].transcript(session)[:len(before)])
	require.NoError(t, worker.stop())
	require.Contains(t, worker.log.String(), `"kind":"done"`)
}

func TestAStopWaitsForStepsToFinish(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := begin(t, at, "-think", "300ms")
		session := c.session()
		response := c.send(t.Context(), "POST", session+"/messages", object{"text": "Hello."})
		require.Equal(t, 200, response.StatusCode)
		stopped := make(chan error, 1)
		go func() { stopped <- c.stop() }()
		list := c.events(response)
		require.Equal(t, true, list[len(list)-1].data["done"])
		require.NoError(t, <-stopped)
		require.Contains(t, c.log.String(), `"msg":"stopped"`)
	})
}

func TestAStopCancelsStepsThatTakeTooLong(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		c := beginFor(t, 300*time.Millisecond, at, "-think", "1h")
		session := c.session()
		response := c.send(t.Context(), "POST", session+"/messages", object{"text": "Hello."})
		require.Equal(t, 200, response.StatusCode)
		stopped := make(chan error, 1)
		go func() { stopped <- c.stop() }()
		list := c.events(response)
		last := list[len(list)-1]
		require.Equal(t, "error", last.name)
		require.Equal(t, "stopping", last.data["type"])
		require.NoError(t, <-stopped)
	})
}

func TestAStoppingServerSaysSoWhileStepsContinue(t *testing.T) {
	t.Parallel()
	r := begin(t, inFiles(t), "-think", "1h") // whose steps end with their client
	ctx, leave := context.WithCancel(t.Context())
	session := r.session()
	response := r.send(ctx, "POST", session+"/messages", object{"text": "Hello."})
	require.Equal(t, 200, response.StatusCode)
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	require.Eventually(t, func() bool { return strings.Contains(r.log.String(), `"msg":"stopping"`) }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool {
		status, _ := r.do("GET", "/readyz", nil)
		return status == 503
	}, 10*time.Second, time.Millisecond)
	refused := r.send(t.Context(), "POST", session+"/messages", object{"text": "One more."})
	require.Equal(t, 503, refused.StatusCode)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.NoError(t, refused.Body.Close())
	require.Equal(t, "ok\n", r.ok("GET", "/healthz", nil)["text"])
	leave()
	require.NoError(t, response.Body.Close())
	require.NoError(t, <-stopped)
}

func TestLogsAndMetricsHoldNoContent(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) {
		const canary = "canary-7f3a"
		c := begin(t, at, "-window", "3000")
		session := c.session()
		for n := range 8 {
			c.answered(session, canary+" and the transcript "+paragraph(n))
		}
		c.do("POST", session+"/compact", object{"instructions": canary})
		for _, request := range []struct {
			method, path string
			body         any
		}{
			{"POST", session + "/messages", object{"text": canary, "after": canary}},
			{"POST", session + "/messages", object{"text": canary, canary: canary}},
			{"POST", session + "/messages", `{"text": "` + canary},
			{"POST", session + "/messages", object{"text": strings.Repeat(canary, 2000)}},
			{"POST", "/v1/sessions", object{"name": canary + "/"}},
			{"POST", "/v1/sessions", object{"name": canary}},
			{"POST", "/v1/sessions/" + canary + "/messages", object{"text": canary}},
			{"POST", session + "/branch", object{"entry": canary}},
			{"GET", "/" + canary + "?" + canary, nil},
			{"GET", session + "?after=" + canary, nil},
			{"GET", "/v1/sessions?limit=" + canary, nil},
			{canary, session, nil},
		} {
			c.do(request.method, request.path, request.body)
		}
		c.as(canary).do("GET", "/v1/sessions", nil)
		metrics := c.ok("GET", "/metrics", nil)["text"].(string)
		require.NoError(t, c.stop())
		log := c.log.String()
		require.Contains(t, log, `"msg":"compaction"`)
		for _, secret := range []string{canary, "acme", "other/", "token", "word3"} {
			require.NotContains(t, strings.ReplaceAll(log, "tokens", ""), secret)
			require.NotContains(t, strings.ReplaceAll(metrics, "tokens", ""), secret)
		}
		for line := range strings.Lines(log) {
			require.True(t, json.Valid([]byte(line)), line)
		}
	})
}

// They migrate an empty database, through fewer connections than there are processes.
func TestProcessesMayStartConcurrentlyBehindATransactionPooler(t *testing.T) {
	t.Parallel()
	if cluster == nil {
		t.Skip(postgrestest.ErrNone)
	}
	address, stop, err := cluster.Pooler(t.Context(), 3)
	if err == postgrestest.ErrNoPooler {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(stop)
	at := place{"-database", inDatabase(t, address), "-poll", "-window", "3000"}
	var group sync.WaitGroup
	replicas := make([]*replica, 4)
	for i := range replicas {
		group.Go(func() { replicas[i] = begin(t, at) })
	}
	group.Wait()
	session := replicas[0].session()
	for n := range 8 {
		replicas[n%len(replicas)].answered(session, paragraph(n))
	}
	require.Greater(t, replicas[0].ok("GET", session, nil)["compactions"], 0.0)
}

func TestEveryPolicyAnswersInASmallWindow(t *testing.T) {
	for name := range policies.All() {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, at place) {
				c := begin(t, at, "-policy", name, "-window", "2500")
				session := c.session()
				for n := range 9 {
					answer := c.answered(session, paragraph(n))
					require.LessOrEqual(t, answer["tokens"], answer["budget"])
				}
				require.Greater(t, c.ok("GET", session, nil)["compactions"], 0.0)
			})
		})
	}
}
