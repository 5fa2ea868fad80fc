package promptree_test

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
)

// fenced returns the blocks of a page in a language, in order.
func fenced(t *testing.T, page, language string) (blocks []string) {
	t.Helper()
	text := sure.Read(t, page)
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block[1])
	}
	require.NotEmpty(t, blocks)
	return blocks
}

func TestReadmeHasAtMost140Lines(t *testing.T) {
	readme := sure.Read(t, "README.md")
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), 140, "longer text belongs on a package's page")
}

func TestReadmeProgramsRunAsPasted(t *testing.T) {
	programs := fenced(t, "README.md", "go")
	require.Len(t, programs, 2)
	require.Equal(t, fenced(t, "README.md", "text")[0], run(t, t.TempDir(), pasted(t, programs[0])))
	agent, err := format.Source([]byte(`package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/models"
)

func main() {
	ctx := context.Background()
` + programs[1] + "}\n"))
	require.NoError(t, err)
	built, dir := pasted(t, string(agent)), t.TempDir()
	for range 12 {
		require.Equal(t, "It is sunny in Rome.\n", run(t, dir, built, "Why does the build fail? "+strings.Repeat("It says a great deal. ", 60)))
	}
	require.Contains(t, string(sure.Read(t, filepath.Join(dir, "chat.jsonl"))), `"type":"compaction"`)
}

// The folder beside the clone is empty. Only the go command's own cache is used where it holds what is needed.
func TestReadmeProgramsAreBuiltByItsCommands(t *testing.T) {
	_, section, _ := strings.Cut(string(sure.Read(t, "README.md")), "\n## A prompt\n")
	commands := strings.TrimSpace(regexp.MustCompile(`(?m)(?:^    .*\n)+`).FindString(section))
	clone, err := os.Getwd()
	require.NoError(t, err)
	commands = strings.ReplaceAll(commands, "../promptree", filepath.ToSlash(clone))
	require.Contains(t, commands, "="+filepath.ToSlash(clone)+" ")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(fenced(t, "README.md", "go")[0]), 0o600))
	for command := range strings.SplitSeq(commands, " && ") {
		words := strings.Fields(command)
		run := exec.Command(words[0], words[1:]...)
		run.Dir, run.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOSUMDB=off")
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s%s", command, out)
	}
}

// pasted builds a program, and returns its file.
func pasted(t *testing.T, program string) string {
	t.Helper()
	formatted, err := format.Source([]byte(program))
	require.NoError(t, err)
	require.Equal(t, string(formatted), program)
	dir := t.TempDir()
	// The suffix is for Windows. The place is inside the module, so that the program is built with its packages.
	source, overlay, built := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program.exe")
	place, err := filepath.Abs("pasted/main.go")
	require.NoError(t, err)
	replace := sure.JSON(t, map[string]map[string]string{"Replace": {place: source}})
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))
	out, err := exec.Command("go", "build", "-overlay", overlay, "-o", built, "./pasted").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return built
}

// run runs a program in a folder, and returns its output.
func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	run := exec.Command(program, args...)
	run.Dir = dir
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// Each block on the module's page is code of an example in this folder, or of ExampleCompactor_Compact.
func TestTheTutorialShowsTestedCode(t *testing.T) {
	page := sure.Read(t, "doc.go")
	examples := string(sure.Read(t, "example_test.go")) + string(sure.Read(t, "summarize/history_test.go"))
	blocks := regexp.MustCompile(`(?m)(?:^//\t.*\n)+`).FindAllString(string(page), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		require.Contains(t, unindent(examples), unindent(strings.ReplaceAll(block, "//\t", "")))
	}
}

// Whoever pastes the steps with a session one after the other into a program has an agent.
func TestTheTutorialsStepsRunOneAfterTheOther(t *testing.T) {
	_, steps, ok := strings.Cut(string(sure.Read(t, "doc.go")), "// # Step 6: ")
	require.True(t, ok)
	blocks := regexp.MustCompile(`(?m)(?:^//\t.*\n)+`).FindAllString(steps, -1)
	require.Len(t, blocks, 5)
	for i := range blocks {
		blocks[i] = strings.ReplaceAll(blocks[i], "//\t", "")
	}
	program, err := format.Source([]byte(`package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
)

func main() {
	ctx, tokenizer, session := context.Background(), tiktoken.O200k(), &history.Session{}
	for range 200 {
		if err := session.Append(ctx, chat.UserMessage("What is new?"), chat.AssistantMessage("Nothing is new.")); err != nil {
			log.Fatal(err)
		}
	}
	model := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == chat.RoleTool {
			return chat.Response{Message: chat.AssistantMessage("It is " + last.Text() + ".")}, nil
		}
		return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "call_1", Name: "time", Arguments: "{}"}}}}, nil
	})
` + blocks[0] + `
	_, err := render.Render(ctx, prompt, render.Options{Budget: 1000, Tokenizer: tokenizer})
` + blocks[1] + blocks[2] + `
	fmt.Println(result.Tokens <= 1000)
	{
		options := render.Options{Budget: 1000, Tokenizer: tokenizer}
		` + blocks[3] + `
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Tokens <= 1000)
	}
` + blocks[4] + `}
`))
	require.NoError(t, err)
	require.Regexp(t, `^it takes \d+ tokens and has 1000\ntrue\ntrue\nIt is noon\.\n$`, run(t, t.TempDir(), pasted(t, string(program))))
}

// unindent removes the indentation of each line.
func unindent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}
