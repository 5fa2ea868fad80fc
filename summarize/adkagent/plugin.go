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
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/callid"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/internal/framework"
)

// Options configures the plugin.
type Options struct {
	// Agent is the name of the agent whose conversation Compactor holds. Requests of other agents are left unchanged.
	Agent string
	// Compactor of an agent with a single conversation, see [Conversation]. Set either this or Choose.
	Compactor *summarize.Compactor
	// Prompt of that conversation, see [Conversation].
	Prompt elements.Node
	// Choose returns the conversation of a request, for several agents or sessions. Tell them apart by ctx.AgentName
	// and ctx.SessionID, and agents that run in parallel by ctx.Branch. Choose is called before each request and must
	// return the same compactor for the same conversation. If it returns a Conversation without a compactor, the
	// request is left unchanged.
	Choose func(ctx agent.ReadonlyContext) (Conversation, error)
}

// Conversation is an agent's conversation and the prompt that shows it.
type Conversation struct {
	// Compactor of the session that keeps the conversation. Before each request the plugin sets the tools of its target
	// to those of the agent. The caller closes it, and the session.
	Compactor *summarize.Compactor
	// Prompt that shows the session. The agent's instruction comes before it. Defaults to the conversation alone:
	// [history.Conversation], [history.TurnStart] and [history.TurnRounds].
	Prompt elements.Node
}

// New returns the plugin, for the Plugins of a runner.PluginConfig. Several runners may share it.
func New(o Options) (*plugin.Plugin, error) {
	switch {
	case (o.Compactor == nil) == (o.Choose == nil):
		return nil, errors.New("adkagent: set either Options.Compactor, for one conversation, or Options.Choose, for several")
	case o.Compactor != nil && o.Agent == "":
		return nil, errors.New("adkagent: set Options.Agent to the name of the agent whose conversation it is")
	}
	p := &callbacks{options: o, steps: map[requestKey]*step{}}
	return plugin.New(plugin.Config{
		Name: "promptree", BeforeModelCallback: p.beforeModel, AfterModelCallback: p.afterModel, OnModelErrorCallback: p.onModelError,
		AfterRunCallback: p.afterRun,
	})
}

// callbacks holds the plugin's callbacks and the steps of runs in progress.
type callbacks struct {
	options Options

	mu    sync.Mutex
	steps map[requestKey]*step
}

// requestKey identifies an agent's requests within a run.
type requestKey struct{ invocation, agent, branch string }

func keyOf(ctx agent.ReadonlyContext) requestKey {
	return requestKey{ctx.InvocationID(), ctx.AgentName(), ctx.Branch()}
}

