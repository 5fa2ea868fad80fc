package mcp_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sources/mcp"
)

// PROMPTREE_SERVERS names a folder in which testdata/servers is installed.
func TestPublicServersAnswer(t *testing.T) {
	at := os.Getenv("PROMPTREE_SERVERS")
	if at == "" {
		t.Skip("PROMPTREE_SERVERS is not set: .ci/long installs the servers")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	require.NoError(t, os.WriteFile(path, []byte("hello\n"), 0o600))
	server := func(name string, args ...string) *mcp.Server {
		return open(t, &mcp.Server{Name: name, Command: filepath.Join(at, "node_modules", ".bin", "mcp-server-"+name), Args: args, Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.json"), "API_KEY": "sk-very-secret"}})
	}
	servers := map[string]*mcp.Server{"everything": server("everything"), "filesystem": server("filesystem", dir), "memory": server("memory")}
	for _, c := range []struct{ server, tool, arguments, want string }{
		{"everything", "echo", `{"message":"hi"}`, "Echo: hi"},
		{"everything", "get-annotated-message", `{"messageType":"error","includeImage":true}`, "[a part for the user left out here]"},
		{"everything", "get-resource-links", `{"count":2}`, `left out here: everything__read_resource {"uri":"demo://resource/dynamic/text/2"}]`},
		{"everything", "read_resource", `{"uri":"demo://resource/dynamic/text/2"}`, "Resource 2: This is a plaintext resource"},
		{"everything", "read_resource", `{"uri":"demo://resource/static/document/features.md","from":20,"bytes":30}`, `"from":50} ...]`},
		{"everything", "get-structured-content", `{"location":"Chicago"}`, `"humidity":82`},
		{"everything", "get-resource-reference", `{}`, `<server-resource uri="demo://resource/dynamic/text/1">`},
		{"everything", "trigger-long-running-operation", `{"duration":1,"steps":2}`, "Long running operation completed."},
		{"everything", "get-env", `{}`, `"API_KEY": "[secret]"`},
		{"filesystem", "read_text_file", `{"path":` + strconv.Quote(path) + `}`, "hello"},
		{"filesystem", "read_text_file", `{"path":"/etc/passwd"}`, "Access denied"},
		{"memory", "create_entities", `{"entities":[{"name":"Rome","entityType":"city","observations":["rain"]}]}`, `"rain"`},
		{"memory", "read_graph", `{}`, `"name": "Rome"`},
	} {
		m, err := call(t, servers[c.server], c.server+"__"+c.tool, c.arguments)
		require.NoError(t, err, c.tool)
		require.Contains(t, m.Text(), c.want, c.tool)
	}
	require.IsType(t, chat.Image{}, called(t, servers["everything"], "everything__get-tiny-image", "{}").Content[1])
}
