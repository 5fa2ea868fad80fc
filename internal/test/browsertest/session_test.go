package browsertest_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// openRun opens the page of a run of examples/agent.
func openRun(t testing.TB, width, height int64, args ...string) tab {
	t.Helper()
	return open(t, width, height, func(page *bytes.Buffer) error {
		dir := t.TempDir()
		file := filepath.Join(dir, "run.html")
		args := append([]string{"run", "../../../examples/agent", "-page", file, "-transcript", filepath.Join(dir, "transcript.jsonl")}, args...)
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		text, err := os.ReadFile(file)
		page.Write(text)
		return err
	})
}

func TestASessionIsShownStepByStep(t *testing.T) {
	t.Parallel()
	p := openRun(t, 1280, 1000, "-dir", "../../..")
	p.picture("session")
	if *update {
		p.capture("../../../docs/run.png")
	}
	require.Regexp(t, `▼ \d+ compactions\. Tokens of the prompt before and after: step \d+: [\d,]+ to [\d,]+`, eval[string](p, `document.querySelector("section.summary").textContent`))
	details := func() string { return eval[string](p, `document.querySelector(".details").textContent`) }
	require.Regexp(t, `Compacted from [\d,]+ to [\d,]+ tokens`, details())
	require.Regexp(t, `Covered messages \(\d+\)`, details())
	require.Contains(t, details(), "conversation-summary")
	require.Regexp(t, `Where the tokens are: (history|other|tools) [\d,]+ \(\d+%\), `, details())
	eval[bool](p, `(document.querySelector("#steps").focus(), true)`)
	p.press(kb.Home)
	require.Contains(t, details(), "Step 1")
	require.Contains(t, details(), "Decision")
	p.press(kb.ArrowDown, kb.ArrowDown)
	require.Contains(t, details(), "Step 3")

	answers := eval[[]string](p, `[...document.querySelectorAll("#steps .row .name")].map((e) => e.textContent)`)
	require.Contains(t, answers[0], "“Survey this folder")
	for _, answer := range answers[1:] {
		require.NotContains(t, answer, "“", "what stands last in each prompt is not what the user says")
	}

	rows := func() int { return eval[int](p, `document.querySelectorAll("#steps .row").length`) }
	all := rows()
	p.click("label", "Only steps")
	require.Less(t, rows(), all)
	p.click("label", "Only steps")

	p.click("button", "Open its prompt")
	require.Contains(t, eval[string](p, `document.querySelector(".crumbs").textContent`), "The prompt of step 3")
	p.picture("session-prompt")
	p.click("[role=tab]", "Compare")
	require.Contains(t, eval[string](p, `document.querySelector(".compare .verdict").textContent`), "step 2")
	p.click("[aria-label='The next step']", "")
	require.Contains(t, eval[string](p, `document.querySelector(".crumbs").textContent`), "The prompt of step 4")
	p.click("button", "All steps")
	require.Contains(t, details(), "Step 4")
	p.do(chromedp.NavigateBack(), chromedp.WaitVisible(chromedp.CSS(".crumbs")))
	require.Contains(t, eval[string](p, `document.querySelector(".crumbs").textContent`), "The prompt of step 4")
	p.do(chromedp.NavigateForward(), chromedp.WaitVisible(chromedp.CSS(".u-over")))

	at := eval[[]float64](p, `(() => { const box = document.querySelector(".u-over").getBoundingClientRect(); return [box.right - 3, box.top + 20]; })()`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
	p.settle()
	p.do(chromedp.MouseClickXY(at[0], at[1]))
	p.settle()
	require.Contains(t, details(), "Step "+eval[string](p, `[...document.querySelectorAll("#steps .row .rank")].pop().lastChild.textContent`))
}

func TestTheSessionIsAccessibleAndFitsScreens(t *testing.T) {
	t.Parallel()
	script := axe(t)
	p := openRun(t, 320, 800, "-dir", "../../..")
	require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), 320)
	p.picture("session-320")
	p.accessible(script, "320 pixels")
	p.do(chromedp.EmulateViewport(1280, 1000))
	p.dark()
	p.accessible(script, "dark")
	p.picture("session-dark")
}

func TestTheChartsAreOnPaper(t *testing.T) {
	t.Parallel()
	p := open(t, 1280, 1000, func(page *bytes.Buffer) error {
		out, err := exec.Command("go", "run", "../../../cmd/promptree", "page", "../../../history/importer/testdata/generated.jsonl").Output()
		page.Write(out)
		return err
	})
	p.media("print")
	p.do(chromedp.EmulateViewport(700, 1000))
	p.settle()
	p.picture("session-print")
	require.Equal(t, []float64{2, 1, 1}, eval[[]float64](p, `(() => {
		const charts = [...document.querySelectorAll(".timeline canvas")];
		const boxes = charts.map((c) => c.getBoundingClientRect());
		const inked = charts.every((c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v > 0).length > c.width * c.height / 20);
		return [charts.length, Number(boxes.every((b) => b.left >= 0 && b.right <= 700 && b.height > 60)), Number(inked)];
	})()`), "charts, within the paper, drawn")
}

func TestTheRecordedSessionOpens(t *testing.T) {
	t.Parallel()
	const recorded = "../../../../shared/sessions/pi-before-compaction.jsonl"
	sessiontest.Needs(t, recorded)
	p := open(t, 1280, 1000, func(page *bytes.Buffer) error {
		file := filepath.Join(t.TempDir(), "replay.html")
		out, err := exec.Command("go", "run", "../../../cmd/promptree", "replay", "-page", file, "-policy", "copilot-chat", "-prices", "none", recorded).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		written, err := os.ReadFile(file)
		page.Write(written)
		return err
	})
	p.picture("recorded")
	require.Contains(t, eval[string](p, `document.querySelector(".facts").textContent`), "484")
	steps := eval[string](p, `document.querySelector("#steps").textContent`)
	require.Contains(t, steps, " …/src/", "the end of a path")
	require.NotRegexp(t, `(read|edit|write) /Users/`, steps)
	t.Logf("painted after %.0f ms", p.painted())
	require.Less(t, eval[int](p, `document.documentElement.outerHTML.length`), 10_000_000)
}
