package summarize_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Environment variables that make the test binary a child process, see [TestMain].
const (
	childEnv      = "PROMPTREE_SUMMARIZE_WORK_ON"    // the session that the child works on
	stayEnv       = "PROMPTREE_SUMMARIZE_STAY_AT"    // the step at which the child stops, if set
	everythingEnv = "PROMPTREE_SUMMARIZE_EVERYTHING" // the child also clears output and writes checkpoints, if set
)

// everything returns a policy that clears, compacts in the background and in the foreground, and writes checkpoints.
func everything() policy.Policy {
	p := inBackground()
	p.Clear = policy.Clear{Always: true, Rule: history.ClearRule{Keep: 2600, Saves: 700}}
	p.Replace.Checkpoints = true
	return p
}

// checkpointsOf returns the folder for the checkpoints of a session.
func checkpointsOf(path string) *checkpoints.Folder {
	return &checkpoints.Folder{Dir: path + ".checkpoints"}
}

// nth returns message n of a child's session: the task, then calls and their results in turn.
func nth(n int) chat.Message {
	if n == 0 {
		return chat.UserMessage(task)
	}
	return round((n+1)/2, 400)[(n+1)%2]
}

// pause is how long a child takes for each step, so that it can be killed there.
const pause = 3 * time.Millisecond

// sawUpTo is a model that answers with the number of the last output that it was shown.
func sawUpTo(ctx context.Context, r chat.Request) (chat.Response, error) {
	last := 0
	for _, n := range outputs(text(r.Messages)) {
		last = max(last, n)
	}
	return models.SaySummary(fmt.Sprintf("Seen up to %d.", last))(ctx, r)
}

// inBackground returns a policy that compacts in the background at 80%, and in the foreground if a prompt does not fit.
func inBackground() policy.Policy {
	p := copilotchat.Policy()
	p.Trigger = policy.Trigger{{Ratio: 0.8, Background: true}, {On: policy.OnBudgetExceeded}}
	p.Ask.Judge.Off = true // its summaries are a few words
	return p
}

// workUntilKilled is the work of a child process: an agent that prints each message and each step of a compaction. It
// returns only if something fails.
func workUntilKilled(path string) error {
	tell := func(step string) {
		fmt.Println(step)
		if step == os.Getenv(stayEnv) {
			time.Sleep(time.Hour)
		}
	}
	store, err := storage.OpenFile(path, storage.FileOptions{Sync: storage.SyncNever, Disk: slowDisk{tell}})
	if err != nil {
		return err
	}
	s, err := history.New(context.Background(), store, history.Options{IDs: numbered.IDs()})
	if err != nil {
		return err
	}
	c := summarize.Compactor{
		Session: s, Policy: inBackground(), Checkpoints: checkpointsOf(path),
		Target: policy.Target{Tokenizer: quarter{}, Budget: budget, Model: chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			tell("asking")
			time.Sleep(3 * pause)
			tell("answered")
			time.Sleep(pause)
			return sawUpTo(ctx, r)
		})},
		Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
			if e.Checkpoint.Number > 0 {
				fmt.Println("checkpoint", filepath.Base(e.Checkpoint.Path))
			}
			switch {
			case e.Kind == event.Usage, e.Kind == event.Answered, e.Kind == event.Waiting:
				return
			case !e.Background:
				tell("foreground")
			}
			tell(string(e.Kind))
			time.Sleep(pause)
		})},
	}
	if os.Getenv(everythingEnv) != "" {
		c.Policy = everything()
	}
	for n := len(said(s)); ; n++ {
		if err := s.Append(context.Background(), nth(n)); err != nil {
			return err
		}
		tell(fmt.Sprint("said ", n))
		if n%2 == 1 {
			continue // the call is running
		}
		if _, err := c.Render(context.Background(), prompt(s)); err != nil {
			return err
		}
	}
}

// slowDisk is a disk that writes a compaction in two halves, and reports both.
type slowDisk struct{ tell func(step string) }

type slowFile struct {
	*os.File
	tell func(step string)
}

func (d slowDisk) Open(path string, readOnly bool) (storage.DiskFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	return slowFile{f, d.tell}, err
}

func (d slowDisk) Create(path string) (storage.DiskFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return slowFile{f, d.tell}, err
}

func (slowDisk) Remove(path string) error { return os.Remove(path) }

func (slowDisk) SyncDir(string) error { return nil }

func (slowFile) Check() error { return nil } // no other process writes the file

