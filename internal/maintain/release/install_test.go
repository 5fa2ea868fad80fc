package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	modpath "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// testVersion is a version that is never released.
const testVersion = "v0.999.0"

// programs holds a short program for each released module, by the module's folder.
var programs = map[string]string{
	".": "", // the README's first program
	"history/postgres": `
import "github.com/promptree-go/promptree/history/postgres"

func main() { println(new(postgres.Sessions) != nil) }`,
	"render/anthropic": `
import "github.com/promptree-go/promptree/render/anthropic"

func main() { println((&anthropic.Model{Name: "claude"}).Name) }`,
	"render/gemini": `
import "github.com/promptree-go/promptree/render/gemini"

func main() { println((&gemini.Model{Name: "gemini"}).Name) }`,
	"render/openai": `
import "github.com/promptree-go/promptree/render/openai"

func main() { println((&openai.Model{Name: "gpt"}).Name) }`,
	"sources/mcp": `
import "github.com/promptree-go/promptree/sources/mcp"

func main() { println((&mcp.Server{Name: "files"}).Name) }`,
	"summarize/adkagent": `
import "github.com/promptree-go/promptree/summarize/adkagent"

func main() { println(adkagent.Model(nil) != nil) }`,
	"summarize/einoagent": `
import "github.com/promptree-go/promptree/summarize/einoagent"

func main() { println(einoagent.Model(nil) != nil) }`,
	"summarize/jobs": `
import "github.com/promptree-go/promptree/summarize/jobs"

func main() { println(new(jobs.Queue) != nil) }`,
	"summarize/tracing": `
import "github.com/promptree-go/promptree/summarize/tracing"

func main() { println(new(tracing.Tracer) != nil) }`,
}

// Each module is installed as a user would install it: in a new module, from a proxy that serves this checkout as a
// release.
func TestAModuleIsInstalledAndUsedAsReleased(t *testing.T) {
	if testing.Short() {
		t.Skip("builds each module with all that it depends on")
	}
	made := released(t)
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw -trimpath", "GOSUMDB=off", "GOMODCACHE="+t.TempDir(), "GOTOOLCHAIN=local")
	for _, m := range made.released() {
		t.Run(m.dir, func(t *testing.T) {
			program, ok := programs[m.dir]
			require.True(t, ok, "no program uses %s: write one", m.path)
			if m.dir == "." {
				program = firstProgram(t)
			}
			// The usual proxy is asked for what is not in the module cache.
			user := user{t.TempDir(), append(env, "GOPROXY="+proxies(t, made)+","+goEnv(t, "GOPROXY"))}
			require.NoError(t, os.WriteFile(filepath.Join(user.dir, "main.go"), []byte("package main\n"+program), 0o644))
			user.run(t, "go", "mod", "init", "example.com/user")
			user.run(t, "go", "get", m.path+"@"+testVersion)
			require.Equal(t, "github.com/promptree-go/promptree "+testVersion+"\n", user.run(t, "go", "list", "-m", "github.com/promptree-go/promptree"))
			user.run(t, "go", "build", "-o", "program", ".")
			output := user.run(t, "./program")
			if m.dir == "." {
				require.Contains(t, read(t, checkout, "README.md"), "```text\n"+output)
				user.env = append(user.env, "GOBIN="+user.dir)
				user.run(t, "go", "install", m.path+"/cmd/promptree@"+testVersion)
				require.Contains(t, user.run(t, "./promptree", "-h"), "Usage: promptree COMMAND")
			}
		})
	}
}

// user is a module outside of the checkout.
type user struct {
	dir string
	env []string
}

func (u user) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := u.try(name, args...)
	require.NoError(t, err, out)
	return out
}

func (u user) try(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = u.dir, append(u.env, "PWD="+u.dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// released returns a copy of the checkout with the edits of a release.
func released(t *testing.T) *tree {
	t.Helper()
	dir := t.TempDir()
	for _, file := range tracked(t) {
		data, err := os.ReadFile(filepath.Join(checkout, file))
		if errors.Is(err, fs.ErrNotExist) { // it is removed, but the removal is not committed
			continue
		}
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), data, 0o644))
	}
	made, err := readTree(dir)
	require.NoError(t, err)
	_, err = made.require(testVersion)
	require.NoError(t, err)
	return made
}

// proxies returns a value of GOPROXY that serves our modules from a checkout and all others from the module cache.
func proxies(t *testing.T, made *tree) string {
	t.Helper()
	ours := filepath.Join(made.dir, "proxy")
	if _, err := os.Stat(ours); errors.Is(err, fs.ErrNotExist) {
		writeProxy(t, made, ours)
	}
	return fileURL(ours) + "," + fileURL(filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download"))
}

// writeProxy writes the released modules of a checkout in the form of a module proxy (go help goproxy).
func writeProxy(t *testing.T, made *tree, dir string) {
	t.Helper()
	for _, m := range made.released() {
		escaped, err := modpath.EscapePath(m.path)
		require.NoError(t, err)
		versions := filepath.Join(dir, escaped, "@v")
		require.NoError(t, os.MkdirAll(versions, 0o755))
		write := func(name string, data []byte) {
			require.NoError(t, os.WriteFile(filepath.Join(versions, name), data, 0o644))
		}
		mod := read(t, made.goModFile(m))
		var files bytes.Buffer
		require.NoError(t, zip.CreateFromDir(&files, modpath.Version{Path: m.path, Version: testVersion}, filepath.Join(made.dir, m.dir)))
		write("list", []byte(testVersion+"\n"))
		write(testVersion+".info", fmt.Appendf(nil, `{"Version":%q,"Time":%q}`, testVersion, day.Format(time.RFC3339)))
		write(testVersion+".mod", []byte(mod))
		write(testVersion+".zip", files.Bytes())
	}
}

// read returns the content of a file.
func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	require.NoError(t, err)
	return string(data)
}

func fileURL(path string) string { return "file://" + filepath.ToSlash(path) }

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// firstProgram returns the first program in the README, without its package clause.
func firstProgram(t *testing.T) string {
	t.Helper()
	_, code, _ := strings.Cut(read(t, checkout, "README.md"), "```go\n")
	code, _, found := strings.Cut(code, "```")
	require.True(t, found)
	return strings.TrimPrefix(code, "package main\n")
}
