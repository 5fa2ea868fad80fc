package chat_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// encoders are the ways in which a message may be written: as json.Marshal does, which escapes HTML, and without.
var encoders = map[string]func(chat.Message) ([]byte, error){
	"HTML escaped": func(m chat.Message) ([]byte, error) { return json.Marshal(m) },
	"plain": func(m chat.Message) ([]byte, error) {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		err := e.Encode(m)
		return b.Bytes(), err
	},
	"indented": func(m chat.Message) ([]byte, error) { return json.MarshalIndent(m, "", "\t") },
}

// requireRoundTrip checks that a message comes back from JSON as it was. A slice may come back nil if it was empty.
func requireRoundTrip(t *testing.T, m chat.Message) {
	t.Helper()
	for name, encode := range encoders {
		data, err := encode(m)
		require.NoError(t, err, name)
		require.True(t, utf8.Valid(data), "%s: %q", name, data)
		var back chat.Message
		require.NoError(t, json.Unmarshal(data, &back), "%s: %s", name, data)
		require.Empty(t, cmp.Diff(m, back, cmpopts.EquateEmpty()), "%s: the message came back changed", name)
	}
}

func TestEveryPartComesBackFromJSON(t *testing.T) {
	for _, tt := range []struct {
		rule string
		part chat.Part
	}{
		{"a text", chat.Text("hello <b>world</b> & \u2028 \"quoted\" \\ 👩‍👧")},
		{"an empty text", chat.Text("")},
		{"a text with a NUL", chat.Text("a\x00b")},
		{"a text that is not UTF-8", chat.Text("a\xffb\xc3")},
		{"a text of half a surrogate", chat.Text("\xed\xa0\x80")},
		{"a text of the replacement character", chat.Text("\ufffd")},
		{"an image by reference", chat.Image{URL: "https://example.com/a.png?x=1&y=<2>"}},
		{"an image inline", chat.Image{URL: "data:image/png;base64,AAAA", Detail: chat.DetailHigh, MediaType: "image/png"}},
		{"a document", chat.NewDocument("application/pdf", []byte("%PDF-\x00\xff"))},
		{"thinking", chat.Thinking{Text: "so <it> is\n", Signature: "c2ln+/=="}},
		{"hidden thinking", chat.Thinking{Encrypted: "eHl6"}},
		{"empty thinking", chat.Thinking{}},
		{"an opaque value", chat.Opaque{Value: json.RawMessage(`{"b":1,"a":[1.50,2e3,null]}`), Tokens: 12}},
		{"an opaque value with white space", chat.Opaque{Value: json.RawMessage("{ \"a\" :\n\t1 }\n")}},
		{"an opaque value with HTML", chat.Opaque{Value: json.RawMessage(`{"a":"<b>&amp;</b>"}`)}},
		{"an opaque value with escapes", chat.Opaque{Value: json.RawMessage(`"\u003cb\u003e\/\u2028"`)}},
		{"an opaque value with a backslash before what looks like an escape", chat.Opaque{Value: json.RawMessage(`"\\u003c\\\\u003c\"\\"`)}},
		{"an opaque value with escapes in capitals", chat.Opaque{Value: json.RawMessage(`"\u003C\u00e9"`)}},
		{"an opaque value with line separators", chat.Opaque{Value: json.RawMessage("\"\u2028\u2029\"")}},
		{"an opaque value with a key twice", chat.Opaque{Value: json.RawMessage(`{"a":1,"a":2}`)}},
		{"an opaque null", chat.Opaque{Value: json.RawMessage(`null`)}},
		{"an opaque text", chat.Opaque{Value: json.RawMessage(`"aGVsbG8="`)}},
		{"an opaque value that is not JSON", chat.Opaque{Value: json.RawMessage(`{"a":`)}},
		{"an opaque value that is not UTF-8", chat.Opaque{Value: json.RawMessage("\"\xff\"")}},
		{"no opaque value", chat.Opaque{Tokens: 3}},
		{"a cache breakpoint", chat.CacheBreakpoint{Type: "ephemeral"}},
		{"a cache breakpoint of no type", chat.CacheBreakpoint{}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			requireRoundTrip(t, chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{tt.part}})
		})
	}
}

func TestEveryFieldOfAMessageComesBackFromJSON(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		message chat.Message
	}{
		{"nothing", chat.Message{}},
		{"a name", chat.Message{Role: chat.RoleUser, Name: "Ada", Content: chat.Parts{chat.Text("a"), chat.Image{URL: "https://example.com"}, chat.Text("b")}}},
		{"tool calls", chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
			{ID: "c1", Name: "count", Arguments: ` {"glob" : "<*.go>"}`}, {ID: "c2", Name: "read", Arguments: `{"pa`}, {},
		}}},
		{"a tool's error", chat.Message{Role: chat.RoleTool, ToolCallID: "c1", IsError: true, Content: chat.Parts{chat.Text("no such file")}}},
	} {
		t.Run(tt.rule, func(t *testing.T) { requireRoundTrip(t, tt.message) })
	}
}

