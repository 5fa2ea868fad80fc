package promptree_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/vocabularytest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/chattemplate"
	"github.com/promptree-go/promptree/sizing/counters"
	"github.com/promptree-go/promptree/sizing/local"
	"github.com/promptree-go/promptree/sizing/vocabulary"
	"github.com/promptree-go/promptree/sources/instructions"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
)

// conversation returns a prompt that shows a session.
func conversation(session *history.Session) el.Nodes {
	return el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		history.All{Session: session},
	)
}

// Retrieval has the lowest Grow, so it is laid out last, with the tokens that the conversation leaves. Its priority
// makes it the first to be pruned.
func Example_recipeRetrieval() {
	session := &history.Session{}
	talk(session, 3)
	retrieve := func(_ context.Context, s elements.Sizing) (el.Node, error) {
		var found el.Nodes
		for room := s.TokenBudget; room > 0; {
			passage := fmt.Sprintf("Passage %d of what was found.", len(found)+1)
			if room -= s.CountText(passage + "\n"); room >= 0 {
				found = append(found, el.Text(passage))
			}
		}
		return found, nil
	}
	prompt := el.Prompt(
		el.System(el.Grow(2), el.Text("You are a coding agent.")),
		el.User(el.Priority(10), el.Grow(1), el.Func(retrieve, el.Grow(1))),
		history.Conversation{Session: session, Props: el.Props(el.Grow(2))},
		history.TurnStart{Session: session, Props: el.Props(el.Grow(2))},
		history.TurnRounds{Session: session, Props: el.Props(el.Grow(2))},
	)
	for _, budget := range []int{200, 300} {
		result, err := render.Render(ctx, prompt, render.Options{Budget: budget, Tokenizer: tokenizer})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Tokens, "of", budget, "tokens")
	}
	// Output:
	// 200 of 200 tokens
	// 299 of 300 tokens
}

// Files and their tests stand in different places, and are kept or dropped together. For elements beside each other use
// el.Together.
func Example_recipeFilesWithTests() {
	pairs := map[string]*elements.Group{}
	for _, f := range files {
		pairs[f.Path] = &elements.Group{Name: f.Path}
	}
	prompt := el.User(
		el.Each(files, func(f File) el.Node {
			return el.KeepWith(pairs[f.Path], el.Priority(f.Importance), el.Tag("file", el.Attr("path", f.Path), el.Text(f.Source)))
		}),
		el.Each(files, func(f File) el.Node {
			return el.KeepWith(pairs[f.Path], el.Tag("test", el.Attr("of", f.Path), el.Text("It passes.")))
		}),
	)
	result, err := render.Render(ctx, prompt, render.Options{Budget: 60, Tokenizer: tokenizer})
	if err != nil {
		log.Fatal(err)
	}
	show(result)
	// Output:
	// user: <file path="main.go">
	// package main
	//
	// func main() { println(greeting) }
	// </file>
	// <test of="main.go">
	// It passes.
	// </test>
}

// Few-shot examples are rounds, each kept or dropped as a whole; the first is dropped first.
func Example_recipeFewShot() {
	examples := []struct{ question, answer string }{{"2 + 2", "4"}, {"3 * 3", "9"}, {"7 - 5", "2"}}
	shots := el.Nodes{}
	for _, e := range examples {
		shots = append(shots, el.Together(el.User(el.Text(e.question)), el.Assistant(el.Text(e.answer))))
	}
	prompt := el.Prompt(
		el.System(el.Text("You are a calculator.")),
		el.Chronological(el.Priority(10), shots),
		el.User(el.Text("6 * 7"), el.Required),
	)
	result, err := render.Render(ctx, prompt, render.Options{Budget: 50, Tokenizer: tokenizer})
	if err != nil {
		log.Fatal(err)
	}
	show(result)
	// Output:
	// system: You are a calculator.
	// user: 3 * 3
	// assistant: 9
	// user: 7 - 5
	// assistant: 2
	// user: 6 * 7
}

// Tool definitions count towards the budget and are pruned by priority. With a low water several go at once, and then
// none for many renders, because each tool that goes invalidates the provider's whole prompt cache.
func Example_recipeManyTools() {
	tools := el.Nodes{el.Tool(chat.Tool{Name: "read_file", Description: "Reads a file."})} // no priority: it goes last
	for i := range 20 {
		tools = append(tools, el.Tool(chat.Tool{Name: fmt.Sprintf("tool_%d", i), Description: "Does one thing, and does it well."}, el.Priority(20-i)))
	}
	prompt := el.Prompt(tools, el.User(el.Text("Which test fails?"), el.Required))
	for _, budget := range []int{1000, 300, 290, 280} {
		result, err := render.Render(ctx, prompt, render.Options{Budget: budget, Tokenizer: tokenizer, LowWater: 0.7})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(budget, "tokens:", len(result.Tools), "tools") // declare result.Tools
	}
	// Output:
	// 1000 tokens: 21 tools
	// 300 tokens: 11 tools
	// 290 tokens: 11 tools
	// 280 tokens: 11 tools
}

