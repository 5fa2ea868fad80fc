package anthropic_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/imagetest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render/anthropic"
)

var (
	question = chat.UserMessage("How many?")
	counting = []chat.Tool{{Name: "count", Description: "Counts files.", Parameters: json.RawMessage(`{"type":"object","properties":{"glob":{"type":"string"}}}`)}}
	signed   = chat.Thinking{Text: "hm", Signature: sign("hm")}
	redacted = chat.Thinking{Encrypted: "enc:secret"}
	pixel    = chat.Image{URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG"))}
)

// openAICompaction is an item of the Responses API.
const openAICompaction = `{"id":"cmp_1","type":"compaction","encrypted_content":"gAAAA"}`

func calls(ids ...string) chat.Message { return sessiontest.Calls("count", `{"glob":"*.go"}`, ids...) }

func user(parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleUser, Content: parts}
}

func assistant(parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, Content: parts}
}

func opaque(value string) chat.Opaque { return chat.Opaque{Value: json.RawMessage(value)} }

func result(id string, parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleTool, ToolCallID: id, Content: parts}
}

func failed(m chat.Message) chat.Message {
	m.IsError = true
	return m
}

func with(m chat.Message, parts ...chat.Part) chat.Message {
	m.Content = append(m.Content, parts...)
	return m
}

func ask(messages ...chat.Message) chat.Request {
	return chat.Request{Messages: messages, Tools: counting, MaxTokens: 100}
}

func named(name string, m chat.Message) chat.Message {
	m.ToolCalls[0].Name = name
	return m
}

func arguments(text string, m chat.Message) chat.Message {
	m.ToolCalls[0].Arguments = text
	return m
}

func tools(req chat.Request, tools ...chat.Tool) chat.Request {
	req.Tools = tools
	return req
}

func searching(id string) chat.Part {
	return opaque(`{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":{}}`)
}

func found(id string) chat.Part {
	return opaque(`{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":[]}`)
}

// searched returns a search of the API's own that found a tool.
func searched(tool string) []chat.Part {
	return []chat.Part{
		opaque(`{"type":"server_tool_use","id":"srv","name":"tool_search_tool_bm25","input":{"query":"x"}}`),
		opaque(`{"type":"tool_search_tool_result","tool_use_id":"srv","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"` + tool + `"}]}}`),
		chat.Text("Found."),
	}
}

func deferred(name string) chat.Tool { return chat.Tool{Name: name, Deferred: true} }

func picture(width, height int) chat.Part { return chat.Image{URL: imagetest.PNG(width, height)} }

func search(result ...chat.Part) []chat.Message {
	return []chat.Message{question, named("tool_search", calls("s")), {Role: chat.RoleTool, ToolCallID: "s", Content: result}}
}

