package history_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// API keys never reach the file, nor anything that is made from the session.
func ExampleOptions_redact() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	key := regexp.MustCompile(`sk-[A-Za-z0-9]{8,}`)
	session, err := history.Open(filepath.Join(dir, "session.jsonl"), history.Options{
		Redact: func(p entry.Passage) string { return key.ReplaceAllString(p.Text, "[key]") },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	call := chat.ToolCall{ID: "c1", Name: "curl", Arguments: `{"url":"https://example.com","header":["x-api-key: sk-12345678"]}`}
	added, err := session.Add(context.Background(),
		entry.Entry{Body: entry.Message{Message: chat.UserMessage("My key is sk-12345678.")}},
		entry.Entry{Body: entry.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}}},
		entry.Entry{Body: entry.Message{Message: chat.ToolResult("c1", "404")}},
	)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range added {
		m := e.Message()
		fmt.Println(m.Role, m.Text(), e.Redacted)
		for _, c := range m.ToolCalls {
			fmt.Println(c.Arguments)
		}
	}
	// Output:
	// user My key is [key]. [message.content[0].text]
	// assistant  [message.toolCalls[0].arguments]
	// {"url":"https://example.com","header":["x-api-key: [key]"]}
	// tool 404 []
}

// redacting returns a session in memory with a redactor, and its store.
func redacting(t testing.TB, redact func(entry.Passage) string) (*history.Session, *storage.Memory) {
	t.Helper()
	store := &storage.Memory{}
	s := sessionIn(t, store, history.Options{IDs: numbered.IDs(), Redact: redact})
	return s, store
}

// secretsGone replaces a secret.
func secretsGone(p entry.Passage) string { return strings.ReplaceAll(p.Text, "s3cret", "[gone]") }

