package summarize_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// handoff is a summary in the form that most prompts ask for.
const handoff = `# The build of the importer

## Goal
The user wants the importer to build again on all systems, without new dependencies, and its tests to pass in under a minute.

## Course
The build failed in parser.go: a type was renamed in go.mod's newest version of the scanner. You renamed it in parser.go and
lexer.go, ran go build ./... and then go test ./importer, of which two cases failed for line ends on Windows.

## State
It builds. TestLineEnds and TestCarriageReturn still fail; the cause is bufio.ScanLines in reader.go, line 118.

## Next
Replace the scanner in reader.go by one that keeps line ends, and run the tests again.`

// called returns an answer with a text and a call of a tool.
func called(text string, stop chat.StopReason) models.Reply {
	return func(context.Context, chat.Request) (chat.Response, error) {
		m := chat.AssistantMessage(text)
		m.ToolCalls = []chat.ToolCall{{ID: "x", Name: "read", Arguments: `{"path":"config.json"}`}}
		return chat.Response{Message: m, StopReason: stop}, nil
	}
}

const nginx = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.18.0</center>\r\n</body>\r\n</html>\r\n"

// noSummaries are answers without a summary in them, by kind.
var noSummaries = map[string]models.Reply{
	"nothing": models.Say(""), "white space": models.Say(" \n\t\u200b"), "an empty block": models.SaySummary(""), "a dot": models.Say("."),
	"OK": models.Say("OK."), "fine": models.Say("fine"), "OK in a block": models.SaySummary("OK."), "done": models.Say("Done! ✅"), "a heading alone": models.Say("## Goal"),
	"an empty form": models.SaySummary("## Goal\n\n## Course\n\n## State\n\n## Next\n"),

	"a refusal":                models.Say("I'm sorry, but I can't help with that request right now."),
	"a refusal in a block":     models.SaySummary("I cannot help with that."),
	"a refusal with a heading": models.Say("## Summary\n\nI'm unable to assist with that."),
	"a refusal in German":      models.Say("Es tut mir leid, aber dabei kann ich Ihnen leider nicht helfen. Kann ich sonst etwas für Sie tun?"),
	"a refusal in Chinese":     models.Say("抱歉，我无法协助处理该请求。如果您有其他问题，我很乐意为您解答。"),
	"a refusal in Japanese":    models.Say("申し訳ありませんが、そのご要望にはお応えできません。"),
	"a refusal in Arabic":      models.Say("عذراً، لا يمكنني المساعدة في هذا الطلب."),

	"a refusal of some length": models.Say("I'm really sorry, but I'm unable to do this. It seems that the conversation includes material that I can't process, and an account of it might misrepresent what was discussed. If you could tell me which part matters most to you, or share the key points yourself, I'd be more than happy to help you organise them into something useful. Thank you for understanding!"),
	"an error in YAML":         models.Say("error:\n  code: 503\n  message: The model is overloaded. Please try again later.\n  details:\n    - reason: MODEL_CAPACITY_EXHAUSTED\n      domain: llm.example.com\n      metadata: {model: big-model, region: europe-west4, retry_delay: 42s}\n    - description: Quotas and limits\n      url: https://cloud.example.com/quotas\n"),
	"a thought in plain words": models.Say("Okay, so the user wants me to summarise the conversation. Let me think about this carefully. First, I need to understand what it is about. It seems to be about coding. I should look for the main goal, then the decisions, then the files. Hmm, there is quite a lot of material here. Wait, maybe I should first decide on the structure. Let me now write it."),

	"a question":            models.Say("What would you like me to do next?"),
	"questions":             models.Say("Before I write it, could you tell me:\n1. Who will read it?\n2. How long may it be?"),
	"the work goes on":      models.Say("I'll read the config file now."),
	"a call":                called("", chat.StopToolCalls),
	"a call with words":     called("I'll read the config file now.", chat.StopToolCalls),
	"a call with a handoff": called(handoff, chat.StopToolCalls),
	"a call without a stop": called("I go on with the work.", chat.StopEnd),
	"a stop for a call":     stopped(chat.StopToolCalls, handoff),
	"a call in words":       models.Say("<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"config.json\"}}\n</tool_call>"),
	"a call in XML":         models.Say("I go on.\n<function_calls>\n<invoke name=\"read\">\n<parameter name=\"path\">config.json</parameter>\n</invoke>\n</function_calls>"),
	"a call in tokens":      models.Say("<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{\"path\":\"config.json\"}<|tool_call_end|><|tool_calls_section_end|>"),
	"a call by Mistral":     models.Say("[TOOL_CALLS]read{\"path\": \"config.json\"}" + strings.Repeat(" ", 300)),

	"a page":            models.Say(nginx),
	"a page in a block": models.SaySummary(nginx),
	"a long page":       models.Say("<!DOCTYPE html>\n<html lang=\"en-US\">\n<head><title>Just a moment...</title><style>" + strings.Repeat("body{margin:0} ", 80) + "</style></head><body>" + handoff + "</body></html>"),
	"a fragment":        models.Say("<div class=\"cf-error\"><h1>Error 1015</h1><p>You are being rate limited</p></div>" + strings.Repeat("<span class=\"ray\"></span>", 20)),
	"an error in XML":   models.Say("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SlowDown</Code><Message>" + handoff + "</Message></Error>"),
	"an error in JSON":  models.Say(`{"error":{"message":"` + strings.Repeat("The server is overloaded. ", 3) + `","type":"server_error","code":503}}`),
	"JSON":              models.Say(fmt.Sprintf(`{"summary": %q}`, handoff)),
	"JSON in a fence":   models.Say("```json\n{\"type\": \"error\", \"request_id\": \"" + strings.Repeat("0123456789", 30) + "\"}\n```"),
	"a status line":     models.Say("HTTP/1.1 503 Service Unavailable\nContent-Type: text/plain\n\n" + handoff),
	"events":            models.Say("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n" + handoff),
	"an upstream error": models.Say("upstream connect error or disconnect/reset before headers. reset reason: connection termination"),

	"one letter":       models.Say(strings.Repeat("a", 400)),
	"one word":         models.Say(strings.Repeat("the ", 800)),
	"one line":         models.SaySummary(strings.Repeat("And so on, and so on, until the end of it.\n", 60)),
	"dashes":           models.Say(strings.Repeat("-- == ", 200)),
	"NULs":             models.Say(strings.Repeat("\x00", 500)),
	"a text with NULs": models.Say(strings.ReplaceAll(handoff, " ", "\x00")),
	"invalid UTF-8":    models.Say(strings.Repeat("\xff\xfe\xc3(", 200)),
	"a damaged text":   models.Say(strings.ReplaceAll(handoff, "e", "\xe9")),
	"binary":           models.Say("\x7fELF\x02\x01\x01" + strings.Repeat("\x01\x02\x03\x04\x05\x06", 100)),

	"a thought":                 models.Say("<think>\n" + handoff + "\n</think>"),
	"a thought without an end":  models.Say("<think>\n" + handoff),
	"a thought, then OK":        models.Say("<think>\n" + handoff + "\n</think>\nOK."),
	"an analysis":               models.Say("<analysis>\n" + handoff + "\n</analysis>"),
	"a thought by tokens":       models.Say("<|channel|>analysis<|message|>" + handoff + "<|end|>"),
	"a thought without a start": models.Say(handoff + "\n</think>\n\nOK."),

	"cut off":                 stopped(chat.StopMaxTokens, handoff),
	"cut off in the block":    stopped(chat.StopMaxTokens, "<summary>\n"+handoff),
	"cut off after the block": stopped(chat.StopMaxTokens, "<summary>\n"+handoff+"\n</summary>"),
	"filtered":                stopped(chat.StopFiltered, handoff),
	"another end":             stopped("recitation", handoff),
	"the request":             echo,
	"the request in a block": func(ctx context.Context, r chat.Request) (chat.Response, error) {
		return models.SaySummary(r.Messages[len(r.Messages)-1].Text())(ctx, r)
	},
}

