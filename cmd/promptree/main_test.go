package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sealed"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// asProgram is the environment variable that makes the test binary run as the program.
const asProgram = "PROMPTREE_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

const (
	formats   = "../../history/importer/testdata/formats/"
	generated = "../../history/importer/testdata/generated.jsonl"
	tree      = formats + "pi-tree.jsonl"
)

// ran runs the program and returns its output.
func ran(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(t.Context(), args, &out, &errs), errs.String())
	return out.String(), errs.String()
}

// process returns a command that runs the program in a process of its own, with this standard input.
func process(t *testing.T, stdin string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env, c.Stdin = append(os.Environ(), asProgram+"=1"), strings.NewReader(stdin)
	return c
}

// imported returns the log of a session.
func imported(t *testing.T, path string) string {
	t.Helper()
	out, _ := ran(t, program.ExitOK, "import", path)
	return out
}

func TestTheHelpOfEachCommandHasAnExample(t *testing.T) {
	all, _ := ran(t, program.ExitOK, "-h")
	for _, c := range commands {
		require.Contains(t, all, c.name)
		help, stderr := ran(t, program.ExitOK, c.name, "-h")
		require.Empty(t, stderr)
		require.Contains(t, help, "Usage: promptree "+c.name)
		require.Contains(t, help, "\n\tpromptree "+c.name+" ", "an example")
		again, _ := ran(t, program.ExitOK, "help", c.name)
		require.Equal(t, help, again)
	}
	_, stderr := ran(t, program.ExitUsage)
	require.Equal(t, all, stderr)
}

func TestThePageOfReplayNamesEachFlag(t *testing.T) {
	help, _ := ran(t, program.ExitOK, "replay", "-h")
	page := sure.Read(t, "../../docs/replay.md")
	for _, flag := range regexp.MustCompile(`(?m)^  (-[\w-]+)`).FindAllString(help, -1) {
		require.Contains(t, string(page), "`"+strings.TrimSpace(flag))
	}
}

func TestTheHelpExplainsWhatIsPrinted(t *testing.T) {
	for command, words := range map[string][]string{
		"show":   {">", "│", "id", "kind", "text"},
		"import": {"no place", "empty", "repeated", "moved", "unlinked", "refused", "unsendable", "unreadable"},
	} {
		help, _ := ran(t, program.ExitOK, command, "-h")
		for _, word := range words {
			require.Regexp(t, `(?m)^\t`+word+` {2,}\S`, help, command)
		}
	}
}

func TestAnEmptySessionIsNamed(t *testing.T) {
	path := sure.File(t, "empty.json", "[]")
	stdout, stderr := ran(t, program.ExitOK, "show", path)
	require.Empty(t, stdout)
	require.Equal(t, path+": the session is empty\n", stderr)
}

func TestACompactionSaysWhatItKeeps(t *testing.T) {
	for want, c := range map[string]entry.Compaction{
		"keeps from a: so far":         {FirstKept: "a", Summary: entry.Summary{Text: "so far"}},
		"keeps what follows b: so far": {LastCovered: "b", Summary: entry.Summary{Text: "so far"}},
		"keeps nothing: so far":        {Summary: entry.Summary{Text: "so far"}},
	} {
		require.Contains(t, describe(entry.Entry{Body: c}), want)
	}
}

