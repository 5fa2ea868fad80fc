package adkagent

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"google.golang.org/adk/v2/model"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/summarize/internal/modelerr"
)

// Model returns a model of adk as a [chat.Model], so that the agent's own model can write the summaries. Requests are
// repaired by [gemini.Repair].
//
// A refusal as too large ([summarize.ContextLimit]) is a [*chat.ContextLimitError]. A lost connection and an HTTP
// status of 408, 409, 425, 429 or from 500 on are a [*chat.TransientError]. Both wrap the model's own error. If the
// context ended, the error is its cause.
func Model(m model.LLM) chat.Model { return &adkModel{llm: m} }

type adkModel struct {
	llm model.LLM
	// declared holds the tools of the agent's last request.
	declared atomic.Pointer[declared]
}

// declared holds the tools of a request, converted and as adk declared them.
type declared struct {
	ours   []chat.Tool
	theirs []*genai.Tool
}

// Generate implements [chat.Model].
func (m *adkModel) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	options := gemini.OptionsFor(m.llm.Name())
	req, repairs := gemini.Repair(req, options)
	provider.Tell(nil, req, repairs)
	contents, config, err := gemini.Request(req, options)
	if err != nil {
		return chat.Response{}, err
	}
	restoreResults(contents)
	if d := m.declared.Load(); d != nil && len(req.Tools) > 0 && reflect.DeepEqual(d.ours, req.Tools) {
		config.Tools = d.theirs // the same bytes as in the agent's request, for the provider's cache
	}
	var a answer
	var failed error
	for r, err := range m.llm.GenerateContent(ctx, &model.LLMRequest{Model: m.llm.Name(), Contents: contents, Config: config}, req.Stream != nil) {
		if err != nil {
			failed = modelerr.Convert(ctx, "adkagent", err)
			break
		}
		a.add(r, req.Stream)
	}
	response, err := a.response()
	return response, cmp.Or(failed, err)
}

// answer collects the responses that make up a model's answer.
type answer struct {
	last   *model.LLMResponse // the last that was not partial
	parts  []*genai.Part
	usage  *genai.GenerateContentResponseUsageMetadata
	calls  int
	finish genai.FinishReason
}

// add adds the next response. The contents of partial responses are only streamed, because a later response repeats
// them.
func (a *answer) add(r *model.LLMResponse, stream func(chat.Delta)) {
	if r == nil {
		return
	}
	a.usage, a.finish = cmp.Or(r.UsageMetadata, a.usage), cmp.Or(r.FinishReason, a.finish)
	if !r.Partial {
		a.last = r
	}
	if r.Content == nil {
		return
	}
	for _, p := range r.Content.Parts {
		switch {
		case stream == nil || p == nil:
		case !r.Partial:
			if p.FunctionCall != nil { // calls are never in partial responses
				a.streamCall(p, stream)
			}
		case p.Text == "":
		case p.Thought:
			stream(chat.Thinking{Text: p.Text})
		default:
			stream(chat.Text(p.Text))
		}
	}
	if !r.Partial {
		a.parts = append(a.parts, r.Content.Parts...)
	}
}

// streamCall passes on a call, and sets the id of the part's call to the one it was streamed with.
func (a *answer) streamCall(p *genai.Part, stream func(chat.Delta)) {
	said, err := FromADK([]*genai.Content{{Role: genai.RoleModel, Parts: []*genai.Part{p}}})
	if err != nil {
		return // response returns the error
	}
	call := said[0].ToolCalls[0]
	p.FunctionCall.ID = call.ID
	stream(chat.CallDelta{Index: a.calls, ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	a.calls++
}

// response converts the answer.
func (a *answer) response() (chat.Response, error) {
	whole := &genai.GenerateContentResponse{UsageMetadata: a.usage}
	if a.last == nil {
		return chat.Response{Usage: usageOf(a.usage)}, &chat.TransientError{Err: errors.New("adkagent: the answer is empty")}
	}
	if len(a.parts) == 0 && a.finish == "" && a.last.ErrorCode != "" {
		whole.PromptFeedback = &genai.GenerateContentResponsePromptFeedback{BlockReason: genai.BlockedReason(a.last.ErrorCode)}
	} else {
		a.finish = cmp.Or(a.finish, genai.FinishReasonStop)
		whole.Candidates = []*genai.Candidate{{
			Content: &genai.Content{Role: genai.RoleModel, Parts: a.parts}, FinishReason: a.finish, FinishMessage: a.last.ErrorMessage,
		}}
	}
	return gemini.Response(whole)
}

// usageOf converts the usage that a model reported.
func usageOf(u *genai.GenerateContentResponseUsageMetadata) chat.Usage {
	if u == nil {
		return chat.Usage{}
	}
	r, _ := gemini.Response(&genai.GenerateContentResponse{UsageMetadata: u, Candidates: []*genai.Candidate{{FinishReason: genai.FinishReasonStop}}})
	return r.Usage
}