// conversation returns the conversation of a request, and reports whether there is one.
func (p *callbacks) conversation(ctx agent.ReadonlyContext) (Conversation, bool, error) {
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

// step is one request and its answer.
type step struct {
	compactor *summarize.Compactor
	prompt    elements.Node
	model     string
	result    *render.Result
	leaf      string // the session's leaf when the prompt was rendered
	ended     bool   // the answer called no tool
}

func (p *callbacks) step(ctx agent.ReadonlyContext) *step {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps[keyOf(ctx)]
}

// beforeModel records new messages, renders the prompt, which may compact the session, and puts it into the request.
func (p *callbacks) beforeModel(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	c, has, err := p.conversation(ctx)
	if err != nil || !has {
		return nil, err
	}
	if req.Config == nil {
		req.Config = &genai.GenerateContentConfig{}
	}
	said, continued := withoutContinue(req.Contents)
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
	if s.prompt, err = promptTree(req.Config.SystemInstruction, c.Prompt, continued); err != nil {
		return nil, err
	}
	result, err := c.Compactor.RenderOrWait(ctx, s.prompt)
	if err == nil {
		err = s.compose(result, req)
	}
	if err != nil {
		return nil, fmt.Errorf("adkagent: composing the prompt: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps[keyOf(ctx)] = s
	return nil, nil
}

// continueText is the user text that adk adds to a request that would otherwise end with a message of the model. It is
// not part of the conversation.
const continueText = "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs are needed."

// withoutContinue returns a request's contents without a final continueText, and reports whether there was one.
func withoutContinue(contents []*genai.Content) ([]*genai.Content, bool) {
	n := len(contents)
	if n < 2 || contents[n-2].Role == genai.RoleUser {
		return contents, false
	}
	if last := contents[n-1]; len(last.Parts) != 1 || last.Parts[0].Text != continueText {
		return contents, false
	}
	return contents[:n-1], true
}

// record appends to a session those contents that it does not have yet.
func record(ctx context.Context, s *history.Session, said []*genai.Content) error {
	messages, err := FromADK(said)
	if err != nil {
		return err
	}
	bodies := make([]entry.Body, len(messages))
	for i, m := range messages {
		bodies[i] = entry.Message{Message: m}
	}
	write, done := callback.Outlive(ctx) // record even if the run is cancelled
	defer done()
	known, err := logOf(s).Align(write, "", bodies)
	if err != nil {
		return fmt.Errorf("adkagent: comparing the conversation with the session: %w", err)
	}
	if err := reuseCallIDs(write, s, messages, known); err != nil {
		return err
	}
	if err := s.Append(write, messages[known:]...); err != nil {
		return fmt.Errorf("adkagent: recording new messages: %w", err)
	}
	return nil
}

// logOf returns a session as a log of adk's contents. Their calls have an id only if the provider gave one, so two
// ids that were made up here may belong to the same call.
func logOf(s *history.Session) framework.Log {
	return framework.Log{Session: s, SameCall: func(had, said string) bool { return callid.IsNew(had) && callid.IsNew(said) }}
}

// reuseCallIDs sets the call ids of new tool results to the ids that the session has for those calls.
func reuseCallIDs(ctx context.Context, s *history.Session, messages []chat.Message, known int) error {
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

// promptTree returns the prompt with adk's instruction before it.
func promptTree(instruction *genai.Content, prompt elements.Node, continued bool) (elements.Node, error) {
	list := elements.Nodes{}
	if instruction != nil {
		var r reader
		if err := r.content(&genai.Content{Role: genai.RoleUser, Parts: instruction.Parts}); err != nil {
			return nil, fmt.Errorf("adkagent: the instruction: %w", err)
		}
		for _, m := range r.messages {
			if m.Role = chat.RoleSystem; strings.TrimSpace(m.Text()) != "" {
				list = append(list, elements.Message(elements.Props{Required: true}, m))
			}
		}
	}
	list = append(list, prompt)
	if continued {
		list = append(list, elements.Message(elements.Props{Required: true}, chat.UserMessage(continueText)))
	}
	return list, nil
}

// compose puts a rendered prompt into a request.
func (s *step) compose(result *render.Result, req *model.LLMRequest) error {
	instruction, contents, err := prompt(result.Messages, s.model)
	if err != nil {
		return err
	}
	s.result, s.leaf = result, s.compactor.Session.Leaf()
	req.Contents, req.Config.SystemInstruction = contents, instruction
	return nil
}

// onModelError makes a smaller request if the model refused one as too large.
func (p *callbacks) onModelError(ctx agent.Context, req *model.LLMRequest, refused error) (*model.LLMResponse, error) {
	s := p.step(ctx)
	if s == nil {
		return nil, nil
	}
	m, ok := s.compactor.Current().Model.(*adkModel)
	if !ok {
		return nil, nil // the target's model does not take requests of adk
	}
	for {
		if !summarize.Recoverable(refused) || ctx.Err() != nil {
			return nil, refused
		}
		result, err := s.compactor.Recover(ctx, s.prompt, refused, "")
		if err == nil {
			err = s.compose(result, req)
		}
		if err != nil {
			return nil, fmt.Errorf("adkagent: asking with a smaller prompt: %w", err)
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

// afterModel records the answer and the usage that the provider reported.
func (p *callbacks) afterModel(ctx agent.Context, answer *model.LLMResponse, err error) (*model.LLMResponse, error) {
	s := p.step(ctx)
	if s == nil || err != nil || answer == nil || answer.Partial || answer.Content == nil {
		return nil, nil
	}
	said, err := FromADK([]*genai.Content{{Role: genai.RoleModel, Parts: answer.Content.Parts}})
	if err != nil || len(said) == 0 {
		return nil, err
	}
	session := s.compactor.Session
	write, done := callback.Outlive(ctx) // record even if the run is cancelled
	defer done()
	if err := logOf(session).Unchanged(write, s.leaf); err != nil {
		return nil, fmt.Errorf("adkagent: recording the answer: %w", err)
	}
	entries := []entry.Entry{
		{Body: entry.Message{Message: said[0]}},
		{Body: s.compactor.Usage(s.result, chat.Response{Usage: usageOf(answer.UsageMetadata)}, "")},
	}
	if _, err := session.Add(write, entries...); err != nil {
		return nil, fmt.Errorf("adkagent: recording the answer: %w", err)
	}
	s.leaf, s.ended = session.Leaf(), len(said[0].ToolCalls) == 0
	return nil, nil
}

// afterRun compacts after a turn if the policy says so. Errors are dropped here; the next request reports them.
func (p *callbacks) afterRun(ctx agent.InvocationContext) {
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