func TestUsageErrorsAreOneLineAndExitCode2(t *testing.T) {
	torn := sure.File(t, "torn.jsonl", imported(t, tree)+"{nothing\n")
	notes := sure.File(t, "notes.txt", "no session at all")
	there := sure.File(t, "there.jsonl", "")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"an unknown command", []string{"shw"}, `promptree: there is no command "shw"`},
		{"an unknown flag", []string{"show", "-bogus", tree}, "promptree show: flag provided but not defined: -bogus"},
		{"no file", []string{"verify"}, "promptree verify: name a file"},
		{"two files for a command that takes one", []string{"show", tree, generated}, "unexpected argument"},
		{"a flag after the file", []string{"show", tree, "-view"}, "promptree show: flag -view comes after " + tree + ": flags come first"},
		{"a flag after files", []string{"replay", tree, "-window", "9000"}, "promptree replay: flag -window comes after " + tree + ": flags come first"},
		{"a missing file", []string{"show", "missing.jsonl"}, "missing.jsonl"},
		{"a missing log", []string{"verify", "missing.jsonl"}, "missing.jsonl"},
		{"a log that is a folder", []string{"verify", t.TempDir()}, "is a directory"},
		{"a folder", []string{"import", t.TempDir()}, "is a directory"},
		{"a file that is not a session", []string{"import", notes}, "notes.txt: importer: line 1"},
		{"an unreadable line", []string{"show", torn}, "torn.jsonl:23: from byte "},
		{"an unknown entry", []string{"show", "-entry", "nope", tree}, `pi-tree.jsonl: there is no entry "nope"`},
		{"a view at an unknown entry", []string{"show", "-view", "-at", "nope", tree}, `pi-tree.jsonl: there is no entry "nope"`},
		{"a window without a view", []string{"show", "-window", "5", tree}, "-window and -at need -view"},
		{"a window below 0", []string{"show", "-view", "-window=-1", tree}, "-window is -1"},
		{"a window too small for any message", []string{"show", "-view", "-window", "5", tree}, "-window is 5, and the system prompt and the tools took 174 tokens"},
		{"an entry and a view", []string{"show", "-view", "-entry", "a1", tree}, "set one of them"},
		{"an import into an existing file", []string{"import", "-o", there, tree}, "there.jsonl exists: name a new file"},
		{"an import into a missing folder", []string{"import", "-o", filepath.Join(notes, "x"), tree}, "promptree import: -o: "},
		{"a replay without a file", []string{"replay"}, "promptree replay: name a recorded session"},
		{"a page with a model's prices that are unknown", []string{"page", "-prices", "nobody-1", tree}, "nobody-1"},
		{"a page in a missing folder", []string{"page", "-o", filepath.Join(t.TempDir(), "none", "x.html"), tree}, "x.html"},
		{"a page of an empty file", []string{"page", there}, "there.jsonl"},
		{"a page without a file", []string{"page"}, "name a file"},
		{"a name with control characters", []string{"show", "a\x1b[2J"}, `a\u001b[2J`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr := ran(t, program.ExitUsage, tt.args...)
			require.Empty(t, stdout)
			require.Contains(t, stderr, tt.want)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

func TestVerifyNamesFileAndLine(t *testing.T) {
	log := imported(t, tree)
	whole := sure.File(t, "whole.jsonl", log)
	stdout, stderr := ran(t, program.ExitOK, "verify", whole)
	require.Equal(t, whole+": 22 lines, no damage\n", stdout)
	require.Empty(t, stderr)

	lines := strings.SplitAfter(log, "\n")
	lines[4] = "{}\n"
	damaged := sure.File(t, "damaged.jsonl", strings.Join(lines, ""))
	stdout, stderr = ran(t, program.ExitFailed, "verify", damaged, whole)
	require.Contains(t, stderr, damaged+":5: ")
	require.Regexp(t, regexp.QuoteMeta(damaged)+`:6: from byte \d+ on: its parent `, stderr)
	require.Contains(t, stdout, damaged+": 2 of 22 lines are damaged\n"+whole+": 22 lines, no damage\n")

	stdout, stderr = ran(t, program.ExitUsage, "verify", "missing.jsonl", damaged, whole)
	require.Contains(t, stdout, damaged+": 2 of 22 lines are damaged\n"+whole+": 22 lines, no damage\n", "the others are verified")
	require.Contains(t, stderr, "missing.jsonl: no such file or directory; a log is damaged: ")

	torn := sure.File(t, "torn.jsonl", log+`{"type":"mess`)
	stdout, stderr = ran(t, program.ExitOK, "verify", torn)
	require.Contains(t, stdout, "22 lines, no damage")
	require.Equal(t, torn+":23: 13 bytes of a half-written line; opening the session sets them aside\n", stderr)

	unended := sure.File(t, "unended.jsonl", strings.TrimSuffix(log, "\n"))
	stdout, stderr = ran(t, program.ExitOK, "verify", unended)
	require.Contains(t, stdout, "22 lines, no damage")
	require.Equal(t, unended+":22: the line is whole but for its line feed; opening the session for writing adds it\n", stderr)

	changed := sure.File(t, "changed.jsonl", log[:len(log)-30]+"#"+log[len(log)-29:])
	_, stderr = ran(t, program.ExitFailed, "verify", changed)
	require.Regexp(t, regexp.QuoteMeta(changed)+`:22: from byte \d+ on: .`, stderr, "its line feed shows that the last line was acknowledged")

	later := sure.File(t, "later.jsonl", sealed.Log(strings.Replace(log, `"version":4`, `"version":5`, 1)))
	stdout, stderr = ran(t, program.ExitUsage, "verify", later)
	require.Empty(t, stdout, "it is not damaged")
	require.Contains(t, stderr, later+": the session has format 5, this version reads 4: use the version of promptree that wrote it, or package importer if another program did\n")

	empty := sure.File(t, "empty.jsonl", "")
	_, stderr = ran(t, program.ExitFailed, "verify", empty)
	require.Contains(t, stderr, empty+":1: from byte 0 on: there is no header of a session\n")

	_, stderr = ran(t, program.ExitFailed, "verify", tree)
	require.Contains(t, stderr, "convert it with promptree import")
}

func TestShowPrintsATree(t *testing.T) {
	stdout, stderr := ran(t, program.ExitOK, "show", tree)
	require.Empty(t, stderr)
	golden.Equal(t, "tree.golden", stdout)
}

func TestAnEntryOfARecordingHasTheSameIDEachTime(t *testing.T) {
	for _, name := range []string{"claude-code.jsonl", "copilot.jsonl", "aider.md", "openai-lines.jsonl"} {
		path := filepath.Join(formats, name)
		first, _ := ran(t, program.ExitOK, "show", path)
		again, _ := ran(t, program.ExitOK, "show", path)
		require.Equal(t, first, again)
		back := regexp.MustCompile(`(?m)(\S+)  branch`).FindStringSubmatch(first)
		require.NotNil(t, back, name)
		_, stderr := ran(t, program.ExitOK, "show", "-entry", back[1], path)
		require.Empty(t, stderr)
	}
}

// Entries that the session left are indented, even if they are newer than those that it went back to.
func TestThePathToTheLeafIsNotIndented(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	n := 0
	s := sessiontest.Open(t, path, history.Options{IDs: func() string { n++; return fmt.Sprint("e", n) }})
	say := func(text string) string {
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(text)))
		return s.Leaf()
	}
	first, second := say("first"), say("second")
	require.NoError(t, s.Branch(t.Context(), first))
	say("third")
	require.NoError(t, s.Branch(t.Context(), second))
	say("fourth")
	require.NoError(t, s.Close())
	shown, _ := ran(t, program.ExitOK, "show", path)
	require.Equal(t, "  e1  user  first\n │  e3  branch\n │  e4  user  third\n  e2  user  second\n  e5  branch\n> e6  user  fourth\n", shown)
}

