package folderagent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotcli"
)

// Question is asked of an agent of another framework, which has a folder and a session.
type Question struct {
	Text  string
	Model string // name
	// Compactor of the session. Its target lacks a model and a tokenizer. The caller of the agent closes it.
	Compactor *summarize.Compactor
	// Toolboxes work on the folder and on the session.
	Toolboxes []chat.Toolbox
}

// Instruction of an agent that is asked a question.
const Instruction = "You answer questions about the files of a folder."

// Command runs a program that answers a question, and returns its exit code. The question is what stands behind the flags;
// flags has those of the program alone, and its name. Model and window, in tokens, are defaults. The error of check,
// which is called before anything is opened, is about usage.
func Command(ctx context.Context, flags *flag.FlagSet, args []string, stdout, stderr io.Writer, model string, window int, check func() error, answer func(context.Context, Question) error) int {
	flags.StringVar(&model, "model", model, "name of the model")
	flags.IntVar(&window, "window", window, "context window of the model, in tokens")
	session := flags.String("session", "session.jsonl", "file of a new or existing conversation")
	dir := flags.String("dir", ".", "folder whose files the agent reads")
	err := parse(flags, args, stdout)
	text, wrong := strings.Join(flags.Args(), " "), check()
	switch {
	case err != nil:
	case text == "":
		err = UsageError{Err: errors.New("ask a question, such as \"What is in this folder?\" (-help lists the flags)")}
	case window < 1000:
		err = UsageError{Err: fmt.Errorf("-window is %d: want 1000 or more", window)}
	case wrong != nil:
		err = UsageError{Err: wrong}
	default:
		err = ask(ctx, *session, *dir, window, Question{Text: text, Model: model}, answer)
	}
	code, problem := Outcome(ctx, err)
	if problem != "" {
		fmt.Fprintf(stderr, "%s: %s\n", flags.Name(), problem)
	}
	return code
}

// ask opens the folder and the session, and has the question answered.
func ask(ctx context.Context, session, dir string, window int, q Question, answer func(context.Context, Question) error) (err error) {
	own, err := NewTools(dir, session)
	if err != nil {
		return UsageError{Err: err}
	}
	defer own.Close()
	s, err := OpenSession(session, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	q.Compactor = &summarize.Compactor{Session: s, Policy: copilotcli.Policy(), Target: summarize.Target{
		Name: q.Model, ContextWindow: window, Budget: window - window/8, // less the answer
	}}
	defer q.Compactor.Close()
	q.Toolboxes = append(own.Toolboxes(), recall.Tools{})
	return answer(ctx, q)
}