func TestRedactedTextsAreReplacedAndListedInTheEntry(t *testing.T) {
	s, store := redacting(t, secretsGone)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("hello")))
	for _, tt := range []struct {
		rule       string
		give, want entry.Body
		paths      []string
	}{
		{
			"changed thinking loses its signature, and unchanged thinking keeps it",
			entry.Message{Message: said(chat.Thinking{Text: "a s3cret", Signature: "x"}, chat.Thinking{Text: "b", Signature: "y"}, chat.Thinking{Encrypted: "z"}, chat.Text("s3cret"))},
			entry.Message{Message: said(chat.Thinking{Text: "a [gone]"}, chat.Thinking{Text: "b", Signature: "y"}, chat.Thinking{Encrypted: "z"}, chat.Text("[gone]"))},
			[]string{"message.content[0].text", "message.content[3].text"},
		},
		{
			"a changed image or document becomes a text",
			entry.Message{Message: chat.Message{Role: chat.RoleUser, Content: chat.Parts{
				chat.Image{URL: "https://example.com/a?token=s3cret", Detail: chat.DetailLow}, chat.Document{Data: "s3cret", MediaType: "text/plain"}, chat.Image{URL: "u"},
			}}},
			entry.Message{Message: chat.Message{Role: chat.RoleUser, Content: chat.Parts{
				chat.Text("https://example.com/a?token=[gone]"), chat.Text("[gone]"), chat.Image{URL: "u"},
			}}},
			[]string{"message.content[0].url", "message.content[1].data"},
		},
		{
			"text that is not UTF-8",
			entry.Shell{Command: "echo s3cret", Output: "\xffs3cret"},
			entry.Shell{Command: "echo [gone]", Output: "\xff[gone]"},
			[]string{"shell.command", "shell.output"},
		},
		{
			"in JSON the rest keeps its bytes",
			entry.Custom{Name: "s3cret", Data: []byte(`{"a":1.50,"a":"\u0073\u0033cret","k":["<s3cret>",null,"\u00e9"]}`)},
			entry.Custom{Name: "[gone]", Data: []byte(`{"a":1.50,"a":"[gone]","k":["<[gone]>",null,"\u00e9"]}`)},
			[]string{"custom.name", "custom.data"},
		},
		{
			"opaque parts, with spaces and without JSON",
			entry.Message{Message: said(chat.Opaque{Value: []byte(`{ "k" : "s3cret" }`), Tokens: 3}, chat.Opaque{Value: []byte(`{"s3cret`)})},
			entry.Message{Message: said(chat.Opaque{Value: []byte(`{ "k" : "[gone]" }`), Tokens: 3}, chat.Opaque{Value: []byte(`{"[gone]`)})},
			[]string{"message.content[0].value", "message.content[1].value"},
		},
		{
			"fields that a server sent with an answer and its calls",
			entry.Message{Message: chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Opaque{Value: []byte(`{"chat.kept":{"note":"s3cret"},"reasoning_details":[{"text":"s3cret"}],"type":"chat.fields"}`)}},
				ToolCalls: []chat.ToolCall{{ID: "a", Name: "run", Arguments: "{}", Signature: `{"chat.kept":{"note":"s3cret"},"type":"chat.fields"}`}, {ID: "b", Name: "run", Arguments: "{}", Signature: "s3cret="}}}},
			entry.Message{Message: chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Opaque{Value: []byte(`{"chat.kept":{"note":"[gone]"},"reasoning_details":[{"text":"[gone]"}],"type":"chat.fields"}`)}},
				ToolCalls: []chat.ToolCall{{ID: "a", Name: "run", Arguments: "{}", Signature: `{"chat.kept":{"note":"[gone]"},"type":"chat.fields"}`}, {ID: "b", Name: "run", Arguments: "{}", Signature: "s3cret="}}}},
			[]string{"message.content[0].value", "message.toolCalls[0].signature"},
		},
		{
			"arguments that were cut off",
			entry.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "s3cret", Name: "run", Arguments: `{"k":"s3cret`}}}},
			entry.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "s3cret", Name: "run", Arguments: `{"k":"[gone]`}}}},
			[]string{"message.toolCalls[0].arguments"},
		},
		{
			"a compaction keeps no thinking that was changed",
			entry.Compaction{
				Messages: []chat.Message{chat.UserMessage("s3cret")}, FirstKept: "e1", Title: "s3cret",
				Thinking: []chat.Thinking{{Text: "s3cret", Signature: "x"}, {Text: "b", Signature: "y"}},
				Summary:  entry.Summary{Text: "s3cret", Files: entry.Files{Read: []string{"a", "/home/s3cret"}}, Data: []byte(`"s3cret"`)},
			},
			entry.Compaction{
				Messages: []chat.Message{chat.UserMessage("[gone]")}, FirstKept: "e1", Title: "[gone]",
				Thinking: []chat.Thinking{{Text: "b", Signature: "y"}},
				Summary:  entry.Summary{Text: "[gone]", Files: entry.Files{Read: []string{"a", "/home/[gone]"}}, Data: []byte(`"[gone]"`)},
			},
			[]string{
				"compaction.messages[0].content[0].text", "compaction.thinking", "compaction.title", "compaction.text", "compaction.files.read[1]",
				"compaction.data",
			},
		},
		{
			"a preamble keeps the digest by which plans name it",
			entry.Preamble{Digest: "s3cret", System: []chat.Message{chat.SystemMessage("s3cret")}, Tools: []chat.Tool{{Name: "s3cret", Description: "s3cret", Parameters: []byte(`{"s3cret":"s3cret"}`)}}},
			entry.Preamble{Digest: "s3cret", System: []chat.Message{chat.SystemMessage("[gone]")}, Tools: []chat.Tool{{Name: "s3cret", Description: "[gone]", Parameters: []byte(`{"[gone]":"[gone]"}`)}}},
			[]string{"preamble.system[0].content[0].text", "preamble.tools[0].description", "preamble.tools[0].parameters"},
		},
		{
			"the line of an unknown type is changed in place",
			entry.Unknown{Kind: "later", Line: []byte(`{"type":"later","id":"s3cret","later": ["s3cret"] ,"n":1 }`)},
			entry.Unknown{Kind: "later", Line: []byte(`{"type":"later","id":"s3cret","later": ["[gone]"] ,"n":1 ,"redacted":["later"]}`)},
			[]string{"later"},
		},
		{
			"the line of an unknown type keeps what was listed before",
			entry.Unknown{Kind: "later", Line: []byte(`{"type":"later","id":"x","a":"s3cret","redacted":["b"]}`)},
			entry.Unknown{Kind: "later", Line: []byte(`{"type":"later","id":"x","a":"[gone]","redacted":["b"],"redacted":["b","a"]}`)},
			[]string{"b", "a"},
		},
		{"an entry without texts is not listed", entry.Label{Target: "e1"}, entry.Label{Target: "e1"}, nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			before := sure.JSON(t, tt.give)
			added := sessiontest.Add(t, s, entry.Entry{Body: tt.give})
			got := added[0].Body
			if c, ok := got.(entry.Compaction); ok {
				c.Retained = entry.Retained{} // filled in by the session
				got = c
			}
			equal(t, tt.want, got)
			equal(t, tt.paths, added[0].Redacted)
			require.Equal(t, string(before), string(sure.JSON(t, tt.give)), "the caller's body is unchanged")
			equal(t, all(t, s), all(t, sessionIn(t, store, history.Options{})))
		})
	}

	// An entry that was redacted before, such as an imported one, keeps its list.
	added := sessiontest.Add(t, s, entry.Entry{ID: "m", Redacted: []string{"label.text"}, Body: entry.Label{Text: "[gone]"}})
	require.Equal(t, []string{"label.text"}, added[0].Redacted)
}