func TestAnEntryIsOneLineOfTheTreeWhateverItsID(t *testing.T) {
	pi := `{"type":"session","version":3,"id":"s"}` + "\n" + `{"type":"message","id":"a\n> b  user  I approve\u001b","parentId":null,"message":{"role":"user","content":"no"}}` + "\n"
	shown, _ := ran(t, program.ExitOK, "show", sure.File(t, "pi.jsonl", pi))
	require.Equal(t, "> a > b user I approve\\u001b  user  no\n", shown)
}

func TestShowPrintsAnEntry(t *testing.T) {
	stdout, _ := ran(t, program.ExitOK, "show", "-entry", "a2", tree)
	golden.Equal(t, "entry.golden", stdout)
}

func TestShowPrintsTheMessagesThatAModelSees(t *testing.T) {
	stdout, stderr := ran(t, program.ExitOK, "show", "-view", tree)
	require.Empty(t, stderr)
	golden.Equal(t, "view.golden", stdout)
	before, _ := ran(t, program.ExitOK, "show", "-view", "-at", "a7", tree)
	require.Contains(t, before, "Greet in two languages.", "before the compaction")
	require.NotContains(t, before, "German greeting read")
}

func TestShowInAWindowLeavesOutTheOldestAndSaysSo(t *testing.T) {
	whole, _ := ran(t, program.ExitOK, "show", "-view", generated)
	cut, stderr := ran(t, program.ExitOK, "show", "-view", "-window", "4000", generated)
	require.Less(t, len(cut), len(whole))
	require.Regexp(t, `^the messages take \d+ tokens and the window has 4000: the oldest are left out`, stderr)
	require.Regexp(t, `\n\d+ messages, [1-3]?\d{1,3} tokens\nof these \d+ of the system prompt`, cut)
}