// breaches are requests that break one rule each, with a part of the server's refusal. raw is the body of a request
// that the package cannot write.
var breaches = []struct {
	name         string
	rule         chat.Rule
	request      chat.Request
	refused, raw string
	irreparable  bool
}{
	{name: "the assistant begins", rule: provider.RuleFirst, request: ask(chat.AssistantMessage("Hello."), question), refused: "first message must use"},
	{name: "only system messages", rule: chat.RuleLast, request: ask(chat.SystemMessage("Be brief.")), refused: "at least one message"},
	{name: "no messages", rule: chat.RuleLast, request: ask(), refused: "at least one message", irreparable: true},
	{name: "the assistant has the last word", rule: chat.RuleLast, request: ask(question, chat.AssistantMessage("42")), refused: "must end with a user message"},
	{name: "a call without its result", rule: chat.RuleAnswered, request: ask(question, calls("a", "b"), chat.ToolResult("a", "1"), question), refused: "without `tool_result` blocks"},
	{name: "a result after other words", rule: chat.RuleAnswered, request: ask(question, calls("a"), question, chat.ToolResult("a", "1")), refused: "must come first"},
	{name: "a result without its call", rule: chat.RuleOrphan, request: ask(question, chat.ToolResult("a", "1")), refused: "unexpected `tool_use_id`"},
	{name: "a second result", rule: chat.RuleOrphan, request: ask(question, calls("a"), chat.ToolResult("a", "1"), chat.ToolResult("a", "2")), refused: "single result"},
	{name: "empty text", rule: chat.RuleEmpty, request: ask(question, chat.AssistantMessage(""), question), refused: "must be non-empty"},
	{name: "blank text", rule: chat.RuleEmpty, request: ask(user(chat.Text(" \n"), pixel)), refused: "non-whitespace"},
	{name: "blank system text", rule: chat.RuleEmpty, request: ask(chat.SystemMessage("\n"), question), refused: "non-whitespace"},
	{name: "nothing but citations", rule: chat.RuleEmpty, request: ask(question, assistant(opaque(`{"type":"citations","citations":[]}`)), question), refused: "non-empty content"},
	{name: "a result without content", rule: chat.RuleEmpty, request: ask(question, calls("a"), failed(result("a"))), refused: "content cannot be empty"},
	{name: "an id of another provider's form", rule: provider.RuleCallForm, request: ask(question, calls("a.b"), chat.ToolResult("a.b", "1")), refused: "tool_use.id"},
	{name: "a tool's name with a space", rule: provider.RuleCallForm, request: ask(question, named("a b", calls("a")), chat.ToolResult("a", "1")), refused: "tool_use.name"},
	{name: "an id used again", rule: provider.RuleCallUnique, request: ask(question, calls("a"), chat.ToolResult("a", "1"), calls("a"), chat.ToolResult("a", "2")), refused: "must be unique"},
	{name: "an id twice in a message", rule: chat.RuleCallID, request: ask(question, calls("a", "a"), chat.ToolResult("a", "1"), chat.ToolResult("a", "2")), refused: "must be unique"},
	{name: "arguments that are a list", rule: provider.RuleArguments, request: ask(question, arguments(`[1]`, calls("a")), chat.ToolResult("a", "1")), refused: "valid dictionary"},
	{name: "arguments that were cut off", rule: provider.RuleArguments, request: ask(question, arguments(`{"glob":"*.`, calls("a")), chat.ToolResult("a", "1")), refused: "not valid JSON",
		raw: `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_use","id":"a","name":"count","input":{"glob":"*.}]}]}`},
	{name: "an image in a failed result", rule: provider.RuleErrorResult, request: ask(question, calls("a"), failed(result("a", chat.Text("no"), pixel))), refused: "all content must be type"},
	{name: "thinking changed", rule: chat.RuleThinking, request: ask(question, assistant(chat.Thinking{Text: "hm"}, chat.Text("42")), question), refused: "Invalid `signature`"},
	{name: "thinking of another provider", rule: provider.RuleThinkingForm, request: ask(question, assistant(chat.Thinking{Text: "hm", Encrypted: "gAAAA"}, chat.Text("42")), question), refused: "Invalid `data`"},
	{name: "thinking after text", rule: chat.RuleThinking, request: ask(question, assistant(chat.Text("42"), signed), question), refused: "Expected `thinking`"},
	{name: "thinking after another message's text", rule: provider.RuleThinkingMerged, request: ask(question, chat.AssistantMessage("Well."), assistant(signed, chat.Text("42")), question), refused: "Expected `thinking`"},
	{name: "an image in an assistant message", rule: provider.RulePlace, request: ask(question, assistant(chat.Text("Look:"), pixel), question), refused: "not permitted in assistant",
		raw: `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"?"}]},{"role":"assistant","content":[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]},{"role":"user","content":[{"type":"text","text":"?"}]}]}`},
	{name: "an image in the system prompt", rule: provider.RulePlace, request: ask(with(chat.SystemMessage("Be brief."), pixel), question), refused: "Input should be 'text'",
		raw: `{"model":"m","max_tokens":1,"system":[{"type":"image"}],"messages":[{"role":"user","content":[{"type":"text","text":"?"}]}]}`},
	{name: "an image of a kind unknown to the API", rule: provider.RuleMedia, request: ask(user(chat.Image{URL: "data:image/tiff;base64,AAAA"})), refused: "source"},
	{name: "an image at an http address", rule: provider.RuleMedia, request: ask(user(chat.Image{URL: "http://example.com/a.png"})), refused: "source"},
	{name: "a document of a kind unknown to the API", rule: provider.RuleMedia, request: ask(user(chat.NewDocument("application/zip", []byte("PK")))), refused: "source"},
	{name: "another provider's block", rule: provider.RuleOpaque, request: ask(user(opaque(`{"executableCode":{}}`), chat.Text("Well?"))), refused: "does not match any"},
	{name: "a compaction of OpenAI", rule: provider.RuleOpaque, request: ask(user(chat.Text("Well?"), opaque(openAICompaction))), refused: "compaction"},
	{name: "a compaction of OpenAI in an answer", rule: provider.RuleOpaque, request: ask(question, assistant(opaque(openAICompaction), chat.Text("Well.")), question), refused: "compaction"},
	{name: "a compaction without a summary beside words", rule: provider.RuleOpaque, request: ask(user(chat.Text("Well?"), opaque(`{"type":"compaction","encrypted_content":"gAAAA"}`))), refused: "only be in assistant"},
	{name: "a compaction in a user message without words", rule: provider.RuleOpaque, request: ask(question, chat.AssistantMessage("42"), user(pixel, opaque(`{"type":"compaction","content":"It was counted."}`))), refused: "only be in assistant"},
	{name: "a result as an opaque part", rule: provider.RuleOpaque, request: ask(user(opaque(`{"type":"tool_result","tool_use_id":"z"}`), chat.Text("Well?"))), refused: "unexpected `tool_use_id`"},
	{name: "the assistant's block in a user message", rule: provider.RuleOpaque, request: ask(user(opaque(`{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}`), chat.Text("Well?"))), refused: "only be in assistant"},
	{name: "a call of the API's own tool without its result", rule: provider.RuleServerTool, request: ask(question, assistant(searching("s"), chat.Text("Well.")), question), refused: "without a corresponding"},
	{name: "a result of the API's own tool without its call", rule: provider.RuleServerTool, request: ask(question, assistant(found("s"), chat.Text("Well.")), question), refused: "corresponding `server_tool_use` block before it"},
	{name: "a user message between a call of the API's own tool and its result", rule: provider.RuleServerTool, request: ask(question, assistant(searching("s")), question, assistant(found("s"), chat.Text("Well.")), question), refused: "without a corresponding"},
	{name: "an id of the API's own tool used again", rule: provider.RuleServerTool, request: ask(question, assistant(searching("s"), found("s"), searching("s"), found("s"), chat.Text("Well.")), question), refused: "must be unique"},
	{name: "an image of 8,001 pixels", rule: provider.RuleImageSize, request: ask(user(picture(8001, 1))), refused: "max allowed size: 8000 pixels"},
	{name: "an image of 2,001 pixels among 21", rule: provider.RuleImageSize, request: ask(user(slices.Repeat(chat.Parts{picture(1, 2001)}, 21)...)), refused: "many-image requests: 2000 pixels"},
	{name: "101 images", rule: provider.RuleImageCount, request: ask(user(slices.Repeat(chat.Parts{pixel}, 101)...)), refused: "0 document pages + 101 images"},
	{name: "an image of more than 10 MB", rule: provider.RuleImageBytes, request: ask(user(chat.Image{URL: "data:image/png;base64," + strings.Repeat("A", 10<<20+4)}, pixel)),
		refused: "image exceeds 10 MB maximum"},
	{name: "an unknown role", rule: chat.RuleRole, request: ask(chat.Message{Role: "developer", Content: question.Content}, question), refused: "Input should be 'user' or 'assistant'",
		raw: `{"model":"m","max_tokens":1,"messages":[{"role":"developer","content":[{"type":"text","text":"?"}]}]}`},
	{name: "a cache of a type unknown to the API", rule: provider.RuleCacheType, request: ask(user(chat.Text("A"), chat.CacheBreakpoint{Type: "persistent"})), refused: "should be 'ephemeral'",
		raw: `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"A","cache_control":{"type":"persistent"}}]}]}`},
	{name: "five cache breakpoints", rule: provider.RuleCacheCount, request: ask(user(
		chat.Text("A"), chat.CacheBreakpoint{}, chat.Text("B"), chat.CacheBreakpoint{}, chat.Text("C"), chat.CacheBreakpoint{},
		chat.Text("D"), chat.CacheBreakpoint{}, chat.Text("E"), chat.CacheBreakpoint{})), refused: "maximum of 4"},
	{name: "an hour after five minutes", rule: provider.RuleCacheOrder, request: ask(
		with(chat.SystemMessage("Be brief."), chat.CacheBreakpoint{}), with(question, chat.CacheBreakpoint{Lifetime: 1 << 42})), refused: "must not come after"},
	{name: "no tools declared", rule: provider.RuleTools, request: tools(ask(question, calls("a"), chat.ToolResult("a", "1"))), refused: "must define tools"},
	{name: "two tools with the same name", rule: chat.RuleTool, request: tools(ask(question), counting[0], counting[0]), refused: "must be unique"},
	{name: "a schema without a type", rule: provider.RuleToolForm, request: tools(ask(question), chat.Tool{Name: "count", Parameters: json.RawMessage(`{"properties":{}}`)}), refused: "should be 'object'"},
	{name: "a tool's name with a dot", rule: provider.RuleToolForm, request: tools(ask(question), chat.Tool{Name: "a.b"}), refused: "tools.0.custom.name"},
	{name: "a schema that is not an object", rule: chat.RuleTool, request: tools(ask(question), chat.Tool{Name: "a", Parameters: json.RawMessage(`[]`)}), refused: "Field required", irreparable: true},
	{name: "a call required without tools", rule: chat.RuleToolChoice, request: chat.Request{Messages: []chat.Message{question}, Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}}, refused: "only be specified while providing tools",
		raw: `{"model":"m","max_tokens":1,"tool_choice":{"type":"any"},"messages":[{"role":"user","content":[{"type":"text","text":"?"}]}]}`},
	{name: "references to deferred tools", rule: provider.RuleToolSearch, request: ask(search(opaque(`{"type":"tool_reference","tool_name":"rename"}`))...), refused: "not found in available tools"},
	{name: "a search that found a tool that is gone", rule: provider.RuleServerTool, request: tools(ask(question, assistant(searched("rename")...), question), deferred("count")), refused: "not found in available tools"},
	{name: "text that is not UTF-8", rule: provider.RuleUTF8, request: ask(chat.UserMessage("a\xff")), refused: "not valid JSON",
		raw: "{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\xff\"}]}]}"},
	{name: "thinking that is not UTF-8", rule: provider.RuleUTF8, request: ask(question, assistant(chat.Thinking{Text: "\xff", Signature: sign("\xff")}, chat.Text("42")), question), refused: "Invalid `signature`"},
}