func TestAHeaderIsRedacted(t *testing.T) {
	store := &storage.Memory{}
	s, err := history.New(t.Context(), store, history.Options{
		Header: entry.Header{ID: "s3cret", From: "/home/s3cret", Data: []byte(`{"k":"s3cret"}`)}, Redact: secretsGone,
	})
	require.NoError(t, err)
	h := s.Header()
	require.Equal(t, "s3cret /home/[gone] {\"k\":\"[gone]\"} [from data]", fmt.Sprint(h.ID, " ", h.From, " ", string(h.Data), " ", h.Redacted))
	equal(t, h, sessionIn(t, store, history.Options{}).Header())
}

func TestAPassageNamesItsPlace(t *testing.T) {
	var got []string
	s, _ := redacting(t, func(p entry.Passage) string {
		got = append(got, fmt.Sprintf("%s %s %s %q %s", p.Type, p.Role, p.Path, p.Key, p.Text))
		return p.Text
	})
	add(
		t, s,
		entry.Message{Message: chat.Message{Role: chat.RoleUser, Name: "ann", Content: chat.Parts{chat.Text("hello"), chat.Text("")}}, Data: []byte(`[1.50,"a"]`)},
		entry.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
			{ID: "c", Name: "run", Arguments: `{"env": {"PASSWORD" : ["x", {"y":true}, -1e3]}, "cmd":"ls"}`},
		}}},
		entry.Message{Message: chat.ToolResult("c", "fine")},
		entry.Shell{Command: "ls", Output: "a.go"},
		entry.Todos{Text: "plan", Items: []entry.Todo{{Text: "this", Status: "done"}}},
		entry.ModelChange{Model: "m"},
	)
	equal(t, []string{
		`message user message.name "" ann`,
		`message user message.content[0].text "" hello`,
		`message  message.data "" 1.50`,
		`message  message.data "" a`,
		`message assistant message.toolCalls[0].arguments "" env`,
		`message assistant message.toolCalls[0].arguments "" PASSWORD`,
		`message assistant message.toolCalls[0].arguments "PASSWORD" x`,
		`message assistant message.toolCalls[0].arguments "" y`,
		`message assistant message.toolCalls[0].arguments "PASSWORD" -1e3`,
		`message assistant message.toolCalls[0].arguments "" cmd`,
		`message assistant message.toolCalls[0].arguments "cmd" ls`,
		`message tool message.content[0].text "" fine`,
		`shell  shell.command "" ls`,
		`shell  shell.output "" a.go`,
		`todos  todos.text "" plan`,
		`todos  todos.items[0].text "" this`,
	}, got)
}

