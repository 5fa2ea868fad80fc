package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/apitest"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/extremes"
)

// The examples of adk are unchanged except for one line: PluginConfig. Each is asked some questions on its standard
// input.
func TestExamplesOfADKFinish(t *testing.T) {
	if testing.Short() {
		t.Skip("builds examples of adk")
	}
	adk := output(t, exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/adk/v2"))
	for i, c := range []struct {
		example string
		agents  []string // agents with a session
	}{
		{"quickstart", []string{"weather_time_agent"}},
		{"multiagent/collaboration", []string{"travel_planner", "weather_checker", "flight_booker"}},
		{"multiagent/task_sub_agent", []string{"coordinator", "order_collector", "payment_collector"}},
		{"workflowagents/sequentialCode", []string{"CodeWriterAgent", "CodeReviewerAgent", "CodeRefactorerAgent"}},
	} {
		t.Run(c.example, func(t *testing.T) {
			if i > 1 && !extremes.All() {
				t.Skip("PROMPTREE_TESTS=all builds it")
			}
			s := apitest.Serve(t, apitest.Gemini{}, mind)
			s.Window, s.Rule = 5_000, apitest.Unmarked
			program := build(t, filepath.Join(adk, "examples", c.example, "main.go"))
			sessions := t.TempDir()
			cmd := exec.CommandContext(t.Context(), program, "console", "-streaming_mode", "sse")
			cmd.Env = append(os.Environ(), "SESSIONS="+sessions, "GOOGLE_API_KEY="+apitest.Key, "GOOGLE_GEMINI_BASE_URL="+s.URL)
			var questions bytes.Buffer
			for i := range 20 {
				fmt.Fprintf(&questions, "This is question %d.\n", i)
			}
			cmd.Stdin = &questions
			out := output(t, cmd)
			require.NotContains(t, out, "AGENT_ERROR")
			require.NotContains(t, out, "promptree")
			require.Contains(t, out, "The end of answer")
			require.Empty(t, s.Broken)
			require.Positive(t, s.Summaries)
			compactions := 0
			for _, name := range c.agents {
				messages, compacted := inSession(t, sessions, name)
				require.Positive(t, messages, name)
				compactions += compacted
			}
			require.Positive(t, compactions)
		})
	}
}

// output runs a command and returns its output.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// build builds an example with the line that adds promptree, and returns the path of the program.
func build(t *testing.T, example string) string {
	t.Helper()
	source, err := os.ReadFile(example)
	require.NoError(t, err)
	const line = "AgentLoader: agent.NewSingleLoader("
	require.Equal(t, 1, strings.Count(string(source), line))
	dir := t.TempDir()
	changed := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(source), line, "PluginConfig: promptree(),\n"+line, 1)), 0o600))
	here, err := os.Getwd()
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(here, "prebuilt", "prebuilt.go"):  changed,
		filepath.Join(here, "prebuilt", "promptree.go"): filepath.Join(here, "testdata", "promptree.go"),
	}})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	program := filepath.Join(dir, "program")
	output(t, exec.Command("go", "build", "-overlay", file, "-o", program, "./prebuilt"))
	return program
}

// mind calls the declared functions in turn, and then answers with a long text or ends its task.
func mind(a apitest.Asked) apitest.Answer {
	var functions []apitest.Tool
	var finish *apitest.Tool
	for _, t := range a.Tools {
		switch t.Name {
		case "finish_task":
			finish = &t
		case "transfer_to_agent":
		default:
			functions = append(functions, t)
		}
	}
	rounds := 0 // rounds since the last message of the user
	for i := len(a.Turns) - 1; a.Turns[i].Role != "user"; i-- {
		rounds += min(1, len(a.Turns[i].Results))
	}
	call := func(t apitest.Tool) []apitest.Call {
		arguments, err := json.Marshal(value(t.Schema))
		if err != nil {
			panic(err)
		}
		return []apitest.Call{{ID: fmt.Sprint("call_", len(a.Turns)), Name: t.Name, Arguments: string(arguments)}}
	}
	switch {
	case rounds < len(functions):
		return apitest.Answer{Text: "I look.", Calls: call(functions[rounds])}
	case finish != nil && rounds < len(functions)+2:
		return apitest.Answer{Calls: call(*finish)}
	}
	return apitest.Answer{Text: strings.Repeat("There is much to say. ", 80) + "The end of answer."}
}

// value returns a value that a schema allows.
func value(schema apitest.JSON) any {
	name := schema.Get("type").String()
	if several := schema.Get("type").List(); len(several) > 0 {
		name = several[len(several)-1].String()
	}
	switch strings.ToLower(name) {
	case "object", "":
		o := map[string]any{}
		for key, p := range schema.Get("properties").Fields() {
			o[key] = value(p)
		}
		return o
	case "array":
		if !schema.Get("items").Exists() {
			return []any{}
		}
		return []any{value(schema.Get("items"))}
	case "integer", "number":
		return 1
	case "boolean":
		return true
	}
	return "Zurich"
}

// inSession returns the number of messages and compactions in an agent's session.
func inSession(t *testing.T, folder, agent string) (messages, compactions int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, agent+"*.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 1, agent)
	s, err := history.Read(files[0], history.Options{})
	require.NoError(t, err)
	defer s.Close()
	return len(compacttest.Said(s)), len(compacttest.Compactions(s))
}
