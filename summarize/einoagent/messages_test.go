//lint:file-ignore SA1019 deprecated fields of eino's messages are converted too

package einoagent_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

// seeds returns n, or a tenth of it with -short.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return n / 10
	}
	return n
}

// signature is a type that a model of eino might put into an Extra.
type signature struct{ Bytes []byte }

func init() { schema.RegisterName[signature]("promptree_test_signature") }

// dice makes random messages.
type dice struct{ *rand.Rand }

func (d dice) one(in int) bool { return d.IntN(in) == 0 }

func (d dice) text() string {
	return []string{"", "-", "a", "Guten Tag", "<b>\u2028&amp;</b>", " \n", `{"a":1}`, strings.Repeat("long ", 30)}[d.IntN(8)]
}

// content returns a text, which may be invalid UTF-8.
func (d dice) content() string {
	if d.one(8) {
		return "\xff\xfe"
	}
	return d.text()
}

// word returns an id, a name, a type or a URL.
func (d dice) word() string {
	return []string{"", "-", "c1", "image/png", "https://example.com/a?b=c", "größe", "data:,x"}[d.IntN(7)]
}

func (d dice) maybe() *string {
	if d.one(2) {
		return nil
	}
	return new(d.word())
}

func (d dice) extra(depth int) map[string]any {
	if !d.one(3) {
		return nil
	}
	m := map[string]any{}
	for range d.IntN(4) {
		m[d.word()] = d.value(depth)
	}
	return m
}

func (d dice) value(depth int) any {
	values := []any{nil, true, d.content(), 1.5, 42, int64(math.MaxInt64), []byte{0, 255}, signature{[]byte("s")}, []string{"a"}, uint8(3), float32(1)}
	if depth > 0 {
		values = append(values, map[string]any{"k": d.value(depth - 1)}, []any{d.value(depth - 1)}, map[string]any{}, []any{})
	}
	return values[d.IntN(len(values))]
}

func (d dice) common() schema.MessagePartCommon {
	return schema.MessagePartCommon{URL: d.maybe(), Base64Data: d.maybe(), MIMEType: d.word(), Extra: d.extra(1)}
}

func (d dice) kind() schema.ChatMessagePartType {
	return []schema.ChatMessagePartType{"text", "text", "image_url", "audio_url", "video_url", "file_url", "reasoning", "new"}[d.IntN(8)]
}

// some returns no value, or a few that make returns.
func some[T any](d dice, make func() T) (list []T) {
	if d.one(2) {
		for range 1 + d.IntN(3) {
			list = append(list, make())
		}
	}
	return list
}

func perhaps[T any](d dice, make func() T) *T {
	if d.one(3) {
		return new(make())
	}
	return nil
}

// eino returns a message of eino with any field set.
func (d dice) eino() *schema.Message {
	m := &schema.Message{
		Role:       []schema.RoleType{schema.User, schema.Assistant, schema.Tool, schema.System}[d.IntN(4)],
		Content:    d.content(),
		ToolCallID: d.word(),
		Extra:      d.extra(2),
	}
	if d.one(2) {
		m.ReasoningContent, m.Name, m.ToolName = d.text(), d.word(), d.word()
	}
	m.ResponseMeta = perhaps(d, func() schema.ResponseMeta {
		return schema.ResponseMeta{FinishReason: d.word(), Usage: &schema.TokenUsage{PromptTokens: 3}, LogProbs: &schema.LogProbs{Content: []schema.LogProb{{Token: "t", LogProb: -.1}}}}
	})
	m.ToolCalls = some(d, func() schema.ToolCall {
		c := schema.ToolCall{ID: d.word(), Type: d.word(), Function: schema.FunctionCall{Name: d.text(), Arguments: d.text()}, Extra: d.extra(1)}
		if d.one(2) {
			c.Index = new(d.IntN(2))
		}
		return c
	})
	if d.one(3) {
		m.MultiContent = some(d, func() schema.ChatMessagePart {
			return schema.ChatMessagePart{
				Type: d.kind(), Text: d.text(),
				ImageURL: perhaps(d, func() schema.ChatMessageImageURL {
					return schema.ChatMessageImageURL{URL: d.word(), URI: d.word(), Detail: "high", MIMEType: d.word(), Extra: d.extra(1)}
				}),
				AudioURL: perhaps(d, func() schema.ChatMessageAudioURL { return schema.ChatMessageAudioURL{URL: d.word(), Extra: d.extra(1)} }),
				FileURL:  perhaps(d, func() schema.ChatMessageFileURL { return schema.ChatMessageFileURL{Name: d.word(), Extra: d.extra(1)} }),
			}
		})
	}
	m.UserInputMultiContent = some(d, func() schema.MessageInputPart {
		return schema.MessageInputPart{
			Type: d.kind(), Text: d.text(), Extra: d.extra(1),
			Image: perhaps(d, func() schema.MessageInputImage {
				return schema.MessageInputImage{MessagePartCommon: d.common(), Detail: schema.ImageURLDetailLow}
			}),
			Audio: perhaps(d, func() schema.MessageInputAudio { return schema.MessageInputAudio{MessagePartCommon: d.common()} }),
			Video: perhaps(d, func() schema.MessageInputVideo { return schema.MessageInputVideo{MessagePartCommon: d.common()} }),
			File: perhaps(d, func() schema.MessageInputFile {
				return schema.MessageInputFile{MessagePartCommon: d.common(), Name: d.word()}
			}),
		}
	})
	m.AssistantGenMultiContent = some(d, func() schema.MessageOutputPart {
		return schema.MessageOutputPart{
			Type: d.kind(), Text: d.text(), Extra: d.extra(1),
			Image: perhaps(d, func() schema.MessageOutputImage { return schema.MessageOutputImage{MessagePartCommon: d.common()} }),
			Reasoning: perhaps(d, func() schema.MessageOutputReasoning {
				return schema.MessageOutputReasoning{Text: d.text(), Signature: d.word()}
			}),
		}
	})
	if d.one(3) { // some models repeat the parts' texts here
		m.Content, m.ReasoningContent = "", ""
		for _, p := range m.AssistantGenMultiContent {
			if p.Type == schema.ChatMessagePartTypeText {
				m.Content += p.Text
			}
			if p.Type == schema.ChatMessagePartTypeReasoning && p.Reasoning != nil {
				m.ReasoningContent += p.Reasoning.Text
			}
		}
	}
	return m
}

