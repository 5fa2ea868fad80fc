package summarize

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promptree-go/promptree/history"
)

// Policy says how a history is compacted. It is a value of parts that combine: take one of the package's and change a field.
// The zero value is usable; [CopilotChat] is what Copilot Chat does.
type Policy struct {
	// Name of the policy, for events and the session.
	Name string
	// Off leaves everything to the caller: nothing is compacted but by [Compactor.Compact].
	Off bool
	// Trigger says when to compact. Defaults to where a prompt does not fit.
	Trigger Trigger
	// Background says what becomes of a summary that is made in the background.
	Background Background
	// Threshold lowers the budget of prompts, and so when they do not fit: a ratio of the window (above 0, up to 1) or a
	// number of tokens (100 or more); anything between is a [*sizing.ThresholdError]. Defaults to the whole budget.
	Threshold float64
	// Reported measures what is used by what the provider reported last, and not by what was rendered.
	Reported bool
	// Before leaves old tool output out of what is shown, once a condition of [OnRender] holds or a prompt does not fit.
	// Where that suffices nothing is summarised. Defaults to not.
	Before history.ClearRule
	// Overflow says what is done about requests that the provider refused, and what no compaction makes fit.
	Overflow Overflow
	// RetryAfter is the time after which a compaction that failed is tried again although the history did not change.
	// Defaults to never.
	RetryAfter time.Duration
	// Continue is what is said in the user's place where a compaction was made after the agent had finished
	// ([Compactor.AfterTurn]). Defaults to nothing.
	Continue string
	// Cut says what is kept word for word. Where what it keeps leaves no room for a summary, the newest round alone is kept,
	// which is what the zero value keeps; the current turn's first message stays in any case. Its Limits are the
	// compactor's.
	Cut history.Cut
	// Prompts by which a model is asked, each where the one before it failed. Defaults to [FullPrompt] and [SimplePrompt].
	Prompts []Prompt
	// Mode of the only prompt that is used. Defaults to [ModeAuto], which uses all.
	Mode Mode
	// Models that are asked.
	Models Models
	// Quirks of the agent's model, by its name.
	Quirks []Quirk
	// Checks of a summary, besides those that no policy goes without: it is not empty, fits its room, and is smaller than
	// what it replaces.
	Checks []Check
	// Replacement is what is put in place. Defaults to [ConversationSummary].
	Replacement Replacement
	// Record says what is kept besides the compaction.
	Record Record
	// Branch says how a branch that is left is summarised.
	Branch BranchPolicy
	// Summary is the share of the budget that what is put in place may take, from 0 to 1. Defaults to 0.2.
	Summary float64
	// SummaryMax is the most tokens that it may take, 100 or more. Defaults to 10,000. A small window and a long
	// breadcrumb can make it more: there is always room for 100 tokens of words.
	SummaryMax int
	// Temperature at which the model is asked. Defaults to the model's own.
	Temperature *float64
	// ReadTool is the agent's tool that reads files, which the breadcrumb names. Defaults to "read_file".
	ReadTool string
	// NoBreadcrumb leaves out the pointer to the transcript. A session in memory never has one.
	NoBreadcrumb bool
	// SimpleResult is the most tokens of a tool result that the simple mode shows the model. Defaults to 200.
	SimpleResult int
}

// Record says what is kept of a compaction besides its entry in the session.
type Record struct {
	// Checkpoints writes the summary to [Compactor.Checkpoints].
	Checkpoints bool
}

// Mode names a prompt: how the model is shown what it summarises.
type Mode string

// The modes.
const (
	// ModeAuto tries ModeFull and, where that fails, ModeSimple.
	ModeAuto Mode = ""
	// ModeFull sends the history as the messages that it consists of, with the tools declared and not to be called.
	ModeFull Mode = "full"
	// ModeSimple sends the history as one text, tool results cut hard, packed to the model's window: the first user
	// message stays longest, then the newest of what was said.
	ModeSimple Mode = "simple"
	// ModeSupplied is that of a summary which a hook supplied. No prompt has it.
	ModeSupplied Mode = "supplied"
)

