package main

import (
	"cmp"
	"context"
	"flag"
	"io"

	"github.com/promptree-go/promptree/cmd/promptree/internal/output"
	"github.com/promptree-go/promptree/cmd/promptree/internal/sessionfile"
)

const importUsage = `Usage: promptree import [flags] FILE

Converts a recording to a session of promptree, and detects the format. It reads sessions of Claude Code, Codex, Copilot CLI (its
events.jsonl), Gemini CLI, goose (what "goose session export" writes as JSON, and the lines of earlier versions), opencode ("opencode
export"), VS Code (an exported chat.json, and the files of its folder chatSessions), aider (.aider.chat.history.md), OpenHands (a list of
events, or a folder with a file for each), SWE-agent, mini-swe-agent, pi, oh-my-pi and promptree, messages of OpenAI or Anthropic as JSON,
such as the api_conversation_history.json of Cline and Roo Code, and what Claude Code, Codex, Gemini CLI and opencode print for programs
(stream-json, "codex exec --json", "opencode run --format json"). Databases are not read. For example:

	promptree import -o session.jsonl ~/.claude/projects/app/1c2d.jsonl
	promptree import recording.jsonl | promptree verify -

What a session cannot hold as it is recorded is noted on the standard error, as FILE:LINE: KIND: WHAT, for the first of several. The kinds:

	no place    a field has no equivalent and was left out
	empty       a part that holds nothing was left out
	replaced    text that is not Unicode; U+FFFD stands in its place
	repeated    it repeats what another line says and was left out
	moved       parts of a line became messages of their own, in another order
	unlinked    the line that it follows is missing, so it follows the one before it
	reordered   the line that it follows comes after it; it was read after that one
	unknown     its type is not known; it is kept as data that no model sees
	later version
	            a later version of the agent wrote it, so that something may be missing
	refused     no valid entry could be made of it; it is kept as data that no model sees
	unsendable  no provider takes the messages up to there, so that the session cannot be replayed; it is written all the same,
	            and the exit code is 1
	unreadable  the line cannot be read and was left out (-salvage)

A log of promptree is copied. The flags:
`

func importing(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("import", flag.ContinueOnError)
	out := output.Flag(flags, "o", output.Stdout, "write the session to this new file; - is the standard output")
	salvage := flags.Bool("salvage", false, sessionfile.SalvageUsage)
	paths, err := parse(flags, importUsage, args, stdout, false)
	if err != nil {
		return err
	}
	s, err := sessionfile.Load(ctx, paths[0], *salvage, &folders)
	if err != nil {
		return err
	}
	err = out.Write(stdout, paths, func(w io.Writer) error { return s.Write(ctx, w) })
	if err == nil {
		s.Note(stderr, false)
		err = s.Sendable()
	}
	return cmp.Or(err, s.Close())
}
