package mcp

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/internal/plaintext"
)

// secretName matches the names of settings that hold secrets, and secretPart the parts of addresses that look like some.
var (
	secretName = regexp.MustCompile(`(?i)key|token|secret|passw|pwd|cred|cookie|private|signature|dsn|auth($|[^o]|oriz)`)
	secretPart = regexp.MustCompile(`^[\w.~+=-]*\d[\w.~+=-]*$`)
)

// leastSecret is the length, in bytes, from which a secret is hidden, longPart that of a part that looks like one.
const leastSecret, longPart = 6, 20

// hide returns a text as UTF-8 without the secrets in how the server is reached: values of the environment, headers, flags
// and parameters whose names say so, passwords in addresses, and long parts of the address with digits.
func (s *Server) hide(text string) string {
	var secrets []string
	hide := func(secret string) {
		if len(secret) >= leastSecret {
			secrets = append(secrets, secret, url.QueryEscape(secret))
		}
	}
	look := func(name, value string) {
		u, err := url.Parse(value)
		switch {
		case err == nil && u.Host != "":
			password, _ := u.User.Password()
			hide(password)
			for name, values := range u.Query() {
				if secretName.MatchString(name) || len(values[0]) >= longPart {
					hide(values[0])
				}
			}
			for part := range strings.SplitSeq(u.Path, "/") {
				if len(part) >= longPart && secretPart.MatchString(part) {
					hide(part)
				}
			}
		case secretName.MatchString(name):
			hide(value)
			hide(value[strings.LastIndexByte(value, ' ')+1:]) // of "Bearer …"
		}
	}
	look("", s.URL)
	for name, value := range s.Env {
		look(name, value)
	}
	for name, value := range s.Headers {
		look(name, value)
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
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
	text = strings.ToValidUTF8(text, "�")
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}

// line returns a text of the server's on a line, without secrets.
func (s *Server) line(text string) string {
	return plaintext.Outside(plaintext.OneLine(plaintext.Plain(s.hide(text)), 400))
}
