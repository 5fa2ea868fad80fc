package einoagent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/cloudwego/eino/schema/claude"
	"github.com/cloudwego/eino/schema/openai"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

// scriptedAgentic is a model of agentic messages whose answers a function returns.
type scriptedAgentic struct {
	answer   func(n int, messages []*schema.AgenticMessage) (*schema.AgenticMessage, error)
	requests [][]*schema.AgenticMessage
}

func (s *scriptedAgentic) Generate(_ context.Context, messages []*schema.AgenticMessage, _ ...model.Option) (*schema.AgenticMessage, error) {
	s.requests = append(s.requests, messages)
	return s.answer(len(s.requests)-1, messages)
}

func (s *scriptedAgentic) Stream(ctx context.Context, messages []*schema.AgenticMessage, opts ...model.Option) (*schema.StreamReader[*schema.AgenticMessage], error) {
	answer, err := s.Generate(ctx, messages, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.AgenticMessage{answer}), nil
}

// thinks returns an answer of several blocks, which calls the tool read for each file.
func thinks(files ...string) *schema.AgenticMessage {
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
		schema.NewContentBlock(&schema.Reasoning{Text: "What is there?", Signature: "signed"}),
		schema.NewContentBlock(&schema.ServerToolCall{Name: "web_search", CallID: "srv_1", Arguments: map[string]any{"query": "linker"}}),
		schema.NewContentBlock(&schema.AssistantGenText{Text: "I look.", OpenAIExtension: &openai.AssistantGenTextExtension{Refusal: &openai.OutputRefusal{Reason: "no"}}}),
	}, ResponseMeta: &schema.AgenticResponseMeta{TokenUsage: &schema.TokenUsage{PromptTokens: 100, CompletionTokens: 10}}}
	for _, f := range files {
		call := schema.NewContentBlock(&schema.FunctionToolCall{CallID: "call_" + f, Name: "read", Arguments: fmt.Sprintf(`{"path":%q}`, f)})
		call.Extra = map[string]any{"thought_signature": []byte("signed " + f)}
		m.ContentBlocks = append(m.ContentBlocks, call)
	}
	return m
}

func agenticAgent(t testing.TB, c *summarize.Compactor, m model.AgenticModel) *adk.TypedRunner[*schema.AgenticMessage] {
	t.Helper()
	middleware, err := einoagent.NewAgentic(einoagent.Options{Compactor: c})
	require.NoError(t, err)
	config := &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{
		Name: "coder", Description: "works", Instruction: instruction, Model: m, MaxIterations: 1000,
		Handlers: []adk.TypedChatModelAgentMiddleware[*schema.AgenticMessage]{middleware},
	}
	config.ToolsConfig.Tools = []tool.BaseTool{readTool(t, nil)}
	a, err := adk.NewTypedChatModelAgent(t.Context(), config)
	require.NoError(t, err)
	return adk.NewTypedRunner(adk.TypedRunnerConfig[*schema.AgenticMessage]{Agent: a})
}

func runAgentic(t testing.TB, r *adk.TypedRunner[*schema.AgenticMessage], text string) {
	t.Helper()
	events := r.Run(t.Context(), []*schema.AgenticMessage{schema.UserAgenticMessage(text)})
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		require.NoError(t, event.Err)
	}
}

func TestAnAgentOfAgenticMessagesFinishesItsRunsAcrossCompactions(t *testing.T) {
	session, path := compacttest.InFile(t)
	m := &scriptedAgentic{answer: func(n int, _ []*schema.AgenticMessage) (*schema.AgenticMessage, error) {
		if n%21 == 20 {
			m := thinks()
			m.ContentBlocks = m.ContentBlocks[2:]
			return m, nil
		}
		return thinks(fmt.Sprintf("a%d.go", n), fmt.Sprintf("b%d.go", n)), nil
	}}
	runAgentic(t, agenticAgent(t, compacttest.Offline(t, session), m), question)
	require.Equal(t, "1 users, 21 answers, 40 results, compacted", compacttest.Counts(t, session))
	require.NoError(t, session.Close())

	session = sessiontest.Opened(t, path) // another process, which is passed only the new question
	runAgentic(t, agenticAgent(t, compacttest.Offline(t, session), m), "and now?")
	require.Equal(t, "2 users, 42 answers, 80 results, compacted", compacttest.Counts(t, session))
	for _, request := range m.requests {
		require.Equal(t, schema.AgenticRoleTypeSystem, request[0].Role)
		open := map[string]bool{}
		for _, e := range request {
			for _, b := range e.ContentBlocks {
				if b.FunctionToolCall != nil {
					open[b.FunctionToolCall.CallID] = true
					require.NotEmpty(t, b.Extra["thought_signature"], "extras are sent back")
				}
				if r := b.FunctionToolResult; r != nil {
					require.True(t, open[r.CallID])
					require.Equal(t, "read", r.Name)
					delete(open, r.CallID)
				}
			}
		}
		require.Empty(t, open)
	}
	all := fmt.Sprint(m.requests[41])
	require.Contains(t, all, "and now?")
	require.Contains(t, all, "linker", "a call that the provider answers itself")
}

