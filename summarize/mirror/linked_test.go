package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// linked is a message of an owner whose messages lead to each other and to what they share.
type linked struct {
	Role, Text string
	prev, Next *linked
	Parent     any
	Children   []*linked
	ByName     map[string]*linked
	Session    *sharedSession
	Deep       *nested
	Raw        []byte
	self       []any
}

type sharedSession struct {
	Log   []*linked
	Notes []string
}

type nested struct {
	In   *nested
	Text string
}

func mirrorOfLinked(t testing.TB) *mirror.Mirror[*linked] {
	return &mirror.Mirror[*linked]{
		Compactor: compactorOn(t, &history.Session{}, plenty),
		From: func(m *linked) ([]chat.Message, error) {
			text := m.Text
			for n := m.Deep; n != nil; n = n.In {
				text += n.Text
			}
			return []chat.Message{{Role: chat.Role(m.Role), Content: chat.Parts{chat.Text(text)}}}, nil
		},
		To: func(list []chat.Message) (out []*linked, err error) {
			for _, m := range list {
				out = append(out, &linked{Role: string(m.Role), Text: m.Text()})
			}
			return out, nil
		},
	}
}

// conversation returns n messages that are linked in every way.
func conversation(n int) []*linked {
	session := &sharedSession{Notes: make([]string, 1000)}
	byName := map[string]*linked{}
	var list []*linked
	for i := range n {
		m := &linked{Role: []string{"user", "assistant"}[i%2], Text: fmt.Sprint("m", i, ";"), ByName: byName, Session: session}
		if i > 0 {
			before := list[i-1]
			m.prev, before.Next, m.Parent = before, m, before
			before.Children = append(before.Children, m)
		}
		m.self = []any{m, nil}
		m.self[1] = m.self
		byName[m.Text], session.Log, list = m, append(session.Log, m), append(list, m)
	}
	return list
}

func TestMessagesThatLeadToEachOtherAreCompared(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := mirrorOfLinked(t)
	list := conversation(41)
	fit := func() string {
		fitted, err := m.Fit(ctx, mirror.Request[*linked]{Messages: list})
		require.NoError(t, err)
		var sent strings.Builder
		for _, m := range fitted.Messages {
			sent.WriteString(m.Text)
		}
		return sent.String()
	}
	want := func() string {
		var all strings.Builder
		for _, m := range list {
			all.WriteString(m.Text)
		}
		return all.String()
	}
	require.Equal(t, want(), fit())
	require.Equal(t, want(), fit())
	require.Equal(t, len(list), said(t, m.Compactor.Session), "what did not change is not recorded again")
	for _, at := range []int{40, 20, 0} {
		list[at].Text = fmt.Sprint("edited", at, ";")
		require.Equal(t, want(), fit())
	}
}

func TestAnEditDeepInAMessageIsNoticed(t *testing.T) {
	t.Parallel()
	m := mirrorOfLinked(t)
	message := &linked{Role: "user", Text: "x"}
	last := &message.Deep
	for range 1000 {
		*last = &nested{}
		last = &(*last).In
	}
	*last = &nested{Text: "old"}
	deep := *last
	for _, text := range []string{"old", "new"} {
		deep.Text = text
		fitted := fit(t, m, []*linked{message})
		require.Equal(t, "user", fitted.Messages[0].Role)
		require.Equal(t, "x"+text, fitted.Result.Messages[0].Text())
	}
}

func TestAMessageThatLeadsToTooMuchIsKnownByWhatItIsConvertedTo(t *testing.T) {
	t.Parallel()
	for rule, message := range map[string]*linked{
		"many values": {Role: "user", Text: "x", Session: &sharedSession{Notes: make([]string, 2<<20)}},
		"many bytes":  {Role: "user", Text: "x", Raw: make([]byte, 65<<20)},
		"deep": func() *linked {
			m := &linked{Role: "user", Text: "x"}
			for range 20_000 {
				m.Deep = &nested{In: m.Deep}
			}
			return m
		}(),
	} {
		t.Run(rule, func(t *testing.T) {
			m := mirrorOfLinked(t)
			list := []*linked{{Role: "user", Text: "a"}, message}
			for _, text := range []string{"x", "x", "edited"} {
				message.Text = text
				fit(t, m, list)
				require.Equal(t, "a "+text, path(t, m.Compactor.Session))
			}
			require.Equal(t, 3, said(t, m.Compactor.Session), "what did not change is not recorded again")
		})
	}
}

func TestEqualMessagesAreTheHostsOwnAtTheirPlaces(t *testing.T) {
	s := sessiontest.New(t, &storage.Memory{}, history.Options{})
	type hosted struct {
		ID      string
		Message chat.Message
	}
	m := &mirror.Mirror[*hosted]{
		Compactor: compactorOn(t, s, plenty),
		From:      func(h *hosted) ([]chat.Message, error) { return []chat.Message{h.Message}, nil },
		To:        func([]chat.Message) ([]*hosted, error) { return nil, errors.New("nothing is to be made") },
	}
	var list []*hosted
	for i := range 9 {
		list = append(list, &hosted{fmt.Sprint("msg_", i), []chat.Message{chat.UserMessage("continue"), chat.AssistantMessage("ok")}[i%2]})
		if i%2 == 0 {
			require.Equal(t, list, fit(t, m, list).Messages)
		}
	}
}

func TestAnEditOfTheNewestMessageKeepsTheCompaction(t *testing.T) {
	s := sessiontest.New(t, &storage.Memory{}, history.Options{})
	m := mirror.New(compactorOn(t, s, plenty))
	fit := func(words string) string {
		fitted := fit(t, m, script(words))
		require.False(t, fitted.Compacted)
		return texts(fitted.Messages)
	}
	fit("u1 a1 u2 a2 u3")
	require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("summary")}, FirstKept: s.Leaf()}))
	for _, last := range []string{"u3", "u4", "u5"} {
		require.Equal(t, "summary "+last, strings.Join(strings.Fields(fit("u1 a1 u2 a2 "+last)), " "))
	}
}
