package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// CompactionModel is a [chat.Model] for summaries that has Anthropic compact the history (the beta compact-2026-09-04): the
// answer is the summary in words, and beside it, in [chat.Response].Compaction, the block that Anthropic made, signed.
// A compactor keeps both: Claude is shown the words and the block, any other model the words alone.
//
//	compactor.Models = map[string]policy.Target{"compaction": {Model: anthropic.CompactionModel{Model: model}}}
//	compactor.Policy.Ask.Names = []string{"compaction"}
//
// Anthropic compacts the messages before the last, which asks for the summary. These messages must be the history
// itself: if the prompt holds the history as text in a single message, there is nothing to compact, and Words answers
// alone. The text of the last message replaces Anthropic's own instructions. Parts of the block cannot be redacted or
// erased.
type CompactionModel struct {
	// Model that compacts. Its Editing is not sent with a compaction.
	Model *Model
	// Words writes the summary if there is nothing to compact or the compaction failed. Defaults to Model.
	Words chat.Model
	// OnError, if set, is called with the error of a compaction that failed, from the goroutine of Generate. Words is
	// then asked.
	OnError func(error)
}

var _ chat.Model = CompactionModel{}

// compactBeta is the beta of the API for compactions on demand, and for requests that hold their blocks.
const compactBeta = string(sdk.AnthropicBetaCompact2026_09_04)

// fieldCompaction is a field of a request that [sdk.MessageNewParams] does not have.
const fieldCompaction = "compaction"

// betas returns the betas that a request asks for.
func (m *Model) betas(p sdk.MessageNewParams) []string {
	betas := slices.Clone(m.Betas)
	if p.ExtraFields()[fieldEditing] != nil {
		betas = append(betas, m.Editing.betas()...)
	}
	if m.Thinking.DropStale {
		betas = append(betas, bindingBeta)
	}
	isCompact := func(beta string) bool { return strings.HasPrefix(beta, "compact-") }
	if p.ExtraFields()[fieldCompaction] != nil || startsWithCompaction(p) || !slices.ContainsFunc(betas, isCompact) && hasCompaction(p.Messages...) {
		betas = append(betas, compactBeta)
	}
	return betas
}

// Generate asks for the compaction and answers with its summary. It returns a [*chat.ContextLimitError] and a
// [*chat.TransientError]; after any other error it asks Words.
func (c CompactionModel) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if c.Model == nil {
		return chat.Response{}, errors.New("anthropic: CompactionModel.Model is not set")
	}
	words := cmp.Or[chat.Model](c.Words, c.Model)
	n := max(0, len(req.Messages)-1)
	if !slices.ContainsFunc(req.Messages[:n], func(m chat.Message) bool { return m.Role == chat.RoleAssistant }) || req.Messages[n].Role != chat.RoleUser {
		return words.Generate(ctx, req)
	}
	made, err := c.compact(ctx, req)
	_, limit := errors.AsType[*chat.ContextLimitError](err)
	_, transient := errors.AsType[*chat.TransientError](err)
	switch {
	case err == nil && req.Stream != nil:
		req.Stream(chat.Text(made.Message.Text()))
		return made, nil
	case err == nil || limit || transient || ctx.Err() != nil:
		return made, err
	case c.OnError != nil:
		c.OnError(err)
	}
	r, err := words.Generate(ctx, req)
	r.Usage = r.Usage.Plus(made.Usage)
	return r, err
}

