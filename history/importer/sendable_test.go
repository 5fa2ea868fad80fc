package importer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// imported appends a recording of chat completions, one message a line, and returns the session with the notes.
func imported(t *testing.T, lines []string) (*history.Session, []importer.Note) {
	t.Helper()
	r := recordingOf(t, strings.Join(lines, "\n"))
	s := numbered.Session()
	notes, err := r.AppendTo(t.Context(), s)
	require.NoError(t, err)
	return s, notes
}

func callLine(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"read","arguments":"{}"}}`, id))
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func resultLine(id string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"done"}`, id)
}

const (
	userLine  = `{"role":"user","content":"Go on."}`
	blankLine = `{"role":"user","content":" "}`
	saysLine  = `{"role":"assistant","content":"I wait."}`
)

func TestATextBetweenACallAndItsResultCanBeSent(t *testing.T) {
	s, notes := imported(t, []string{userLine, callLine("a"), saysLine, resultLine("a"), saysLine, userLine})
	require.Empty(t, notes)
	require.NoError(t, chat.Validate(sessiontest.View(t, s).Messages()))
}

func TestAPlaceThatUnsendableIsANoteWithItsLine(t *testing.T) {
	_, notes := imported(t, []string{userLine, saysLine, blankLine, saysLine, userLine, callLine("a"), resultLine("a")})
	require.Equal(t, []importer.Note{{Line: 4, Count: 1, Kind: importer.Unsendable, What: "the user says nothing before the answer"}}, notes)
}

// The notes are those of a look at the view before each answer, which is what a replay sends.
func TestTheNotesAreThoseOfAReplay(t *testing.T) {
	for seed := range uint64(300) {
		d := rand.New(rand.NewPCG(seed, 7))
		lines := []string{userLine}
		for n := range 1 + d.IntN(12) {
			id := fmt.Sprint("c", d.IntN(n+1))
			lines = append(lines, []string{
				userLine, userLine, blankLine, saysLine, saysLine, callLine(id), callLine(id), callLine(id, id+"x"), callLine(id, id), resultLine(id), resultLine(id), resultLine(id + "x"),
			}[d.IntN(12)])
		}
		_, notes := imported(t, lines)
		var noted []importer.Note
		refused := map[int]bool{} // lines that are not part of the conversation
		for _, n := range notes {
			if n.Kind == importer.Unsendable {
				noted = append(noted, n)
			}
			refused[n.Line] = refused[n.Line] || n.Kind == "refused"
		}
		fails := ""
		asked := false
		for i, line := range lines {
			answers := strings.Contains(line, "assistant")
			if answers && asked {
				s, _ := imported(t, lines[:i])
				view := sessiontest.View(t, s)
				if err := chat.Validate(view.Messages()); err != nil {
					fails += fmt.Sprintf("before line %d: %s\n", i+1, err)
				}
			}
			asked = !answers && (asked || !refused[i+1])
		}
		require.Equal(t, fails != "", len(noted) > 0, "seed %d: %s\nnotes %v\n%s", seed, strings.Join(lines, "\n"), noted, fails)
	}
}
