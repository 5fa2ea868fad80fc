package outline

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
)

func TestAnOutlineSaysWhatATextHolds(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"numbers stand as they are":                      {`{"a":1.50,"b":1e400,"c":12345678901234567890}`, []string{"a: 1.50", "b: 1e400", "c: 12345678901234567890"}},
		"keys keep their order":                          {`{"z":1,"a":2,"m":3}`, []string{".z: 1\n  .a: 2\n  .m: 3"}},
		"a key that came twice has both values":          {`{"a":1,"a":2}`, []string{"a: 1, 2"}},
		"elements have the keys of all objects":          {`[{"a":1},{"b":2},{"a":3,"c":null}]`, []string{"[]: object ×3, 3 keys", "a: 1, 3", "b: 2", "c: null"}},
		"values of a key are counted":                    {`[{"ok":true},{"ok":true},{"ok":false}]`, []string{"ok: true ×2, false"}},
		"values beyond a few are only counted":           {`[1,2,3,4,5,6,7]`, []string{"[]: 1, 2, 3, 4, 3 others"}},
		"arrays in arrays have their depth":              {`{"grid":[[1,2],[3,4]]}`, []string{".grid[][]: 1, 2, 3, 4"}},
		"kinds that are mixed are named":                 {`[{"a":1},[2],"x",null]`, []string{`[]: object, "x", null`, "[].a: 1", "[][]: 2"}},
		"what is empty is named":                         {`{"a":{},"b":[]}`, []string{".a: object", ".b: []"}},
		"an error has its path":                          {`{"jobs":[{"log":"line one\nfatal: no such ref\nline three"}]}`, []string{".jobs[].log: fatal: no such ref"}},
		"an exit code that is not 0 comes first":         {`{"stdout":"fine","exit_code":3}`, []string{"JSON\n  .exit_code: 3\n"}},
		"an exit code of 0 is a value like others":       {`{"stdout":"fine","exit_code":0}`, []string{"JSON\n  .: object, 2 keys\n  .stdout: \"fine\"\n  .exit_code: 0"}},
		"JSON that was cut off says so":                  {`{"items":[{"id":1},{"id":2},{"i`, []string{"JSON, cut off", ".items[].id: 1, 2"}},
		"JSON that was cut off in a word says so":        {`{"items":[1,2,tr`, []string{"cut off", "1, 2"}},
		"a mark after JSON that was cut off is shown":    {`{"items":[` + strings.Repeat(`{"id":1},`, 30) + "{\"id\":1, \"na\n[... 20 kB cut here ...]", []string{"cut off", "id: 1 ×31", "then: \"na [... 20 kB cut here ...]"}},
		"a line after JSON is shown":                     {`{"items":[` + strings.Repeat(`1,`, 90) + "1]}\nexit status 1\n", []string{"then: exit status 1"}},
		"values one a line are counted":                  {"{\"a\":1}\n{\"a\":2}\n", []string{".: object ×2", "a: 1, 2"}},
		"a byte order mark is no text":                   {"\ufeff{\"a\":1}", []string{"a: 1"}},
		"quotes keep separators":                         {"name,n\n\"a, b\",1\n\"c, d\",2\ne,3\n", []string{"3 rows", `"a, b"`}},
		"tabs separate":                                  {"name\tn\na\t1\nb\t2\nc\t3\n", []string{"3 rows", "row 3: c\t3"}},
		"a row that was cut off is no row":               {"name,n,m\na,1,2\nb,2,3\nc,3,4\nd,", []string{"3 rows", "row 4: d,"}},
		"the frame of a table is no row":                 {"+---+---+\n| a | b |\n+---+---+\n| 1 | x |\n| 2 | y |\n| 3 | z |\n+---+---+\n3 rows in set (0.01 sec)\n", []string{"3 rows", "first: | 1 | x |", "row 4: 3 rows in set"}},
		"a row that failed is shown":                     {"id,state\n1,ok\n2,ok\n3,denied\n4,ok\n5,ok\n6,ok\n", []string{"row 3: 3,denied"}},
		"a diff without git has its files":               {"--- old/x.txt\t2026-01-01\n+++ new/x.txt\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n", []string{"1 files, +1 -1", "new/x.txt: +1 -1"}},
		"a removed line that looks like a header is one": {"--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1 @@\n--- comment\n keep\n", []string{"1 files", "x.sql: +0 -1"}},
		"a diff that was cut off has a file":             {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b\n", []string{"x: +0 -1"}},
		"errors that differ in digits are one":           {strings.Repeat("2026-01-02 10:00:00 ERROR job 7 failed\n2026-01-02 10:00:01 ERROR job 8 failed\n", 30) + "2026-01-02 10:00:02 INFO done\n", []string{"ERROR ×60, INFO", "10:00:00 to 2026-01-02 10:00:02", "line 1: 2026-01-02 10:00:00 ERROR job 7 failed\n  line 61:"}},
		"levels are found in many forms": {
			"[ERROR] a\nWARN: b\n2026-01-02T10:00:00Z info c\ntime=\"2026-01-02T10:00:00Z\" level=debug msg=d\nE0102 10:00:00.000000 1 x.go:1] e\n2026/01/02 10:00:00 [error] f\n",
			[]string{"ERROR ×2, WARN, INFO, DEBUG"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Of(c.text, 2000)
			require.True(t, ok)
			for _, want := range c.want {
				require.Contains(t, got, want)
			}
		})
	}
}

