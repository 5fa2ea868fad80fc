package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// speaker makes up what is said in a coding session, some 6 KB a round.
type speaker struct {
	random *rand.Rand
	pool   string // of which texts are cut
	rounds int    // that were made up
}

// Bytes of what is made up.
const (
	poolBytes   = 1 << 20
	askedBytes  = 300
	saidBytes   = 500
	editBytes   = 1000
	resultBytes = 3600
)

// files is how many files the calls name. A compaction lists all that were ever named.
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

// text returns so many bytes, which no other text shares.
func (s *speaker) text(size int) string {
	at := s.random.IntN(len(s.pool) - size)
	return strings.Clone(s.pool[at : at+size])
}

func (s *speaker) question() chat.Message { return chat.UserMessage(s.text(askedBytes)) }

// round returns an answer with a call, and the result of that.
func (s *speaker) round() (answer, result chat.Message) {
	s.rounds++
	id := fmt.Sprint("call_", s.rounds)
	name := []string{"read_file", "edit", "bash"}[s.rounds%3]
	arguments := fmt.Sprintf(`{"path":"pkg/file%d.go","offset":%d,"text":%q}`, s.random.IntN(files), s.rounds, s.text(editBytes))
	answer = chat.AssistantMessage(s.text(saidBytes))
	answer.ToolCalls = []chat.ToolCall{{ID: id, Name: name, Arguments: arguments}}
	return answer, chat.ToolResult(id, s.text(resultBytes))
}