func violations(t *testing.T, err error) []chat.Violation {
	return errtest.As[*chat.ValidationError](t, err).Violations
}

func TestTheTestServerRefusesWhatTheAPIRefuses(t *testing.T) {
	s := newServer(t, func(int, request) answer { return say(text("42")) })
	client := s.client()
	for _, c := range breaches {
		t.Run(c.name, func(t *testing.T) {
			if c.raw != "" {
				r, err := http.NewRequest(http.MethodPost, s.URL+"/v1/messages", strings.NewReader(c.raw))
				require.NoError(t, err)
				r.Header.Set("X-Api-Key", "key")
				r.Header.Set("Anthropic-Version", "2023-06-01")
				answer, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				defer answer.Body.Close()
				require.Equal(t, 400, answer.StatusCode)
				var body struct{ Error struct{ Message string } }
				require.NoError(t, json.NewDecoder(answer.Body).Decode(&body))
				require.Contains(t, body.Error.Message, c.refused)
				return
			}
			p := anthropic.Write(c.request)
			p.Model, p.MaxTokens = "claude-test", 100
			_, err := client.Messages.New(t.Context(), p)
			api := errtest.As[*sdk.Error](t, err)
			require.Equal(t, 400, api.StatusCode)
			require.Contains(t, api.RawJSON(), strings.ReplaceAll(c.refused, `"`, `\"`))
		})
	}
}

