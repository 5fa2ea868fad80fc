package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The output formats.
const (
	formatText = "text"
	formatJSON = "json"
)

// column of a sheet: its name in JSON, its head in text, and the verb that formats its float64 values in text.
type column struct{ name, head, verb string }

// sheet is a table that can be printed in each format. A value is an int, a float64, a string or a bool, or nil if it
// is unknown.
type sheet struct {
	columns []column
	rows    [][]any
}

// grid returns the sheet for people, without columns that have no value in any row.
func (s sheet) grid() grid {
	g := make(grid, len(s.rows)+1)
	for i, c := range s.columns {
		if !slices.ContainsFunc(s.rows, func(row []any) bool { return row[i] != nil && row[i] != false }) {
			continue
		}
		g[0] = append(g[0], c.head)
		for j, row := range s.rows {
			g[j+1] = append(g[j+1], c.text(row[i]))
		}
	}
	return g
}

func (c column) text(value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case int:
		return number(v)
	case float64:
		return fmt.Sprintf(c.verb, v)
	case bool:
		return map[bool]string{true: "*"}[v]
	default:
		return fmt.Sprint(v)
	}
}

// writeJSON writes an object for each row, with the known values in the order of the columns.
func (s sheet) writeJSON(b *bytes.Buffer) error {
	for _, row := range s.rows {
		var fields []string
		for i, value := range row {
			if value == nil {
				continue
			}
			data, err := json.Marshal(value)
			if err != nil {
				return err
			}
			fields = append(fields, fmt.Sprintf("%q:%s", s.columns[i].name, data))
		}
		b.WriteString("{" + strings.Join(fields, ",") + "}\n")
	}
	return nil
}
