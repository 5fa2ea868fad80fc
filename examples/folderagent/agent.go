package folderagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sources/instructions"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/record"
)

const task = `You survey a folder of files. Work in small steps, with the tools you are given, and answer from
what they return. Say what you do before you do it.`

// Prompt returns the prompt of an agent on a session. What comes last, such as a [Context], may change from step to step
// without breaking the provider's cache; nil is nothing.
func Prompt(session *history.Session, s Sources, last elements.Node) elements.Node {
	return el.Prompt(
		el.System(el.Priority(1000), el.Text(task, el.Required), el.If(s.Skills != nil, skills.Catalogue{Skills: s.Skills})),
		el.If(s.Instructions != nil, el.User(el.Required, s.Instructions)),
		history.Compacted{Session: session, Props: el.Props(el.Priority(700))},
		el.If(s.Skills != nil, skills.Loaded{Skills: s.Skills}),
		el.If(s.Deferred != nil, tools.Found{Deferred: s.Deferred}),
		history.Conversation{Session: session, TurnsOnly: true, Props: el.Props(el.Priority(700), el.Grow(1))},
		history.TurnStart{Session: session, Props: el.Props(el.Priority(900), el.Grow(2))},
		history.TurnRounds{Session: session, Props: el.Props(el.Priority(899), el.Grow(2))},
		last,
	)
}

// Sources holds the context that an agent finds rather than is given. Each field may be nil.
type Sources struct {
	// Instructions are the instruction files of the folder, in front of the conversation.
	Instructions *instructions.Files
	// Skills that the model may load.
	Skills *skills.Skills
	// Deferred holds the tools that the model finds by a search, instead of those of the agent, which are not declared.
	Deferred *tools.Deferred
}

// Toolboxes returns what answers calls: the agent's own tools, unless they are deferred, and those of the sources.
func (s Sources) Toolboxes(own *Tools) []chat.Toolbox {
	list := own.Toolboxes()
	if s.Deferred != nil {
		list = []chat.Toolbox{s.Deferred}
	}
	if s.Skills != nil {
		list = append(list, s.Skills)
	}
	return list
}

// OpenSession opens a session's file, by default a new one in a temporary folder. Recall says that the agent has the
// tools of package recall. If the file cannot be opened, the error is a [UsageError].
func OpenSession(path string, recall bool) (*history.Session, error) {
	if path == "" {
		dir, err := os.MkdirTemp("", "promptree-")
		if err != nil {
			return nil, err
		}
		path = filepath.Join(dir, "session.jsonl")
	}
	session, err := history.Open(path, history.Options{Recall: recall})
	if err != nil {
		return nil, UsageError{Err: err}
	}
	return session, nil
}

// Complete returns an error if the last answer of a turn is incomplete.
func Complete(answer agent.Answer) error {
	switch answer.Response.StopReason {
	case chat.StopMaxTokens:
		return errors.New("the answer was cut off: it reached the token limit of an answer")
	case chat.StopFiltered:
		return errors.New("the provider filtered the answer")
	}
	return nil
}

// Watch reports the steps of an agent, whose OnStep is [Watch.Step]. Attach it to the agent's compactor.
type Watch struct {
	// OnRound is called with each step, after its tools have run.
	OnRound func(Round)
	// Pace is a pause after each step, for people who watch. None by default.
	Pace time.Duration

	compactor *summarize.Compactor
	recorder  *record.Recorder // of the page, nil for none
	rounds    int
	mu        sync.Mutex
	compacted []event.Event // since the last step
	summaries float64       // dollars
}

// Round is one request to the model and its outcome.
type Round struct {
	// Number from 1.
	Number int
	// Did describes the model's answer in a few words.
	Did string
	// Tokens of the prompt with its tools, at most Budget.
	Tokens, Budget int
	// Usage as the model reported it; zero if it did not.
	Usage chat.Usage
	// Dropped pieces of the prompt.
	Dropped int
	// Compactions since the previous round.
	Compactions []event.Event
}

// Record records each step for a page. Call it before [Watch.Attach]. The error is a [UsageError] if the file cannot be
// written, or is the session's. A file that exists is left as it is until [Watch.WritePage].
func (w *Watch) Record(page string, session *history.Session) error {
	file, err := os.OpenFile(page, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return UsageError{Err: err}
	}
	defer file.Close()
	info, _ := file.Stat()
	if log, err := os.Stat(session.Path()); err == nil && os.SameFile(info, log) {
		return UsageError{Err: fmt.Errorf("the page would replace the session %s: name another file", page)}
	}
	w.recorder = new(record.Recorder)
	return nil
}

// WritePage writes the page of the steps so far, unless there are none.
func (w *Watch) WritePage(path, title string) error {
	var page bytes.Buffer
	err := w.recorder.Write(&page, inspect.Options{Title: title})
	if err == nil {
		err = os.WriteFile(path, page.Bytes(), 0o600)
	} else if errors.Is(err, inspect.ErrNoPrompts) {
		err = nil
	}
	return err
}

// Attach makes the watch an observer of a compactor.
func (w *Watch) Attach(c *summarize.Compactor) {
	w.compactor = c
	c.Observers = append(c.Observers, summarize.OnEvent(w.event))
	if w.recorder != nil {
		c.Observers = append(c.Observers, w.recorder)
	}
}

// event keeps compactions for the report of the next step, and what was paid for summaries.
func (w *Watch) event(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case event.Done:
		w.compacted = append(w.compacted, e)
		fallthrough
	case event.Failed, event.Cancelled, event.Discarded, event.Dropped:
		target := w.compactor.Current()
		if other, named := w.compactor.Models[e.Model]; named {
			target = other
		}
		w.summaries += target.Prices.Of(e.Usage).Total()
	}
}

// Step reports a step.
func (w *Watch) Step(ctx context.Context, answer agent.Answer) error {
	if w.recorder != nil {
		if err := w.recorder.Step(ctx, w.compactor, answer.Result, answer.Response); err != nil {
			return err
		}
	}
	target, result := w.compactor.Current(), answer.Result
	tools := target.Tokenizer.CountTools(target.Tools)
	w.mu.Lock()
	compacted := w.compacted
	w.compacted = nil
	w.mu.Unlock()
	for i := range compacted { // sizes of requests, like those of the round
		compacted[i].TokensBefore += tools
		compacted[i].TokensAfter += tools
	}
	w.rounds++
	w.OnRound(Round{
		Number: w.rounds, Did: Describe(answer.Message()), Tokens: result.Tokens + tools, Budget: result.Budget + tools, Usage: answer.Response.Usage,
		Dropped: len(result.Report().Dropped()), Compactions: compacted,
	})
	if w.Pace > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(w.Pace):
		}
	}
	return nil
}
