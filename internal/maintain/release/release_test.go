package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const checkout = "../../.."

var day = time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)

// repo makes a small repository with a root module, an adapter, an adapter that needs both, and a program.
func repo(t *testing.T, ci string) *tree {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.work":                  "go 1.26\n\nuse (\n\t.\n\t./store\n\t./store/jobs\n\t./examples/demo\n)\n",
		"go.mod":                   "module example.com/m\n\ngo 1.26\n",
		"store/go.mod":             "module example.com/m/store\n\ngo 1.26\n\nrequire example.com/m v0.0.0\n\nreplace example.com/m => ..\n",
		"store/jobs/go.mod":        "module example.com/m/store/jobs\n\ngo 1.26\n\nrequire (\n\texample.com/m v0.0.0\n\texample.com/m/store v0.0.0-00010101000000-000000000000\n\texample.com/other v1.2.3\n)\n",
		"examples/demo/go.mod":     "module example.com/m/examples/demo\n\ngo 1.26\n\nrequire example.com/m v0.0.0 // indirect\n",
		"CHANGELOG.md":             "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- All.\n\n[Unreleased]: https://example.com\n",
		".ci/run":                  ci,
		"examples/demo/demo.go":    "package main\n",
		"store/jobs/testdata/a.md": "v0.0.0\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	made, err := readTree(dir)
	require.NoError(t, err)
	for _, args := range []string{
		"init --quiet --initial-branch main", "config user.name Somebody", "config user.email somebody@example.com",
		"add .", "commit --quiet -m first",
	} {
		git(t, made, strings.Fields(args)...)
	}
	return made
}

func git(t *testing.T, made *tree, args ...string) string {
	t.Helper()
	out, err := made.git(args...)
	require.NoError(t, err)
	return out
}

func TestAReleaseRequiresTagsAndDatesOneVersion(t *testing.T) {
	made := repo(t, "echo tested\n")
	var out strings.Builder
	require.NoError(t, release(made.dir, "v0.1.0", true, day, &out))

	require.Contains(t, out.String(), "tested")
	require.Contains(t, out.String(), "git push --atomic origin main v0.1.0 store/v0.1.0 store/jobs/v0.1.0\n")
	require.Equal(t, "store/jobs/v0.1.0\nstore/v0.1.0\nv0.1.0\n", git(t, made, "tag"), "programs are not tagged")
	require.Empty(t, git(t, made, "status", "--porcelain"))
	require.Equal(t, "promptree: release v0.1.0\n", git(t, made, "log", "-1", "--format=%s"))
	require.Equal(t, "CHANGELOG.md\nexamples/demo/go.mod\nstore/go.mod\nstore/jobs/go.mod\n", git(t, made, "diff", "--name-only", "HEAD^"))
	require.Contains(t, git(t, made, "show", "store/v0.1.0:store/go.mod"), "require example.com/m v0.1.0\n\nreplace example.com/m => ..\n")
	require.Contains(t, git(t, made, "show", "v0.1.0:store/jobs/go.mod"),
		"\texample.com/m v0.1.0\n\texample.com/m/store v0.1.0\n\texample.com/other v1.2.3\n")
	require.Contains(t, git(t, made, "show", "v0.1.0:examples/demo/go.mod"), "example.com/m v0.1.0 // indirect")

	require.ErrorContains(t, release(made.dir, "v0.1.0", true, day, &out), "v0.1.0 is not after store/jobs/v0.1.0, which is tagged")
	require.ErrorContains(t, release(made.dir, "v0.2.0", true, day, &out), "has no entries under Unreleased")
}

func TestWithoutDoNothingChanges(t *testing.T) {
	made := repo(t, "exit 1\n")
	var out strings.Builder
	require.NoError(t, release(made.dir, "v0.1.0", false, day, &out))
	require.Contains(t, out.String(), "git push --atomic origin main v0.1.0 store/v0.1.0 store/jobs/v0.1.0\n")
	require.Empty(t, git(t, made, "status", "--porcelain"))
	require.Empty(t, git(t, made, "tag"))
}

