package adkagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/internal/toolbox"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// Options configures the plugin.
type Options struct {
	// Agent is the name of the agent whose conversation Compactor holds. Requests of other agents are left unchanged.
	Agent string
	// Compactor of an agent with a single conversation, see [mirror.Mirrored]. Set either this or Choose.
	Compactor *summarize.Compactor
	// Prompt and Tools of that conversation, see [mirror.Mirrored].
	Prompt elements.Node
	Tools  []chat.Toolbox
	// CallLimit is how long a call of one of Tools may take. Defaults to 10 minutes.
	CallLimit time.Duration
	// Choose returns the conversation of a request, for several agents or sessions. Tell them apart by ctx.AgentName
	// and ctx.SessionID, and agents that run in parallel by ctx.Branch. Choose is called before each request and must
	// return the same compactor for the same conversation. If it returns a mirror.Mirrored without a compactor, the
	// request is left unchanged.
	Choose func(ctx agent.ReadonlyContext) (mirror.Mirrored, error)
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
		AfterRunCallback: p.afterRun, OnEventCallback: p.onEvent,
	})
}

// callbacks holds the plugin's callbacks and the steps of runs in progress.
type callbacks struct {
	options Options
	own     conversation // of Options.Compactor

	mu    sync.Mutex
	steps map[requestKey]*step
}

// conversation is a conversation with the mirror of adk's contents.
type conversation struct {
	*mirror.Mirror[*genai.Content]
	model string // of the last request
}

// requestKey identifies an agent's requests within a run.
type requestKey struct{ invocation, agent, branch string }

func keyOf(ctx agent.ReadonlyContext) requestKey {
	return requestKey{ctx.InvocationID(), ctx.AgentName(), ctx.Branch()}
}

// conversation returns the conversation of a request. It has no compactor if there is none.
func (o Options) conversation(ctx agent.ReadonlyContext) (c mirror.Mirrored, err error) {
	if o.Choose != nil {
		if c, err = o.Choose(ctx); err != nil {
			return c, fmt.Errorf("adkagent: Options.Choose: %w", err)
		}
	} else if ctx.AgentName() == o.Agent {
		c = mirror.Mirrored{Compactor: o.Compactor, Prompt: o.Prompt}
	}
	c.Tools = toolbox.Or(c.Tools, o.Tools)
	if c.Compactor != nil && c.Compactor.Session == nil {
		err = errors.New("adkagent: the compactor has no session: set Compactor.Session")
	}
	return c, err
}

// of returns the conversation with its mirror. before is the agent's last step in the run, or nil.
func (c *callbacks) of(conv mirror.Mirrored, before *step) *conversation {
	s := &conversation{}
	switch {
	case conv.Compactor == c.options.Compactor:
		s = &c.own
	case before != nil && before.Compactor == conv.Compactor:
		s = before.conversation
	}
	if s.Mirror == nil {
		from := func(c *genai.Content) ([]chat.Message, error) { return FromADK([]*genai.Content{c}) }
		s.Mirror = &mirror.Mirror[*genai.Content]{Compactor: conv.Compactor, Tools: conv.Tools, From: from, To: s.to, Partial: true}
	}
	return s
}

// to converts a part of a prompt.
func (c *conversation) to(messages []chat.Message) ([]*genai.Content, error) {
	messages = messages[len(systems(messages)):]
	if len(messages) == 0 {
		return nil, nil
	}
	// Gemini's rules hold for whole prompts, which begin and end with a message of the user.
	around := append([]chat.Message{chat.UserMessage(".")}, messages...)
	last := messages[len(messages)-1].Role == chat.RoleAssistant
	if last {
		around = append(around, chat.UserMessage("."))
	}
	o := gemini.OptionsFor(c.model)
	req, _ := gemini.Repair(chat.Request{Messages: around}, o)
	_, contents, err := toADK(req.Messages, o)
	if err != nil {
		return nil, err
	}
	if last {
		contents = contents[:len(contents)-1]
	}
	return contents[1:], nil
}

// systems returns the system messages at the start of a prompt.
func systems(messages []chat.Message) []chat.Message {
	n := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	if n < 0 {
		n = len(messages)
	}
	return messages[:n]
}

// step is one request and its answer.
type step struct {
	*conversation
	ended bool // the answer called no tool
}

func (c *callbacks) step(ctx agent.ReadonlyContext) *step {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps[keyOf(ctx)]
}

