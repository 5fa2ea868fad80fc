package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// speaker generates the messages of a coding session, some 6 KB a round.
type speaker struct {
	random *rand.Rand
	pool   string // the text from which others are cut
	rounds int    // generated so far
}

// The sizes of generated texts, in bytes.
const (
	poolBytes   = 1 << 20
	askedBytes  = 300
	saidBytes   = 500
	editBytes   = 1000
	resultBytes = 3600
)

// files is the number of files that the calls name. A compaction lists all files that were ever named.
const files = 200

func newSpeaker() *speaker {
	words := strings.Fields(`if err != nil { return } for range func type struct := append len "text" parser lexer token node tree round cache`)
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < poolBytes {
		b.WriteString("\t")
		for range 8 {
			fmt.Fprintf(&b, "%s%d ", words[random.IntN(len(words))], random.IntN(100))
		}
		b.WriteString("\n")
	}
	return &speaker{random: random, pool: b.String()}
}

// text returns a text of the given number of bytes, which shares no memory with others.
func (s *speaker) text(size int) string {
	at := s.random.IntN(len(s.pool) - size)
	return strings.Clone(s.pool[at : at+size])
}

func (s *speaker) question() chat.Message { return chat.UserMessage(s.text(askedBytes)) }

// round returns an answer with a call, and the result of the call.
func (s *speaker) round() (answer, result chat.Message) {
	s.rounds++
	id := fmt.Sprint("call_", s.rounds)
	name := []string{"read_file", "edit", "bash"}[s.rounds%3]
	arguments := fmt.Sprintf(`{"path":"pkg/file%d.go","offset":%d,"text":%q}`, s.random.IntN(files), s.rounds, s.text(editBytes))
	answer = chat.AssistantMessage(s.text(saidBytes))
	answer.ToolCalls = []chat.ToolCall{{ID: id, Name: name, Arguments: arguments}}
	return answer, chat.ToolResult(id, s.text(resultBytes))
}
