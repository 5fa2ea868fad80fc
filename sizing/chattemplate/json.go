package chattemplate

import (
	"encoding/json"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// toolsJSON returns each tool as templates are given it. quote writes its name and description.
func toolsJSON(tools []chat.Tool, quote func(string) string) []string {
	list := make([]string, len(tools))
	for i, t := range tools {
		fields := []string{`"name": ` + quote(t.Name)}
		if t.Description != "" {
			fields = append(fields, `"description": `+quote(t.Description))
		}
		if s := t.Schema(); s != nil {
			fields = append(fields, `"parameters": `+spacedJSON(string(s)))
		}
		list[i] = `{"type": "function", "function": {` + strings.Join(fields, ", ") + `}}`
	}
	return list
}

// quoted returns a text as Python writes it in JSON.
func quoted(text string) string {
	line, _ := plainjson.Marshal(text) // texts always encode
	return strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(string(line))
}

// spacedJSON returns a JSON text as templates write it, in the form of Python's json.dumps: a space after each colon and
// comma and no other white space. A text that is not JSON is returned as it is.
func spacedJSON(text string) string {
	if !json.Valid([]byte(text)) {
		return text
	}
	var b strings.Builder
	for start, end := range plainjson.Tokens([]byte(text)) {
		switch token := text[start:end]; token[0] {
		case ',', ':':
			b.WriteString(token + " ")
		case '"':
			b.WriteString(quoted(plainjson.Unquote([]byte(token))))
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}
