package browsertest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
)

// openReview opens the page of a pruned prompt, with the same prompt at a larger budget to compare.
func openReview(t testing.TB, width, height int64, o inspect.Options) tab {
	t.Helper()
	layout := laid(t, review(40))
	return openPrompt(t, width, height, o, requestOf(t, fitted(t, layout, 0.6), "now"), requestOf(t, fitted(t, layout, 0.8), "before"))
}

// For a trimmed piece it shows the same tokens.
func TestTheSliderShowsWhatARenderWouldKeep(t *testing.T) {
	t.Parallel()
	layout := laid(t, review(25))
	result := fitted(t, layout, 0.6)
	p := openPrompt(t, 1400, 9000, inspect.Options{}, inspect.Rendered{Result: result})
	p.click("[role=tab]", "Tree")
	r := rand.New(rand.NewPCG(1, 2))
	survey, err := result.Survey(t.Context())
	require.NoError(t, err)
	var budgets []int
	for len(budgets) < 200 {
		budget := survey.Least + r.IntN(result.Tokens*2-survey.Least)
		if len(budgets)%2 == 0 { // exactly at a border
			budget = survey.Report.Pieces[r.IntN(len(survey.Report.Pieces))].KeptFrom - r.IntN(2)
		}
		if budget >= survey.Least {
			budgets = append(budgets, budget)
		}
	}
	shown := eval[[]string](p, `(async () => {
		const shown = [];
		const number = document.getElementById("number");
		for (const budget of `+quote(budgets)+`) {
			number.value = budget;
			number.dispatchEvent(new Event("input", { bubbles: true }));
			await new Promise(requestAnimationFrame);
			await new Promise((done) => setTimeout(done));
			shown.push([...document.querySelectorAll("#outline [role=treeitem]:not([aria-expanded])")].map((e) =>
				e.classList.contains("dropped") ? "-" : e.querySelector(".size").textContent.replace(/\D/g, "")).join(" "));
		}
		return shown;
	})()`)
	trimmed := 0
	for i, budget := range budgets {
		fit, err := layout.Fit(t.Context(), budget)
		require.NoError(t, err)
		var want []string
		for _, piece := range fit.Report().Pieces {
			if piece.TrimmedFrom > 0 {
				trimmed++
			}
			if piece.Dropped != render.Kept {
				want = append(want, "-")
			} else {
				want = append(want, strconv.Itoa(piece.Tokens))
			}
		}
		require.Equal(t, strings.Join(want, " "), shown[i], "budget %d", budget)
	}
	require.Greater(t, trimmed, 20)
}

func TestBudgetsThatTheSurveyDoesNotCoverAreMarked(t *testing.T) {
	t.Parallel()
	limited := elements.Nodes{elements.TokenLimit{Max: 30, Children: elements.Nodes{elements.UserMessage{Children: elements.Nodes{
		elements.TextChunk{Props: props(1), Children: elements.Nodes{elements.Text(strings.Repeat("one ", 20))}},
		elements.TextChunk{Props: props(2), Children: elements.Nodes{elements.Text(strings.Repeat("two ", 20))}},
	}}}}, elements.UserMessage{Children: elements.Nodes{elements.TextChunk{Props: props(3), Children: elements.Nodes{elements.Text("three")}}}}}
	result, err := laid(t, limited).Fit(t.Context(), 100)
	require.NoError(t, err)
	p := openPrompt(t, 1280, 900, inspect.Options{}, inspect.Rendered{Result: result})
	said := func() string { return eval[string](p, `document.querySelector(".outcome").textContent`) }
	p.setBudget(29)
	require.Contains(t, said(), "Not known")
	p.setBudget(30)
	require.NotContains(t, said(), "Not known")

	grows := elements.Nodes{limited, elements.UserMessage{Children: elements.Nodes{elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) { return elements.Text("grown"), nil }}}}}
	result, err = laid(t, grows).Fit(t.Context(), 100)
	require.NoError(t, err)
	p = openPrompt(t, 1280, 900, inspect.Options{}, inspect.Rendered{Result: result})
	require.Contains(t, said(), "there are expandables")
	require.True(t, eval[bool](p, `document.getElementById("slider").disabled`))
	p.picture("unknown")
}

// Without a click.
func TestThePageSaysWhatWasDroppedFirstAndWhichBudgetWouldKeepIt(t *testing.T) {
	t.Parallel()
	p := openReview(t, 1280, 1000, inspect.Options{Title: "Review of a change"})
	p.picture("prompt")
	result := fitted(t, laid(t, review(40)), 0.6)
	survey, err := result.Survey(t.Context())
	require.NoError(t, err)
	first := survey.Report.Pieces[0]
	for _, piece := range survey.Report.Pieces {
		if piece.Dropped != render.Kept && piece.KeptFrom > first.KeptFrom {
			first = piece
		}
	}
	summary := eval[string](p, `document.querySelector(".summary").textContent`)
	require.Regexp(t, fmt.Sprintf(`Where the tokens are: other %d,%03d \(99%%\), tools \d+ \(1%%\)\.`, result.Breakdown().Other/1000, result.Breakdown().Other%1000), summary)
	require.Regexp(t, `Dropped first: <file path="[^"]+">. It was dropped because priority \d+ was the lowest`, summary)
	whole := first.KeptFrom
	if n := len(first.Sizes); n > 0 {
		whole = first.Sizes[n-1].Budget
	}
	require.Contains(t, summary, "A budget of "+eval[string](p, fmt.Sprintf(`(%d).toLocaleString("en")`, whole))+" tokens keeps it")
	p.click(".summary button", "tokens")
	require.Contains(t, eval[string](p, `document.querySelector(".outcome").textContent`), "nothing dropped")
	p.dark()
	p.picture("prompt-dark")
}