// echo answers with the request's own words.
func echo(ctx context.Context, r chat.Request) (chat.Response, error) {
	return models.Say(r.Messages[len(r.Messages)-1].Text())(ctx, r)
}

// judged returns a fixture under a policy that judges, with a history that has to be compacted.
func judged(t *testing.T, name string) fixture {
	d := newFixture(t, chat.UserMessage(task))
	d.Judged = true
	d.Policy = policies.All()[name]
	d.Policy.Ask.Names, d.Policy.Clear = nil, policy.Clear{}
	d.Policy.Cut.Tokens, d.Policy.Cut.Messages, d.Policy.Cut.Rounds, d.Policy.Cut.Share = 700, 0, 0, 0
	d.Target.Budget, d.Target.ContextWindow = 2*budget, 2*budget+1
	files := "parser.go, lexer.go, reader.go"
	for n := range 40 {
		files += fmt.Sprintf(", part%d.go", n)
	}
	list := rounds(1, 12, roundTokens-100)
	for i := 0; i < len(list); i += 2 {
		list[i].Content = chat.Parts{chat.Text(files)}
	}
	d.Say(list...)
	return d
}

func TestAnAnswerWithoutTheFormOfASummaryIsNeverPutInPlace(t *testing.T) {
	require.GreaterOrEqual(t, len(noSummaries), 60)
	for i, kind := range slices.Sorted(maps.Keys(noSummaries)) {
		for n, name := range policies.Names() {
			if (i+n)%2 == 1 && !extremes.All() {
				continue
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				d := judged(t, name)
				d.Always(noSummaries[kind])
				_, _ = d.Render(t.Context(), prompt(d.Session))
				require.NotEmpty(t, d.Requests())
				require.Empty(t, compactions(d.Session))
				d.Always(models.SaySummary(handoff))
				d.Compacted()
				require.Contains(t, compactions(d.Session)[0].Text, "bufio.ScanLines in reader.go, line 118")
				require.Empty(t, compactions(d.Session)[0].Doubt)
			})
		}
	}
}

