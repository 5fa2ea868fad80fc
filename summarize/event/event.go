// Package event holds the events of a compactor: what it reports to those who listen, step by step.
package event

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Kind says what an [Event] is about.
type Kind string

// The kinds of events.
const (
	// Started: a plan was written to the session; the model is asked next.
	Started Kind = "started"
	// Answered: a model answered or failed; Err is the failure.
	Answered Kind = "answered"
	// Refused: a model returned no usable summary in one mode; Err says why. The next one is asked.
	Refused Kind = "refused"
	// Retrying: a model is asked again after Wait, because its failure Err may pass: for a summary, or by an agent
	// (agent.Agent) for its next step, then without a Plan.
	Retrying Kind = "retrying"
	// Waiting: a prompt waits for a summary that is being made in the background.
	Waiting Kind = "waiting"
	// Ready: a summary that was made in the background is ready to be put in place.
	Ready Kind = "ready"
	// Done: the compaction is in the session.
	Done Kind = "done"
	// Failed: a compaction or a clearing failed; Err says why. What the session shows is unchanged.
	Failed Kind = "failed"
	// Postponed: an attempt to run a plan failed; Err says why. There will be another (summarize.Compactor.RunPlan).
	Postponed Kind = "postponed"
	// Vetoed: a hook cancelled the compaction.
	Vetoed Kind = "vetoed"
	// Cancelled: the compaction was cancelled, and its result thrown away.
	Cancelled Kind = "cancelled"
	// Discarded: a summary that was made in the background is not needed any more.
	Discarded Kind = "discarded"
	// Dropped: the entries to replace are not on the path any more, because of an undo or a switch of branch. Err
	// is a [*entry.BoundaryError].
	Dropped Kind = "dropped"
	// Cleared: old tool output was replaced by placeholders, or new output by previews.
	Cleared Kind = "cleared"
	// PinLeft: a pinned entry (Entry) does not fit beside the summary; Why says by how much. Its handle stands there.
	PinLeft Kind = "pin left out"
	// Truncated: the last resort left the oldest messages out of a request. The session keeps them.
	Truncated Kind = "truncated"
	// LetGo: the last resort pruned history, or pieces without a priority, out of a request. The session keeps the
	// history.
	LetGo Kind = "let go"
	// HookFailed: a hook or an observer failed, or a checkpoint could not be written. The work goes on
	// without it.
	HookFailed Kind = "hook failed"
	// ModelUnknown: the policy names a model that is not in summarize.Compactor.Models.
	ModelUnknown Kind = "model unknown"
	// Noted: something of the target is guessed or differs between sources; Why says what. Each is said once.
	Noted Kind = "noted"
	// Empty: an answer of the agent's model ended in order and says nothing, so the turn is over and no message was written.
	Empty Kind = "empty answer"
	// Crowded: what no compaction makes smaller (system, tools, instructions, the newest question) takes nine tenths of the
	// prompt; Why names the largest pieces. It is said once, until it is less again.
	Crowded Kind = "crowded"
	// Withheld: the model's server refuses an entry (Entry), or a picture in it; Err is its refusal. A line stands in
	// its place in later requests to that model, so that the user sees what the model does not.
	Withheld Kind = "withheld"
	// ToolFailed: a tool of an agent (Function) failed, Err says how; the model is told. A mistake in its arguments is not one.
	ToolFailed Kind = "tool failed"
	// Repaired: a request of an agent was changed so that the provider accepts it; Mended says how.
	Repaired Kind = "repaired"
	// SourceChanged: skills of an agent were let go, or tools found or let go; Why says which.
	SourceChanged Kind = "source changed"
	// Titled: a summary got its title.
	Titled Kind = "titled"
	// Reported: the provider, or a remote agent, reported a compaction of its own (summarize.Compactor.Emit).
	Reported Kind = "reported"
	// Usage: a prompt is about to be returned; Breakdown is its size.
	Usage Kind = "usage"
	// CacheBroken: the start of a prompt changed although nothing was compacted or cleared, so the provider cannot
	// read it from its cache. The last message of a prompt may change. Needs a target with prices.
	CacheBroken Kind = "cache break"
)

// CacheBreak says what changed in a prompt, and what that costs.
type CacheBreak struct {
	// Change is the kind of change that broke the cache.
	Change sizing.RequestChange `json:"change,omitempty"`
	// Messages is how many messages at the start of the prompt certainly did not change, and Until how many contain the
	// change; 0 if the tools changed.
	Messages int `json:"messages,omitempty"`
	Until    int `json:"until,omitempty"`
	// Tokens that would have been read from the cache, by the provider's count.
	Tokens int `json:"tokens,omitempty"`
	// Dollars is the cost of writing those tokens again instead of reading them.
	Dollars float64 `json:"dollars,omitempty"`
}

