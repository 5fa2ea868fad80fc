package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// outputs are the commands that write a file, without the file that they read.
var outputs = map[string]func(out string) []string{
	"import": func(out string) []string { return []string{"import", "-o", out} },
	"page":   func(out string) []string { return []string{"page", "-o", out} },
	"replay": func(out string) []string {
		return []string{"replay", "-prices", "none", "-policy", "a3s", "-window", "64000", "-page", out}
	},
}

func TestOutputsReplaceOnlyWhatTheyAreToldTo(t *testing.T) {
	t.Parallel()
	session := sure.Read(t, tree)
	for name, command := range outputs {
		for _, tt := range []struct {
			rule   string
			out    func(t *testing.T, dir string) string // makes what is there before
			forced bool                                  // -force replaces it
		}{
			{"a file of another program", func(t *testing.T, dir string) string { return sure.File(t, "tax.html", "mine") }, true},
			{"an empty file", func(t *testing.T, dir string) string { return sure.File(t, "x.html", "") }, true},
			{"the session", func(t *testing.T, dir string) string { return filepath.Join(dir, "session.jsonl") }, false},
			{"the session by another name", func(t *testing.T, dir string) string {
				require.NoError(t, os.Link(filepath.Join(dir, "session.jsonl"), filepath.Join(dir, "other")))
				return filepath.Join(dir, "other")
			}, false},
			{"a link to the session", func(t *testing.T, dir string) string {
				require.NoError(t, os.Symlink(filepath.Join(dir, "session.jsonl"), filepath.Join(dir, "link")))
				return filepath.Join(dir, "link")
			}, false},
			{"a link to a file", func(t *testing.T, dir string) string {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "target"), []byte("mine"), 0o600))
				require.NoError(t, os.Symlink(filepath.Join(dir, "target"), filepath.Join(dir, "link")))
				return filepath.Join(dir, "link")
			}, true},
			{"a link to nothing", func(t *testing.T, dir string) string {
				require.NoError(t, os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, "link")))
				return filepath.Join(dir, "link")
			}, true},
			{"a folder", func(t *testing.T, dir string) string { return t.TempDir() }, false},
		} {
			t.Run(name+" over "+tt.rule, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				in := filepath.Join(dir, "session.jsonl")
				require.NoError(t, os.WriteFile(in, session, 0o600))
				out := tt.out(t, dir)
				before := sure.Tree(t, dir, filepath.Dir(out))
				_, stderr := ran(t, program.ExitUsage, append(command(out), in)...)
				require.Contains(t, stderr, out)
				require.Equal(t, before, sure.Tree(t, dir, filepath.Dir(out)))
				code := program.ExitOK
				if !tt.forced {
					code = program.ExitUsage
				}
				ran(t, code, append(slices.Insert(command(out), 1, "-force"), in)...)
				after := sure.Tree(t, dir, filepath.Dir(out))
				if tt.forced {
					require.NotEqual(t, before[out], after[out])
					delete(before, out)
					delete(after, out)
					info, err := os.Lstat(out)
					require.NoError(t, err)
					require.Equal(t, fs.FileMode(0o600), info.Mode())
				}
				require.Equal(t, before, after, "nothing else changes")
			})
		}
		t.Run(name+" over what the standard input is", func(t *testing.T) {
			t.Parallel()
			in, err := os.Open(sure.File(t, "session.jsonl", string(session)))
			require.NoError(t, err)
			defer in.Close()
			p := process(t, "", append(slices.Insert(command(in.Name()), 1, "-force"), "-")...)
			p.Stdin = in
			said, err := p.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(said), "is what is read: name another file")
			require.Equal(t, session, sure.Read(t, in.Name()))
		})
		t.Run(name+" to a new file", func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "x")
			ran(t, program.ExitOK, append(command(out), tree)...)
			info, err := os.Lstat(out)
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode())
			require.Len(t, sure.Tree(t, filepath.Dir(out)), 1)
		})
		t.Run(name+" to what is no regular file", func(t *testing.T) {
			t.Parallel()
			ran(t, program.ExitOK, append(command(os.DevNull), tree)...)
			info, err := os.Lstat(os.DevNull)
			require.NoError(t, err)
			require.NotZero(t, info.Mode()&fs.ModeDevice)
			if _, err := os.Stat("/dev/stdout"); err != nil {
				t.Skip("there is no /dev/stdout")
			}
			for _, stdout := range []string{"-", "/dev/stdout"} {
				said, err := process(t, "", append(command(stdout), tree)...).Output()
				require.NoError(t, err)
				require.Contains(t, string(said), map[string]string{"import": `{"type":"session"`}[name])
				require.NotEmpty(t, said)
				to, err := os.Create(filepath.Join(t.TempDir(), "redirected"))
				require.NoError(t, err)
				p := process(t, "", append(command(stdout), tree)...)
				p.Stdout = to
				require.NoError(t, p.Run())
				require.NoError(t, to.Close())
				require.NotEmpty(t, sure.Read(t, to.Name()))
			}
		})
	}
}
