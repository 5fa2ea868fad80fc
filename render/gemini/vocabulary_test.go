package gemini_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func TestTheVocabulariesAreThoseOfTheSDK(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/genai").Output()
	require.NoError(t, err)
	source := sure.Read(t, filepath.Join(strings.TrimSpace(string(out)), "tokenizer", "tokenizer.go"))
	listed := regexp.MustCompile(`"gemini-(\d)[^"]*":\s+"gemma(\d)"`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(listed), 20)
	for _, row := range listed {
		require.Equal(t, row[1] == "1", row[2] == "2", row[0])
	}
	require.Contains(t, string(source), "1299c11d7cf632ef3b4e11937501358ada021bbdf7c47638d13c0ee982f2e79c", "the checksum on the page")
}

func TestACounterAddsUpIfThatOfTextsDoes(t *testing.T) {
	_, ok := gemini.Counter(letters{}).(chat.Joiner)
	require.False(t, ok)
	counter, ok := gemini.Counter(tiktoken.O200k()).(chat.Joiner)
	require.True(t, ok)
	require.True(t, counter.SafeCut('a', ' '))
	require.False(t, counter.SafeCut('a', 'b'))
	m := calls(call("c1", `{"at":1}`))
	m.Content = chat.Parts{chat.Text("Let me"), chat.Thinking{Text: "Hm."}, chat.Text(" look.")}
	frame, joined := counter.CountFrame(m)
	require.False(t, joined)
	require.Equal(t, counter.CountMessage(m), frame+counter.CountText("Let me")+counter.CountText(" look."))
}