func TestCallsOfAgenticAnswersThatWereCutOffAreNotMade(t *testing.T) {
	session := &history.Session{}
	m := &scriptedAgentic{answer: func(int, []*schema.AgenticMessage) (*schema.AgenticMessage, error) {
		answer := thinks("a.go")
		answer.ResponseMeta.ClaudeExtension = &claude.ResponseMetaExtension{StopReason: "max_tokens"}
		return answer, nil
	}}
	runAgentic(t, agenticAgent(t, compacttest.Offline(t, session), m), question)
	require.Equal(t, "1 users, 1 answers, 0 results, not compacted", compacttest.Counts(t, session))
}

func TestAgenticMessagesAreRestoredFromASession(t *testing.T) {
	session := &history.Session{}
	first := thinks("a.go")
	user := schema.UserAgenticMessage("look")
	user.ContentBlocks = append(user.ContentBlocks,
		schema.NewContentBlock(&schema.UserInputImage{Base64Data: "AAAA", MIMEType: "image/png"}),
		schema.NewContentBlock(&schema.UserInputImage{URL: "https://example.com/a.png", Detail: schema.ImageURLDetailLow}),
		schema.NewContentBlock(&schema.UserInputFile{Base64Data: "AAAA", MIMEType: "application/pdf", Name: "a.pdf"}),
		schema.NewContentBlock(&schema.UserInputAudio{URL: "https://example.com/a.mp3"}),
	)
	m := &scriptedAgentic{answer: func(n int, _ []*schema.AgenticMessage) (*schema.AgenticMessage, error) {
		if n == 0 {
			return first, nil
		}
		return &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{schema.NewContentBlock(&schema.AssistantGenText{Text: "done"})}}, nil
	}}
	compactor := compacttest.Offline(t, session)
	compactor.Target.Budget = 100_000
	r := agenticAgent(t, compactor, m)
	events := r.Run(t.Context(), []*schema.AgenticMessage{user})
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		require.NoError(t, event.Err)
	}
	runAgentic(t, r, "again") // without what was said before
	sent := m.requests[2]
	require.Len(t, sent, 6)
	require.Equal(t, user.ContentBlocks, sent[1].ContentBlocks)
	require.ElementsMatch(t, first.ContentBlocks, sent[2].ContentBlocks)
	require.Equal(t, compacttest.FileContent("a.go"), sent[3].ContentBlocks[0].FunctionToolResult.Content[0].Text.Text)
}

// A value of an odd type, such as the int of a search, must not hide the texts beside it from those who redact.
func TestTextsOfBlocksAreRedactedWhateverIsBesideThem(t *testing.T) {
	session := compacttest.Redacting(t)
	m := &scriptedAgentic{answer: func(int, []*schema.AgenticMessage) (*schema.AgenticMessage, error) {
		return &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
			schema.NewContentBlock(&schema.ServerToolCall{Name: "web_search", Arguments: map[string]any{"query": "who has sk-123?", "most": 7}}),
			schema.NewContentBlock(&schema.MCPToolCall{Name: "look", Arguments: "sk-456"}),
			schema.NewContentBlock(&schema.AssistantGenText{Text: "It is sk-789.", Extension: map[string]any{"of": []any{"sk-000", int64(1) << 60}}}),
		}}, nil
	}}
	c := compacttest.Offline(t, session)
	c.Target.Budget = 100_000
	r := agenticAgent(t, c, m)
	runAgentic(t, r, question)
	runAgentic(t, r, "and now?") // without what was said before
	kept := m.requests[1][2].ContentBlocks
	require.Len(t, kept, 3)
	sent := sure.JSON(t, kept)
	require.NotContains(t, string(sent), "sk-")
	require.Contains(t, string(sent), "who has [key]?")
	require.Equal(t, 7, kept[0].ServerToolCall.Arguments.(map[string]any)["most"])
}

