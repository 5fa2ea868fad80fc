package summarize

import (
	"errors"
	"fmt"
)

// Policy says how a history is compacted. The zero value is usable; [CopilotChat] is what Copilot Chat does.
type Policy struct {
	// Mode of the summary. Defaults to [ModeAuto].
	Mode Mode
	// Keep is the share of the budget that the newest rounds may take to be kept word for word, from 0 to 1. The
	// newest round, which overflowed, is kept whatever it takes, and the current turn's user message. Defaults to 0:
	// those two and nothing else.
	Keep float64
	// Summary is the share of the budget that the summary may take, from 0 to 1. Defaults to 0.2.
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

// Mode says how the model is shown what it summarises.
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
)

// CopilotChat is the policy of Copilot Chat's foreground compaction: everything but the round that overflowed is
// summarised, at temperature 0, in full mode and then in simple mode, with a breadcrumb.
func CopilotChat() Policy { return Policy{Temperature: new(0.0)} }

// check refuses values that mean nothing.
func (p Policy) check() error {
	switch {
	case p.Mode != ModeAuto && p.Mode != ModeFull && p.Mode != ModeSimple:
		return fmt.Errorf("summarize: there is no mode %q", p.Mode)
	case !(p.Keep >= 0 && p.Keep <= 1):
		return fmt.Errorf("summarize: Policy.Keep is %v: it is a share between 0 and 1", p.Keep)
	case !(p.Summary >= 0 && p.Summary <= 1):
		return fmt.Errorf("summarize: Policy.Summary is %v: it is a share between 0 and 1", p.Summary)
	case p.SummaryMax < 0 || p.SummaryMax > 0 && p.SummaryMax < minWords:
		return fmt.Errorf("summarize: Policy.SummaryMax is %d: it is %d tokens or more", p.SummaryMax, minWords)
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
	if p.ReadTool == "" {
		p.ReadTool = "read_file"
	}
	if p.SimpleResult == 0 {
		p.SimpleResult = 200
	}
	return p
}

func (p Policy) modes() []Mode {
	if p.Mode == ModeAuto {
		return []Mode{ModeFull, ModeSimple}
	}
	return []Mode{p.Mode}
}

// minWords is the least room, in tokens, in which a summary's words are worth having.
const minWords = 100
