package main

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is the hash of a token, and its tenant.
type token struct {
	tenant string
	hash   [sha256.Size]byte
}

type tokens []token

// maxTenant is the maximum length of a tenant's name, in bytes.
const maxTenant = 100

// readTokens reads a file of lines "TENANT TOKEN". A tenant may have several tokens. Blank lines and those that begin
// with # are ignored. Without a file, "local" is the token of the tenant "local".
func readTokens(path string) (tokens, error) {
	if path == "" {
		return tokens{{"local", sha256.Sum256([]byte("local"))}}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the file of tokens: %w", err)
	}
	defer f.Close()
	var list tokens
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 || !validTenant(fields[0]) { // the error must not quote the token
			return nil, fmt.Errorf("the file of tokens: %s, line %d: want a tenant of at most %d bytes, a space and a token", path, n, maxTenant)
		}
		t := token{fields[0], sha256.Sum256([]byte(fields[1]))}
		if _, taken := list.tenantOf(fields[1]); taken {
			return nil, fmt.Errorf("the file of tokens: %s, line %d: an earlier line has the same token", path, n)
		}
		list = append(list, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("the file of tokens: %s: %w", path, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the file of tokens: %s: it has no token", path)
	}
	return list, nil
}

func validTenant(name string) bool {
	return len(name) <= maxTenant && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// tenantOf returns the tenant of a token. It takes the same time for any token.
func (ts tokens) tenantOf(given string) (tenant string, ok bool) {
	hash := sha256.Sum256([]byte(given))
	for _, t := range ts {
		if subtle.ConstantTimeCompare(hash[:], t.hash[:]) == 1 {
			tenant, ok = t.tenant, true
		}
	}
	return tenant, ok
}

// tenant returns the tenant that makes a request.
func (ts tokens) tenant(r *http.Request) (string, bool) {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return ts.tenantOf(strings.TrimSpace(given))
}
