package gemini

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
)

// Model is a [chat.Model] on the SDK's client. Client and Name are required. Set the fields before the first use; after
// that it is safe for concurrent use.
type Model struct {
	// Client of the SDK, of the Gemini API or of Google Cloud: [NewClient] makes one.
	Client *genai.Client
	// Name of the model, such as "gemini-3-pro-preview".
	Name string
	// Options of the conversion. Defaults to [OptionsFor] the name.
	Options *Options
	// MaxRetries of the SDK on what may pass. Defaults to none: the error says when to try again, and the caller decides.
	MaxRetries int
	// OnRepair, where it is set, is told what [Repair] changed in a request before it is sent.
	OnRepair func([]chat.Change)
	// Adjust, where it is set, may change each request before it is sent: thinking, safety, a cache, the API's own tools,
	// whatever a [chat.Request] has no words for.
	Adjust func(*genai.GenerateContentConfig)
}

var _ chat.Model = (*Model)(nil)

// Generate mends the request with [Repair] and sends it. What cannot be mended is a [*chat.ValidationError], and nothing
// is sent.
//
// Errors are a [*chat.ContextLimitError] where a smaller request would be taken, with the API's numbers; a
// [*chat.TransientError] for rate limits, overload, the API's own faults and lost connections, with the time that it asks
// to wait; a [*FinishError] where the answer broke off; the cause of a context that is done; and otherwise the SDK's, with
// what the API said. With the error of an answer that was streamed comes what had arrived of it.
func (m *Model) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	contents, config, err := m.request(req, m.OnRepair)
	if err != nil {
		return chat.Response{}, err
	}
	asked, key := withRawArguments(ctx)
	a := answer{stream: req.Stream, key: key}
	whole, err := m.ask(asked, contents, config, &a)
	if err != nil {
		return a.partial(), classify(ctx, err)
	}
	r, err := response(whole, key)
	if err != nil && req.Stream != nil {
		return a.partial(), err
	}
	return r, err
}

func (m *Model) options() Options {
	if m.Options != nil {
		return *m.Options
	}
	return OptionsFor(m.Name)
}

// request is what is sent for a request.
func (m *Model) request(req chat.Request, tell func([]chat.Change)) ([]*genai.Content, *genai.GenerateContentConfig, error) {
	if m.Client == nil || m.Name == "" {
		return nil, nil, errors.New("gemini: Model.Client or Model.Name is not set")
	}
	req, changes := Repair(req, m.options())
	if len(changes) > 0 && tell != nil {
		tell(changes)
	}
	contents, config, written, err := request(req, m.options())
	if err != nil {
		return nil, nil, fmt.Errorf("gemini: nothing was sent: %w", err)
	}
	config.HTTPOptions = &genai.HTTPOptions{RetryOptions: &genai.HTTPRetryOptions{Attempts: new(int32(1 + max(0, m.MaxRetries)))}}
	if m.Adjust != nil {
		m.Adjust(config)
	}
	sendRawArguments(config, written)
	return contents, config, nil
}

// ask has the SDK send a request. The SDK asserts the types of what it is answered: where they are others, it panics. An
// answer that streams is gathered in a.
func (m *Model) ask(ctx context.Context, contents []*genai.Content, config *genai.GenerateContentConfig, a *answer) (whole *genai.GenerateContentResponse, err error) {
	defer func() {
		if a.telling { // a panic is the caller's
			return
		}
		if p := recover(); p != nil {
			if _, ok := p.(*runtime.TypeAssertionError); !ok {
				panic(p)
			}
			err = fmt.Errorf("the answer is of another form than Gemini's: %v", p)
		}
	}()
	if a.stream == nil {
		return m.Client.Models.GenerateContent(ctx, m.Name, contents, config)
	}
	for piece, err := range m.Client.Models.GenerateContentStream(ctx, m.Name, contents, config) {
		if err != nil {
			return nil, err
		}
		a.add(piece)
	}
	if !a.finished() {
		return nil, errCutOff
	}
	return a.response(), nil
}

// errCutOff reports that a stream ended before the answer did.
var errCutOff = fmt.Errorf("the stream ended before the answer did: %w", io.ErrUnexpectedEOF)

// CountTokens asks Gemini how many tokens of input a request takes, its tools included. The request is mended as
// [Model.Generate] does it; OnRepair is not told. Errors are those of Generate.
func (m *Model) CountTokens(ctx context.Context, req chat.Request) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	contents, config, err := m.request(req, nil)
	if err != nil {
		return 0, err
	}
	count := &genai.CountTokensConfig{SystemInstruction: config.SystemInstruction, Tools: config.Tools, HTTPOptions: config.HTTPOptions}
	if m.Client.ClientConfig().Backend != genai.BackendVertexAI {
		// The Gemini API counts these too, but the SDK has no field for them there.
		options := *config.HTTPOptions
		options.ExtrasRequestProvider = func(body map[string]any) map[string]any {
			body = config.HTTPOptions.ExtrasRequestProvider(body)
			whole := map[string]any{"model": "models/" + strings.TrimPrefix(m.Name, "models/"), "contents": body["contents"]}
			if config.SystemInstruction != nil {
				whole["systemInstruction"] = config.SystemInstruction
			}
			if len(config.Tools) > 0 {
				whole["tools"] = config.Tools
			}
			return map[string]any{"generateContentRequest": whole}
		}
		count = &genai.CountTokensConfig{HTTPOptions: &options}
	}
	counted, err := m.Client.Models.CountTokens(ctx, m.Name, contents, count)
	if err != nil {
		return 0, classify(ctx, err)
	}
	return int(counted.TotalTokens), nil
}
