package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/internal/test/apitest"
)

// The password stands in a file that only a server of the Model Context Protocol reads, which asks for a key.
func TestTheToolsOfServersAreFound(t *testing.T) {
	books := sdk.NewServer(&sdk.Implementation{Name: "books"}, nil)
	answer := func(name, text string) {
		sdk.AddTool(books, &sdk.Tool{Name: name}, func(context.Context, *sdk.CallToolRequest, struct{ Path string }) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		})
	}
	answer("list_files", "book.md\t20 bytes")
	answer("read_file", "Here the password is xyzzy42.")
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return books }, nil)
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+apitest.Key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer at.Close()
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(`{"mcpServers": {
		"books":  {"type": "http", "url": "AT", "headers": {"Authorization": "Bearer ${BOOKS_KEY}"}},
		"closed": {"type": "http", "url": "AT"},
		"broken": {}
	}}`, "AT", at.URL)), 0o600))
	t.Setenv("BOOKS_KEY", apitest.Key)
	setKey(t, ways[0].keyOf, apitest.Key)
	s := newServer(t, ways[0].api, mind{deferred: true, prefix: "books__", argument: "Path"})
	args := []string{"-model", ways[0].model, "-base-url", s.URL, "-dir", t.TempDir(), "-window", "8000", "-task", task, "-mcp", file, "-mcp-env", "HOME,BOOKS_KEY"}

	var stdout, stderr bytes.Buffer
	require.Equal(t, folderagent.ExitOK, run(t.Context(), args, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "The password is xyzzy42.")
	require.Contains(t, stderr.String(), `server "broken" left out: give a command, or a url, as its type says`)
	require.Contains(t, stderr.String(), "closed: cannot be reached: "+at.URL+" asks for authorisation (401)")

	stderr.Reset()
	args[len(args)-3] = filepath.Join(t.TempDir(), "none.json")
	require.Equal(t, folderagent.ExitUsage, run(t.Context(), args, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-mcp: ")
}
