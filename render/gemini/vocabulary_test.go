package gemini_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func TestTheVocabularyOfAModelIsTheOneOfTheSDK(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "google.golang.org/genai").Output()
	require.NoError(t, err)
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	page, err := os.ReadFile("vocabulary.go")
	require.NoError(t, err)
	require.Contains(t, string(page), "google.golang.org/genai "+version+", package tokenizer")
	source, err := os.ReadFile(filepath.Join(dir, "tokenizer", "tokenizer.go"))
	require.NoError(t, err)
	names := map[string]gemini.Vocabulary{"gemma2": gemini.Gemma2, "gemma3": gemini.Gemma3}
	listed := regexp.MustCompile(`"(gemini-[^"]+)":\s+"(gemma\d)"`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(listed), 20)
	for _, row := range listed {
		for _, prefix := range []string{"", "models/", "publishers/google/models/"} {
			v, assumed := gemini.VocabularyOf(prefix + row[1])
			require.Equal(t, names[row[2]], v, row[1])
			require.False(t, assumed, row[1])
		}
	}
	require.Contains(t, string(source), "1299c11d7cf632ef3b4e11937501358ada021bbdf7c47638d13c0ee982f2e79c", "the checksum on the page")
}

func TestALaterModelIsAssumedToUseGemma3sVocabulary(t *testing.T) {
	for _, model := range []string{"gemini-3.1-pro-preview", "gemini-4", ""} {
		v, assumed := gemini.VocabularyOf(model)
		require.Equal(t, gemini.Gemma3, v, model)
		require.True(t, assumed, model)
	}
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
