package adkagent

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"google.golang.org/adk/v2/model"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/summarize/internal/modelerr"
)

// Model returns a model of adk as a [chat.Model], so that summaries are asked for from the model that the agent has. A request is
// mended as [gemini.Repair] does it.
//
// An error that says that the request is too large ([summarize.ContextLimit]) is a [*chat.ContextLimitError]. A lost
// connection and an HTTP status of 408, 409, 425, 429 or 500 and more is a [*chat.TransientError]. That of a context that ended is
// its cause. All wrap the model's own.
func Model(m model.LLM) chat.Model { return &adkModel{llm: m} }

type adkModel struct {
	llm model.LLM
	// declared are the tools of the agent that was last seen to ask this model.
	declared atomic.Pointer[declared]
}

// declared are tools, and what they were made of.
type declared struct {
	ours   []chat.Tool
	theirs []*genai.Tool
}

// Generate asks the model.
func (m *adkModel) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	options := gemini.OptionsFor(m.llm.Name())
	req, _ = gemini.Repair(req, options)
	contents, config, err := gemini.Request(req, options)
	if err != nil {
		return chat.Response{}, err
	}
	restoreResults(contents)
	if d := m.declared.Load(); d != nil && len(req.Tools) > 0 && reflect.DeepEqual(d.ours, req.Tools) {
		config.Tools = d.theirs // which the provider's cache knows
	}
	var a answer
	var failed error
	for r, err := range m.llm.GenerateContent(ctx, &model.LLMRequest{Model: m.llm.Name(), Contents: contents, Config: config}, req.Stream != nil) {
		if err != nil {
			failed = modelerr.Named(ctx, "adkagent", err)
			break
		}
		a.add(r, req.Stream)
	}
	response, err := a.response()
	if failed != nil {
		return response, failed
	}
	return response, err
}

// answer gathers what a model says in answer to a request.
type answer struct {
	last   *model.LLMResponse // of those that are whole
	parts  []*genai.Part
	usage  *genai.GenerateContentResponseUsageMetadata
	calls  int
	finish genai.FinishReason
}

// add takes the next response. Pieces are passed on, and come again in a response that is whole.
func (a *answer) add(r *model.LLMResponse, stream func(chat.Delta)) {
	if r == nil {
		return
	}
	if r.UsageMetadata != nil {
		a.usage = r.UsageMetadata
	}
	if r.FinishReason != "" {
		a.finish = r.FinishReason
	}
	if r.Partial {
		if r.Content != nil {
			tell(r.Content.Parts, stream)
		}
		return
	}
	a.last = r
	if r.Content == nil {
		return
	}
	for _, p := range r.Content.Parts {
		if p != nil && p.FunctionCall != nil && stream != nil { // which come whole
			a.call(p, stream)
		}
	}
	a.parts = append(a.parts, r.Content.Parts...)
}

// tell passes on texts and thoughts.
func tell(parts []*genai.Part, stream func(chat.Delta)) {
	for _, p := range parts {
		switch {
		case stream == nil || p == nil || p.Text == "":
		case p.Thought:
			stream(chat.Thinking{Text: p.Text})
		default:
			stream(chat.Text(p.Text))
		}
	}
}

// call passes on a call, with the id that it has in the response.
func (a *answer) call(p *genai.Part, stream func(chat.Delta)) {
	m, err := fromModel(&genai.Content{Parts: []*genai.Part{p}})
	if err != nil {
		return // the answer is refused at its end
	}
	call := m.ToolCalls[0]
	p.FunctionCall.ID = call.ID
	stream(chat.CallDelta{Index: a.calls, ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	a.calls++
}

// response returns the answer as ours.
func (a *answer) response() (chat.Response, error) {
	whole := &genai.GenerateContentResponse{UsageMetadata: a.usage}
	if a.last == nil {
		return chat.Response{Usage: usageOf(a.usage)}, &chat.TransientError{Err: errors.New("adkagent: the answer is empty")}
	}
	if len(a.parts) == 0 && a.finish == "" && a.last.ErrorCode != "" {
		whole.PromptFeedback = &genai.GenerateContentResponsePromptFeedback{BlockReason: genai.BlockedReason(a.last.ErrorCode)}
	} else {
		if a.finish == "" {
			a.finish = genai.FinishReasonStop
		}
		whole.Candidates = []*genai.Candidate{{
			Content: &genai.Content{Role: genai.RoleModel, Parts: a.parts}, FinishReason: a.finish, FinishMessage: a.last.ErrorMessage,
		}}
	}
	return gemini.Response(whole)
}

// usageOf returns what a model reported of a request.
func usageOf(u *genai.GenerateContentResponseUsageMetadata) chat.Usage {
	if u == nil {
		return chat.Usage{}
	}
	r, _ := gemini.Response(&genai.GenerateContentResponse{UsageMetadata: u, Candidates: []*genai.Candidate{{FinishReason: genai.FinishReasonStop}}})
	return r.Usage
}