func TestATextWithoutStructureHasNoOutline(t *testing.T) {
	for _, text := range []string{
		"", " \n\t\n", "hello", "{", "[", "{}}", "[1] is the first reference.\n[2] is the second.\n",
		"{ a: 1, b: 2 }", "{'a': 1, 'b': 2}", `{"a": undefined}`, "[package]\nname = \"x\"\nversion = \"1\"\n", "[a link](https://example.com) and text\n",
		"{{ template }}", "[[ -f x ]] && echo yes\n", "[1, 2, 3].map(x => x * 2)\n", "{\"a\": 1} // and more\n", "\"a string\"", "42", "null", "1\n2\n3\n4\n5\n",
		"[ ] buy milk\n[x] buy bread\n[ ] sleep\n", "[2026] was a good year.\n", "{%\nif x\n%}\n",
		"# Title\n\nSome *text*.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n", "- a\n- b\n- c\n- d\n- e\n",
		"| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n\nThe table above is short.\n\nIt has three rows.\n",
		"Title\n-----\n\ntext\n", "---\ntitle: x\n---\n\n# Text\n", "a: 1\nb: 2\nc: 3\nd: 4\n", "key=value\nother=value\nthird=value\nfourth=value\n",
		"package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"a\", \"b\")\n}\n", "def f(a, b):\n    return a, b\n\ndef g(a, b):\n    return b, a\n",
		"const a = 1, b = 2;\nconst c = 3, d = 4;\nconst e = 5, f = 6;\nconst g = 7, h = 8;\n", "mov eax,ebx\nadd ecx,edx\nsub eax,ecx\nxor edx,edx\n",
		"INSERT INTO t VALUES (1, 'a');\nINSERT INTO t VALUES (2, 'b');\nINSERT INTO t VALUES (3, 'c');\n", "int a;\nint b;\nint c;\nint d;\nint e;\n",
		"\tif x {\n\t\treturn\n\t}\n\tif y {\n\t\treturn\n\t}\n", "all:\n\tgo build\n\ntest:\n\tgo test\n",
		"Roses are red, violets are blue,\nSugar is sweet, and so are you.\nOne more, one less,\nI guess, I guess.\n",
		"Dear Anna,\nthank you for the letter, it was nice.\nYours,\nBen\n", "Smith,John\nDoe,Jane\nMiller,Max\nMeyer,Eva\n",
		"Then she said, softly, no.\nThen he said, loudly, yes.\nThen they said, both, well.\nThen all said, slowly, fine.\n",
		"total 12\n-rw-r--r-- 1 root root  120 Jan  2 10:00 a.txt\n-rw-r--r-- 1 root root 1200 Jan  2 10:00 b.txt\n-rw-r--r-- 1 root root   12 Jan  2 10:00 c.txt\n",
		"main.go:10:2: undefined: x\nmain.go:11:2: undefined: y\nmain.go:12:2: undefined: z\n", "a.go\nb.go\nc.go\nd/e.go\nd/f.go\n",
		"4f1c2d9 fix cache\n83db48f add cache\nbf2a1c9 first\n", "commit 4f1c2d9be0a77c53\nAuthor: R\nDate: today\n\n    fix\n", "--- a note\n+++ another\nand text\n",
		"diff is a program that compares files.\n@@ -1 +1 @@\n", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\nthis is no hunk" + strings.Repeat(" at all", 60) + "\n",
		"```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n", "ERROR means that something failed.\nIt is bad.\nINFO is fine.\nRead it.\nOr not.\nPlease.\nNow.\n",
		"- ERROR: bad\n- WARN: less bad\n- INFO: fine\n- DEBUG: noise\n- TRACE: more noise\n", "2026-01-02 released 1.0\n2026-01-03 released 1.1\n2026-01-04 released 1.2\n2026-01-05 more\n2026-01-06 more\n",
		"10:00 breakfast\n11:00 walk\n12:00 lunch\n13:00 sleep\n14:00 tea\n", "1\n00:00:01,000 --> 00:00:02,000\nHello.\n\n2\n00:00:03,000 --> 00:00:04,000\nBye.\n",
		"THE END   OF   ALL\nis near\nbut not here\nnor there\n", "error: cannot find x\n  --> src/main.rs:1:2\n   |\n 1 | x;\n   | ^\n", "<a>\n  <b>1</b>\n  <c>2</c>\n</a>\n",
		"Usage: tool [flags]\n\nFlags:\n  -a   all\n  -b   both\n  -c   count\n", "a | b | c\nd | e | f\ng | h | i\n", strings.Repeat("word ", 5000), strings.Repeat("x", 100_000), "\x00\x01\x02\xff\xfe",
	} {
		for _, limit := range []int{200, 4000} {
			got, ok := Of(text, limit)
			require.False(t, ok, "%s\n---\n%s", text, got)
		}
	}
}

