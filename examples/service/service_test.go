package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const session = "/v1/sessions/first"

func TestAConversationIsStreamedAndStored(t *testing.T) {
	t.Parallel()
	c := begin(t)
	list := c.say(session, "How are you, ünïcode?\nSecond line.")
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
	require.LessOrEqual(t, last.data["tokens"], last.data["budget"])
	kept := c.transcript(session)
	require.Equal(t, []string{"user: How are you, ünïcode?\nSecond line.", "assistant: " + streamed}, texts(kept))
	require.Equal(t, list[0].data["entry"], kept[0]["entry"])
	require.Equal(t, last.data["entry"], kept[1]["entry"])
	require.Equal(t, []any{"first"}, c.ok("GET", "/v1/sessions", nil)["sessions"])
}

func TestTheModelLooksUpTheTranscript(t *testing.T) {
	t.Parallel()
	c := begin(t)
	c.answered(session, "My number is 4711.")
	list := c.say(session, "What is in the transcript?")
	results, answers := named(list, "result"), named(list, "answer")
	require.Len(t, results, 1)
	require.Contains(t, results[0]["text"], "user message, 18 bytes: read_session(")
	require.Contains(t, results[0]["text"], "My number is 4711.")
	require.Len(t, answers, 2)
	require.Len(t, answers[0]["calls"], 1)
	require.Equal(t, false, answers[0]["done"])
	kept := c.transcript(session)
	require.Len(t, kept, 6)
	require.Equal(t, results[0]["entry"], kept[4]["entry"])
	require.Equal(t, "tool", kept[4]["role"])

	c.ok("POST", session+"/branch", object{"entry": kept[3]["entry"]}) // as if the process had ended there
	list = c.say(session, "")
	require.Equal(t, true, list[len(list)-1].data["done"], "the look-up is made again")
	require.Len(t, c.transcript(session), 6)
}

func TestEachInvalidRequestHasItsStatusAndType(t *testing.T) {
	t.Parallel()
	c := begin(t)
	c.answered(session, "Hello.")
	for _, test := range []struct {
		rule, method, path string
		body               any
		want               string
	}{
		{"a body that is not JSON", "POST", session + "/messages", "{", "400 bad_request"},
		{"an unknown field", "POST", session + "/messages", `{"text": "x", "model": "y"}`, "400 bad_request"},
		{"a body that is too large", "POST", session + "/messages", object{"text": strings.Repeat("x", maxBody)}, "400 bad_request"},
		{"a text that is too large for the window", "POST", session + "/messages", object{"text": strings.Repeat("x y ", 5000)}, "413 message_too_large"},
		{"an after that is not the newest message", "POST", session + "/messages", object{"text": "x", "after": "other"}, "409 conflict"},
		{"an empty after in a session with messages", "POST", session + "/messages", object{"text": "x", "after": ""}, "409 conflict"},
		{"a last message that has an answer", "POST", session + "/messages", nil, "409 nothing_to_answer"},
		{"an unknown session to answer", "POST", "/v1/sessions/nobody/messages", nil, "404 not_found"},
		{"an invalid name", "POST", "/v1/sessions/%C3%A4/messages", object{"text": "x"}, "400 bad_request"},
		{"an unknown session to read", "GET", "/v1/sessions/nobody", nil, "404 not_found"},
		{"a page after an unknown message", "GET", session + "?after=other", nil, "404 not_found"},
		{"a branch from an unknown message", "POST", session + "/branch", object{"entry": "other"}, "404 not_found"},
		{"a compaction of an unknown session", "POST", "/v1/sessions/nobody/compact", nil, "404 not_found"},
		{"a compaction that would save nothing", "POST", session + "/compact", nil, "409 nothing_to_compact"},
		{"a removal of an unknown session", "DELETE", "/v1/sessions/nobody", nil, "404 not_found"},
		{"an unknown address", "GET", "/v2", nil, "404 not_found"},
	} {
		status, kind := c.refused(test.method, test.path, test.body)
		require.Equal(t, test.want, fmt.Sprint(status, " ", kind), test.rule)
	}
	require.Len(t, c.transcript(session), 2, "nothing of that was kept")
}

