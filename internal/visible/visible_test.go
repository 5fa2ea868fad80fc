package visible_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/internal/visible"
)

func TestInvisibleAndControlCharactersAreEscaped(t *testing.T) {
	for _, c := range []struct{ rule, text, want string }{
		{"colours and window titles", "a\x1b[31mb\x1b]0;c\ad", `a\u001b[31mb\u001b]0;c\u0007d`},
		{"carriage returns", "safe\rrm", `safe\u000drm`},
		{"backspaces and deletes", "ab\b\bcd\x7f", `ab\u0008\u0008cd\u007f`},
		{"C1 control characters", "a\u009b31mb\u0085c", `a\u009b31mb\u0085c`},
		{"direction embeddings and overrides", "a\u202ab\u202bc\u202cd\u202de\u202ef", `a\u202ab\u202bc\u202cd\u202de\u202ef`},
		{"direction isolates", "\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`},
		{"direction marks", "\u200e\u200f\u061c", `\u200e\u200f\u061c`},
		{"characters without width", "pass\u200bword\u200c\u200d\u2060\ufeff\u00ad", `pass\u200bword\u200c\u200d\u2060\ufeff\u00ad`},
		{"blank letters", "a\u3164\u115f\u034fb", `a\u3164\u115f\u034fb`},
		{"tag characters and variation selectors", "a\U000e0061b\U000e0101", `a\udb40\udc61b\udb40\udd01`},
		{"line and paragraph separators", "a\u2028b\u2029c", `a\u2028b\u2029c`},
		{"bytes that are not UTF-8", "a\xffb\xc3\xed\xa0\x80", `a\xffb\xc3\xed\xa0\x80`},
		{"the replacement character stays", "a\uFFFDb\xff", "a\uFFFDb" + `\xff`},
		{"line feeds and tabs stay", "a\n\tb\n", "a\n\tb\n"},
		{"visible characters stay", "Größe 大小 ✓ → ❤️ é \u00a0 \\u202e", "Größe 大小 ✓ → ❤️ é \u00a0 \\u202e"},
		{"an empty text", "", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			require.Equal(t, c.want, visible.Text(c.text))
			require.Equal(t, c.want, visible.Text(visible.Text(c.text)))
			var b bytes.Buffer
			n, err := fmt.Fprint(visible.Writer(&b), c.text)
			require.NoError(t, err)
			require.Equal(t, len(c.text), n)
			require.Equal(t, c.want, b.String())
		})
	}
	require.Equal(t, `one two \u202e`, visible.Line(" one\n\ttwo\r\n\u2028\u202e"))
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff\U000e0061")
	f.Fuzz(func(t *testing.T, text string) {
		shown := visible.Text(text)
		require.True(t, utf8.ValidString(shown))
		require.Equal(t, shown, visible.Text(shown))
		var got string
		encoded := sure.JSON(t, text)
		require.NoError(t, json.Unmarshal([]byte(visible.Text(string(encoded))), &got))
		require.Equal(t, sure.Decode[string](t, encoded), got, "JSON keeps its meaning")
	})
}