// Source code, pages and lists of checksums of this repository have no structure that Of knows.
func TestCodeAndPagesHaveNoOutline(t *testing.T) {
	kinds := map[string]int{}
	require.NoError(t, filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); ext {
		case ".go", ".md", ".ts", ".js", ".css", ".html", ".sum", ".mod", ".conf", ".py", ".sh", ".sql", ".yml", ".toml":
			if err != nil || d.IsDir() || strings.Contains(path, "testdata") {
				return err
			}
			got, ok := Of(string(sure.Read(t, path)), 1000)
			require.False(t, ok, "%s\n%s", path, got)
			kinds[ext]++
		}
		return nil
	}))
	require.Greater(t, kinds[".go"], 500)
	require.Greater(t, kinds[".md"], 5)
}

func TestAnOutlineKeepsItsPromisesForAnyTextAndLimit(t *testing.T) {
	names, err := filepath.Glob("testdata/*.*")
	require.NoError(t, err)
	for _, name := range names {
		text := sure.Read(t, name)
		for _, limit := range []int{-1, 0, 1, 5, 20, 60, 200, 1000, 20_000} {
			for end := len(text); end > 0; end -= len(text)/7 + 1 {
				keepsPromises(t, string(text[:end]), limit)
			}
		}
	}
}

// keepsPromises checks what holds for any text.
func keepsPromises(t *testing.T, text string, limit int) {
	outline, ok := Of(text, limit)
	again, okAgain := Of(text, limit)
	require.Equal(t, outline, again)
	require.Equal(t, ok, okAgain)
	require.Equal(t, ok, outline != "")
	require.LessOrEqual(t, len(outline), max(0, limit))
	require.True(t, utf8.ValidString(outline) || !utf8.ValidString(text))
}

// Numbers, not times, say that the work is bounded: nothing of a text of 10 MB is kept beyond what may be shown.
func TestHugeTextsAreOutlined(t *testing.T) {
	long := strings.Repeat("x", 10_000_000)
	var keys strings.Builder
	for i := range 60_000 {
		keys.WriteString(`"key` + strconv.Itoa(i) + `":{"a":` + strconv.Itoa(i) + `},`)
	}
	for name, text := range map[string]string{
		"one string":        `{"a":"` + long + `","b":1}`,
		"one key":           `{"` + long + `":1}`,
		"one line of CSV":   "a,b,c\n1,2,3\n1,2,3\n1,2," + long + "\n",
		"one line of a log": strings.Repeat("2026-01-02 10:00:00 INFO a\n", 9) + "2026-01-02 10:00:00 ERROR " + long + "\n",
		"many keys":         "{" + keys.String() + `"last":1}`,
		"many elements":     "[" + strings.Repeat(`{"a":[1,2,3]},`, 60_000) + "{}]",
		"many lines":        strings.Repeat("2026-01-02 10:00:00 ERROR failed at 17\n", 20_000),
		"deep":              strings.Repeat(`{"a":[`, 4000) + strings.Repeat("]}", 4000),
		"deep and cut off":  strings.Repeat(`[`, 9000),
	} {
		t.Run(name, func(t *testing.T) {
			outline, ok := Of(text, 500)
			require.True(t, ok)
			require.LessOrEqual(t, len(outline), 500)
			if name == "many keys" {
				require.Contains(t, outline, "63 keys, and more")
			}
		})
	}
	_, ok := Of(strings.Repeat(`[`, 1_000_000), 500)
	require.False(t, ok, "encoding/json reads no text of that depth either")
}

func TestAnyJSONHasAnOutline(t *testing.T) {
	for _, value := range []any{map[string]any{}, []any{}, []int{1}, map[string]any{"a": []any{nil, true, "é\n\"", map[string]any{"": 1}}}, [][]int{{}}} {
		text, err := json.MarshalIndent(value, "", "\t")
		require.NoError(t, err)
		_, ok := Of(string(text), 200)
		require.True(t, ok, string(text))
	}
}

func FuzzOf(f *testing.F) {
	names, err := filepath.Glob("testdata/*.*")
	require.NoError(f, err)
	for _, name := range names {
		text := sure.Read(f, name)
		f.Add(string(text[:min(len(text), 4000)]), 300)
	}
	f.Fuzz(keepsPromises)
}