func (f slowFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f slowFile) WriteAt(data []byte, at int64) (int, error) {
	if !bytes.Contains(data, []byte(`"type":"compaction"`)) {
		return f.File.WriteAt(data, at)
	}
	half := len(data) / 2
	n, err := f.File.WriteAt(data[:half], at)
	if err != nil {
		return n, err
	}
	f.tell("writing")
	time.Sleep(pause)
	n, err = f.File.WriteAt(data[half:], at+int64(half))
	f.tell("written")
	time.Sleep(pause)
	return half + n, err
}

// Afterwards every acknowledged message is there, no compaction covers what no model was shown, and the work and the
// next compaction succeed.
func TestASessionSurvivesKillsAtEachStepOfABackgroundCompaction(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	steps := []string{"started", "asking", "answered", "ready", "writing", "written", "done"}
	r := rand.New(rand.NewPCG(3, 3))
	kills, torn, made := extremes.Cases(4*len(steps)), 0, 0
	path := ""
	for kill := range kills {
		if kill%len(steps) == 0 {
			path = filepath.Join(t.TempDir(), "session.jsonl")
			made = 0
		}
		step := steps[(kill+kill/len(steps))%len(steps)]
		stays := step == "writing" || r.IntN(2) == 0
		last, done := killedAt(t, path, step, stays, time.Duration(r.Int64N(int64(pause))))

		s, err := history.Open(path, history.Options{IDs: numbered.IDs()})
		require.NoError(t, err, "killed when it was %s", step)
		if s.Recovered() != nil {
			torn++
		}
		require.Greater(t, len(said(s)), last, "acknowledged messages are there")
		require.GreaterOrEqual(t, len(compactions(s)), made+done, "acknowledged compactions are there")
		requireSaid(t, s)

		d := fixtureOf(t, s)
		d.Policy, d.Target.Model = inBackground(), chat.ModelFunc(sawUpTo)
		requireCompacts(t, d)
		made = len(compactions(s))
		requireSaid(t, s)
		require.NoError(t, d.Close())
		require.NoError(t, s.Close())
	}
	require.GreaterOrEqual(t, torn, kills/len(steps), "some lines were half written")
	t.Logf("%d kills, %d of them left a torn line", kills, torn)
}

// latest returns the id of the latest compaction, "" for none.
func latest(t *testing.T, s *history.Session) string {
	t.Helper()
	e, _ := sessiontest.Latest(t, s, entry.TypeCompaction)
	return e.ID
}

// requireCompacts fails the test unless the session is compacted again as the work goes on.
func requireCompacts(t *testing.T, d fixture) {
	t.Helper()
	d.Messages()
	require.NoError(t, d.Wait(t.Context()))
	before, n := latest(t, d.Session), len(said(d.Session))
	for most := n + 60; latest(t, d.Session) == before; n++ {
		require.Less(t, n, most, "no later compaction: %s", kinds(*d.Heard))
		d.Say(nth(n))
		d.Messages()
		require.NoError(t, d.Wait(t.Context()))
	}
}

// killedAt runs a child and kills it a while after it reached a step, where it stops if stays is set. It returns the
// number of the last message and the number of compactions that the child printed as written.
func killedAt(t *testing.T, path, step string, stays bool, later time.Duration) (last, done int) {
	t.Helper()
	env := []string{childEnv + "=" + path}
	if stays {
		env = append(env, stayEnv+"="+step)
	}
	last = -1
	for _, line := range killedOnce(t, env, later, func(line string) bool { return line == step }) {
		require.NotEqual(t, "foreground", line)
		if line == string(event.Done) {
			done++
		}
		if n, ok := strings.CutPrefix(line, "said "); ok {
			_, err := fmt.Sscan(n, &last)
			require.NoError(t, err)
		}
	}
	return last, done
}

// killedOnce runs a child, kills it a while after it printed a line for which at is true, and returns the lines.
func killedOnce(t *testing.T, env []string, later time.Duration, at func(line string) bool) (told []string) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), "GORACE=halt_on_error=1"), env...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // if a check fails first
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		told = append(told, lines.Text())
		if !killed && at(lines.Text()) {
			killed = true
			time.Sleep(later)
			require.NoError(t, c.Process.Kill())
		}
	}
	err = c.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, ok && !exit.Exited(), "it ended by itself: %v", err)
	return told
}

