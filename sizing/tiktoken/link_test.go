package tiktoken_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
)

func TestAProgramLinksTheTablesThatItUses(t *testing.T) {
	tables := []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"}
	for call, want := range map[string][]string{
		`tiktoken.O200k().CountText("a")`: {"o200k_base"},
		`tiktoken.R50k().CountText("a")`:  {"r50k_base"},
		`tiktoken.ForModel("gpt-4o")`:     {"o200k_base", "cl100k_base"},
		`tiktoken.New("o200k_base")`:      tables,
	} {
		t.Run(call, func(t *testing.T) {
			dir := t.TempDir()
			main, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
			source := "package main\n\nimport \"github.com/promptree-go/promptree/sizing/tiktoken\"\n\nfunc main() { " + call + " }\n"
			require.NoError(t, os.WriteFile(main, []byte(source), 0o600))
			out, err := exec.Command("go", "build", "-o", program, main).CombinedOutput()
			require.NoError(t, err, string(out))
			built := sure.Read(t, program)
			var linked []string
			for _, name := range tables {
				table := sure.Read(t, filepath.Join("tables", name+".bin"))
				if bytes.Contains(built, table[len(table)/2:len(table)/2+1000]) {
					linked = append(linked, name)
				}
			}
			require.Equal(t, want, linked)
		})
	}
}