// compact has the API compact the messages before the last. With an error, only the usage of the answer is certain.
func (c CompactionModel) compact(ctx context.Context, req chat.Request) (chat.Response, error) {
	n := len(req.Messages) - 1
	summarize := &sdk.BetaSummarizeCompactionParam{Instructions: sdk.String(req.Messages[n].Text())}
	req.Messages, req.Stream = req.Messages[:n], nil
	r, err := c.Model.generate(ctx, req, func(p *sdk.MessageNewParams) {
		fields := map[string]any{}
		maps.Copy(fields, p.ExtraFields())
		delete(fields, fieldEditing) // the API refuses both
		fields[fieldCompaction] = sdk.BetaCompactionConfigUnionParam{OfSummarize: summarize}
		p.SetExtraFields(fields)
	})
	if err != nil {
		return r, err
	}
	failed := chat.Response{Usage: r.Usage}
	if len(r.Message.Content) != 1 {
		return failed, &chat.AnswerError{Err: errors.New("anthropic: the answer is not a single compaction block")}
	}
	block, _ := r.Message.Content[0].(chat.Opaque)
	words := compactionWords(block)
	if words == "" {
		return failed, &chat.AnswerError{Err: errors.New("anthropic: the answer has no compaction block with a summary")}
	}
	block.Tokens = r.Usage.Output
	r.Message, r.Compaction = chat.AssistantMessage(words), []chat.Opaque{block}
	if r.StopReason == StopPause {
		r.StopReason = chat.StopEnd
	}
	return r, nil
}

// compactionWords returns the summary in the API's compaction block. It returns "" for any other part, and for a
// compaction that failed, whose content is null.
func compactionWords(p chat.Opaque) string {
	var b struct{ Type, ID, Content string }
	if json.Unmarshal(p.Value, &b) != nil || b.Type != typeCompaction || b.ID != "" || strings.TrimSpace(b.Content) == "" {
		return ""
	}
	return b.Content
}

// isKeptCompaction reports whether a part is a block that a compactor keeps beside a summary in words.
func isKeptCompaction(m chat.Message, p chat.Opaque) bool {
	return m.Role == chat.RoleUser && strings.TrimSpace(m.Text()) != "" && compactionWords(p) != ""
}

// startsWithCompaction reports whether a request begins with a compaction. No other assistant message can be first.
func startsWithCompaction(p sdk.MessageNewParams) bool {
	return len(p.Messages) > 0 && p.Messages[0].Role == sdk.MessageParamRoleAssistant && hasCompaction(p.Messages[0])
}

// hasCompaction reports whether messages hold a compaction block.
func hasCompaction(messages ...sdk.MessageParam) bool {
	return slices.ContainsFunc(messages, func(m sdk.MessageParam) bool {
		return slices.ContainsFunc(m.Content, func(b sdk.ContentBlockParamUnion) bool {
			raw, ok := b.Overrides()
			value, isRaw := raw.(json.RawMessage)
			return ok && isRaw && serverBlock(chat.Opaque{Value: value}).Type == typeCompaction
		})
	})
}

// addFields adds the fields of a delta to a block, which the SDK does only for blocks of its betas.
func addFields(b *sdk.ContentBlockUnion, delta string) error {
	var fields, later map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(b.RawJSON()), &fields), json.Unmarshal([]byte(delta), &later)); err != nil {
		return err
	}
	delete(later, "type")
	maps.Copy(fields, later)
	raw, _ := plainjson.Marshal(fields) // JSON always encodes
	signature := b.Signature            // from an earlier delta, and not in the JSON
	err := b.UnmarshalJSON(raw)
	b.Signature = cmp.Or(b.Signature, signature)
	return err
}

// compactionUsage returns the tokens of the compactions within an answer, and the prompt of the first, which is the
// request's. The API does not include them in the answer's usage.
func compactionUsage(m *sdk.Message) chat.Usage {
	var answer struct {
		Usage struct {
			Iterations []sdk.BetaCompactionIterationUsage `json:"iterations"`
		} `json:"usage"`
	}
	var all chat.Usage
	prompt := 0
	if json.Unmarshal([]byte(m.RawJSON()), &answer) != nil {
		return all
	}
	for _, one := range answer.Usage.Iterations {
		if string(one.Type) == typeCompaction {
			all = all.Plus(usage(one.InputTokens, one.OutputTokens, one.CacheReadInputTokens, one.CacheCreationInputTokens, one.CacheCreation.Ephemeral1hInputTokens))
			prompt = cmp.Or(prompt, all.Input)
		}
	}
	all.Prompt = prompt
	return all
}

func usage(input, output, read, written, long int64) chat.Usage {
	return chat.Usage{
		Input: int(input + read + written), Output: int(output), CacheRead: int(read), CacheWrite: int(written), CacheWriteLong: int(long),
	}
}
