package inspect

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
)

//go:embed page.js
var script string

//go:embed page.css
var style string

// page is the data that the script of a page reads.
type page struct {
	Kind     string    `json:"kind"`
	Title    string    `json:"title"`
	Hidden   bool      `json:"hidden,omitempty"`
	Texts    []any     `json:"texts"` // strings, or hiddenText
	Nodes    []node    `json:"nodes"`
	Messages []message `json:"messages"`
	Prompts  []prompt  `json:"prompts"`
	Steps    []step    `json:"steps,omitempty"`
	Account  []Charge  `json:"account,omitempty"`
}

// hiddenText replaces a text: its length in bytes, and the beginning of its SHA-256.
type hiddenText struct {
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest"`
}

// hide returns the replacement of a text.
func hide(s string) hiddenText {
	sum := sha256.Sum256([]byte(s))
	return hiddenText{len(s), hex.EncodeToString(sum[:6])}
}

// write writes the page. Its data is JSON in which < > & are escaped, so that nothing ends the element that holds it.
func (l *Steps) write(w io.Writer, kind string, o Options) error {
	if len(l.prompts) == 0 {
		return ErrNoPrompts
	}
	title := cmp.Or(o.Title, map[string]string{"prompt": "Prompt", "session": "Session"}[kind])
	p := page{
		Kind: kind, Title: title, Hidden: o.HideContent,
		Texts: make([]any, len(l.texts.values)), Nodes: l.nodes.values, Messages: l.messages.values, Prompts: l.prompts, Steps: l.steps,
		Account: o.Account,
	}
	for i, text := range l.texts.values {
		if p.Texts[i] = text; o.HideContent {
			p.Texts[i] = hide(text)
		}
	}
	if _, err := fmt.Fprintf(w, head, sourceOf(script), sourceOf(style), html.EscapeString(title), style); err != nil {
		return fmt.Errorf("inspect: writing the page: %w", err)
	}
	if err := json.NewEncoder(w).Encode(p); err != nil {
		return fmt.Errorf("inspect: writing the page: %w", err)
	}
	if _, err := fmt.Fprintf(w, foot, script); err != nil {
		return fmt.Errorf("inspect: writing the page: %w", err)
	}
	return nil
}

// sourceOf returns the source expression by which the page's policy allows a script or a style.
func sourceOf(code string) string {
	sum := sha256.Sum256([]byte(code))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

const head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>%s</style>
</head>
<body>
<div id="app"><noscript><p>This page needs JavaScript to show its data.</p></noscript></div>
<script id="data" type="application/json">`

const foot = `</script>
<script>%s</script>
</body>
</html>
`