// beforeModel records new messages, renders the prompt, which may compact the session, and puts it into the request.
func (c *callbacks) beforeModel(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	conv, err := c.options.conversation(ctx)
	if err != nil || conv.Compactor == nil {
		return nil, err
	}
	if req.Config == nil {
		req.Config = &genai.GenerateContentConfig{}
	}
	s := &step{conversation: c.of(conv, c.step(ctx))}
	s.model, s.Prompt = req.Model, conv.Prompt
	said, continued := withoutContinue(req.Contents)
	if continued {
		if log := conv.Compactor.Session; conv.Prompt == nil {
			conv.Prompt = history.All{Session: log}
		}
		s.Prompt = elements.Nodes{conv.Prompt, elements.Message(elements.Props{Required: true}, chat.UserMessage(continueText))}
	}
	read, err := gemini.ReadContents(nil, req.Config)
	if err != nil {
		return nil, fmt.Errorf("adkagent: %w", err)
	}
	if m, ok := conv.Compactor.Current().Model.(*adkModel); ok {
		m.declared.Store(&declared{read.Tools, slices.Clone(req.Config.Tools)})
	}
	system := ""
	for _, m := range read.Messages { // the instruction
		system += m.Text()
	}
	fitted, err := s.Fit(ctx, mirror.Request[*genai.Content]{System: system, Messages: said, Tools: read.Tools, Shape: &read.Shape})
	if err != nil {
		return nil, fmt.Errorf("adkagent: %w", err)
	}
	s.compose(fitted, req)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps[keyOf(ctx)] = s
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

// compose puts a prompt into a request. System messages of [mirror.Mirrored].Prompt join adk's instruction.
func (s *step) compose(fitted mirror.Fitted[*genai.Content], req *model.LLMRequest) {
	req.Contents = fitted.Messages
	if list := systems(fitted.Result.Messages); len(list) > 1 {
		req.Config.SystemInstruction = &genai.Content{Role: genai.RoleUser}
		for _, m := range list {
			req.Config.SystemInstruction.Parts = append(req.Config.SystemInstruction.Parts, genai.NewPartFromText(m.Text()))
		}
	}
}

// onModelError makes a smaller request if the model refused one as too large.
func (c *callbacks) onModelError(ctx agent.Context, req *model.LLMRequest, refused error) (*model.LLMResponse, error) {
	s := c.step(ctx)
	if s == nil {
		return nil, nil
	}
	m, ok := s.Compactor.Current().Model.(*adkModel)
	if !ok {
		return nil, nil // the target's model does not take requests of adk
	}
	for summarize.Recoverable(refused) && ctx.Err() == nil {
		smaller, err := s.Refit(ctx, refused)
		if err != nil {
			return nil, fmt.Errorf("adkagent: asking with a smaller prompt: %w", err)
		}
		s.compose(smaller, req)
		var answer *model.LLMResponse
		if answer, refused = ask(ctx, m.llm, req); refused == nil {
			return answer, nil
		}
	}
	return nil, refused
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
func (c *callbacks) afterModel(ctx agent.Context, answer *model.LLMResponse, err error) (*model.LLMResponse, error) {
	s := c.step(ctx)
	if s == nil || err != nil || answer == nil || answer.Partial || answer.Content == nil {
		return nil, nil
	}
	said := &genai.Content{Role: genai.RoleModel, Parts: answer.Content.Parts}
	whole, err := s.Answered(ctx, usageOf(answer.UsageMetadata), string(answer.FinishReason), said)
	if err != nil {
		return nil, fmt.Errorf("adkagent: %w", err)
	}
	s.ended = !slices.ContainsFunc(whole[0].Parts, func(p *genai.Part) bool { return p != nil && p.FunctionCall != nil })
	if whole[0] != said { // calls were cut off
		changed := *answer
		changed.Content = whole[0]
		return &changed, nil
	}
	return nil, nil
}

// afterRun compacts after a turn if the policy says so. Errors are dropped here; the next request reports them.
func (c *callbacks) afterRun(ctx agent.InvocationContext) {
	c.mu.Lock()
	var over []*step
	for at, s := range c.steps {
		if at.invocation == ctx.InvocationID() {
			delete(c.steps, at)
			if s.ended {
				over = append(over, s)
			}
		}
	}
	c.mu.Unlock()
	for _, s := range over {
		_ = s.EndTurn(ctx, nil)
	}
}
