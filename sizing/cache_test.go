package sizing_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// numberedTalk returns a conversation of a system message and n messages of 5 tokens each.
func numberedTalk(n int) []chat.Message {
	messages := []chat.Message{chat.SystemMessage("be brief")}
	for i := range n {
		messages = append(messages, chat.UserMessage(fmt.Sprintf("m%04d", i)))
	}
	return messages
}

// fives counts 5 tokens a message, and 100 for tools.
type fives struct{ bytesTokenizer }

func (fives) CountMessage(chat.Message) int    { return 5 }
func (fives) CountTools(tools []chat.Tool) int { return 100 }

func TestARequestIsComparedWithTheOneBefore(t *testing.T) {
	tools := []chat.Tool{{Name: "a"}, {Name: "b", Description: "does b"}}
	before := numberedTalk(100)
	changed := func(at int) []chat.Message {
		messages := numberedTalk(101)
		messages[at] = chat.SystemMessage("it is 12:01")
		return messages
	}
	for _, tt := range []struct {
		rule     string
		messages []chat.Message
		tools    []chat.Tool
		want     sizing.Shared
	}{
		{"a message added at the end changes nothing", numberedTalk(103), tools, sizing.Shared{Messages: 101, Tokens: 605, All: 605}},
		{"sending it again changes nothing", before, tools, sizing.Shared{Messages: 101, Tokens: 605, All: 605}},
		{"a cache breakpoint changes nothing", append(numberedTalk(99), chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("m0099"), chat.CacheBreakpoint{}}}), tools,
			sizing.Shared{Messages: 101, Tokens: 605, All: 605}},
		{"tools in another order", numberedTalk(101), []chat.Tool{tools[1], tools[0]}, sizing.Shared{Change: sizing.ChangeToolOrder, All: 605}},
		{"another tool", numberedTalk(101), tools[:1], sizing.Shared{Change: sizing.ChangeTools, All: 605}},
		{"no tools", numberedTalk(101), nil, sizing.Shared{Change: sizing.ChangeTools, All: 605}},
		{"a clock in the system prompt", changed(0), tools, sizing.Shared{Change: sizing.ChangeSystem, Tokens: 100, Until: 1, All: 605}},
		{"the last message", changed(100), tools, sizing.Shared{Change: sizing.ChangeMessages, Messages: 100, Tokens: 600, Until: 101, All: 605}},
		{"an earlier message", changed(90), tools, sizing.Shared{Change: sizing.ChangeMessages, Messages: 85, Tokens: 525, Until: 93, All: 605}},
		{"the first after the system prompt", changed(1), tools, sizing.Shared{Change: sizing.ChangeMessages, Messages: 1, Tokens: 105, Until: 37, All: 605}},
		{"fewer messages", numberedTalk(98), tools, sizing.Shared{Change: sizing.ChangeMessages, Messages: 99, Tokens: 595, Until: 100, All: 605}},
		{"no messages", nil, tools, sizing.Shared{Change: sizing.ChangeSystem, Tokens: 100, Until: 1, All: 605}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			sent := sizing.NewSent(noon, fives{}, before, tools)
			require.Equal(t, tt.want, sent.Compare(tt.messages, tt.tools))
			require.Empty(t, cmp.Diff(sent, sure.Decode[sizing.Sent](t, sure.JSON(t, sent))), "it can be written down")
		})
	}
	require.Equal(t, sizing.Shared{Change: sizing.ChangeUnknown}, sizing.Sent{}.Compare(before, tools))
	require.Len(t, sizing.NewSent(noon, fives{}, numberedTalk(10_000), tools).Marks, 17, "few digests of a long request")
}

func TestAMessageIsTheSameOnlyWithTheSameTexts(t *testing.T) {
	said := func(texts ...chat.Part) []chat.Message { return []chat.Message{{Role: chat.RoleUser, Content: texts}} }
	called := func(text, arguments string) []chat.Message {
		return []chat.Message{{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text(text)}, ToolCalls: []chat.ToolCall{{ID: "c", Name: "ls", Arguments: arguments}}}}
	}
	for _, tt := range []struct {
		rule          string
		before, after []chat.Message
		same          bool
	}{
		{"a text in two parts", said(chat.Text("ab"), chat.Text("c")), said(chat.Text("a"), chat.Text("bc")), false},
		{"the same text in one part", said(chat.Text("ab"), chat.Text("c")), said(chat.Text("abc")), false},
		{"an empty part less", said(chat.Text("a"), chat.Text("")), said(chat.Text("a")), false},
		{"texts in another order", said(chat.Text("a"), chat.Text("b")), said(chat.Text("b"), chat.Text("a")), false},
		{"a text in front of an image", said(chat.Image{URL: "https://a"}, chat.Text("a")), said(chat.Text("a"), chat.Image{URL: "https://a"}), false},
		{"a text that moves into the next message", append(said(chat.Text("a\n1\nb")), said(chat.Text("c"))...), append(said(chat.Text("a")), said(chat.Text("1\nb\nc"))...), false},
		{"a text that becomes arguments", called("x", ""), called("", "x"), false},
		{"other arguments", called("", "x"), called("", "y"), false},
		{"another role", said(chat.Text("a")), []chat.Message{chat.AssistantMessage("a")}, false},
		{"bytes that are not UTF-8, as a log keeps them", said(chat.Text("a\xff\xfe")), said(chat.Text("a\ufffd\ufffd")), true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			shared := sizing.NewSent(noon, fives{}, tt.before, nil).Compare(tt.after, nil)
			require.Equal(t, tt.same, shared.Change == sizing.ChangeNone)
		})
	}
}