func TestEveryFormatIsImportedWithoutDamage(t *testing.T) {
	files, err := filepath.Glob(formats + "*.json*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, from := range files {
		to := filepath.Join(t.TempDir(), "session.jsonl")
		stdout, _ := ran(t, program.ExitOK, "import", "-o", to, from)
		require.Empty(t, stdout)
		verified, _ := ran(t, program.ExitOK, "verify", to)
		require.Contains(t, verified, "no damage", from)
		shown, _ := ran(t, program.ExitOK, "show", from)
		again, _ := ran(t, program.ExitOK, "show", to)
		require.Equal(t, strings.Contains(shown, ">"), strings.Contains(again, ">"))
		if strings.HasPrefix(filepath.Base(from), "promptree") {
			require.Equal(t, shown, again)
		}
	}
}

func TestEveryCommandReadsWhatImportReads(t *testing.T) {
	files, err := filepath.Glob(formats + "*.json*")
	require.NoError(t, err)
	for _, from := range files {
		for _, command := range [][]string{{"show"}, {"show", "-view"}, {"page"}, {"replay", "-policy", "copilot-chat"}} {
			stdout, stderr := ran(t, program.ExitOK, append(command, "-salvage", from)...)
			require.NotEmpty(t, stdout)
			require.NotContains(t, stderr, "unreadable")
		}
	}
	chat := strings.Replace(sure.Content(t, formats+"gemini.json"), `"type": "gemini", "content": "Only`, `"type": 7, "content": "Only`, 1)
	damaged := sure.File(t, "chat.json", chat)
	for _, command := range []string{"import", "show", "page", "replay"} {
		_, stderr := ran(t, program.ExitUsage, command, damaged)
		require.Contains(t, stderr, damaged+": importer: line 40: type: expected a text, found a number (-salvage leaves out unreadable lines)\n")
		_, stderr = ran(t, program.ExitFailed, command, "-salvage", damaged)
		require.Contains(t, stderr, damaged+":40: unreadable: ")
		require.Contains(t, stderr, damaged+": 1 lines cannot be read and were left out\n")
	}
}

// OpenHands keeps each event in a file of its own.
func TestAFolderOfEventsIsASession(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "events"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "base_state.json"), []byte("{}"), 0o600))
	for i, line := range slices.Collect(strings.Lines(sure.Content(t, formats+"openhands.jsonl"))) {
		line = strings.ReplaceAll(strings.TrimSpace(line), `,"kind"`, ",\n\"kind\"")
		require.NoError(t, os.WriteFile(filepath.Join(folder, "events", fmt.Sprintf("%d.json", i)), []byte(line), 0o600))
	}
	want, _ := ran(t, program.ExitOK, "show", formats+"openhands.jsonl")
	for _, path := range []string{folder, filepath.Join(folder, "events")} {
		got, _ := ran(t, program.ExitOK, "show", path)
		require.Equal(t, want, got)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "events", "10.json"), []byte("{"), 0o600))
	_, stderr := ran(t, program.ExitUsage, "show", folder)
	require.Contains(t, stderr, folder+": importer: line 11: ")
}

