package provider

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/internal/plaintext"
)

// masked replaces a secret in a text.
const masked = "[secret]"

// shortestSecret is the length, in bytes, from which a value is masked. Shorter ones, such as the key "none" of a local
// server, are words that errors use.
const shortestSecret = 6

// secretName matches the names of headers and query parameters that hold keys.
var secretName = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|passw|credential|signature|session|^sig$|^code$`)

// Secrets are values that no text may show, such as those in a request, the longest first. Those of a few bytes are left out: they
// are words that errors use.
type Secrets []string

// collect adds the secrets of a request: the values, and parts of values, of headers and query parameters that
// secretName matches, cookies, and the password of the URL.
func (s *Secrets) collect(r *http.Request) {
	named := func(fields map[string][]string, add func(secret string)) {
		for name, values := range fields {
			if secretName.MatchString(name) {
				for _, v := range values {
					add(v)
				}
			}
		}
	}
	named(r.Header, s.AddHeader)
	for _, c := range r.Cookies() {
		s.Add(c.Value)
	}
	named(r.URL.Query(), s.Add)
	if password, ok := r.URL.User.Password(); ok {
		s.Add(password)
		s.AddHeader("Basic " + base64.StdEncoding.EncodeToString([]byte(r.URL.User.Username()+":"+password)))
	}
}

// AddHeader adds a value such as "Bearer sk-1234": the whole, the part after the scheme, and a password in it.
func (s *Secrets) AddHeader(value string) {
	s.Add(value)
	if scheme, rest, ok := strings.Cut(value, " "); ok {
		s.Add(rest)
		if plain, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
			_, password, _ := strings.Cut(string(plain), ":")
			s.Add(password)
		}
	}
}

// Add adds a secret as it is and as it is encoded in URLs and JSON.
func (s *Secrets) Add(secret string) {
	secret = strings.TrimSpace(secret)
	if len(secret) < shortestSecret {
		return
	}
	quoted, _ := json.Marshal(secret) // a string is always valid JSON
	for _, form := range [...]string{secret, url.QueryEscape(secret), url.PathEscape(secret), string(quoted[1 : len(quoted)-1])} {
		if !slices.Contains(*s, form) {
			*s = append(*s, form)
		}
	}
	slices.SortStableFunc(*s, func(a, b string) int { return len(b) - len(a) })
}

// Mask replaces the secrets in a text.
func (s Secrets) Mask(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, masked)
	}
	return text
}

// maskAndCut returns a text without secrets, cut to most bytes and an ellipsis.
func (s Secrets) maskAndCut(text string, most int) string {
	cut := len(text) > 16*most
	if cut {
		text = text[:16*most]
	}
	text = s.Mask(strings.ToValidUTF8(text, "\uFFFD"))
	if cut && len(s) > 0 { // the text may end within a secret
		text = text[:max(0, len(text)-len(s[0]))]
	}
	return plaintext.Cut(text, most)
}