func TestEverythingCanBeReachedByTheKeyboard(t *testing.T) {
	t.Parallel()
	p := openReview(t, 1280, 1000, inspect.Options{})
	focus := func(selector string) { eval[bool](p, `(document.querySelector(`+quote(selector)+`).focus(), true)`) }
	title := func() string { return eval[string](p, `document.querySelector(".details h2").textContent`) }
	budget := func() int { return eval[int](p, `document.getElementById("slider").valueAsNumber`) }

	before := budget()
	focus("#slider")
	p.press(kb.ArrowLeft, kb.ArrowLeft)
	require.Equal(t, before-2, budget())

	focus("#order")
	first := title()
	p.press(kb.ArrowDown)
	require.NotEqual(t, first, title())
	p.press(kb.Home)
	require.Equal(t, first, title())
	p.press(kb.End)
	require.NotEqual(t, first, title())
	require.NotEmpty(t, eval[string](p, `document.getElementById(document.getElementById("order").getAttribute("aria-activedescendant")).textContent`))

	focus("[role=tab][aria-selected=true]")
	p.press(kb.ArrowRight)
	require.Equal(t, "Tree", eval[string](p, `document.activeElement.textContent`))
	focus("#outline")
	p.press(kb.Home)
	require.Equal(t, "Root", title())
	rows := func() int { return eval[int](p, `document.querySelectorAll("#outline [role=treeitem]").length`) }
	all := rows()
	p.press(kb.ArrowLeft)
	require.Equal(t, 1, rows())
	p.press(kb.ArrowRight, kb.ArrowRight)
	require.Equal(t, all, rows())
	require.Equal(t, "System", title())
	p.press(kb.ArrowLeft, kb.ArrowLeft)
	require.Equal(t, "Root", title())
	p.picture("tree")

	focus("input[type=search]")
	p.press("p", "2", "3", ".", "g", "o", kb.Enter)
	require.Contains(t, eval[string](p, `document.querySelector(".search [role=status]").textContent`), "1 found, this is 1")
	require.Contains(t, title(), "p23.go")
	p.picture("search")
}

func TestPiecesCanBeFoundZoomedAndKept(t *testing.T) {
	t.Parallel()
	p := openReview(t, 1280, 1000, inspect.Options{})
	p.click("[role=tab]", "Tree")
	p.click("#outline .row", "changed files")
	height := func() int { return eval[int](p, `document.querySelector("canvas[role=img]").clientHeight`) }
	whole := height()
	p.click("button", "Zoom to it")
	require.Less(t, height(), whole)
	p.click("button", "Show the whole prompt")
	require.Equal(t, whole, height())

	p.click("[role=tab]", "Drop order")
	p.click("button", "Keep next")
	returned := eval[int](p, `document.getElementById("slider").valueAsNumber`)
	require.Equal(t, returned, eval[int](p, `Math.min(...[...document.querySelectorAll("#order .row:not(.dropped) .from")].map((e) => Number(e.textContent.replace(/\D/g, ""))).filter((n) => n >= `+quote(returned)+`))`))
	p.click("button", "Drop next")
	require.Less(t, eval[int](p, `document.getElementById("slider").valueAsNumber`), returned)
	p.click("button", "Back to")
	require.Len(t, eval[[]string](p, `[...document.querySelectorAll("#order .row.soon")].map((e) => e.textContent)`), 10)

	// A click into the drawing selects the piece at that place.
	eval[bool](p, `(() => {
		const c = document.querySelector("canvas[role=img]");
		const box = c.getBoundingClientRect();
		c.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + 12 }));
		return true;
	})()`)
	p.settle()
	require.Equal(t, "Root", eval[string](p, `document.querySelector(".details h2").textContent`))
}

func TestMessagesHaveCountsAndCacheBreakpoints(t *testing.T) {
	t.Parallel()
	p := openReview(t, 1280, 1000, inspect.Options{})
	p.click("[role=tab]", "Messages as sent")
	text := eval[string](p, `document.querySelector(".messages").textContent`)
	require.Contains(t, text, "cache breakpoint in message 1")
	require.Regexp(t, `Σ [\d,]+`, text)
	p.click(".message summary", "system")
	require.Contains(t, eval[string](p, `document.querySelector(".message[open] pre").textContent`), "You review changes")
	p.setBudget(5000)
	require.Contains(t, eval[string](p, `document.querySelector(".messages").textContent`), "not at 5,000")
	p.picture("messages")
}