func TestAMessageHasItsDocumentedJSON(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		message chat.Message
		want    string
	}{
		{"a text is readable", chat.UserMessage("hello"), `{"role":"user","content":[{"type":"text","text":"hello"}]}`},
		{"a text that JSON strings cannot hold is in base64", chat.UserMessage("\xff"), `{"role":"user","content":[{"type":"text","base64":"/w=="}]}`},
		{"tool calls", chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "count", Arguments: "{}"}}},
			`{"role":"assistant","toolCalls":[{"id":"c1","name":"count","arguments":"{}"}]}`},
		{"an opaque value is readable", user(chat.Opaque{Value: json.RawMessage(`{"a":"é"}`)}),
			`{"role":"user","content":[{"type":"opaque","value":{"a":"é"}}]}`},
		{"an opaque value that JSON may change is in base64", user(chat.Opaque{Value: json.RawMessage(`{ }`)}),
			`{"role":"user","content":[{"type":"opaque","base64":"eyB9"}]}`},
		{"the other parts", chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{
			chat.Thinking{Text: "hm", Signature: "s"}, chat.Image{URL: "u", Detail: chat.DetailLow}, chat.Document{Data: "AA==", MediaType: "m"},
			chat.Opaque{Value: json.RawMessage(`{"a":1}`), Tokens: 2}, chat.CacheBreakpoint{Type: "ephemeral"},
		}}, `{"role":"assistant","content":[{"type":"thinking","text":"hm","signature":"s"},{"type":"image","url":"u","detail":"low"},` +
			`{"type":"document","data":"AA==","mediaType":"m"},{"type":"opaque","value":{"a":1},"tokens":2},{"type":"cacheBreakpoint","cacheType":"ephemeral"}]}`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.want, string(sure.JSON(t, tt.message)))
		})
	}
}

func TestAPartOfUnknownFormIsAnErrorWhenRead(t *testing.T) {
	for _, tt := range []struct{ rule, content, want string }{
		{"an unknown type, which would be lost", `[{"type":"text","text":"a"},{"type":"video","url":"x"}]`, `chat: part 1: unknown type "video"`},
		{"no type", `[{"text":"a"}]`, `chat: part 0: unknown type ""`},
		{"null", `[null]`, `chat: part 0: unknown type ""`},
		{"no object", `["a"]`, `chat: part 0:`},
		{"no list", `{"type":"text"}`, `chat: content:`},
		{"a field of another type", `[{"type":"image","url":1}]`, `chat: part 0:`},
		{"a text of another type", `[{"type":"text","text":1}]`, `chat: part 0:`},
		{"an opaque value with broken base64", `[{"type":"opaque","base64":"?"}]`, `chat: part 0:`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var m chat.Message
			require.ErrorContains(t, json.Unmarshal([]byte(`{"role":"user","content":`+tt.content+`}`), &m), tt.want)
			require.Empty(t, m.Content)
		})
	}
}

func TestAPartWithoutJSONFormIsAnErrorWhenWritten(t *testing.T) {
	_, err := json.Marshal(chat.Message{Content: chat.Parts{chat.Text("a"), nil}})
	require.ErrorContains(t, err, "chat: part 1: the part is nil")

	text := chat.Text("a")
	_, err = json.Marshal(chat.Parts{&text})
	require.ErrorContains(t, err, "chat: part 0: unknown type *chat.Text")
}

func TestContentOfNoPartsIsNull(t *testing.T) {
	parts := chat.Parts{chat.Text("a")}
	require.NoError(t, json.Unmarshal([]byte(`null`), &parts))
	require.Nil(t, parts)
}

// messageOf returns a message with arbitrary texts and bytes. Strings from a provider's JSON are UTF-8; texts and
// opaque values may be anything.
func messageOf(text string, opaque []byte, other string, tokens int) chat.Message {
	other = string([]rune(other))
	return chat.Message{
		Role: chat.RoleAssistant, Name: other, ToolCallID: other,
		ToolCalls: []chat.ToolCall{{ID: other, Name: other, Arguments: other}},
		Content: chat.Parts{
			chat.Thinking{Text: other, Signature: other, Encrypted: other},
			chat.Text(text),
			chat.Opaque{Value: opaque, Tokens: tokens},
			chat.Image{URL: other, Detail: chat.ImageDetail(other), MediaType: other},
			chat.NewDocument(other, opaque),
			chat.CacheBreakpoint{Type: other},
			chat.Text(other),
		},
	}
}

func FuzzMessageJSON(f *testing.F) {
	f.Add("hello", []byte(`{"a":1}`), "there", 1)
	f.Add("a\xffb", []byte("{ \"a\": \"<b>\" }\n"), "\u2028<&>", -1)
	f.Add("", []byte(nil), "", 0)
	f.Add("\xed\xa0\x80", []byte("\"\xff\""), "\ufffd\x00", 1<<40)
	f.Add("\\u0000", []byte("null"), "\"", 0)
	f.Add("{}", []byte(" 1 "), "[]", 0)
	f.Fuzz(func(t *testing.T, text string, opaque []byte, other string, tokens int) {
		requireRoundTrip(t, messageOf(text, opaque, other, tokens))
	})
}

func TestRandomMessagesComeBackFromJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		const alphabet = "{}[]\":,<>& \n\\u28\xe2\x80\xa8\xff\x00a1"
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 500 {
		requireRoundTrip(t, messageOf(text(), []byte(text()), text(), r.IntN(100)))
	}
}
