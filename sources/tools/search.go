package tools

import (
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/rank"
)

// document is something that the search finds: a tool, or a skill.
type document struct {
	name, description string

	tool *chat.Tool
	line string // of a skill
}

// ranked returns the documents that match a query, the best first: those whose name is the query, then the others, a word
// of a name counted three times. Equal ones keep their order.
func ranked(docs []document, query string) []document {
	q, ranks := rank.NewQuery(query), make([]rank.Document, len(docs))
	for i, doc := range docs {
		q.Widen(doc.name + " " + doc.description)
		ranks[i] = rank.Of(doc.name, doc.name, doc.name, doc.description)
	}
	named := func(doc document) bool { return strings.EqualFold(doc.name, strings.TrimSpace(query)) }
	var found []document
	for _, doc := range docs {
		if named(doc) {
			found = append(found, doc)
		}
	}
	for _, m := range rank.Best(q.Scores(ranks)) {
		if doc := docs[m.Document]; !named(doc) {
			found = append(found, doc)
		}
	}
	return found
}