// Why says what changed, with the usual reasons.
func (b CacheBreak) Why() string {
	var what string
	switch b.Change {
	case sizing.ChangeToolOrder:
		what = "the tools are in another order than before: list them in a fixed order, and do not range over a map"
	case sizing.ChangeTools:
		what = "the tools changed: keep them for the whole session, and leave out of their descriptions whatever changes"
	case sizing.ChangeSystem:
		what = fmt.Sprintf("system message %d or one before it changed: put whatever changes by itself, such as a clock or a list of files, behind the history", b.Until)
	default:
		what = fmt.Sprintf("one of messages %d to %d changed or is gone: context in front of the history changed or was pruned", b.Messages+1, b.Until)
	}
	return fmt.Sprintf("%s (%d tokens are not read from the cache, which costs $%.4f)", what, b.Tokens, b.Dollars)
}

// Event reports a step of a compaction. Fields that do not apply are zero.
type Event struct {
	Kind Kind `json:"kind"`
	// Session is the id of the session, and Policy the policy's name.
	Session string `json:"session,omitempty"`
	Policy  string `json:"policy,omitempty"`
	// Plan is the id of the plan's entry in the session.
	Plan string `json:"plan,omitempty"`
	// Reason is the occasion of the compaction, and Why the reason of the decision in words.
	Reason policy.Occasion `json:"reason,omitempty"`
	Why    string          `json:"why,omitempty"`
	// Background reports whether the summary is made while the agent goes on.
	Background bool `json:"background,omitempty"`
	// WillRetry reports whether the request that the provider refused is sent again after the compaction.
	WillRetry bool `json:"willRetry,omitempty"`
	// Duration since the work on the summary began.
	Duration time.Duration `json:"duration,omitempty"`
	Coverage
	Size
	Asked
	Written
	// Break says what changed, in a [CacheBroken].
	Break CacheBreak `json:"break,omitzero"`
	// Function is the name of the hook, the observer or the tool that failed.
	Function string `json:"function,omitempty"`
	// Err says what went wrong.
	Err error `json:"-"`
}

// Coverage says what a compaction summarises and keeps.
type Coverage struct {
	// Covered is the number of rounds and user messages that are summarised, Kept the number of those kept word for
	// word.
	Covered int `json:"covered,omitempty"`
	Kept    int `json:"kept,omitempty"`
	// Over reports whether the kept history takes more tokens than the policy's cut allows, because the newest message
	// or round alone does.
	Over bool `json:"over,omitempty"`
	// Unseen reports whether the request for the summary left covered messages out ([policy.Prompt].Drops).
	Unseen bool `json:"unseen,omitempty"`
}

// Size is the size of a prompt.
type Size struct {
	// MessagesBefore and MessagesAfter are the numbers of messages in the prompt, TokensBefore and TokensAfter their
	// tokens, without [policy.Target].Tools.
	MessagesBefore int `json:"messagesBefore,omitempty"`
	MessagesAfter  int `json:"messagesAfter,omitempty"`
	TokensBefore   int `json:"tokensBefore,omitempty"`
	TokensAfter    int `json:"tokensAfter,omitempty"`
	// Breakdown says where the tokens of the prompt with its tools are: of the one that is about to be sent, in a [Usage],
	// a [Truncated] and a [LetGo], of the one before the compaction, in a [Started], and of the one after it, in a [Done].
	// In an event that was written with other categories, those count to Other.
	Breakdown render.Breakdown `json:"breakdown,omitzero"`
	// Base that limits are compared with, in tokens.
	Base int `json:"base,omitempty"`
	// Bytes is how many bytes the body of the request has that is about to be sent, in a [Usage], a [Truncated] and a
	// [LetGo], and MaxBytes the most that it may have, 0 if that is not known.
	Bytes    int `json:"bytes,omitempty"`
	MaxBytes int `json:"maxBytes,omitempty"`
	// Compacted reports whether the prompt shows a replacement of compacted history, in a [Usage].
	Compacted bool `json:"compacted,omitempty"`
}

// Asked says which model was asked for a summary, how, and what it reported.
type Asked struct {
	// Mode in which the summary was asked for.
	Mode policy.Mode `json:"mode,omitempty"`
	// Model is the name of the model that was asked. Request is the id of the request: the plan's id and a number.
	Model   string `json:"model,omitempty"`
	Request string `json:"request,omitempty"`
	// Usage is what models reported, and Calls how often they were asked.
	Usage chat.Usage `json:"usage,omitzero"`
	Calls int        `json:"calls,omitempty"`
	// Wait is the time before a model is asked again.
	Wait time.Duration `json:"wait,omitempty"`
}

