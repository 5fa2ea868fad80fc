package browsertest_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/render/inspect"
)

var update = flag.Bool("update", false, "write the README's picture again")

// browser is the context of a browser that all tests share; it resolves no host name. It is nil without Chromium.
var browser context.Context

const noBrowser = "Chromium is not installed: install the Debian package chromium"

func TestMain(m *testing.M) {
	flag.Parse()
	path, err := exec.LookPath("chromium")
	if err != nil {
		path, err = exec.LookPath("google-chrome")
	}
	if err == nil {
		ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
			chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true),
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"), chromedp.Flag("proxy-server", "127.0.0.1:9"),
		))
		browser = ctx
		code := m.Run()
		cancel()
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// tab is a page in the browser.
type tab struct {
	testing.TB
	ctx     context.Context
	mu      *sync.Mutex
	trouble *[]string // the page's network requests, console messages and exceptions
}

// open opens the page that a function writes. The test fails if the page makes a request, throws an exception, or
// violates its policy.
func open(t testing.TB, width, height int64, write func(*bytes.Buffer) error) tab {
	t.Helper()
	if browser == nil {
		t.Skip(noBrowser)
	}
	var page bytes.Buffer
	require.NoError(t, write(&page))
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, page.Bytes(), 0o600))
	p := tab{TB: t, mu: new(sync.Mutex), trouble: new([]string)}
	wrong := func(what string) {
		p.mu.Lock()
		*p.trouble = append(*p.trouble, what)
		p.mu.Unlock()
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithListener(func(e any) {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			wrong("threw " + e.ExceptionDetails.Text)
			if e.ExceptionDetails.Exception != nil {
				wrong(e.ExceptionDetails.Exception.Description)
			}
		case *runtime.EventConsoleAPICalled:
			wrong("console " + string(e.Type))
		case *network.EventRequestWillBeSent:
			if url := e.Request.URL; url != "file://"+file && !strings.HasPrefix(url, "data:") {
				wrong("asks for " + url)
			}
		}
	}))
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	p.ctx = ctx
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	p.do(chromedp.EmulateViewport(width, height), chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS("h1")))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(*p.trouble) > 0 {
			t.Errorf("the page: %s", strings.Join(*p.trouble, "; "))
		}
	})
	return p
}

// openPrompt opens the page of a prompt.
func openPrompt(t testing.TB, width, height int64, o inspect.Options, requests ...inspect.Rendered) tab {
	t.Helper()
	return open(t, width, height, func(page *bytes.Buffer) error { return inspect.Prompt(t.Context(), page, o, requests...) })
}

func (p tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	require.NoError(p, chromedp.Do(p.ctx, steps...))
}

// eval evaluates a script, and waits for its promise.
func eval[T any](p tab, script string) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(p, err, script)
	return value
}

// painted returns the time in milliseconds from the start of the page to its first content.
func (p tab) painted() float64 {
	p.Helper()
	return eval[float64](p, `new Promise((done) => new PerformanceObserver((list) => done(list.getEntriesByName("first-contentful-paint")[0].startTime)).observe({ type: "paint", buffered: true }))`)
}

// press presses keys, one after the other.
func (p tab) press(keys ...string) {
	p.Helper()
	for _, key := range keys {
		p.do(chromedp.KeyEvent(key))
	}
	p.settle()
}

// click clicks on the first of a selector's elements that contains a text.
func (p tab) click(selector, text string) {
	p.Helper()
	require.True(p, eval[bool](p, `(() => {
		const e = [...document.querySelectorAll(`+quote(selector)+`)].find((e) => e.textContent.includes(`+quote(text)+`));
		e?.click();
		return !!e;
	})()`), "found no %s with %q to click on", selector, text)
	p.settle()
}

// settle waits until the page is drawn.
func (p tab) settle() {
	eval[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true)))))`)
}

// setBudget moves the slider to a budget.
func (p tab) setBudget(budget int) {
	p.Helper()
	eval[bool](p, `(() => {
		const e = document.getElementById("number");
		e.value = `+quote(budget)+`;
		e.dispatchEvent(new Event("input", { bubbles: true }));
		return true;
	})()`)
	p.settle()
}

// media sets the medium that the page is shown on, such as "print", and its features.
func (p tab) media(medium string, features ...*emulation.MediaFeature) {
	p.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium, Features: features})
	require.NoError(p, err)
	p.settle()
}

func (p tab) dark() {
	p.media("", &emulation.MediaFeature{Name: "prefers-color-scheme", Value: "dark"})
}

// picture writes a screenshot into the folder that SCREENSHOTS names, if it names one.
func (p tab) picture(name string) {
	p.Helper()
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		p.capture(filepath.Join(dir, name+".png"))
	}
}

// capture writes a screenshot.
func (p tab) capture(file string) {
	p.Helper()
	p.settle()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p, err)
	require.NoError(p, os.WriteFile(file, png, 0o644))
}
