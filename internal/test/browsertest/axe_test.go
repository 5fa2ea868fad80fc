package browsertest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// web is the folder of the front end's sources.
const web = "../../../render/inspect/web"

// axe returns the script of axe-core, in the version of the front end's package-lock.json.
func axe(t *testing.T) string {
	t.Helper()
	if browser == nil {
		t.Skip(noBrowser)
	}
	script, err := axeScript()
	if err != nil {
		t.Skipf("axe-core cannot be downloaded: %v", err)
	}
	return script
}

var axeScript = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "axe-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join(web, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
	}
	command := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	return string(script), err
})

// accessible fails the test if axe finds violations on the page in its current state.
func (p tab) accessible(axe, state string) {
	p.Helper()
	eval[bool](p, `(() => { if (!window.axe) { `+axe+` } return true; })()`)
	violations := eval[[]string](p, `axe.run().then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join(" | ")))`)
	require.Empty(p, violations, "%s: %s", state, strings.Join(violations, "\n"))
}
