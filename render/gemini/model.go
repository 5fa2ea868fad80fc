package gemini

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
)

// Model is a [chat.Model] on a client of Google's SDK. It is safe for concurrent use as long as its fields stay as they
// are.
type Model struct {
	// Client of the SDK, of the Gemini API or of Google Cloud.
	Client *genai.Client
	// Name of the model, such as "gemini-3-pro-preview".
	Name string
	// Options of the conversion. Defaults to [OptionsFor] the name.
	Options *Options
	// Config that each request starts from: thinking, safety, a cache. What a [chat.Request] says goes over it.
	Config *genai.GenerateContentConfig
	// OnRepair, where it is set, has each request mended by [Repair] and is told of the changes, if there are any.
	// Without it a request that breaks a rule is a [*chat.ValidationError], and nothing is sent.
	OnRepair func([]Change)
}

var _ chat.Model = (*Model)(nil)

// Generate asks the model. Besides what [chat.Model] promises, the error is a [*chat.ValidationError] where the messages
// break a rule of [Validate], and a [*FinishError] where the answer broke off. A cancelled context gives its cause.
func (m *Model) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	contents, config, err := m.request(req)
	if err != nil {
		return chat.Response{}, err
	}
	var answer *genai.GenerateContentResponse
	if req.Stream != nil {
		answer, err = m.stream(ctx, contents, config, req.Stream)
	} else {
		answer, err = m.Client.Models.GenerateContent(ctx, m.Name, contents, config)
	}
	if err != nil {
		return chat.Response{}, classify(ctx, err)
	}
	return FromResponse(answer)
}

func (m *Model) options() Options {
	if m.Options != nil {
		return *m.Options
	}
	return OptionsFor(m.Name)
}

// request is what is sent for a request.
func (m *Model) request(req chat.Request) ([]*genai.Content, *genai.GenerateContentConfig, error) {
	if m.Client == nil || m.Name == "" {
		return nil, nil, errors.New("gemini: Model.Client and Model.Name must be set")
	}
	options, messages := m.options(), req.Messages
	if m.OnRepair != nil {
		mended, changes := Repair(messages, options)
		if len(changes) > 0 {
			m.OnRepair(changes)
		}
		messages = mended
	}
	if err := Validate(messages, options); err != nil {
		return nil, nil, fmt.Errorf("gemini: nothing was sent: %w", err)
	}
	prompt, err := Convert(messages, options)
	if err != nil {
		return nil, nil, err
	}
	config := genai.GenerateContentConfig{}
	if m.Config != nil {
		config = *m.Config
	}
	if prompt.System != nil {
		config.SystemInstruction = prompt.System
	}
	if err := declare(&config, req); err != nil {
		return nil, nil, err
	}
	if req.MaxTokens > 0 {
		config.MaxOutputTokens = int32(min(req.MaxTokens, math.MaxInt32))
	}
	if req.Temperature != nil {
		config.Temperature = new(float32(*req.Temperature))
	}
	return prompt.Contents, &config, nil
}

// declare adds a request's tools to those of the config, and whether they may be called.
func declare(config *genai.GenerateContentConfig, req chat.Request) error {
	tools, err := Tools(req.Tools)
	if err != nil {
		return err
	}
	config.Tools = append(config.Tools[:len(config.Tools):len(config.Tools)], tools...)
	var mode genai.FunctionCallingConfigMode
	switch req.ToolChoice {
	case chat.ToolChoiceAuto:
		return nil
	case chat.ToolChoiceNone:
		mode = genai.FunctionCallingConfigModeNone
	case chat.ToolChoiceRequired:
		mode = genai.FunctionCallingConfigModeAny
	default:
		return fmt.Errorf("gemini: unknown tool choice %q", req.ToolChoice)
	}
	if len(config.Tools) == 0 {
		return nil // Gemini refuses a mode of calling where there is nothing to call
	}
	toolConfig := genai.ToolConfig{}
	if config.ToolConfig != nil {
		toolConfig = *config.ToolConfig
	}
	toolConfig.FunctionCallingConfig = &genai.FunctionCallingConfig{Mode: mode}
	config.ToolConfig = &toolConfig
	return nil
}

// errCutOff tells that a stream ended before the answer did.
var errCutOff = fmt.Errorf("the stream ended before the answer did: %w", io.ErrUnexpectedEOF)

// stream asks for an answer in pieces, tells of each, and puts them together.
func (m *Model) stream(ctx context.Context, contents []*genai.Content, config *genai.GenerateContentConfig, tell func(chat.Part)) (*genai.GenerateContentResponse, error) {
	var a answer
	for piece, err := range m.Client.Models.GenerateContentStream(ctx, m.Name, contents, config) {
		if err != nil {
			return nil, err
		}
		a.add(piece, tell)
	}
	if !a.finished() {
		return nil, errCutOff
	}
	return a.response(), nil
}

// CountTokens asks Gemini how many tokens a request takes, its system instruction and its tools included.
func (m *Model) CountTokens(ctx context.Context, req chat.Request) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	contents, config, err := m.request(req)
	if err != nil {
		return 0, err
	}
	count := &genai.CountTokensConfig{SystemInstruction: config.SystemInstruction, Tools: config.Tools}
	if m.Client.ClientConfig().Backend != genai.BackendVertexAI {
		// The Gemini API counts these too, but the SDK has no field for them there.
		count = &genai.CountTokensConfig{HTTPOptions: &genai.HTTPOptions{ExtrasRequestProvider: func(body map[string]any) map[string]any {
			whole := map[string]any{"model": "models/" + strings.TrimPrefix(m.Name, "models/"), "contents": body["contents"]}
			if config.SystemInstruction != nil {
				whole["systemInstruction"] = config.SystemInstruction
			}
			if len(config.Tools) > 0 {
				whole["tools"] = config.Tools
			}
			return map[string]any{"generateContentRequest": whole}
		}}}
	}
	counted, err := m.Client.Models.CountTokens(ctx, m.Name, contents, count)
	if err != nil {
		return 0, classify(ctx, err)
	}
	return int(counted.TotalTokens), nil
}
