package mcp

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider"
)

// secretName matches the names of settings that hold secrets, and secretPart the parts of addresses that look like some.
var (
	secretName = regexp.MustCompile(`(?i)key|token|secret|passw|pwd|cred|cookie|private|signature|dsn|auth($|[^o]|oriz)`)
	secretPart = regexp.MustCompile(`^[\w.~+=-]*\d[\w.~+=-]*$`)
)

// longPart is the length, in bytes, of a part that looks like a secret.
const longPart = 20

// hide returns a text as UTF-8 without the secrets in how the server is reached: values of the environment, headers, flags
// and parameters whose names say so, passwords in addresses, and long parts of the address with digits.
func (s *Server) hide(text string) string {
	var secrets provider.Secrets
	look := func(name, value string) {
		u, err := url.Parse(value)
		switch {
		case err == nil && u.Host != "":
			password, _ := u.User.Password()
			secrets.Add(password)
			for name, values := range u.Query() {
				if secretName.MatchString(name) || len(values[0]) >= longPart {
					secrets.Add(values[0])
				}
			}
			for part := range strings.SplitSeq(u.Path, "/") {
				if len(part) >= longPart && secretPart.MatchString(part) {
					secrets.Add(part)
				}
			}
		case secretName.MatchString(name):
			secrets.AddHeader(value)
		}
	}
	look("", s.URL)
	for _, settings := range [...]map[string]string{s.Env, s.Headers} {
		for name, value := range settings {
			look(name, value)
		}
	}
	before := ""
	for _, argument := range s.Args {
		name, value, _ := strings.Cut(argument, "=")
		look(name, value)
		look(before, argument)
		before = ""
		if strings.HasPrefix(argument, "-") {
			before = argument
		}
	}
	return secrets.Mask(strings.ToValidUTF8(text, "�"))
}

// line returns a text of the server's on a line, without secrets.
func (s *Server) line(text string) string {
	return plaintext.Outside(plaintext.OneLine(plaintext.Plain(s.hide(text)), 400))
}