func TestEachTokenIsOfOneTenant(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	for text, want := range map[string]string{
		"a one\nb two\n": "", "a   one\r\nb\ttwo\r\n": "", "a one\na two": "",
		"a same\nb same\n": "two lines have the same token, of b", "": "is empty", "a one\n\n": "want lines of a tenant", "a one two": "want lines of a tenant",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		tenants, err := readTokens(file)
		if want != "" {
			require.ErrorContains(t, err, want, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, "a", tenants[sha256.Sum256([]byte("one"))], text)
		require.Contains(t, tenants, sha256.Sum256([]byte("two")), text)
	}
	_, err := parse([]string{"-database", "url", "-tokens", file, "migrate"}, io.Discard)
	require.EqualError(t, err, `unexpected argument "migrate" (-help lists the flags)`)
}

func TestATenantSeesOnlyItsOwnSessions(t *testing.T) {
	t.Parallel()
	acme := begin(t)
	other := acme.as("other-token")
	for _, c := range []client{acme.client, other} {
		c.answered(session, "I am "+c.token)
	}
	acme.answered("/v1/sessions/acmes", "Hello.")
	require.Equal(t, "user: I am acme-token", texts(acme.transcript(session))[0])
	require.Equal(t, "user: I am other-token", texts(other.transcript(session))[0])
	require.Equal(t, []any{"first"}, other.ok("GET", "/v1/sessions", nil)["sessions"])
	require.Equal(t, []any{"first"}, acme.ok("GET", "/v1/sessions?after=acmes", nil)["sessions"])
	status, _ := other.refused("GET", "/v1/sessions/acmes", nil)
	require.Equal(t, 404, status)
	other.ok("DELETE", session, nil)
	require.Len(t, acme.transcript(session), 2)
	status, _ = other.refused("GET", session, nil)
	require.Equal(t, 404, status)
	for _, token := range []string{"", "wrong", "acme-toke", "acme-tokens", "acme", "acme acme-token"} {
		status, kind := acme.as(token).refused("GET", "/v1/sessions", nil)
		require.Equal(t, "401 unauthorized", fmt.Sprint(status, " ", kind), token)
	}
	acme.as("").ok("GET", "/healthz", nil)
}

func TestABranchContinuesFromAnEntry(t *testing.T) {
	t.Parallel()
	c := begin(t)
	first := c.answered(session, "First.")["entry"]
	left := c.answered(session, "Second.")["entry"]
	require.Equal(t, first, c.ok("POST", session+"/branch", object{"entry": first})["leaf"])
	status, kind := c.refused("POST", session+"/messages", object{"text": "Other.", "after": left})
	require.Equal(t, "409 conflict", fmt.Sprint(status, " ", kind), "it is on the branch that was left")
	c.answered(session, "Other.")
	kept := texts(c.transcript(session))
	require.Len(t, kept, 4)
	require.Equal(t, []string{"user: First.", "user: Other."}, []string{kept[0], kept[2]})
	c.ok("POST", session+"/branch", object{"entry": left})
	require.Equal(t, "user: Second.", texts(c.transcript(session))[2], "nothing is lost")
}

// paragraph returns a text of several hundred tokens that differs for each number.
func paragraph(n int) string {
	return fmt.Sprintf("This is the paragraph of number %d, which goes on: %s", n, strings.Repeat(fmt.Sprintf("word%d and ", n), 80))
}

func TestCompactionsLoseNothing(t *testing.T) {
	t.Parallel()
	c := begin(t, "-window", "3000")
	var said []string
	events := 0
	for n := range 12 {
		list := c.say(session, paragraph(n))
		require.Empty(t, named(list, "error"))
		for _, answer := range named(list, "answer") {
			require.LessOrEqual(t, answer["tokens"], answer["budget"])
		}
		events += len(named(list, "compaction"))
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
}

func TestACompactionIsMadeOnRequest(t *testing.T) {
	t.Parallel()
	c := begin(t)
	for n := range 4 {
		c.answered(session, paragraph(n))
	}
	before := c.transcript(session)
	made := c.ok("POST", session+"/compact", object{"instructions": "Keep the numbers."})
	require.Less(t, made["tokensAfter"], made["tokensBefore"])
	require.Equal(t, 1.0, c.ok("GET", session, nil)["compactions"])
	require.Equal(t, before, c.transcript(session))
	require.Less(t, c.answered(session, "Go on.")["tokens"], made["tokensBefore"])
}

func TestAClientThatDisconnectsCancelsItsAnswer(t *testing.T) {
	t.Parallel()
	process := inSchema(t)
	slow := process(time.Minute, "-migrate", "-think", "1h")
	ctx, leave := context.WithCancel(t.Context())
	response := slow.send(ctx, "POST", session+"/messages", object{"text": "Are you there?"})
	for e := range scan(t, response.Body) {
		require.Equal(t, "said", e.name)
		break
	}
	status, kind := slow.refused("POST", session+"/messages", object{"text": "Hello?"})
	require.Equal(t, "429 busy", fmt.Sprint(status, " ", kind), "one request at a time")
	leave()
	require.NoError(t, response.Body.Close())
	require.Eventually(t, func() bool { return strings.Contains(slow.log.String(), `"outcome":"ok"`) }, 10*time.Second, time.Millisecond)
	require.Equal(t, []string{"user: Are you there?"}, texts(slow.transcript(session)))
	require.NoError(t, slow.stop())

	c := process(time.Minute) // as after a crash
	list := c.say(session, "")
	require.Empty(t, named(list, "said"))
	require.Equal(t, true, list[len(list)-1].data["done"])
	require.Len(t, c.transcript(session), 2)
}

func TestTwoReplicasOnOneSessionConflict(t *testing.T) {
	t.Parallel()
	process := inSchema(t)
	a, b := process(time.Minute, "-migrate", "-think", "3s"), process(time.Minute)
	response := a.send(t.Context(), "POST", session+"/messages", object{"text": "From a.", "after": ""})
	defer response.Body.Close()
	var list []sseEvent
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
}

func TestAMessageDuringAnAnswerStandsBehindItAndIsKnownByBothEntries(t *testing.T) {
	t.Parallel()
	process := inSchema(t)
	a, b, c := process(time.Minute, "-migrate", "-think", "3s"), process(time.Minute, "-think", "1h"), process(time.Minute)
	until := func(event string, on *replica, message object, during func(said any)) any { // the client goes then
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		response := on.send(ctx, "POST", session+"/messages", message)
		defer response.Body.Close()
		for e := range scan(t, response.Body) {
			if e.name == "said" {
				during(e.data["entry"])
			}
			if e.name == event {
				return e.data["entry"]
			}
		}
		return nil
	}
	var said any
	until("answer", a, object{"text": "From a."}, func(first any) {
		said = until("said", b, object{"text": "From b.", "after": first}, func(any) {})
	})
	kept := c.transcript(session)
	require.Len(t, kept, 3)
	require.Equal(t, "user: From b.", texts(kept)[2])
	require.Equal(t, said, kept[2]["of"])
	require.Empty(t, c.ok("GET", fmt.Sprint(session, "?after=", said), nil)["entries"])
	status, kind := c.refused("POST", session+"/messages", object{"text": "Next.", "after": kept[1]["entry"]})
	require.Equal(t, "409 conflict", fmt.Sprint(status, " ", kind))
	require.NotNil(t, until("said", c, object{"text": "Next.", "after": said}, func(any) {}))
}

func TestASummaryIsMadeByTheWorkerOfAnotherProcess(t *testing.T) {
	t.Parallel()
	process := inSchema(t)
	replica := process(time.Minute, "-migrate", "-window", "16000", "-work", "0")
	for n, planned := 0, false; !planned; n++ {
		for _, e := range named(replica.say(session, paragraph(n)), "compaction") {
			require.Equal(t, "started render", fmt.Sprint(e["kind"], " ", e["reason"]), "nobody waits")
			planned = true
		}
	}
	require.Zero(t, replica.ok("GET", session, nil)["compactions"], "there is no worker")
	worker := process(time.Minute, "-window", "16000")
	require.Eventually(t, func() bool { return replica.ok("GET", session, nil)["compactions"] == 1.0 }, 10*time.Second, 5*time.Millisecond)
	answer := replica.answered(session, "What is left?")
	require.Less(t, answer["tokens"], answer["budget"].(float64)/2)
	require.NoError(t, worker.stop())
	require.Contains(t, worker.log.String(), `"kind":"done"`)
}

func TestAStopWaitsForAnswersAndCancelsThoseThatTakeTooLong(t *testing.T) {
	t.Parallel()
	process := inSchema(t)
	process(time.Minute, "-migrate")
	for think, want := range map[string]string{"300ms": "answer", "1h": "error"} {
		c := process(map[string]time.Duration{"answer": time.Minute, "error": 300 * time.Millisecond}[want], "-think", think)
		response := c.send(t.Context(), "POST", "/v1/sessions/"+want+"/messages", object{"text": "Hello."})
		require.Equal(t, 200, response.StatusCode)
		stopped := make(chan error, 1)
		go func() { stopped <- c.stop() }()
		list := c.events(response)
		last := list[len(list)-1]
		require.Equal(t, want, last.name)
		if want == "error" {
			require.Equal(t, "stopping", last.data["type"])
		}
		require.NoError(t, <-stopped)
	}
}

func TestLogsHoldNoContent(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a"
	c := begin(t, "-window", "3000")
	for n := range 8 {
		c.answered(session, canary+" and the transcript "+paragraph(n))
	}
	for _, request := range []struct {
		method, path string
		body         any
	}{
		{"POST", session + "/compact", object{"instructions": canary}},
		{"POST", session + "/messages", object{"text": canary, "after": canary}},
		{"POST", session + "/messages", `{"text": "` + canary},
		{"POST", "/v1/sessions/" + canary + "/messages", object{"text": canary}},
		{"POST", session + "/branch", object{"entry": canary}},
		{"GET", "/" + canary + "?" + canary, nil},
		{"GET", session + "?after=" + canary, nil},
		{canary, session, nil},
	} {
		c.do(request.method, request.path, request.body)
	}
	c.as(canary).do("GET", "/v1/sessions", nil)
	require.NoError(t, c.stop())
	require.Contains(t, c.log.String(), `"msg":"compaction"`)
	for _, secret := range []string{canary, "acme", "other", "token", "word3"} {
		require.NotContains(t, c.log.String(), secret)
	}
	for line := range strings.Lines(c.log.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
}