// plain is a summary without any form, of some length.
var plain = strings.NewReplacer("#", "", "<", "", ">", "").Replace(handoff)

func TestOfDoubtfulAnswersTheBestIsUsedOnceEveryWayWasTried(t *testing.T) {
	for _, c := range []struct {
		policy      string
		step        models.Reply
		asks        int
		doubt, text string
	}{
		{"copilot-chat", models.Say(handoff), 2, "not in <summary>", "line 118"},
		{"copilot-chat", called("<summary>\n"+handoff+"\n</summary>", chat.StopToolCalls), 2, "calls a tool beside it", "line 118"},
		{"frugal", models.Say("<summary>\n" + handoff), 1, "not in <summary>", "line 118"},
		{"copilot-cli", models.Say(plain), 1, "no heading", "line 118"},
		{"oh-my-pi", models.Say(plain), 1, "no heading", "line 118"},
		{"stagewise", models.Say(plain), 1, "no heading", "line 118"},
		{"a3s", models.Say(handoff[:240]), 1, "240 characters, and far too short", "The build of the importer"},
	} {
		t.Run(c.policy+"/"+c.doubt, func(t *testing.T) {
			d := judged(t, c.policy)
			d.Target.ContextWindow = 4 * budget // one request suffices
			d.Always(c.step)
			d.Messages()
			made := compactions(d.Session)[0]
			require.Contains(t, made.Text, c.text)
			require.Contains(t, made.Doubt, c.doubt)
			for _, e := range *d.Heard {
				if e.Kind == event.Done {
					require.Equal(t, made.Doubt, e.Doubt)
				}
			}
			asks := 0
			for _, r := range d.Requests() {
				if !strings.Contains(r.Messages[len(r.Messages)-1].Text(), "one short sentence") {
					asks++
				}
			}
			require.Equal(t, c.asks, asks)
		})
	}
}

func TestAnAnswerWithItsFormIsPreferredToADoubtfulOne(t *testing.T) {
	d := judged(t, "copilot-chat")
	d.Target.ContextWindow = 4 * budget
	d.Answers(models.Say(handoff+"\n\n## Much longer\n\n"+plain), models.SaySummary(handoff))
	d.Messages()
	require.Equal(t, handoff, compactions(d.Session)[0].Text)
	require.Empty(t, compactions(d.Session)[0].Doubt)
}

func TestADoubtfulAnswerToASegmentIsContinued(t *testing.T) {
	d := judged(t, "copilot-cli")
	d.Target.ContextWindow = 0
	d.Policy.Ask.Names = []string{"small"}
	d.Models = map[string]policy.Target{"small": {Model: d.Script, ContextWindow: 6000, Tokenizer: quarter{}}}
	d.Target.Model = chat.ModelFunc(models.Fail(errDown))
	d.Always(models.Say(plain))
	d.Messages()
	require.Contains(t, compactions(d.Session)[0].Doubt, "no heading")
	n := len(d.Requests())
	require.Greater(t, n, 1)
	last := d.Requests()[n-1].Messages
	require.Contains(t, last[len(last)-1].Text(), "line 118", "it goes on from the segment before")
}

func TestASummaryMayRepeatThatOfABranch(t *testing.T) {
	for _, name := range policies.Names() {
		d := judged(t, name)
		d.Always(models.SaySummary(handoff))
		for range 2 {
			branch, err := d.Navigate(t.Context(), "e1", summarize.Navigation{Summarize: true})
			require.NoError(t, err, name)
			require.NotNil(t, branch, name)
			d.Say(chat.UserMessage(words(800)), chat.AssistantMessage(words(800)), chat.UserMessage(words(800)), chat.AssistantMessage("OK."))
			d.Compacted()
		}
	}
}

func TestSummariesOfHooksAreNotJudged(t *testing.T) {
	d := judged(t, "copilot-cli")
	d.Hooks.BeforeCompact = func(context.Context, policy.Occasion, policy.Material) (summarize.Intervention, error) {
		return summarize.Intervention{Summary: &entry.Summary{Text: "OK."}}, nil
	}
	d.Messages()
	require.Equal(t, "OK.", compactions(d.Session)[0].Text)
}
