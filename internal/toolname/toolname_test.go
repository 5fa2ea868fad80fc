package toolname_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/toolname"
)

func TestNamesMatchIgnoringCaseAndSeparators(t *testing.T) {
	tools := map[string]int{"read_file": 1, "Read": 2, "read": 3, "multi-edit": 4}
	for _, c := range []struct {
		name string
		want int
	}{
		{"read_file", 1}, {"readFile", 1}, {"READ FILE", 1}, {"Read", 2}, {"read", 3}, {"READ", 2}, {"MultiEdit", 4}, {"reader", 0}, {"", 0}, {"-", 0},
		{"mcp__files__read_file", 1}, {"mcp__files__readFile", 1}, {"functions.read_file", 1}, {"server/MultiEdit", 4}, {"mcp__files__", 0}, {"__", 0}, {"a.", 0},
	} {
		got, ok := toolname.Find(tools, c.name)
		require.Equal(t, c.want, got, c.name)
		require.Equal(t, c.want > 0, ok, c.name)
	}
}

func TestPatchNamesItsFiles(t *testing.T) {
	for _, c := range []struct {
		rule, arguments string
		want            []string
	}{
		{"a patch in a field", `{"input":"*** Begin Patch\n*** Update File: a b.go\n*** Move to: c.go\n@@\n-x\n+y\n*** Add File: d.go\n+z\n*** Delete File: e.go\n*** End Patch"}`, []string{"a b.go", "c.go", "d.go", "e.go"}},
		{"a patch as plain text", "*** Begin Patch\r\n*** Update File: a.go\r\n*** End Patch", []string{"a.go"}},
		{"a patch in a shell command", `{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\n*** End Patch\nEOF"]}`, []string{"a.go"}},
		{"a unified diff", `{"patch":"--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n--- /dev/null\n+++ b/y.go\n--- a/z.go\n+++ /dev/null\n"}`, []string{"x.go", "y.go"}},
		{"each file is named once", `{"a":"*** Update File: a.go","b":["*** Update File: a.go"]}`, []string{"a.go"}},
		{"JSON that was cut off", `{"input":"*** Begin Patch\n*** Update File: a.go\n@@`, []string{"a.go"}},
		{"arguments without a patch", `{"input":"hello"}`, nil},
	} {
		t.Run(c.rule, func(t *testing.T) { require.Equal(t, c.want, toolname.Patched(c.arguments)) })
	}
}

func TestACommandMayBeAPatch(t *testing.T) {
	for arguments, want := range map[string]bool{
		`{"command":["apply_patch","*** Begin Patch\n*** Add File: a.go\n+x\n*** End Patch"]}`:          true,
		`{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\nEOF"]}`: true,
		`{"command":"grep apply_patch ."}`:            false,
		`{"command":"echo '*** Begin Patch'"}`:        false,
		`{"command":"apply_patch '*** Begin Patch'"}`: false,
	} {
		require.Equal(t, want, toolname.IsPatch(arguments), arguments)
	}
}

func TestEachNameIsOfOneKind(t *testing.T) {
	seen := map[string]toolname.Kind{}
	for k := toolname.Read; k <= toolname.Todo; k++ {
		require.NotEmpty(t, toolname.Names(k))
		for _, name := range toolname.Names(k) {
			require.Zero(t, seen[toolname.Fold(name)], name)
			seen[toolname.Fold(name)] = k
			require.True(t, toolname.Is(name, k), name)
			require.True(t, toolname.Is("mcp__server__"+name, k), name)
		}
	}
	require.False(t, toolname.Is("read_mail", toolname.Read))
}