func TestAReleaseThatIsRefusedChangesNoCommitOrTag(t *testing.T) {
	tests := []struct {
		rule, ci, version string
		before            func(*testing.T, *tree)
		want              string
	}{
		{"a failure of .ci/run", "exit 3\n", "v0.1.0", nil, "git restore . reverts the edits"},
		{"a file that changes while .ci/run runs", "echo >>go.mod\n", "v0.1.0", nil, "files were changed while .ci/run ran"},
		{"a word", "", "next", nil, `"next" is not a version`},
		{"half a version", "", "v0.1", nil, `"v0.1" is not a version`},
		{"a version without its v", "", "0.1.0", nil, `"0.1.0" is not a version`},
		{"a major version that needs other paths", "", "v2.0.0", nil, "from v2 on"},
		{"a version before the newest", "", "v0.1.0", func(t *testing.T, made *tree) { git(t, made, "tag", "v0.9.0") }, "not after v0.9.0"},
		{"a tag of one module, left by a release that failed", "", "v0.1.0", func(t *testing.T, made *tree) { git(t, made, "tag", "store/v0.1.0") }, "not after store/v0.1.0"},
		{"another branch than main", "", "v0.1.0", func(t *testing.T, made *tree) { git(t, made, "switch", "--quiet", "-c", "idea") }, `the branch is "idea"`},
		{"a change that is not committed", "", "v0.1.0", func(t *testing.T, made *tree) {
			require.NoError(t, os.WriteFile(filepath.Join(made.dir, "new.go"), []byte("package m\n"), 0o644))
		}, "?? new.go"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			made := repo(t, tt.ci)
			if tt.before != nil {
				tt.before(t, made)
			}
			tags := git(t, made, "tag")
			require.ErrorContains(t, release(made.dir, tt.version, true, day, &strings.Builder{}), tt.want)
			require.Equal(t, tags, git(t, made, "tag"))
			require.Equal(t, "first\n", git(t, made, "log", "--format=%s"))
		})
	}
}

func TestTheChangelogIsDated(t *testing.T) {
	text := "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Two.\n\n## [0.1.0] - 2026-01-02\n\n- One.\n\n" +
		"[Unreleased]: " + repository + "/compare/v0.1.0...main\n[0.1.0]: " + repository + "/releases/tag/v0.1.0\n"
	got, err := datedChangelog(text, "v0.2.0", day)
	require.NoError(t, err)
	require.Equal(t, "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-03-09\n\n### Added\n\n- Two.\n\n## [0.1.0] - 2026-01-02\n\n- One.\n\n"+
		"[Unreleased]: "+repository+"/compare/v0.2.0...main\n[0.2.0]: "+repository+"/releases/tag/v0.2.0\n"+
		"[0.1.0]: "+repository+"/releases/tag/v0.1.0\n", got)
	_, err = datedChangelog(got, "v0.3.0", day)
	require.ErrorIs(t, err, errNoEntries)
}

// go.work uses every module, and CHANGELOG.md has the form that a release needs: now, and while .ci/run checks the dated one.
func TestThisCheckoutCanBeReleased(t *testing.T) {
	made, err := readTree(checkout)
	require.NoError(t, err)
	dated, err := made.changelog("v1000.0.0", day)
	if !errors.Is(err, errNoEntries) {
		require.NoError(t, err)
		_, err = datedChangelog(string(dated), "v1000.0.1", day)
		require.ErrorIs(t, err, errNoEntries)
	}
	used := map[string]bool{}
	for _, m := range made.modules {
		used[m.dir] = true
	}
	for _, file := range tracked(t) {
		if dir := filepath.Dir(file); filepath.Base(file) == "go.mod" {
			require.True(t, used[filepath.ToSlash(dir)], "go.work does not use %s", dir)
		}
	}
}

// tracked lists the files of the checkout that git does not ignore, including those not yet added.
func tracked(t *testing.T) []string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	here := &tree{dir: checkout}
	return strings.Split(strings.TrimSuffix(git(t, here, "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00"), "\x00")
}
