package entry

import (
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Plan is a compaction that was decided on, with everything needed to run it here, in another process, or after a
// restart. It ends with a [Compaction] or a [PlanEnd] that names it. A plan without one is pending.
type Plan struct {
	// Policy is the name of the policy.
	Policy string `json:"policy,omitempty"`
	// Occasion for which the policy decided.
	Occasion string `json:"occasion,omitempty"`
	// Why is the reason of the decision in words, with the numbers.
	Why string `json:"why,omitempty"`
	// Background reports that the summary is made while the work goes on.
	Background bool `json:"background,omitempty"`
	// FirstKept is the id of the first entry that is kept word for word. Everything that the view shows before it is
	// covered.
	FirstKept string `json:"firstKept"`
	// Room is the maximum number of tokens for the replacement, and Words the part of it for the summary's own words.
	Room  int `json:"room"`
	Words int `json:"words"`
	// Index is the maximum number of tokens for the index that stands beside the replacement; 0 for none.
	Index int `json:"index,omitempty"`
	// Mode is the only mode in which the summary may be requested; "" leaves the choice to the policy.
	Mode string `json:"mode,omitempty"`
	// Instructions by the user who asked for the compaction.
	Instructions string `json:"instructions,omitempty"`
	// Clears reports that the policy clears old output together with the compaction. Models are shown the history as
	// cleared.
	Clears bool `json:"clears,omitempty"`
	// Pinned is the most tokens that copies of pinned entries may take.
	Pinned int `json:"pinned,omitempty"`
	// Preamble is the digest of the [Preamble] with the prompt's system messages and tools; "" if there are none.
	Preamble string `json:"preamble,omitempty"`
	// Thinking that is put before what is kept ([Compaction.Thinking]).
	Thinking []chat.Thinking `json:"thinking,omitempty"`
	// Used is the number of tokens that the policy measured; Limit is the number at which it compacts, 0 if it has
	// none.
	Used  int `json:"used,omitempty"`
	Limit int `json:"limit,omitempty"`
	// Base is the size, in tokens, to which Used and Limit refer: the context window, or a smaller one that the policy
	// sets.
	Base int `json:"base,omitempty"`
	// TokensBefore is the size of the prompt's messages.
	TokensBefore int `json:"tokensBefore,omitempty"`
	// Model is the name of the model that the prompt is for, and Server its server's ([chat.Origin]), "" if that is not
	// known.
	Model  string `json:"model,omitempty"`
	Server string `json:"server,omitempty"`
	// Until is the time after which a plan that nobody has claimed is dropped or taken over; each answer for a part of it
	// gives it as much time again.
	Until time.Time `json:"until,omitzero"`
}

// PlanEnd records the end of a [Plan] that had no result, or of an attempt to run it.
type PlanEnd struct {
	// Plan is the id of the plan's entry.
	Plan string `json:"plan"`
	// Outcome of the plan.
	Outcome PlanOutcome `json:"outcome"`
	// Error is the text of the error, and ErrorType the name that events give to its type; "" if there was none.
	Error     string `json:"error,omitempty"`
	ErrorType string `json:"errorType,omitempty"`
	// Model, Server and Used are as in [Plan], if no plan could be made.
	Model  string `json:"model,omitempty"`
	Server string `json:"server,omitempty"`
	Used   int    `json:"used,omitempty"`
	// Requests is how many requests were made.
	Requests int `json:"requests,omitempty"`
	// Finished lists answers for parts of the summary, from which the next attempt or plan goes on.
	Finished []SummaryAnswer `json:"finished,omitempty"`
}

// PlanOutcome is the way a plan, or an attempt to run it, ended.
type PlanOutcome string

// The outcomes of plans.
const (
	// PlanFailed: there was no usable summary.
	PlanFailed PlanOutcome = "failed"
	// PlanVetoed: a hook cancelled it.
	PlanVetoed PlanOutcome = "vetoed"
	// PlanDropped: it was cancelled, no longer needed, or can no longer cut at its entry, or a part is put in place first.
	PlanDropped PlanOutcome = "dropped"
	// PlanRetried: the plan stays pending: a part was answered, or an attempt failed and another follows.
	PlanRetried PlanOutcome = "retried"
)

// SummaryAnswer is the summary that a model wrote for a part of what a [Plan] covers. It stands for everything from one
// entry to another, and for the earlier summary if From is "".
type SummaryAnswer struct {
	// From is the id of the first entry of the turn that is cut, if the part belongs to that turn alone, else "". To is the
	// id of the last entry, "" if the part is the earlier summary alone.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Model is the name of the model that wrote it.
	Model string `json:"model,omitempty"`
	// Unseen reports that the requests left messages of the part out.
	Unseen bool `json:"unseen,omitempty"`
	// Doubt says why an answer in it was used only because no other was better ([Compaction].Doubt).
	Doubt string `json:"doubt,omitempty"`
	// Text of the summary.
	Text string `json:"text"`
}

// Preamble holds the system messages and the tools of a prompt. Plans refer to it by its digest, so that it is stored
// once.
type Preamble struct {
	// Digest of the fields below, as they were before history.Options.Redact.
	Digest string         `json:"digest"`
	System []chat.Message `json:"system,omitempty"`
	Tools  []chat.Tool    `json:"tools,omitempty"`
}

// Refusal records a provider's refusal of a request that was too large for its model, or that held something that its
// server refuses.
type Refusal struct {
	// Model is the model's name, and Server its server's ([chat.Origin]), "" if that is not known.
	Model  string `json:"model,omitempty"`
	Server string `json:"server,omitempty"`
	// Unit of Limit and Counted. Defaults to tokens.
	Unit LimitUnit `json:"unit,omitempty"`
	// Limit of the model and Tokens of the request by the provider's count, 0 if it did not state them.
	Limit  int `json:"limit,omitempty"`
	Tokens int `json:"tokens,omitempty"`
	// Counted is our own count of the same request, messages and tools.
	Counted int `json:"counted,omitempty"`
	// Summary reports that it was a request for a summary, and not the agent's.
	Summary bool `json:"summary,omitempty"`
	// Bytes is our own count of the bytes of its body, and Counted is set with it, if Unit is [UnitHeld] and fewer are
	// sent instead, because it may have been the size.
	Bytes int `json:"bytes,omitempty"`
	// Held lists, if Unit is [UnitHeld], all that the model's requests leave out from now on.
	Held []Held `json:"held,omitempty"`
}

// LimitUnit says what a limit is of.
type LimitUnit string

// The units. The zero value is tokens of the input.
const (
	UnitTokens LimitUnit = ""
	UnitBytes  LimitUnit = "bytes"  // of the request's body
	UnitOutput LimitUnit = "output" // tokens of the answer
	UnitHeld   LimitUnit = "held"   // none was named: the request held something that was refused, or was too large
)

// Held is a part of an entry that requests to a model leave out: a line that says so, with the entry's handle, stands in
// its place. Requests to other models and other servers show it.
type Held struct {
	// Model whose server refused it, and the server, "" if that is not known.
	Model  string `json:"model,omitempty"`
	Server string `json:"server,omitempty"`
	// Entry is the id of the entry, and Part the index of the part of its content, -1 for the whole message.
	Entry string `json:"entry"`
	Part  int    `json:"part,omitempty"`
	// State says why it is left out.
	State HeldState `json:"state"`
}

// HeldState says why something is left out.
type HeldState string

// The states.
const (
	// HeldSuspect: it may be the cause of a refusal. With each accepted request another suspect is tried.
	HeldSuspect HeldState = "suspect"
	// HeldTried: it is shown again, to see whether it is refused. If the request is accepted, it is held no more.
	HeldTried HeldState = "tried"
	// HeldBlamed: it was refused last, as far as is known. If a request without it is accepted, it is the cause.
	HeldBlamed HeldState = "blamed"
	// HeldRefused: it is the cause, and stays left out.
	HeldRefused HeldState = "refused"
)

// Shown reports whether it is shown.
func (h Held) Shown() bool { return h.State == HeldTried }

// Clearing replaces old tool output, or old arguments of tool calls, by placeholders in the views after it. It holds
// the text of each placeholder, so that a session shows the same bytes wherever it is opened.
type Clearing struct {
	// Results that are replaced.
	Results []Cleared `json:"results,omitempty"`
	// Arguments that are replaced. The placeholder of each is valid JSON.
	Arguments []Cleared `json:"arguments,omitempty"`
	// Saved is the number of tokens by which the view shrinks.
	Saved int `json:"saved,omitempty"`
	// Preview reports that the results are new: their texts are previews, made before a model saw the results. A later
	// clearing may replace them.
	Preview bool `json:"preview,omitempty"`
}

// Cleared is a result, or the arguments of a call, that a [Clearing] replaces.
type Cleared struct {
	// Entry is the id of the tool result, or of the assistant message that makes the call.
	Entry string `json:"entry"`
	// Call is the id of the call whose arguments are replaced; "" for a result.
	Call string `json:"call,omitempty"`
	// Text is the placeholder.
	Text string `json:"text"`
}

// Erasure records what was erased. It follows the leaf of the session at that time, and ends the plan that was pending
// there: an answer that is under way may hold what was erased.
type Erasure struct {
	// Entries lists the ids of the entries whose content was erased.
	Entries []string `json:"entries"`
	// Copies lists the entries from which copies of that content were erased too: messages that were copies ([Entry.Of]) or
	// said the same as a whole, what sources kept of it, and compactions, clearings, branch summaries, plans and lists of things to do with words of it.
	Copies []string `json:"copies,omitempty"`
	// Holders lists other entries that hold a line of that content, or 32 bytes in a row, of the whole session the first
	// 1,000. They were not changed.
	Holders []string `json:"holders,omitempty"`
	// Summaries lists the compactions and branch summaries that cover the erased entries. Their words may still reveal
	// the content.
	Summaries []string `json:"summaries,omitempty"`
	// Folders lists the folders of the checkpoints of the compactions in these lists ([Compaction.Checkpoints]). The files
	// in them were not changed: package checkpoints erases them.
	Folders []string `json:"folders,omitempty"`
}