func TestValidateReportsTheRuleThatIsBroken(t *testing.T) {
	for _, c := range breaches {
		t.Run(c.name, func(t *testing.T) {
			var rules []chat.Rule
			for _, v := range violations(t, anthropic.Validate(c.request)) {
				rules = append(rules, v.Rule)
				require.NotEmpty(t, v.Detail)
			}
			require.Contains(t, rules, c.rule)
			_, err := anthropic.Request(c.request)
			require.Error(t, err)
		})
	}
}

func TestARepairedRequestBreaksNoRule(t *testing.T) {
	client := newServer(t, func(int, request) answer { return say(text("42")) }).client()
	for _, c := range breaches {
		t.Run(c.name, func(t *testing.T) {
			before := c.request
			before.Messages = append([]chat.Message(nil), before.Messages...)
			repaired, changes := anthropic.Repair(c.request)
			require.Empty(t, cmp.Diff(before, c.request), "Repair changed its argument")
			if c.irreparable {
				require.Error(t, anthropic.Validate(repaired))
				return
			}
			require.NotEmpty(t, changes)
			require.NoError(t, anthropic.Validate(repaired), "%v", changes)
			again, more := anthropic.Repair(repaired)
			require.Empty(t, more)
			require.Empty(t, cmp.Diff(repaired, again))
			p, err := anthropic.Request(repaired)
			require.NoError(t, err)
			p.Model, p.MaxTokens = "claude-test", 100
			_, err = client.Messages.New(t.Context(), p)
			require.NoError(t, err, "%v", changes)
		})
	}
}

