package mcp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sources/mcp"
)

func TestFilesOfOtherProgramsAreRead(t *testing.T) {
	t.Setenv("ALLOWED", "yes")
	t.Setenv("FORBIDDEN", "no")
	servers, notes, err := mcp.ReadFile(sure.File(t, "mcp.json", `{
		// Of VS Code, with comments.
		"inputs": [{"type": "promptString", "id": "key"}],
		"mcpServers": {
			"files": {"command": "npx", "args": ["-y", "a//b", "/*c*/", "${ALLOWED}"], "env": {"A": "${env:ALLOWED}", "B": "${ALLOWED:-x}", "C": "${UNSET_BY_ALL:-d}"}, "cwd": "/tmp"},
			"off": {"command": "npx", "disabled": true},
		},
		"servers": {
			"web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${ALLOWED}"}}, /* another */
			"old": {"type": "sse", "url": "https://example.com/sse"},
			"plain": {"url": "https://example.com"},
			"forbidden": {"command": "x", "args": ["${FORBIDDEN}"]},
			"unset": {"command": "x", "env": {"A": "${UNSET}"}},
			"asked": {"url": "https://example.com", "headers": {"K": "${input:key}"}},
			"kind": {"type": "carrier pigeon", "url": "https://example.com"},
			"neither": {"type": "stdio", "url": "https://example.com"},
			"both": {"command": "x", "url": "https://example.com"},
			"empty": {},
			"text": "npx",
			"number": {"command": 1},
			"files": {"command": "second"},
		},
	}`), "ALLOWED", "UNSET")
	require.NoError(t, err)
	var got []mcp.Server
	for _, s := range servers {
		got = append(got, mcp.Server{Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir, URL: s.URL, Headers: s.Headers, SSE: s.SSE})
	}
	none := map[string]string{}
	require.Equal(t, []mcp.Server{
		{Name: "files", Command: "npx", Args: []string{"-y", "a//b", "/*c*/", "yes"}, Env: map[string]string{"A": "yes", "B": "yes", "C": "d"}, Dir: "/tmp", Headers: none},
		{Name: "old", URL: "https://example.com/sse", SSE: true, Env: none, Headers: none},
		{Name: "plain", URL: "https://example.com", Env: none, Headers: none},
		{Name: "web", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer yes"}, Env: none},
	}, got)
	all := strings.Join(notes, "\n")
	for name, why := range map[string]string{
		"forbidden": "${FORBIDDEN}, which is not among the variables that are allowed", "unset": "UNSET is not set", "asked": "${input:key}, which is not among",
		"kind": `type "carrier pigeon" is not known`, "neither": "give a command, or a url", "both": "give a command, or a url", "empty": "give a command, or a url",
		"text": "cannot unmarshal", "number": "cannot unmarshal", "files": "another row has the name",
	} {
		require.Regexp(t, `server "`+name+`" left out: .*\Q`+why+`\E`, all)
	}
	require.Len(t, notes, 10)
	require.NotContains(t, all, "no\n")
}

func TestAFileThatNamesNoServersIsAnError(t *testing.T) {
	for text, want := range map[string]string{`{}`: "it names no servers", `[]`: "cannot unmarshal", `{"mcpServers": {}`: "unexpected end", strings.Repeat(" ", 2<<20): "more than 1048576 bytes"} {
		_, _, err := mcp.ReadFile(sure.File(t, "mcp.json", text))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "mcp.json")
	}
	_, _, err := mcp.ReadFile(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	servers, notes, err := mcp.ReadFile(sure.File(t, "mcp.json", `{"servers":{}}`))
	require.NoError(t, err)
	require.Empty(t, servers)
	require.Empty(t, notes)
}
