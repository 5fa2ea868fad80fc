package gemini_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/render/gemini"
)

// The readers of a content: that of the SDK's values, and the importer, for which Gemini CLI wrote it.

func fromContents(t *testing.T, in json.RawMessage) ([]chat.Message, bool) {
	var content genai.Content
	require.NoError(t, json.Unmarshal(in, &content))
	read, err := gemini.ReadContents([]*genai.Content{&content}, nil)
	require.NoError(t, err)
	for i := range read.Messages {
		read.Messages[i].Name = "" // of a response whose call is not there
	}
	return read.Messages, true
}

func fromRecording(t *testing.T, in json.RawMessage) (said []chat.Message, ok bool) {
	var content struct {
		Role  string
		Parts json.RawMessage
	}
	require.NoError(t, json.Unmarshal(in, &content))
	if content.Role == "model" {
		content.Role = "gemini"
	}
	r, err := importer.Read(strings.NewReader(fmt.Sprintf(`{"sessionId":"s","startTime":"2025-10-20T08:00:00.000Z","messages":[{"id":"m","type":%q,"content":%s}]}`, content.Role, content.Parts)))
	if err != nil {
		return nil, false
	}
	for _, m := range r.Conversation() {
		if len(m.Content)+len(m.ToolCalls) > 0 || m.Role == chat.RoleTool {
			said = append(said, m)
		}
	}
	// The recorder's messages have results after the rest.
	for i := range said {
		if said[0].Role == chat.RoleTool || i == len(said)-1 {
			break
		}
		said = append(said[1:], said[0])
	}
	return said, true
}

func TestEveryReaderReadsACaseAlike(t *testing.T) {
	t.Run("a request", func(t *testing.T) { wiretest.Cases(t, "contents", fromContents) })
	t.Run("a recording", func(t *testing.T) { wiretest.Cases(t, "contents", fromRecording) })
}

// FuzzReaders reads the same JSON by both.
func FuzzReaders(f *testing.F) {
	extremes.FuzzSeeds(f, 2000, func(t *testing.T, seed uint64) {
		d := rand.New(rand.NewPCG(seed, 3))
		one := func(of ...string) string { return of[d.IntN(len(of))] }
		var parts []string
		for n := range 1 + d.IntN(5) {
			fields := []string{one(
				`"text":"x"`, `"text":" "`, `"text":""`, `"text":"<y>"`, fmt.Sprintf(`"functionCall":{"args":{"a":1,"b":%s},"id":"c%d","name":"f"}`, one(`"x"`, `[1,2]`, `null`), n),
				fmt.Sprintf(`"functionResponse":{"id":"c%d","name":"f","response":%s}`, n, one(`{"output":"x"}`, `{"error":"x"}`, `{"output":""}`, `{"a":{"b":1}}`, `{"error":"x","output":"y"}`, `{"output":7}`)),
				`"inlineData":{"data":"iVBORw==","mimeType":"`+one("image/png", "text/plain", "image/png,x")+`"}`, `"fileData":{"fileUri":"https://e.com","mimeType":"`+one("image/png", "text/plain")+`"}`,
				`"executableCode":{"code":"1","language":"PYTHON"}`,
			)}
			if d.IntN(4) == 0 {
				fields = append(fields, `"thought":true`)
			}
			if d.IntN(3) == 0 {
				fields = append(fields, `"thoughtSignature":"c2ln"`)
			}
			if d.IntN(9) == 0 {
				fields = append(fields, `"videoMetadata":{"fps":1}`)
			}
			parts = append(parts, "{"+strings.Join(fields, ",")+"}")
		}
		in := json.RawMessage(fmt.Sprintf(`{"role":%q,"parts":[%s]}`, one("user", "model"), strings.Join(parts, ",")))
		want, ok := fromRecording(t, in)
		if !ok {
			return
		}
		got, _ := fromContents(t, in)
		require.Empty(t, cmp.Diff(plainAll(want), plainAll(got)), string(in))
	})
}

// plainAll returns messages in the form in which they are compared.
func plainAll(messages []chat.Message) (out []chat.Message) {
	for _, m := range messages {
		out = append(out, wiretest.Plain(m))
	}
	return out
}