// A small model writes the summaries; if it fails, the agent's own model does.
func Example_recipeCheapSummaries() {
	session := &history.Session{}
	talk(session, 30)
	p := copilotcli.Policy()
	p.Ask.Names = []string{"small"}
	compactor := &summarize.Compactor{
		Session: session, Policy: p,
		Target: summarize.Target{Model: &models.Script{}, Name: "large", Tokenizer: tokenizer, Budget: 1000}, // never called
		Models: map[string]summarize.Target{"small": {Model: models.Offline{Tokenizer: tokenizer}, Name: "small"}},
		Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
			if e.Kind == event.Done {
				fmt.Println(e.Covered, "messages summarised by", e.Model)
			}
		})},
	}
	defer compactor.Close()
	if _, err := compactor.Render(ctx, conversation(session)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 58 messages summarised by small
}

// Before a model with a smaller window takes over, the current model summarises.
func Example_recipeModelSwitch() {
	session := &history.Session{}
	talk(session, 30)
	large := summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Name: "large", Tokenizer: tokenizer, Budget: 4000}
	small := summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Name: "small", Tokenizer: tokenizer, Budget: 1000}
	compactor := &summarize.Compactor{Session: session, Target: large, Policy: copilotcli.Policy()}
	defer compactor.Close()
	before, err := compactor.Render(ctx, conversation(session))
	if err != nil {
		log.Fatal(err)
	}
	after, err := compactor.SwitchModel(ctx, conversation(session), small)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(before.Tokens, "tokens with the one,", after.Tokens, "with the other")
	// Output:
	// 1420 tokens with the one, 229 with the other
}

// A session is a file. Opened again, here or on another machine, it shows the same messages byte for byte.
func Example_recipeResume() {
	dir, err := os.MkdirTemp("", "promptree")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	shown := func(turns int) []chat.Message {
		session, err := history.Open(filepath.Join(dir, "session.jsonl"), history.Options{})
		if err != nil {
			log.Fatal(err)
		}
		defer session.Close()
		talk(session, turns)
		result, err := render.Render(ctx, conversation(session), render.Options{Budget: 1000, Tokenizer: tokenizer})
		if err != nil {
			log.Fatal(err)
		}
		return result.Messages
	}
	first := shown(3)
	resumed := shown(0)
	fmt.Println(len(resumed), "messages, the same as before:", reflect.DeepEqual(first, resumed))
	// Output:
	// 7 messages, the same as before: true
}

// localModel stands for a model on a server of your own, reached through render/openai. Like vLLM it refuses a request
// that is larger than its window, by the model's own vocabulary and chat template.
type localModel struct {
	models.Offline // writes the summaries
	window         int
	count          func(string) int

	mu                         sync.Mutex // several requests may be made at once
	requests, refused, largest int
}

func (m *localModel) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	tokens := vocabularytest.Qwen3(m.count, req.Messages) + req.MaxTokens
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	m.largest = max(m.largest, tokens)
	if tokens > m.window {
		m.refused++
		return chat.Response{}, &chat.ContextLimitError{Limit: m.window, Tokens: tokens}
	}
	if req.MaxTokens == localAnswer { // a step of the agent
		answer := chat.AssistantMessage("The answer is that " + strings.Repeat("and that ", 20))
		return chat.Response{Message: answer, Usage: chat.Usage{Input: tokens - req.MaxTokens, Output: m.count(answer.Text())}}, nil
	}
	return m.Offline.Generate(ctx, req)
}

// localAnswer is the maximum of an answer, in tokens.
const localAnswer = 200

// tokenizerFile returns the path of a small tokenizer.json, in place of the one that was published with the model.
func tokenizerFile() string {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("promptree-%d-tokenizer.json", os.Getpid()))
	if err := os.WriteFile(path, vocabularytest.JSON(chattemplate.Qwen3.Tokens()...), 0o600); err != nil {
		log.Fatal(err)
	}
	return path
}