// Policies gives the policies of the five systems by their names, each a new value.
func Policies() map[string]Policy {
	list := map[string]Policy{}
	for _, p := range []Policy{CopilotChat(), A3S(), CopilotCLI(), Stagewise(), OhMyPi()} {
		list[p.Name] = p
	}
	return list
}

// Validate refuses values that mean nothing, and a policy under which nothing would ever be compacted, for it keeps as much as
// it allows in all. A [Compactor] asks it at each use; who makes a policy can ask at once.
func (p Policy) Validate() error {
	if err := p.Trigger.check(); err != nil {
		return err
	}
	for i, c := range p.Trigger.For(OnRender) {
		if share := p.Cut.Share; share > 0 && (c.Ratio > 0 && share >= c.Ratio || c.Cap > 0 && (p.Cut.Tokens == 0 || p.Cut.Tokens >= c.Cap)) ||
			share == 0 && p.Cut.Tokens > 0 && c.Cap > 0 && p.Cut.Tokens >= c.Cap {
			return fmt.Errorf("summarize: Policy.Cut keeps as much as Policy.Trigger[%d] (of those for a render) allows in all: nothing would ever be compacted", i)
		}
	}
	if _, err := p.budget(1, 1<<20, 0); err != nil {
		return err
	}
	switch {
	case !(p.Background.Wait >= 0 && p.Background.Wait <= 1):
		return fmt.Errorf("summarize: Policy.Background.Wait is %v: it is a share between 0 and 1", p.Background.Wait)
	case !(p.Background.Apply >= 0 && p.Background.Apply <= 1):
		return fmt.Errorf("summarize: Policy.Background.Apply is %v: it is a share between 0 and 1", p.Background.Apply)
	case len(p.prompts()) == 0:
		return fmt.Errorf("summarize: there is no mode %q", p.Mode)
	case !(p.Cut.Share >= 0 && p.Cut.Share <= 1):
		return fmt.Errorf("summarize: Policy.Cut.Share is %v: it is a share between 0 and 1", p.Cut.Share)
	case p.Cut.Tokens < 0 || p.Cut.Messages < 0 || p.Cut.First < 0:
		return errors.New("summarize: a number in Policy.Cut is below 0")
	case !(p.Summary >= 0 && p.Summary <= 1):
		return fmt.Errorf("summarize: Policy.Summary is %v: it is a share between 0 and 1", p.Summary)
	case p.SummaryMax < 0 || p.SummaryMax > 0 && p.SummaryMax < minWords:
		return fmt.Errorf("summarize: Policy.SummaryMax is %d: it is %d tokens or more", p.SummaryMax, minWords)
	case !(p.Overflow.Buffer >= 0 && p.Overflow.Buffer < 1) || !(p.Overflow.MaxBuffer >= 0 && p.Overflow.MaxBuffer < 1):
		return fmt.Errorf("summarize: Policy.Overflow.Buffer is %v and MaxBuffer %v: they are shares from 0 to below 1", p.Overflow.Buffer, p.Overflow.MaxBuffer)
	case p.Overflow.Attempts < 0 || p.Models.Attempts < 0 || p.Models.MinChars < 0 || p.Models.MaxTokens < 0:
		return errors.New("summarize: a number of Policy.Overflow or Policy.Models is below 0")
	case p.SimpleResult < 0:
		return errors.New("summarize: Policy.SimpleResult is below 0")
	}
	return nil
}

func (p Policy) withDefaults() Policy {
	if p.Summary == 0 {
		p.Summary = 0.2
	}
	if p.SummaryMax == 0 {
		p.SummaryMax = 10_000
	}
	if p.Replacement == nil {
		p.Replacement = ConversationSummary
	}
	if p.ReadTool == "" {
		p.ReadTool = "read_file"
	}
	if p.SimpleResult == 0 {
		p.SimpleResult = 200
	}
	return p
}

// prompts are those that are tried, in order.
func (p Policy) prompts() []Prompt {
	list := p.Prompts
	if len(list) == 0 {
		list = []Prompt{FullPrompt(), SimplePrompt()}
	}
	if p.Mode == ModeAuto {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(q Prompt) bool { return q.Mode != p.Mode })
}

// minWords is the least room, in tokens, in which a summary's words are worth having.
const minWords = 100