func TestEachRuleIsTested(t *testing.T) {
	covered := map[chat.Rule]bool{}
	for _, c := range breaches {
		covered[c.rule] = true
	}
	for _, rule := range []chat.Rule{
		chat.RuleEmpty, chat.RuleCallID, chat.RuleAnswered, chat.RuleOrphan, chat.RuleLast, chat.RuleThinking,
		provider.RuleFirst, provider.RuleUTF8, provider.RuleCallForm, provider.RuleCallUnique, provider.RuleArguments,
		provider.RuleErrorResult, provider.RuleThinkingForm, provider.RuleThinkingMerged, provider.RulePlace,
		provider.RuleMedia, provider.RuleOpaque, provider.RuleCacheType, provider.RuleCacheCount,
		provider.RuleCacheOrder, provider.RuleTools, provider.RuleToolForm, chat.RuleTool, chat.RuleToolChoice, provider.RuleImageSize, provider.RuleImageCount, provider.RuleImageBytes, provider.RuleServerTool, provider.RuleToolSearch,
	} {
		require.True(t, covered[rule], "%s", rule)
	}
}

func TestMaxImagesOfAModelAreSent(t *testing.T) {
	for most, want := range map[int]int{0: 95, 600: 120} {
		s := newServer(t, func(int, request) answer { return say(text("42")) })
		m := &anthropic.Model{Client: s.client(), Name: largeWindow, MaxImages: most}
		_, err := m.Generate(t.Context(), ask(user(slices.Repeat(chat.Parts{pixel}, 120)...)))
		require.NoError(t, err)
		sent := 0
		for _, b := range s.last(t).Messages[0].Content {
			if b["type"] == "image" {
				sent++
			}
		}
		require.Equal(t, want, sent)
	}
}