// A server of your own says how large its window is, and the tokenizer.json of its model counts exactly. So prompts fill
// a small window, and none is refused.
func Example_recipeLocalModel() {
	const name = "qwen3:8b"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"data":[{"id":%q,"max_model_len":2000}]}`, name) // as vLLM answers
	}))
	defer server.Close()
	file := tokenizerFile()
	defer os.Remove(file)
	qwen, err := vocabulary.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	counter := counters.For(name, counters.ModelVocabulary{Vocabulary: qwen})
	tokens, err := local.Server{URL: server.URL, Model: name}.Window(ctx)
	if err != nil {
		log.Fatal(err)
	}
	budget, err := sizing.Window{Tokens: tokens, Answer: localAnswer + counter.Overhead}.Budget(0)
	if err != nil {
		log.Fatal(err)
	}
	model := &localModel{window: tokens, count: counter.Tokenizer.CountText, Offline: models.Offline{Tokenizer: counter.Tokenizer}}
	session := &history.Session{}
	compactor := &summarize.Compactor{
		Session: session, Policy: copilotcli.Policy(),
		Target: summarize.Target{Model: model, Name: name, Tokenizer: counter.Tokenizer, Budget: budget, ContextWindow: tokens},
	}
	defer compactor.Close()
	steps := &agent.Agent{Compactor: compactor, Prompt: conversation(session), MaxTokens: localAnswer}
	for range 60 {
		if err := session.Append(ctx, chat.UserMessage("What is the answer to that, and what is it of?")); err != nil {
			log.Fatal(err)
		}
		if _, err := steps.Step(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(counter.Kind(), "counts:", model.refused, "of", model.requests, "requests refused; the largest takes", model.largest, "of", tokens)
	// Output:
	// exact counts: 0 of 61 requests refused; the largest takes 1961 of 2000
}

// Folders of a project. A program opens them with os.OpenRoot, and uses the FS of the root.
var (
	project = fstest.MapFS{
		"AGENTS.md":     {Data: []byte("Run the tests before you say that you are done. The style is in @docs/style.md")},
		"docs/style.md": {Data: []byte("Short sentences.")},
	}
	skillFolder = fstest.MapFS{
		"release/SKILL.md": {Data: []byte("---\nname: release\ndescription: How to make a release.\n---\nTag it, then push the tag.")},
	}
)

// Instruction files, skills and tools are found rather than written. As elements they are counted, within shares of the
// budget, and what was loaded is there after each compaction and restart. The scripted model loads a skill, and finds and
// calls one of 200 tools of 42,000 tokens.
func Example_recipeFoundContext() {
	session := &history.Session{}
	run := func(_ context.Context, call chat.ToolCall) (chat.Message, error) {
		return chat.ToolResult(call.ID, call.Name+" is done"), nil
	}
	known := &skills.Skills{Session: session, Folders: []fs.FS{skillFolder}}
	more := &tools.Deferred{Session: session, Tools: manyTools(200), Run: run, Skills: known} // its search finds skills too
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent."), skills.Catalogue{Skills: known}),
		el.User(&instructions.Files{FS: project}),
		el.Tool(chat.Tool{Name: "read_file", Description: "Reads a file."}), // always declared
		history.Compacted{Session: session}, skills.Loaded{Skills: known}, tools.Found{Deferred: more},
		history.Conversation{Session: session, TurnsOnly: true}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
	)
	compactor := &summarize.Compactor{
		Session: session, Policy: copilotchat.Policy(),
		Target: summarize.Target{Model: modelThatFinds(), Tokenizer: tokenizer, Budget: 8000},
	}
	defer compactor.Close()
	worker := &agent.Agent{Compactor: compactor, Prompt: prompt, Tools: []chat.Toolbox{known, more}}
	_, err := worker.Run(ctx, "Release version 2.")
	where := compactor.Breakdown(ctx)
	fmt.Println(err, where.Instructions > 0, where.Skills > 0, where.Tools < 8000/10, where.Total() == where.Instructions+where.Skills+where.Tools+where.History+where.Other)
	// Output:
	// <skill name="release" file="SKILL.md">
	// Tag it, then push the tag.
	// </skill>
	// 2 of 2 that match, the best first. Call them by call_tool.
	// <tool-definition name="push_tag">
	// Pushes a tag to the server.
	// {"type":"object","properties":{"tag":{"type":"string"}},"required":["tag"]}
	// </tool-definition>
	// skill release, which load_skill loads: How to make a release.
	// push_tag is done
	// <nil> true true true true
}

// manyTools returns tools, of which one pushes tags.
func manyTools(n int) []chat.Tool {
	list := []chat.Tool{{Name: "push_tag", Description: "Pushes a tag to the server.", Parameters: json.RawMessage(`{"type":"object","properties":{"tag":{"type":"string"}},"required":["tag"]}`)}}
	for i := range n - 1 {
		list = append(list, chat.Tool{Name: fmt.Sprint("tool_", i), Description: strings.Repeat("It does one thing, and does it well. ", 20), Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return list
}

// modelThatFinds returns a model that makes these calls, one a step, and then says that it is done.
func modelThatFinds() chat.Model {
	calls := []chat.ToolCall{
		{ID: "1", Name: skills.ToolName, Arguments: `{"skill":"release"}`},
		{ID: "2", Name: tools.SearchTool, Arguments: `{"query":"push a tag"}`},
		{ID: "3", Name: tools.CallTool, Arguments: `{"name":"push_tag","arguments":{"tag":"v2"}}`},
	}
	return chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == chat.RoleTool {
			fmt.Println(last.Text())
		}
		if len(calls) == 0 {
			return chat.Response{Message: chat.AssistantMessage("Version 2 is out.")}, nil
		}
		next := calls[0]
		calls = calls[1:]
		return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{next}}}, nil
	})
}

// A sub-agent has a session of its own, which names its parent's, and a quarter of its budget. The parent is told the
// answer and where the whole of it can be read. What both cost is in their sessions.
func Example_recipeSubAgent() {
	dir, err := os.MkdirTemp("", "promptree")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	prices := sizing.Prices{Rates: sizing.Rates{Input: 1, Output: 5}} // dollars for a million tokens
	says := func(m chat.Message, usage chat.Usage) (chat.Response, error) {
		return chat.Response{Message: m, Usage: usage}, nil
	}
	parentModel := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == chat.RoleTool {
			return says(chat.AssistantMessage("Done: "+last.Text()), chat.Usage{Input: 3000, Output: 40})
		}
		ask := chat.ToolCall{ID: "call_1", Name: "research", Arguments: `{"task":"Which file reads the flags?"}`}
		return says(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{ask}}, chat.Usage{Input: 2000, Output: 60})
	})
	childModel := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		return says(chat.AssistantMessage("cmd/main.go reads them."), chat.Usage{Input: 900, Output: 100})
	})
	start := func(name string, header entry.Header, model chat.Model, budget int, task string) (*agent.Agent, func()) {
		session, err := history.Open(filepath.Join(dir, name), history.Options{Header: header})
		if err == nil {
			err = session.Append(ctx, chat.UserMessage(task))
		}
		if err != nil {
			log.Fatal(err)
		}
		compactor := &summarize.Compactor{
			Session: session, Policy: copilotcli.Policy(),
			Target: summarize.Target{Model: model, Name: "example", Tokenizer: tokenizer, Budget: budget, Prices: prices},
		}
		return &agent.Agent{Compactor: compactor, Prompt: conversation(session)}, func() { compactor.Close(); session.Close() }
	}
	spent := func(session *history.Session) (dollars float64) {
		for e, err := range session.Entries(ctx) {
			if err != nil {
				log.Fatal(err)
			}
			if usage, ok := e.Body.(entry.Usage); ok {
				dollars += usage.Cost
			}
		}
		return dollars
	}

	parent, stop := start("parent.jsonl", entry.Header{}, parentModel, 8000, "Where are flags read?")
	defer stop()
	session := parent.Compactor.Session
	costs := 0.0
	research := func(call chat.ToolCall) chat.Message {
		child, stop := start("child.jsonl", entry.Header{From: session.Header().ID}, childModel, parent.Compactor.Current().Budget/4, call.Arguments)
		defer stop()
		answer, err := child.Step(ctx) // until no call is open, if it has tools
		if err != nil {
			log.Fatal(err)
		}
		own := child.Compactor.Session
		said, err := own.Entry(ctx, answer.Entry)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("the child names its parent:", own.Header().From == session.Header().ID)
		costs += spent(own)
		return chat.ToolResult(call.ID, answer.Message().Text()+" The whole of it: "+strings.ReplaceAll(own.Handle(said, 0, 0), said.ID, "e1"))
	}
	for {
		answer, err := parent.Step(ctx)
		if err != nil {
			log.Fatal(err)
		}
		for _, call := range answer.Open {
			if err := session.Append(ctx, research(call)); err != nil {
				log.Fatal(err)
			}
		}
		if len(answer.Open) == 0 {
			fmt.Println(strings.ReplaceAll(answer.Message().Text(), dir+string(filepath.Separator), ""))
			break
		}
	}
	fmt.Printf("parent $%.4f, child $%.4f\n", spent(session), costs)
	// Output:
	// the child names its parent: true
	// Done: cmd/main.go reads them. The whole of it: entry e1 of child.jsonl
	// parent $0.0055, child $0.0014
}
