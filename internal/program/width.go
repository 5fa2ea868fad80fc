package program

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Width returns the number of columns of the terminal that a writer writes to, that of COLUMNS if it is set, and 0 if
// there is no terminal and thus no limit.
func Width(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := w.(*os.File); ok {
		return terminalWidth(f.Fd())
	}
	return 0
}

// Wrap breaks the lines of a text that are longer than a width in columns, at spaces. What continues a line is indented
// like its second column, which two spaces or a tab separate from the first, or else like the line. A width of 0 is no
// limit.
func Wrap(text string, width int) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		wrapLine(&b, strings.ReplaceAll(body, "\t", "    "), width)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func wrapLine(b *strings.Builder, line string, width int) {
	start := len(line) - len(strings.TrimLeft(line, " "))
	indent := start
	if i := strings.Index(line[start:], "  "); i >= 0 {
		rest := line[start+i:]
		indent = utf8.RuneCountInString(line) - utf8.RuneCountInString(strings.TrimLeft(rest, " "))
	}
	if indent > width/2 {
		indent = start
	}
	for utf8.RuneCountInString(line) > width {
		at, column := -1, 0
		for i, r := range line {
			if r == ' ' && column > indent && (column <= width || at < 0) {
				at = i
			}
			column++
		}
		if at < 0 {
			break
		}
		b.WriteString(strings.TrimRight(line[:at], " ") + "\n")
		line = strings.Repeat(" ", indent) + strings.TrimLeft(line[at:], " ")
	}
	b.WriteString(line)
}

// IsTerminal reports whether a writer writes to a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