func TestTwoPromptsAreComparedAtTheirFirstDifference(t *testing.T) {
	t.Parallel()
	p := openReview(t, 1280, 1000, inspect.Options{})
	p.click("[role=tab]", "Compare")
	verdict := eval[string](p, `document.querySelector(".compare .verdict").textContent`)
	require.Regexp(t, `The first difference: message 2, character \d+`, verdict)
	require.Regexp(t, `serves \d+ of its [\d,]+ tokens \([\d.]+%\) in whole messages; [\d,]+ are lost, which costs \$`, verdict)
	require.Equal(t, 2, eval[int](p, `document.querySelectorAll(".compare .message[open] mark").length`))
	p.picture("compare")
}

func TestThePageSaysThatTextsAreHidden(t *testing.T) {
	t.Parallel()
	p := openReview(t, 1280, 1000, inspect.Options{HideContent: true})
	require.NotContains(t, eval[string](p, `document.documentElement.outerHTML`), "package p")
	require.Contains(t, eval[string](p, `document.body.textContent`), "The texts are left out")
	p.picture("hidden")
}

func TestHostileTextsAreShownAsText(t *testing.T) {
	t.Parallel()
	hostile := []string{
		"</script><script>document.title = 'run'</script>", "<img src=x onerror=\"document.title = 'run'\">", "\x00\x01\x1b[31m\x7f", "\u202ertl \u2066 ltr",
		"a\u2028b\u2029c", "👩‍👩‍👧‍👦", "\xff\xfe", strings.Repeat("long ", 1<<18), "مرحبا بالعالم", "javascript:alert(1)",
	}
	var list elements.Nodes
	for i, text := range hostile {
		list = append(list, elements.Wrap{Props: elements.Props{Priority: &i, ReportName: text[:min(len(text), 60)]}, Children: elements.Nodes{
			elements.Tag{Name: "t", Attributes: []elements.Attribute{{Name: "a", Value: text[:min(len(text), 1000)]}}, Children: elements.Nodes{elements.TextChunk{Children: elements.Nodes{elements.Text(text)}}}},
			elements.Text(text),
		}})
	}
	result := fitted(t, laid(t, elements.UserMessage{Children: list}), 1)
	p := openPrompt(t, 1280, 1000, inspect.Options{Title: hostile[0]}, requestOf(t, result, hostile[1]), requestOf(t, result, hostile[0]))
	for _, tab := range []string{"Drop order", "Tree", "Messages as sent", "Compare"} {
		p.click("[role=tab]", tab)
		p.picture("hostile-" + strings.ReplaceAll(tab, " ", "-"))
	}
	p.click("[role=tab]", "Tree")
	for range 12 {
		p.press(kb.ArrowDown)
	}
	require.Equal(t, hostile[0], eval[string](p, `document.title`))
	require.Zero(t, eval[int](p, `document.querySelectorAll("main script, main img").length`))
}

func TestALongTextIsShownInPartAndWholeOnRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 1<<17)
	result := fitted(t, laid(t, elements.UserMessage{Children: elements.Nodes{elements.TextChunk{Children: elements.Nodes{elements.Text(long)}}}}), 1)
	p := openPrompt(t, 800, 800, inspect.Options{}, inspect.Rendered{Result: result})
	p.click("[role=tab]", "Messages as sent")
	p.click(".message summary", "user")
	length := func() int { return eval[int](p, `document.querySelector(".message pre").textContent.length`) }
	require.Less(t, length(), 10_000)
	p.click("button", "Show all")
	require.Equal(t, len(long), length())
}

func TestNothingIsCutOffOnSmallScreensAndPaper(t *testing.T) {
	t.Parallel()
	p := openReview(t, 320, 900, inspect.Options{Title: "Review of a change"})
	for _, width := range []int64{320, 480, 1920, 800} {
		p.do(chromedp.EmulateViewport(width, 900))
		for _, tab := range []string{"Drop order", "Tree", "Messages as sent", "Compare"} {
			p.click("[role=tab]", tab)
			require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), int(width), "%s at %d pixels", tab, width)
		}
		p.click("[role=tab]", "Drop order")
		p.picture(fmt.Sprint("prompt-", width))
		if width == 800 {
			p.media("print")
			eval[bool](p, `(dispatchEvent(new Event("beforeprint")), true)`)
			p.settle()
			require.Equal(t, eval[int](p, `Number(document.querySelector("#views-panel .hint").textContent.match(/of (\d+) steps/)[1])`),
				eval[int](p, `document.querySelectorAll("#order .row").length`), "all rows are printed")
			p.picture("print")
		}
	}
}

func TestThePagesAreAccessible(t *testing.T) {
	t.Parallel()
	script := axe(t)
	p := openReview(t, 1280, 1000, inspect.Options{})
	for _, dark := range []string{"light", "dark"} {
		p.media("", &emulation.MediaFeature{Name: "prefers-color-scheme", Value: dark})
		for _, tab := range []string{"Drop order", "Tree", "Messages as sent", "Compare"} {
			p.click("[role=tab]", tab)
			p.accessible(script, dark+", "+tab)
		}
	}
}
