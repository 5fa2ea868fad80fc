package history

import (
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Plan is a compaction that was decided on, with all that is needed to carry it out: here, in another process, or after a
// restart. It ends with a [Compaction] or a [PlanEnd] that names it. A plan without one is pending.
type Plan struct {
	// Policy by its name.
	Policy string `json:"policy,omitempty"`
	// Occasion on which the policy decided.
	Occasion string `json:"occasion,omitempty"`
	// Background says that the summary is made while the work goes on.
	Background bool `json:"background,omitempty"`
	// FirstKept is the id of the first entry that is kept word for word. What the view shows before it is covered.
	FirstKept string `json:"firstKept"`
	// Room is the most tokens that what is put in place may take; Words is the part of it that the summary's words may take.
	Room  int `json:"room"`
	Words int `json:"words"`
	// Mode is the only way of asking that may be used; "" leaves the choice to the policy.
	Mode string `json:"mode,omitempty"`
	// Instructions of the user who asked for the compaction.
	Instructions string `json:"instructions,omitempty"`
	// Preamble is the digest of the [Preamble] with the prompt's system messages and tools; "" if there are none.
	Preamble string `json:"preamble,omitempty"`
	// Thinking with which what is kept begins ([Compaction.Thinking]).
	Thinking []chat.Thinking `json:"thinking,omitempty"`
	// Used is what the policy measured, in tokens; Limit is the number at which it compacts, 0 if it has none.
	Used  int `json:"used,omitempty"`
	Limit int `json:"limit,omitempty"`
	// Base that both were held against, in tokens: the context window, or what the policy lowers it to.
	Base int `json:"base,omitempty"`
	// TokensBefore is what the prompt's messages took.
	TokensBefore int `json:"tokensBefore,omitempty"`
	// Model that the prompt is for, by its name.
	Model string `json:"model,omitempty"`
	// Until is the time at which whoever carries the plan out has failed. After it, it is dropped or taken up by another.
	Until time.Time `json:"until,omitzero"`
}

// PlanEnd says how a [Plan] ended that came to nothing, or an attempt to carry it out.
type PlanEnd struct {
	// Plan is the id of the plan's entry.
	Plan string `json:"plan"`
	// Outcome of the plan.
	Outcome PlanOutcome `json:"outcome"`
	// Error in words, and its kind by the name that events give it; "" if there was none.
	Error     string `json:"error,omitempty"`
	ErrorType string `json:"errorType,omitempty"`
	// NotBefore is the time before which a provider asked not to be asked again.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Refused lists the requests for a summary that came to nothing for a reason that stays: they are not made again.
	Refused []SummaryRequest `json:"refused,omitempty"`
	// Finished lists the answers that were had before it failed: the next attempt or plan need not ask for them again.
	Finished []SummaryAnswer `json:"finished,omitempty"`
}

// PlanOutcome says how a plan, or an attempt to carry it out, ended.
type PlanOutcome string

// The outcomes of plans.
const (
	// PlanFailed: there was no summary, or none that could be used.
	PlanFailed PlanOutcome = "failed"
	// PlanVetoed: a hook called it off.
	PlanVetoed PlanOutcome = "vetoed"
	// PlanDropped: it was cancelled, or not needed any more, or its place is gone.
	PlanDropped PlanOutcome = "dropped"
	// PlanRetried: an attempt failed, and the plan is pending until there is another.
	PlanRetried PlanOutcome = "retried"
)

// SummaryRequest names a request for a summary.
type SummaryRequest struct {
	// Model by its name.
	Model string `json:"model,omitempty"`
	// Request by its mode and a digest of its text, such as "full:9f86d081884c7d65". All that was asked in a mode for what a
	// plan covers is named by the mode and the entries, such as "full:e3-e20", and in whatever mode by "any:e3-e20".
	Request string `json:"request"`
}

// SummaryAnswer is the summary that a model wrote when it was asked for a part of what a [Plan] covers.
type SummaryAnswer struct {
	SummaryRequest
	// Text of the summary.
	Text string `json:"text"`
}

// Preamble holds the system messages and the tools of a prompt. Plans name it by its digest, so that it is stored once.
type Preamble struct {
	// Digest of what follows, as it was before [Options.Redact].
	Digest string         `json:"digest"`
	System []chat.Message `json:"system,omitempty"`
	Tools  []chat.Tool    `json:"tools,omitempty"`
}

// Refusal is what a provider said of a request that was too large for its model.
type Refusal struct {
	// Model by its name.
	Model string `json:"model,omitempty"`
	// Limit of the model and Tokens of the request by the provider's count, 0 where it did not say.
	Limit  int `json:"limit,omitempty"`
	Tokens int `json:"tokens,omitempty"`
	// Counted is our own count of the same request, messages and tools.
	Counted int `json:"counted,omitempty"`
	// Summary says that it was a request for a summary, and not the agent's.
	Summary bool `json:"summary,omitempty"`
}

// Clearing leaves old tool output, or old arguments of tool calls, out of what is shown from here on. It holds the finished
// text that stands in place of each, so that a session shows the same bytes wherever it is opened.
type Clearing struct {
	// Results that are left out.
	Results []Cleared `json:"results,omitempty"`
	// Arguments that are left out. The text of each is valid JSON.
	Arguments []Cleared `json:"arguments,omitempty"`
	// Saved is how many tokens less the view takes.
	Saved int `json:"saved,omitempty"`
}

// Cleared is one thing that a [Clearing] leaves out.
type Cleared struct {
	// Entry is the id of the tool result, or of the assistant message that makes the call.
	Entry string `json:"entry"`
	// Call is the id of the call whose arguments are left out; "" for a result.
	Call string `json:"call,omitempty"`
	// Text stands in its place.
	Text string `json:"text"`
}
