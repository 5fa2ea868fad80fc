package adkagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/callid"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/internal/framework"
)

// Options of the plugin.
type Options struct {
	// Agent is the name of the agent whose conversation the Compactor has. Other agents' requests stay as they are.
	Agent string
	// Compactor of an agent that has one conversation, see [Conversation]. Either it or Choose is required.
	Compactor *summarize.Compactor
	// Prompt of that conversation, see [Conversation].
	Prompt elements.Node
	// Choose returns the conversation of a request, for several agents or sessions: by ctx.AgentName, ctx.SessionID, and ctx.Branch
	// of agents that run at once. It is called before each request, and returns the same compactor each time. The request of an
	// agent for which it returns none stays as it is.
	Choose func(ctx agent.ReadonlyContext) (Conversation, error)
}

// Conversation is what a run of an agent goes on with.
type Conversation struct {
	// Compactor of the session in which the conversation is kept. Its target's tools are set to those of the agent before each
	// request. The caller closes it, and the session.
	Compactor *summarize.Compactor
	// Prompt that shows the session. The agent's instruction is put before it. Defaults to the conversation alone:
	// [history.Conversation], [history.TurnStart] and [history.TurnRounds].
	Prompt elements.Node
}

// New returns the plugin, for [runner.PluginConfig].Plugins. Runners may share it.
func New(o Options) (*plugin.Plugin, error) {
	switch {
	case (o.Compactor == nil) == (o.Choose == nil):
		return nil, errors.New("adkagent: set either Options.Compactor, for one conversation, or Options.Choose, for many")
	case o.Compactor != nil && o.Agent == "":
		return nil, errors.New("adkagent: set Options.Agent to the name of the agent whose conversation it is")
	}
	p := &mirroring{options: o, steps: map[place]*step{}}
	return plugin.New(plugin.Config{
		Name: "promptree", BeforeModelCallback: p.beforeModel, AfterModelCallback: p.afterModel, OnModelErrorCallback: p.onModelError,
		AfterRunCallback: p.afterRun,
	})
}

type mirroring struct {
	options Options

	mu    sync.Mutex
	steps map[place]*step // of runs that go on
}

// place is where a request is made.
type place struct{ invocation, agent, branch string }

func placeOf(ctx agent.ReadonlyContext) place {
	return place{ctx.InvocationID(), ctx.AgentName(), ctx.Branch()}
}

// conversation returns that of a request, and reports whether it has one.
func (p *mirroring) conversation(ctx agent.ReadonlyContext) (Conversation, bool, error) {
	c := Conversation{p.options.Compactor, p.options.Prompt}
	if p.options.Choose != nil {
		var err error
		if c, err = p.options.Choose(ctx); err != nil {
			return c, false, fmt.Errorf("adkagent: Options.Choose: %w", err)
		}
	} else if ctx.AgentName() != p.options.Agent {
		return c, false, nil
	}
	switch {
	case c.Compactor == nil:
		return c, false, nil
	case c.Compactor.Session == nil:
		return c, false, errors.New("adkagent: the compactor has no session: set Compactor.Session")
	case c.Prompt == nil:
		c.Prompt = framework.Whole(c.Compactor.Session)
	}
	return c, true, nil
}

// step is one request.
type step struct {
	compactor *summarize.Compactor
	prompt    elements.Node
	model     string
	result    *render.Result
	leaf      string // of the session, as the result shows it
	ended     bool   // the answer called no tool
}

func (p *mirroring) step(ctx agent.ReadonlyContext) *step {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps[placeOf(ctx)]
}