func TestALineBeforeItsParentIsReplayed(t *testing.T) {
	line := func(uuid, parent, role, block string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%q,"sessionId":"s","message":{"role":%q,"content":[%s]}}`+"\n", role, uuid, parent, role, block)
	}
	path := sure.File(t, "claude.jsonl", line("u1", "", "user", `{"type":"text","text":"ask"}`)+
		line("u3", "u2", "user", `{"type":"tool_result","tool_use_id":"c","content":"found"}`)+
		line("u2", "u1", "assistant", `{"type":"tool_use","id":"c","name":"Read","input":{}}`)+line("u4", "u3", "assistant", `{"type":"text","text":"done"}`))
	stdout, _ := ran(t, program.ExitOK, "show", "-view", path)
	require.Regexp(t, `\n4 messages, `, stdout)
	_, stderr := ran(t, program.ExitOK, "import", path)
	require.Equal(t, path+":2: reordered: a line before the one that it follows\n", stderr)
	ran(t, program.ExitOK, "replay", "-policy", "copilot-chat", path)
}

func TestSalvageLeavesOutUnreadableLines(t *testing.T) {
	torn := sure.File(t, "torn.jsonl", imported(t, tree)+"{nothing\n")
	stdout, stderr := ran(t, program.ExitFailed, "import", "-salvage", torn)
	require.Equal(t, 22, strings.Count(stdout, "\n"))
	require.Contains(t, stderr, torn+":23: unreadable: ")
	require.Contains(t, stderr, torn+": 1 lines cannot be read and were left out\n")
	for _, command := range []string{"show", "page", "replay"} {
		_, stderr = ran(t, program.ExitFailed, command, "-salvage", torn)
		require.Contains(t, stderr, torn+":23: unreadable: ")
		require.Contains(t, stderr, torn+": 1 lines cannot be read and were left out\n")
	}
	whole, _ := ran(t, program.ExitOK, "replay", sure.File(t, "whole.jsonl", imported(t, tree)))
	replayed, _ := ran(t, program.ExitFailed, "replay", "-salvage", torn)
	require.Equal(t, strings.SplitN(whole, "\n", 2)[1], strings.SplitN(replayed, "\n", 2)[1])
	pi := sure.File(t, "pi.jsonl", sure.Content(t, tree)+"{nothing\n")
	stdout, stderr = ran(t, program.ExitFailed, "import", "-salvage", pi)
	require.Equal(t, 22, strings.Count(stdout, "\n"))
	require.Contains(t, stderr, ": 1 lines cannot be read and were left out\n")
}

// All lines but the bad one are kept, whatever follows it.
// A text between a call and its result is sent with the call. Before an answer to a blank message nothing can be sent.
func TestAnImportSaysWhatAReplayWouldFindLater(t *testing.T) {
	const call, result, says = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"a","content":"x"}`, `{"role":"assistant","content":"I wait."}`
	user := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	good := sure.File(t, "good.jsonl", strings.Join([]string{user("Go."), call, says, result, says, user("And?"), says}, "\n"))
	_, stderr := ran(t, program.ExitOK, "import", good)
	require.Empty(t, stderr)
	ran(t, program.ExitOK, "replay", "-prices", "input=1,read=1,output=1", good)

	bad := sure.File(t, "bad.jsonl", strings.Join([]string{user("Go."), says, user(" "), says, user("And?"), says}, "\n"))
	log, stderr := ran(t, program.ExitFailed, "import", bad)
	require.Contains(t, stderr, bad+":4: unsendable: the user says nothing before the answer\n")
	require.Contains(t, stderr, "1 places cannot be sent to a model")
	ran(t, program.ExitOK, "verify", sure.File(t, "session.jsonl", log))
	replayed, _ := ran(t, program.ExitFailed, "replay", "-prices", "input=1,read=1,output=1", bad)
	require.Contains(t, replayed, "line 4")
}

func TestSalvageKeepsWhatTheLibraryKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whole.jsonl")
	s := sessiontest.Open(t, path, history.Options{})
	for n := range 10 {
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(fmt.Sprint("ask ", n)), chat.AssistantMessage("well"), chat.UserMessage("and"), chat.AssistantMessage("so")))
	}
	sessiontest.Add(t, s, entry.Entry{Body: entry.Unknown{Kind: "later", Line: fmt.Appendf(nil, `{"type":"later","id":"x","parent":%q,"later":1}`, s.Leaf())}})
	require.NoError(t, s.Close())
	lines := strings.SplitAfter(sure.Content(t, path), "\n")
	for _, bad := range []int{1, 2, 11, 21, 41} {
		changed := slices.Clone(lines)
		changed[bad-1] = "?" + changed[bad-1][1:]
		from := sure.File(t, "damaged.jsonl", strings.Join(changed, ""))
		to := filepath.Join(t.TempDir(), "salvaged.jsonl")
		_, stderr := ran(t, program.ExitFailed, "import", "-salvage", "-o", to, from)
		require.Contains(t, stderr, fmt.Sprintf("%s:%d: unreadable: from byte ", from, bad))
		verified, _ := ran(t, program.ExitOK, "verify", to)
		require.Contains(t, verified, fmt.Sprint(42-min(1, bad-1), " lines, no damage"), "the header is made anew")
		want, _ := ran(t, program.ExitFailed, "show", "-salvage", from)
		got, _ := ran(t, program.ExitOK, "show", to)
		require.Equal(t, want, got)
		ran(t, program.ExitFailed, "replay", "-salvage", "-policy", "copilot-chat", from)
		require.Equal(t, 41-min(1, bad-1), strings.Count(got, "\n"))
		_, stderr = ran(t, program.ExitUsage, "show", from)
		require.Contains(t, stderr, fmt.Sprintf("%s:%d: from byte ", from, bad), "as verify says")
	}
	lost := sure.File(t, "lost.jsonl", strings.Join(slices.Delete(slices.Clone(lines), 20, 21), ""))
	_, stderr := ran(t, program.ExitOK, "import", "-salvage", lost)
	require.Contains(t, stderr, lost+":21: unlinked: from byte ", "a line that is not there is noted too")
	later := sure.File(t, "later.jsonl", sealed.Log(strings.Replace(strings.Join(lines, ""), `"version":4`, `"version":5`, 1)))
	for _, command := range []string{"show", "import", "page", "replay"} {
		_, stderr := ran(t, program.ExitUsage, command, "-salvage", later)
		require.Contains(t, stderr, later+": the session has format 5, this version reads 4: use the version of promptree that wrote it, or package importer if another program did\n")
	}
}