func TestJSONStaysValidWhateverTheRedactorReturns(t *testing.T) {
	s, _ := redacting(t, func(p entry.Passage) string { return "\"\n" })
	add(t, s, entry.Custom{Data: []byte(`{"a":[1,true,"b"],"c":{}}`)})
	require.Equal(t, `{"\"\n":["\"\n",true,"\"\n"],"\"\n":{}}`, string(all(t, s)[0].Body.(entry.Custom).Data))
}

func TestIfTheRedactorFailsNothingIsWritten(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		redact func(entry.Passage) string
		says   string
	}{
		{"a panic", func(p entry.Passage) string { panic("boom") }, "it panicked: boom"},
		{"an exit", func(p entry.Passage) string { runtime.Goexit(); return "" }, "it ended its goroutine instead of returning"},
		{"invalid UTF-8", func(p entry.Passage) string { return "\xff" }, "it returned text that is not valid UTF-8"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s, store := redacting(t, func(p entry.Passage) string {
				if strings.Contains(p.Text, "s3cret") {
					return tt.redact(p)
				}
				return p.Text
			})
			err := s.Append(t.Context(), chat.UserMessage("fine"), chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("hello"), chat.Text("s3cret")}})
			require.EqualError(t, err, "history: message 2 of 2: Options.Redact, at message.content[1].text: "+tt.says)
			require.Equal(t, "message.content[1].text", errorAs[*entry.RedactError](t, err).Path)
			require.Len(t, stored(t, store), 1)
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")), "the session can be used")

			_, err = history.New(t.Context(), &storage.Memory{}, history.Options{Header: entry.Header{From: "s3cret"}, Redact: tt.redact})
			require.ErrorContains(t, err, "history: the header: Options.Redact")
		})
	}
}

func TestARedactorMayUseTheSessionWhileOthersAppend(t *testing.T) {
	var s *history.Session
	var noted atomic.Bool
	s, _ = redacting(t, func(p entry.Passage) string {
		sessiontest.View(t, s)
		if noted.CompareAndSwap(false, true) {
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("noted")))
		}
		return p.Text
	})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 20 {
				if err := s.Append(t.Context(), chat.UserMessage("hello")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, 81, count(t, s))
}

// FuzzRedact replaces a word in everything that is written by any text.
func FuzzRedact(f *testing.F) {
	const word = "s3cret"
	f.Add("It is s3cret.", `{"key":"s3cret","n":[1,"\u0073\u0033cret"]}`, "[key]")
	f.Add("s3cret\xff", `{"s3cret":1,"":2}`, "")
	f.Add("s3crets3cret", `{"torn s3cret`, "\"\n\u2028")
	f.Add("s3s3cretcret", `["s3cret",{"a":{"b":"xs3cretx"}}]`, "</user>\xff")
	f.Fuzz(func(t *testing.T, text, arguments, by string) {
		path := tempFile(t)
		s, err := history.Open(path, history.Options{Redact: func(p entry.Passage) string {
			for range 10 { // the replacement may form the word again
				p.Text = strings.ReplaceAll(p.Text, word, by)
			}
			if strings.Contains(p.Text, word) {
				return ""
			}
			return p.Text
		}})
		require.NoError(t, err)
		defer s.Close()
		call := chat.ToolCall{ID: "1", Name: "run", Arguments: arguments}
		added, err := s.Add(t.Context(),
			entry.Entry{Body: entry.Message{Message: chat.UserMessage("x" + text)}},
			entry.Entry{Body: entry.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}}},
			entry.Entry{Body: entry.Message{Message: chat.ToolResult("1", "x"+text)}},
		)
		require.NotContains(t, content(t, path), word)
		if err != nil {
			require.Empty(t, all(t, s), "nothing is written")
			return
		}
		require.NoError(t, s.Close())
		equal(t, added, all(t, opened(t, path)))
	})
}