// requireSaid checks that a session holds the messages of a child, and that a model was shown all that its compactions
// cover.
func requireSaid(t *testing.T, s *history.Session) {
	t.Helper()
	requireMessages(t, s)
	all, seen := entries(t, s), 0
	for i, e := range all {
		if e.Type() != entry.TypeCompaction {
			continue
		}
		_, err := fmt.Sscanf(e.Compaction().Text, "Seen up to %d.", &seen)
		require.NoError(t, err)
		cut := slices.IndexFunc(all, func(k entry.Entry) bool { return k.ID == e.Compaction().FirstKept })
		require.True(t, cut >= 0 && cut < i)
		covered := 0 // outputs, which are numbered from 1
		for _, k := range all[:cut] {
			if k.Message().Role == chat.RoleTool {
				covered++
			}
		}
		require.LessOrEqual(t, covered, seen, "the model was shown all that is covered")
	}
}

// requireMessages checks that a session holds the messages of a child, and that its view is valid for providers.
func requireMessages(t *testing.T, s *history.Session) {
	t.Helper()
	for n, m := range said(s) {
		equal(t, nth(n), m)
	}
	require.NoError(t, chat.Validate(append(viewOf(t, s).Messages(), chat.UserMessage("on"))))
}

// A child is killed while it clears, plans, summarises or writes checkpoints. Afterwards every acknowledged message is
// there, a plan that it left is given up, each checkpoint is whole, and the next render and compaction work.
func TestAProcessThatIsKilledAtAnyMomentLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	kills, left, cleared, points := numberFrom(t, killsEnv, 6), 0, 0, 0
	path := ""
	for kill := 0; kill < kills || cleared*points == 0 && kill < 10*kills; kill++ { // on a slow machine the first may come too early
		if kill%6 == 0 {
			path = filepath.Join(t.TempDir(), "session.jsonl")
		}
		lines := 1 + rand.IntN(60)
		last, made := -1, []string{}
		told := killedOnce(t, []string{childEnv + "=" + path, everythingEnv + "=1"}, rand.N(pause), func(string) bool {
			lines--
			return lines == 0
		})
		for _, line := range told {
			if n, ok := strings.CutPrefix(line, "said "); ok {
				_, err := fmt.Sscan(n, &last)
				require.NoError(t, err)
			}
			if name, ok := strings.CutPrefix(line, "checkpoint "); ok {
				made = append(made, name)
			}
		}

		s := sessiontest.Open(t, path, history.Options{IDs: numbered.IDs()})
		require.Greater(t, len(said(s)), last, "acknowledged messages are there")
		requireMessages(t, s)
		if e, found, err := s.Latest(t.Context(), entry.TypePlan); found && s.Leaf() == e.ID {
			require.NoError(t, err)
			left++
		}
		summaries := map[string]string{}
		for _, e := range entries(t, s) {
			if e.Type() == entry.TypeCompaction {
				summaries[e.ID] = e.Compaction().Text
			}
			if e.Type() == entry.TypeClearing {
				cleared++
			}
		}
		list, err := checkpointsOf(path).List()
		require.NoError(t, err)
		names := map[string]bool{}
		for i, point := range list {
			require.Equal(t, i+1, point.Number)
			require.Contains(t, summaries, point.Compaction, "its compaction is in the session")
			require.True(t, strings.HasSuffix(content(t, point.Path), "\n\n"+summaries[point.Compaction]+"\n"), "the checkpoint is whole")
			names[filepath.Base(point.Path)] = true
		}
		for _, name := range made {
			require.True(t, names[name], "the child printed it")
		}
		points += len(list)

		d := fixtureOf(t, s)
		d.Policy, d.Target.Model, d.Checkpoints = everything(), chat.ModelFunc(sawUpTo), checkpointsOf(path)
		require.Equal(t, policy.PendingNone, d.PendingNow(), "no process runs the plan")
		requireCompacts(t, d)
		after, err := checkpointsOf(path).List()
		require.NoError(t, err)
		require.Greater(t, len(after), len(list))
		leftovers, err := filepath.Glob(filepath.Join(path+".checkpoints", ".new-*"))
		require.NoError(t, err)
		require.Empty(t, leftovers)
		require.NoError(t, d.Close())
		require.NoError(t, s.Close())
	}
	require.Positive(t, cleared)
	require.Positive(t, points)
	t.Logf("%d kills: %d left a plan at the leaf, there were %d clearings and %d checkpoints", kills, left, cleared, points)
}