func TestRequestsOfAnyShapeAreCompared(t *testing.T) {
	for n := range 20 {
		before := numberedTalk(n)[1:]
		if n%2 == 1 {
			before = numberedTalk(n)
		}
		sent := sizing.NewSent(noon, fives{}, before, nil)
		for at := range before {
			after := slices.Clone(before)
			after[at] = chat.UserMessage("changed")
			got := sent.Compare(after, nil)
			require.True(t, got.Messages <= at && at < got.Until, "%d of %d: %+v", at, len(before), got)
		}
	}
}

func TestTheCacheHoldsWhatTheLastRequestReadAndWrote(t *testing.T) {
	used := chat.Usage{Input: 10_000, CacheRead: 7_000, CacheWrite: 2_990}
	whole := sizing.Shared{Tokens: 8_000, All: 8_000}
	free := opus
	free.CacheWrite = 0
	long := used
	long.CacheWriteLong = 1
	for _, tt := range []struct {
		rule   string
		prices sizing.Prices
		usage  chat.Usage
		shared sizing.Shared
		after  time.Duration
		want   int
	}{
		{"the whole request", opus, used, whole, time.Minute, 9_990},
		{"the whole request up to the end of the lifetime", opus, used, whole, 5 * time.Minute, 9_990},
		{"nothing after the lifetime", opus, used, whole, 5*time.Minute + 1, 0},
		{"the whole request for the longer lifetime, if it was written for that", opus, long, whole, time.Hour, 9_990},
		{"nothing of an unknown request", opus, used, sizing.Shared{Change: sizing.ChangeUnknown}, 0, 0},
		{"the share of the common beginning", opus, used, sizing.Shared{Change: sizing.ChangeMessages, Tokens: 4_000, All: 8_000}, 0, 5_000},
		{"nothing of a common beginning that is too small", opus, used, sizing.Shared{Change: sizing.ChangeMessages, Tokens: 3_000, All: 8_000}, 0, 0},
		{"nothing of a request that was too small", opus, chat.Usage{Input: 2_775}, whole, 0, 0},
		{"the whole request, if writes cost nothing and are not reported", free, chat.Usage{Input: 10_000, CacheRead: 7_000}, whole, 0, 10_000},
		{"the whole request, if reads are not reported", opus, chat.Usage{Input: 10_000, CacheUnknown: true}, whole, 0, 10_000},
		{"a provider that names no lifetime holds nothing", sizing.Prices{}, used, whole, time.Second, 0},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			cache := sizing.PromptCache{Prices: tt.prices, Sent: sizing.Sent{Time: noon}, Usage: tt.usage}
			require.Equal(t, tt.want, cache.Holds(tt.shared, noon.Add(tt.after)))
		})
	}
}

func TestCachedReadsOfARecordedSessionArePredicted(t *testing.T) {
	sessiontest.Needs(t, recorded)
	entries, compactions := recordedSession(t)
	prices, err := modelinfo.Prices("claude-opus-4-5")
	require.NoError(t, err)
	cache := sizing.PromptCache{Prices: prices}
	requests, exact, expired, restarts, more, compacted := 0, 0, 0, 0, 0, 0
	i := 0
	replay(entries, compactions, func(chat.Request) int { return 0 }, func(req chat.Request, resp chat.Response) {
		for entries[i].Usage.Input == 0 || entries[i].Message.Role != chat.RoleAssistant {
			i++
		}
		at := entries[i].Time
		i++
		shared := cache.Sent.Compare(req.Messages, nil)
		foretold, read := cache.Holds(shared, at), resp.Usage.CacheRead
		switch {
		case shared.Change == sizing.ChangeUnknown: // the first
		case shared.Change != sizing.ChangeNone:
			compacted++
		default:
			requests++
			switch {
			case foretold == read:
				exact++
				if cache.Expired(at) {
					expired++
				}
			case read == 0:
				restarts++
			case read > foretold: // a request that was called off had been written
				more++
				require.Less(t, read-foretold, 1000)
			}
		}
		cache.Sent, cache.Usage = sizing.NewSent(at, fives{}, req.Messages, nil), resp.Usage
	})
	require.Equal(t, 2, compacted)
	require.Equal(t, 468, requests)
	require.Equal(t, []int{456, 1, 9, 3}, []int{exact, expired, restarts, more})
}