// beforeModel records what was said, renders the prompt, which may compact the session, and makes it the request's.
func (p *mirroring) beforeModel(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	c, has, err := p.conversation(ctx)
	if err != nil || !has {
		return nil, err
	}
	if req.Config == nil {
		req.Config = &genai.GenerateContentConfig{}
	}
	said, goOn := withoutGoOn(req.Contents)
	if err := record(ctx, c.Compactor.Session, said); err != nil {
		return nil, err
	}
	tools, err := fromADKTools(req.Config.Tools)
	if err == nil {
		err = framework.Retarget(ctx, c.Compactor, tools)
	}
	if err != nil {
		return nil, err
	}
	if m, ok := c.Compactor.Current().Model.(*adkModel); ok {
		m.declared.Store(&declared{tools, slices.Clone(req.Config.Tools)})
	}
	s := &step{compactor: c.Compactor, model: req.Model}
	if s.prompt, err = tree(req.Config.SystemInstruction, c.Prompt, goOn); err != nil {
		return nil, err
	}
	result, err := c.Compactor.Render(ctx, s.prompt)
	if err == nil {
		err = s.compose(result, req)
	}
	if err != nil {
		return nil, fmt.Errorf("adkagent: composing the prompt: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps[placeOf(ctx)] = s
	return nil, nil
}

// goOnText is what adk puts at the end of a request that would end with the model's own words. It is no part of the conversation.
const goOnText = "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs are needed."

// withoutGoOn returns the conversation in a request, and reports whether goOnText came after it.
func withoutGoOn(contents []*genai.Content) ([]*genai.Content, bool) {
	n := len(contents)
	if n < 2 || contents[n-2].Role == genai.RoleUser {
		return contents, false
	}
	if last := contents[n-1]; len(last.Parts) != 1 || last.Parts[0].Text != goOnText {
		return contents, false
	}
	return contents[:n-1], true
}

// record appends to a session what was said since.
func record(ctx context.Context, s *history.Session, said []*genai.Content) error {
	messages, err := FromADK(said)
	if err != nil {
		return err
	}
	bodies := make([]history.Body, len(messages))
	for i, m := range messages {
		bodies[i] = history.Message{Message: m}
	}
	write, done := callback.Outlive(ctx) // what was said is kept
	defer done()
	known, err := mirrored(s).Align(write, "", bodies)
	if err != nil {
		return fmt.Errorf("adkagent: finding what the session has already: %w", err)
	}
	if err := knownCalls(write, s, messages, known); err != nil {
		return err
	}
	var entries []history.Entry
	for _, m := range messages[known:] {
		entries = append(entries, history.Entry{Body: history.Message{Message: m}})
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := s.Add(write, entries...); err != nil {
		return fmt.Errorf("adkagent: recording what was said: %w", err)
	}
	return nil
}

// mirrored returns a session as the mirror of adk's contents. They have no ids of calls but those of the provider.
func mirrored(s *history.Session) framework.Log {
	return framework.Log{Session: s, SameCall: func(had, said string) bool { return callid.IsNew(had) && callid.IsNew(said) }}
}

// knownCalls gives results that are new the ids which their calls have in the session.
func knownCalls(ctx context.Context, s *history.Session, messages []chat.Message, known int) error {
	if known == len(messages) || known == 0 || messages[known].Role != chat.RoleTool {
		return nil
	}
	last := known - 1
	for last > 0 && messages[last].Role == chat.RoleTool {
		last--
	}
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			return fmt.Errorf("adkagent: finding the calls that were answered: %w", err)
		}
		had := e.Message()
		if had.Role != chat.RoleAssistant {
			continue
		}
		for i := known; i < len(messages) && messages[i].Role == chat.RoleTool; i++ {
			k := slices.IndexFunc(messages[last].ToolCalls, func(c chat.ToolCall) bool { return c.ID == messages[i].ToolCallID })
			if k >= 0 && k < len(had.ToolCalls) {
				messages[i].ToolCallID = had.ToolCalls[k].ID
			}
		}
		return nil
	}
	return nil
}

// tree returns the prompt with adk's instruction before it.
func tree(instruction *genai.Content, prompt elements.Node, goOn bool) (elements.Node, error) {
	list := elements.Nodes{}
	if instruction != nil {
		said, err := FromADK([]*genai.Content{{Role: genai.RoleUser, Parts: instruction.Parts}})
		if err != nil {
			return nil, fmt.Errorf("the instruction: %w", err)
		}
		for _, m := range said {
			if m.Role = chat.RoleSystem; strings.TrimSpace(m.Text()) != "" {
				list = append(list, elements.Message(elements.Props{Required: true}, m))
			}
		}
	}
	list = append(list, prompt)
	if goOn {
		list = append(list, elements.Message(elements.Props{Required: true}, chat.UserMessage(goOnText)))
	}
	return list, nil
}

// compose makes a prompt that was rendered that of a request.
func (s *step) compose(result *render.Result, req *model.LLMRequest) error {
	instruction, contents, err := prompt(result.Messages, s.model)
	if err != nil {
		return err
	}
	s.result, s.leaf = result, s.compactor.Session.Leaf()
	req.Contents, req.Config.SystemInstruction = contents, instruction
	return nil
}

// onModelError answers a refusal of the request as too large with a smaller one.
func (p *mirroring) onModelError(ctx agent.Context, req *model.LLMRequest, refused error) (*model.LLMResponse, error) {
	s := p.step(ctx)
	if s == nil {
		return nil, nil
	}
	m, ok := s.compactor.Current().Model.(*adkModel)
	if !ok {
		return nil, nil // nobody to ask
	}
	for {
		if _, large := summarize.ContextLimit(refused); !large || ctx.Err() != nil {
			return nil, refused
		}
		result, err := s.compactor.Recover(ctx, s.prompt, refused, "")
		if err == nil {
			err = s.compose(result, req)
		}
		if err != nil {
			return nil, fmt.Errorf("adkagent: the request is too large: %w", err)
		}
		var answer *model.LLMResponse
		if answer, refused = ask(ctx, m.llm, req); refused == nil {
			return answer, nil
		}
	}
}

// ask returns the answer to a request in one piece.
func ask(ctx context.Context, m model.LLM, req *model.LLMRequest) (answer *model.LLMResponse, err error) {
	for r, err := range m.GenerateContent(ctx, req, false) {
		if err != nil {
			return nil, err
		}
		answer = r
	}
	if answer == nil {
		return nil, errors.New("adkagent: the answer is empty")
	}
	return answer, nil
}

// afterModel records the answer, with what the provider reported of the request.
func (p *mirroring) afterModel(ctx agent.Context, answer *model.LLMResponse, err error) (*model.LLMResponse, error) {
	s := p.step(ctx)
	if s == nil || err != nil || answer == nil || answer.Partial || answer.Content == nil {
		return nil, nil
	}
	said, err := FromADK([]*genai.Content{{Role: genai.RoleModel, Parts: answer.Content.Parts}})
	if err != nil || len(said) == 0 {
		return nil, err
	}
	session := s.compactor.Session
	write, done := callback.Outlive(ctx) // what was answered is kept
	defer done()
	if err := mirrored(session).Unchanged(write, s.leaf); err != nil {
		return nil, fmt.Errorf("adkagent: recording the answer: %w", err)
	}
	entries := []history.Entry{{Body: history.Message{Message: said[0]}}}
	if usage := s.compactor.Usage(s.result, chat.Response{Usage: usageOf(answer.UsageMetadata)}, ""); usage.Usage != (chat.Usage{}) {
		entries = append(entries, history.Entry{Body: usage})
	}
	if _, err := session.Add(write, entries...); err != nil {
		return nil, fmt.Errorf("adkagent: recording the answer: %w", err)
	}
	s.leaf, s.ended = session.Leaf(), len(said[0].ToolCalls) == 0
	return nil, nil
}

// afterRun does what the policies do after a turn. What goes wrong then is told by the next request.
func (p *mirroring) afterRun(ctx agent.InvocationContext) {
	p.mu.Lock()
	var over []*step
	for at, s := range p.steps {
		if at.invocation == ctx.InvocationID() {
			delete(p.steps, at)
			if s.ended {
				over = append(over, s)
			}
		}
	}
	p.mu.Unlock()
	for _, s := range over {
		_ = framework.AfterTurn(ctx, s.compactor, s.prompt)
	}
}