func TestBlocksOfEachKindAreRestoredFromASession(t *testing.T) {
	var fill func(r *rand.Rand, v reflect.Value, depth int)
	fill = func(r *rand.Rand, v reflect.Value, depth int) {
		switch v.Kind() {
		case reflect.Struct:
			for _, f := range v.Fields() {
				if f.CanSet() && f.Type() != reflect.TypeFor[*schema.StreamingMeta]() {
					fill(r, f, depth)
				}
			}
		case reflect.Pointer:
			if s := v.Type().String(); !strings.Contains(s, "jsonschema") && !strings.Contains(s, "ParamsOneOf") && (depth == 0 || r.IntN(2) == 0) {
				v.Set(reflect.New(v.Type().Elem()))
				fill(r, v.Elem(), depth+1)
			}
		case reflect.Slice:
			if v.Type().Elem().Kind() != reflect.Uint8 && r.IntN(2) == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				fill(r, v.Index(0), depth+1)
			}
		case reflect.Map, reflect.Interface:
			odd := map[string]any{"n": 7, "s": "text", "b": []byte{0, 255}, "in": map[string]any{"of": int64(1) << 60}}
			if r.IntN(2) == 0 && reflect.TypeOf(odd).AssignableTo(v.Type()) {
				v.Set(reflect.ValueOf(odd))
			}
		case reflect.String:
			v.SetString([]string{"a", "<b>", "größe"}[r.IntN(3)])
		case reflect.Int, reflect.Int64:
			v.SetInt(r.Int64N(1 << 20))
		case reflect.Float64:
			v.SetFloat(r.Float64())
		case reflect.Bool:
			v.SetBool(r.IntN(2) == 0)
		}
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		answer := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
		for kind := range reflect.TypeFor[schema.ContentBlock]().Fields() {
			if kind.Type.Kind() != reflect.Pointer || regexp.MustCompile("^(StreamingMeta|Reasoning|UserInput.*|Function.*)$").MatchString(kind.Name) {
				continue
			}
			name, _, _ := strings.Cut(kind.Tag.Get("json"), ",") // as the type is named
			block := &schema.ContentBlock{Type: schema.ContentBlockType(name)}
			fill(r, reflect.ValueOf(block).Elem().FieldByIndex(kind.Index), 0)
			if r.IntN(2) == 0 {
				block.Extra = map[string]any{"signature": signature{[]byte("s")}, "n": 3}
			}
			answer.ContentBlocks = append(answer.ContentBlocks, block)
		}
		session, path := compacttest.InFile(t)
		m := &scriptedAgentic{answer: func(int, []*schema.AgenticMessage) (*schema.AgenticMessage, error) { return answer, nil }}
		c := compacttest.Offline(t, session)
		c.Target.Budget = 100_000
		runAgentic(t, agenticAgent(t, c, m), question)
		require.NoError(t, session.Close())
		c = compacttest.Offline(t, sessiontest.Opened(t, path))
		c.Target.Budget = 100_000
		runAgentic(t, agenticAgent(t, c, m), "and now?")
		require.Equal(t, answer.ContentBlocks, m.requests[1][2].ContentBlocks)
	}
}

func TestAModelOfAgenticMessagesWritesSummaries(t *testing.T) {
	inner := &scriptedAgentic{answer: func(int, []*schema.AgenticMessage) (*schema.AgenticMessage, error) {
		m := thinks("a.go")
		m.ContentBlocks[3].FunctionToolCall.CallID = ""
		return m, nil
	}}
	streamed := ""
	answer, err := einoagent.AgenticModel(inner).Generate(t.Context(), chat.Request{
		Messages: []chat.Message{chat.SystemMessage("s"), chat.UserMessage("u")}, MaxTokens: 100,
		Stream: func(d chat.Delta) { streamed += string(d.(chat.Text)) },
	})
	require.NoError(t, err)
	require.Equal(t, "I look.", answer.Message.Text())
	require.Equal(t, "I look.", streamed)
	require.NotEmpty(t, answer.Message.ToolCalls[0].ID)
	require.Equal(t, chat.StopToolCalls, answer.StopReason)
	require.Equal(t, chat.Usage{Input: 100, Output: 10}, answer.Usage)
	require.Equal(t, "s u", strings.Join([]string{inner.requests[0][0].ContentBlocks[0].UserInputText.Text, inner.requests[0][1].ContentBlocks[0].UserInputText.Text}, " "))
}
