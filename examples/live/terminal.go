package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/summarize/event"
)

// terminal prints the model's text on one writer and notes on another. They may be the same screen. It is safe for
// concurrent use, because summaries are made while the model answers.
type terminal struct {
	text, notes io.Writer

	mu       sync.Mutex
	open     bool        // the last line of the text is incomplete
	held     []string    // notes about summaries that came meanwhile; they follow when the line ends
	thinking bool        // the current thinking was noted
	mended   atomic.Bool // a repair was noted
}

func newTerminal(text, notes io.Writer) *terminal {
	return &terminal{text: folderagent.VisibleWriter(text), notes: folderagent.VisibleWriter(notes)}
}

// say prints a piece of the model's answer. Calls are printed with their round, see [terminal.round].
func (t *terminal) say(d chat.Delta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch d := d.(type) {
	case chat.Thinking:
		if !t.thinking {
			t.thinking = true
			t.line("  (thinking)")
		}
	case chat.Text:
		if text := string(d); text != "" {
			t.thinking = false
			t.open = !strings.HasSuffix(text, "\n")
			_, _ = io.WriteString(t.text, text) // a closed pipe ends the program anyway
			if !t.open {
				t.release()
			}
		}
	}
}

// note prints a note in one line.
func (t *terminal) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(format, args...)
}

// line prints a note in a line of its own.
func (t *terminal) line(format string, args ...any) {
	if t.open {
		t.open = false
		_, _ = io.WriteString(t.text, "\n")
	}
	t.release()
	fmt.Fprintln(t.notes, oneLine(fmt.Sprintf(format, args...)))
}

func oneLine(note string) string { return strings.ReplaceAll(note, "\n", " ") }

// release prints the notes that were held.
func (t *terminal) release() {
	for _, note := range t.held {
		fmt.Fprintln(t.notes, note)
	}
	t.held = nil
}

// round prints what a round did, and its tokens.
func (t *terminal) round(r folderagent.Round) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.thinking = false
	took := fmt.Sprintf("%d of %d tokens", r.Tokens, r.Budget)
	if r.Usage.Input > 0 {
		cached := fmt.Sprint(r.Usage.CacheRead)
		if r.Usage.CacheUnknown {
			cached = "an unknown part"
		}
		took += fmt.Sprintf("; reported: %d in, %s from the cache, %d out", r.Usage.Input, cached, r.Usage.Output)
	}
	t.line("  %d. %s (%s)", r.Number, r.Did, took)
}

// event prints a step of a compaction, and that a request is retried after a wait. What a summary comes to is heard at
// any time, and is printed where it does not part a line of the answer.
func (t *terminal) event(e event.Event) {
	note := t.told(e)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case note == "":
	case t.open && e.Plan != "":
		t.held = append(t.held, oneLine(note))
	default:
		t.line("%s", note)
	}
}

// told returns the note of an event, or "".
func (t *terminal) told(e event.Event) string {
	switch e.Kind {
	case event.Retrying:
		why := e.Err
		if transient, ok := errors.AsType[*chat.TransientError](why); ok && transient.Err != nil {
			why = transient.Err
		}
		return fmt.Sprintf("  Trying again in %v: %v", e.Wait.Round(time.Second), why)
	case event.Repaired: // another model wrote what this one does not accept
		if !t.mended.Swap(true) {
			return fmt.Sprintf("  The session has content that this model does not accept; requests are repaired (%d changes; the first: %s).", len(e.Mended), e.Mended[0])
		}
	case event.Started:
		while := ""
		if e.Background {
			while = " in the background"
		}
		return fmt.Sprintf("  The prompt needs %d tokens: summarising %d steps%s, keeping %d ...", e.TokensBefore, e.Covered, while, e.Kept)
	case event.Refused:
		return fmt.Sprintf("  No summary (%s mode): %v", e.Mode, e.Err)
	case event.Done:
		return fmt.Sprintf("  Summarised (%s mode): the prompt takes %d tokens now.", e.Mode, e.TokensAfter)
	case event.Failed:
		return fmt.Sprintf("  Not summarised: %v", e.Err)
	case event.LetGo:
		return fmt.Sprintf("  No compaction makes the prompt fit: only %d of its %d messages are sent.", e.MessagesAfter, e.MessagesBefore)
	}
	return ""
}