// Written says what was written: the summary, and where it is.
type Written struct {
	// Summary that was made, its title, how it was mended, and why it was used only because no other answer was better, in
	// words.
	Summary string   `json:"summary,omitempty"`
	Title   string   `json:"title,omitempty"`
	Mended  []string `json:"mended,omitempty"`
	Doubt   string   `json:"doubt,omitempty"`
	// Entry is the id of the compaction, the clearing, the pinned entry or what is withheld, in the session.
	Entry string `json:"entry,omitempty"`
	// Checkpoint is where the summary was written to.
	Checkpoint checkpoints.Checkpoint `json:"checkpoint,omitzero"`
}

// MarshalJSON writes the event with its error as text.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	said := struct {
		plain
		Error     string `json:"error,omitempty"`
		ErrorType string `json:"errorType,omitempty"`
	}{plain: plain(e)}
	if e.Err != nil {
		said.Error, said.ErrorType = e.Err.Error(), failure.Type(e.Err)
	}
	return json.Marshal(said)
}

// String returns the event in one line, such as [kind=started reason=render covered=10].
func (e Event) String() string { return e.LogValue().String() }

// LogValue returns the event for package slog, with the names of its JSON fields as keys. What is zero is left out.
func (e Event) LogValue() slog.Value {
	text, cause := "", failure.Type(e.Err)
	if e.Err != nil {
		text = e.Err.Error()
	}
	return slog.GroupValue(slices.DeleteFunc([]slog.Attr{
		slog.String("kind", string(e.Kind)),
		slog.String("session", e.Session),
		slog.String("policy", e.Policy),
		slog.String("plan", e.Plan),
		slog.String("reason", string(e.Reason)),
		slog.String("why", e.Why),
		slog.String("mode", string(e.Mode)),
		slog.String("model", e.Model),
		slog.String("request", e.Request),
		slog.Bool("background", e.Background),
		slog.Bool("willRetry", e.WillRetry),
		slog.Int("covered", e.Covered),
		slog.Int("kept", e.Kept),
		slog.Bool("compacted", e.Compacted),
		slog.Bool("over", e.Over),
		slog.Bool("unseen", e.Unseen),
		slog.Int("messagesBefore", e.MessagesBefore),
		slog.Int("messagesAfter", e.MessagesAfter),
		slog.Int("tokensBefore", e.TokensBefore),
		slog.Int("tokensAfter", e.TokensAfter),
		slog.Int("instructionTokens", e.Breakdown.Instructions),
		slog.Int("skillTokens", e.Breakdown.Skills),
		slog.Int("toolTokens", e.Breakdown.Tools),
		slog.Int("fileTokens", e.Breakdown.Files),
		slog.Int("historyTokens", e.Breakdown.History),
		slog.Int("otherTokens", e.Breakdown.Other),
		slog.Int("base", e.Base),
		slog.Int("bytes", e.Bytes),
		slog.Int("maxBytes", e.MaxBytes),
		slog.String("change", string(e.Break.Change)),
		slog.Int("lostTokens", e.Break.Tokens),
		slog.Float64("lostDollars", e.Break.Dollars),
		slog.Int("calls", e.Calls),
		slog.Int("inputTokens", e.Usage.Input),
		slog.Int("outputTokens", e.Usage.Output),
		slog.Int("cacheReadTokens", e.Usage.CacheRead),
		slog.Duration("duration", e.Duration),
		slog.Duration("wait", e.Wait),
		slog.String("mended", strings.Join(e.Mended, "; ")),
		slog.String("doubt", e.Doubt),
		slog.String("entry", e.Entry),
		slog.Int("checkpoint", e.Checkpoint.Number),
		slog.String("function", e.Function),
		slog.String("error", text),
		slog.String("errorType", cause),
	}, func(a slog.Attr) bool { return reflect.ValueOf(a.Value.Any()).IsZero() })...)
}

// Level returns the level at which the event is logged.
func (e Event) Level() slog.Level {
	if e.Over || e.Unseen || e.Doubt != "" {
		return slog.LevelWarn
	}
	switch e.Kind {
	case Failed, Dropped, HookFailed, ToolFailed, Truncated, LetGo, ModelUnknown, Noted, Empty, CacheBroken:
		return slog.LevelWarn
	case Usage, Answered:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
