package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/apitest"
	"github.com/promptree-go/promptree/internal/test/compacttest"
)

// The smallest agent with three tools, a provider, a file and resume is as small as that of other frameworks.
func TestTheSmallestAgentHas45LinesAnd12Names(t *testing.T) {
	source, err := os.ReadFile("testdata/smallest/main.go")
	require.NoError(t, err)
	lines := 0
	for line := range strings.Lines(string(source)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	require.LessOrEqual(t, lines, 45)

	file, err := parser.ParseFile(token.NewFileSet(), "main.go", source, 0)
	require.NoError(t, err)
	ours, names := map[string]bool{}, map[string]bool{}
	for _, i := range file.Imports {
		if path := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(path, "github.com/promptree-go/") {
			ours[filepath.Base(path)] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok && ours[of.Name] {
				names[of.Name+"."+s.Sel.Name] = true
			}
		}
		return true
	})
	require.LessOrEqual(t, len(names), 12, "%v", names)
}

func TestTheSmallestAgentGoesOnAfterItWasKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Parallel()
	program := filepath.Join(t.TempDir(), "smallest")
	out, err := exec.Command("go", "build", "-o", program, "./testdata/smallest").CombinedOutput()
	require.NoError(t, err, "%s", out)
	s := newServer(t, apitest.ChatCompletions{}, mind{hangAt: 2, argument: "Path"})
	dir := shelf(t, 4)
	start := func(args ...string) (*exec.Cmd, *bytes.Buffer) {
		cmd, out := exec.Command(program, args...), &bytes.Buffer{}
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
		cmd.Env = append(os.Environ(), "OPENAI_API_KEY="+apitest.Key, "OPENAI_BASE_URL="+s.URL)
		require.NoError(t, cmd.Start())
		return cmd, out
	}
	session := filepath.Join(dir, "session.jsonl")
	first, early := start(task)
	require.Eventually(t, func() bool {
		said, err := os.ReadFile(session)
		asked, _, _ := s.Seen(t)
		return err == nil && bytes.Contains(said, []byte("book03.md")) && asked == 2 // it waits for an answer that does not come
	}, 20*time.Second, 10*time.Millisecond, "%s", early)
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	s.CloseClientConnections()
	s.mind = mind{argument: "Path"}

	second, printed := start()
	require.NoError(t, second.Wait(), printed.String())
	require.Equal(t, "The password is xyzzy42.\n", printed.String())
	messages := compacttest.SaidInFile(t, session)
	require.NoError(t, chat.Validate(append(messages, chat.UserMessage("Thanks."))))
	require.Equal(t, task, messages[0].Text())
	require.Len(t, messages, 1+2+3*2+1)
}
