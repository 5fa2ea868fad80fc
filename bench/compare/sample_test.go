package compare

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// The shape of the text of prompt-tsx's own benchmark, its test file src/base/test/renderer.test.tsx of 0.4.0-alpha.9,
// which is neither in its package nor in this repository.
const (
	sampleLines  = 3_405
	sampleBytes  = 93_898 // without the last line break
	sampleTokens = 25_086 // in cl100k_base
	lineTokens   = 25_057 // counted line by line
)

// indents holds the number of lines in the benchmark by their leading tabs, without blank lines.
var indents = []int{21, 83, 271, 572, 617, 612, 456, 274, 188, 50, 40, 16, 13}

const blankLines = 192

// phrases of generated code, about as long in tokens as those of the benchmark.
var phrases = strings.Split(`const messagePieces = |await renderFragment(|<UserMessage priority={|</UserMessage>|<TextSection priority={|</TextSection>|return |`+
	`assert.equal(|elementTree.children|maxTokens: |tokenizer, |'sample text'|"another sample"|role: ChatRole.|UserContent, |content: [|`+
	`{ type: PartKind.Text, |text: |],|});|async () => {|test(|'keeps the |should drop |the first element |passPriority |flexGrow={|`+
	`new PromptRenderer(|sizing.budget|props.children|.map(element => |numberOfPieces|100|limit |message.content |`+
	`Lorem ipsum |dolor sit amet |result.messages|expected `, "|")

// generatedCode returns text of the benchmark's shape, always the same. Of the first 3,000 seeds, this one has the
// nearest counts, as a whole and line by line.
func generatedCode() string {
	r := rand.New(rand.NewPCG(1189, 405))
	var depths []int
	for depth, n := range indents {
		for range n {
			depths = append(depths, depth)
		}
	}
	for range blankLines {
		depths = append(depths, -1)
	}
	r.Shuffle(len(depths), func(i, j int) { depths[i], depths[j] = depths[j], depths[i] })
	depths = depths[:sampleLines]
	depths[sampleLines-1] = 0 // the last line makes up the difference

	// The bytes for words are divided among the lines unevenly.
	left := sampleBytes - (sampleLines - 1)
	filled := 0
	for _, depth := range depths {
		left -= max(depth, 0)
		if depth >= 0 {
			filled++
		}
	}
	lines := make([]string, 0, sampleLines)
	for _, depth := range depths[:sampleLines-1] {
		if depth < 0 {
			lines = append(lines, "")
			continue
		}
		size := min(int(r.ExpFloat64()*float64(left)/float64(filled))+1, 110)
		size = max(min(size, left-filled), 1)
		words := code(r, size)
		left -= len(words)
		filled--
		lines = append(lines, strings.Repeat("\t", depth)+words)
	}
	return strings.Join(append(lines, code(r, left)), "\n")
}

// code returns phrases of n bytes in all. Like code, it ends with a punctuation mark, which forms one token with the
// line break.
func code(r *rand.Rand, n int) string {
	const ends = ",,,,,;;;>>>{{(["
	var text strings.Builder
	for text.Len() < n-1 {
		text.WriteString(phrases[r.IntN(len(phrases))])
	}
	return text.String()[:max(n-1, 0)] + ends[r.IntN(len(ends)):][:1]
}

func TestTheGeneratedTextHasTheShapeOfTheBenchmarks(t *testing.T) {
	text, counter := generatedCode(), tiktoken.Cl100k()
	lines := strings.Split(text, "\n")
	require.Len(t, lines, sampleLines)
	require.Len(t, text, sampleBytes)
	require.InEpsilon(t, sampleTokens, counter.CountText(text), 0.001)
	tokens := 0
	for _, line := range lines {
		tokens += counter.CountText(line)
	}
	require.InEpsilon(t, lineTokens, tokens, 0.001)
}