// A torn end is no damage in any command.
func TestATornEndIsNoted(t *testing.T) {
	torn := sure.File(t, "torn.jsonl", imported(t, tree)+`{"type":"mess`)
	for _, command := range []string{"show", "import", "page", "verify"} {
		_, stderr := ran(t, program.ExitOK, command, torn)
		require.Contains(t, stderr, torn+":23: 13 bytes of a half-written line; opening the session sets them aside\n")
	}
	ran(t, program.ExitOK, "replay", "-policy", "copilot-chat", torn)
}

func TestErrorsNameSalvageOnlyIfItHelps(t *testing.T) {
	log := imported(t, tree)
	for _, test := range []struct{ name, command, text, want string }{
		{"a bad line", "import", log + "{nothing\n", "(-salvage leaves out"},
		{"a bad line of a replay", "replay", log + "{nothing\n", "(-salvage leaves out"},
		{"a bad message of a list", "import", `[{"role":"user","content":"a"},{"content":"b"}]`, "(-salvage leaves out"},
		{"text behind a list", "import", "[\n{\"role\":\"user\",\"content\":\"a\"}\n]\nDone.\n", ""},
		{"a log whose ends of lines were changed", "show", strings.ReplaceAll(log, "\n", "\r\n"), ""},
		{"another format", "show", "hello\n", ""},
		{"an empty file", "import", "", ""},
		{"an empty file of a replay", "replay", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, stderr := ran(t, program.ExitUsage, test.command, sure.File(t, "given.jsonl", test.text))
			if test.want == "" {
				require.NotContains(t, stderr, "-salvage")
			} else {
				require.Contains(t, stderr, test.want)
			}
		})
	}
}

func TestCommandsReadTheStandardInput(t *testing.T) {
	log := imported(t, tree)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"verify", "-"}, "standard input: 22 lines, no damage\n"},
		{[]string{"show", "-"}, "> c9  custom  todo\n"},
		{[]string{"import", "-"}, `"type":"session"`},
		{[]string{"replay", "-policy", "copilot-chat", "-"}, "-: promptree, 2 requests to claude-opus-4-5\n"},
	} {
		c := process(t, log, tt.args...)
		var stderr strings.Builder
		c.Stderr = &stderr
		out, err := c.Output()
		require.NoError(t, err, tt.args)
		require.Contains(t, string(out), tt.want)
		require.Empty(t, stderr.String(), "no progress is shown, because it is no terminal")
	}
	c := process(t, strings.Replace(log, "Greet", "\x00", 1), "verify", "-")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	require.Error(t, c.Run())
	require.Equal(t, program.ExitFailed, c.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "standard input:")
}

func TestAPageShowsASession(t *testing.T) {
	out := filepath.Join(t.TempDir(), "session.html")
	stdout, stderr := ran(t, program.ExitOK, "page", "-o", out, "-prices", "claude-opus-4-5", tree)
	require.Empty(t, stdout)
	require.NotContains(t, stderr, "cannot")
	require.Contains(t, string(sure.Read(t, out)), "Only German is there.")
	hidden, _ := ran(t, program.ExitOK, "page", "-hide", tree)
	require.True(t, strings.HasPrefix(hidden, "<!"))
	require.NotContains(t, hidden, "Only German is there.")
}

func TestTheVersionIsPrinted(t *testing.T) {
	for _, arg := range []string{"version", "-version", "--version"} {
		said, _ := ran(t, program.ExitOK, arg)
		require.Regexp(t, `^promptree \S+ go1\.\d+`, said)
	}
}

func TestATreeFitsTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "60")
	said, _ := ran(t, program.ExitOK, "show", generated)
	for line := range strings.Lines(said) {
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 60)
	}
}