// ours returns a chat.Message with any field set.
func (d dice) ours() chat.Message {
	m := chat.Message{
		Role: []chat.Role{chat.RoleUser, chat.RoleAssistant, chat.RoleTool, chat.RoleSystem}[d.IntN(4)], Name: d.word(), ToolCallID: d.word(), IsError: d.one(3),
	}
	m.ToolCalls = some(d, func() chat.ToolCall {
		return chat.ToolCall{ID: d.word(), Name: d.text(), Arguments: d.text(), Signature: d.word()}
	})
	m.Content = some(d, func() chat.Part {
		return []chat.Part{
			chat.Text(d.content()), chat.Text("t"), chat.Image{URL: d.word(), MediaType: d.word(), Detail: chat.DetailLow},
			chat.Image{URL: "data:image/png;base64,AAAA"}, chat.Document{Data: "AAAA", MediaType: d.word()},
			chat.Thinking{Text: d.text(), Signature: d.word(), Encrypted: d.word()},
			chat.Opaque{Value: json.RawMessage(`{"type":"other"}`), Tokens: 3}, chat.CacheBreakpoint{Type: "ephemeral"},
		}[d.IntN(8)]
	})
	return m
}

var emptyIsNone = cmpopts.EquateEmpty()

func checkEino(t *testing.T, m *schema.Message) {
	t.Helper()
	data := sure.JSON(t, fromEino(t, m)) // as a session keeps it
	kept := sure.Decode[chat.Message](t, data)
	require.Empty(t, cmp.Diff(m, toEino(t, kept), emptyIsNone), "through %s", data)
}

// checkOurs checks that eino is given the texts, calls and images of a message.
func checkOurs(t *testing.T, m chat.Message) {
	t.Helper()
	e := toEino(t, m)
	back := fromEino(t, e)
	said := func(m chat.Message) (kept chat.Message) {
		kept = chat.Message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID, Content: chat.Parts{chat.Text(m.Text())}}
		for _, c := range m.ToolCalls {
			kept.ToolCalls = append(kept.ToolCalls, chat.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
		for _, p := range m.Content {
			if i, is := p.(chat.Image); is && m.Role != chat.RoleAssistant { // where it has a detail too
				if strings.HasPrefix(i.URL, "data:image/") {
					i.MediaType = ""
				}
				kept.Content = append(kept.Content, i)
			}
		}
		return kept
	}
	require.Empty(t, cmp.Diff(said(m), said(back), emptyIsNone), "through %+v", e)
}

func TestMessagesOfEinoAreUnchangedAfterARoundTrip(t *testing.T) {
	for seed := range seeds(3000) {
		checkEino(t, dice{rand.New(rand.NewPCG(seed, 1))}.eino())
	}
}

func TestTextsCallsAndImagesOfChatMessagesAreGivenToEino(t *testing.T) {
	for seed := range seeds(3000) {
		checkOurs(t, dice{rand.New(rand.NewPCG(seed, 2))}.ours())
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(uint64(1), "a text", "a thought")
	f.Fuzz(func(t *testing.T, seed uint64, text, thought string) {
		d := dice{rand.New(rand.NewPCG(seed, 3))}
		m := d.eino()
		m.Content, m.ReasoningContent = text, strings.ToValidUTF8(thought, "?")
		checkEino(t, m)
		c := d.ours()
		c.Content = append(c.Content, chat.Text(text), chat.Thinking{Text: m.ReasoningContent})
		checkOurs(t, c)
	})
}

func TestToEinoUsesChangedContent(t *testing.T) {
	m := schema.ToolMessage("a long result", "call_1", schema.WithToolName("read"))
	m.UserInputMultiContent = []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "a long result"}, {Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{}},
	}
	m.Extra = map[string]any{"id": 7}
	ours := fromEino(t, m)
	require.Equal(t, "a long result", ours.Text())
	for _, content := range []chat.Parts{
		{chat.Text("[cleared]"), ours.Content[1]},
		{chat.Text("[cleared]"), chat.Text("and"), ours.Content[1]},
		{chat.Text("[cleared]")},
	} {
		ours.Content = content
		back := toEino(t, ours)
		text := back.Content
		for _, p := range back.UserInputMultiContent {
			text += p.Text
		}
		require.Contains(t, text, "[cleared]")
		require.NotContains(t, text, "a long result")
		require.Equal(t, "call_1", back.ToolCallID)
		if len(content) > 1 {
			require.Equal(t, 7, back.Extra["id"])
		}
	}
}

func TestMessagesThatCannotBeConvertedAreErrors(t *testing.T) {
	type unknown struct{ A int }
	_, err := einoagent.FromEino(&schema.Message{Role: schema.User, Content: "a", Extra: map[string]any{"key": unknown{1}}})
	require.ErrorContains(t, err, "unknown")
	require.ErrorContains(t, err, "schema.RegisterName")
	_, err = einoagent.FromEino(nil)
	require.Error(t, err)
	_, err = einoagent.ToEino(chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Opaque{Value: json.RawMessage(`{"type":"eino"}`)}}})
	require.ErrorContains(t, err, "opaque")
}
