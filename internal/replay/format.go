package replay

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The output formats.
const (
	formatText = "text"
	formatJSON = "json"
	formatCSV  = "csv"
)

// column of a sheet: its name in JSON and CSV, its head in text, and the verb that formats its float64 values in text.
type column struct{ name, head, verb string }

// sheet is a table that can be printed in each format. A value is an int, a float64, a string or a bool, or nil if it
// is unknown.
type sheet struct {
	columns []column
	rows    [][]any
}

// write writes the sheet in a format. CSV begins with a line of column names if heads is set.
func (s sheet) write(b *bytes.Buffer, format string, heads bool) error {
	switch format {
	case formatJSON:
		return s.writeJSON(b)
	case formatCSV:
		return s.writeCSV(b, heads)
	}
	s.grid().write(b)
	return nil
}

// without returns the sheet without the named columns.
func (s sheet) without(names ...string) sheet {
	rest := sheet{rows: make([][]any, len(s.rows))}
	for i, c := range s.columns {
		if slices.Contains(names, c.name) {
			continue
		}
		rest.columns = append(rest.columns, c)
		for j, row := range s.rows {
			rest.rows[j] = append(rest.rows[j], row[i])
		}
	}
	return rest
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
		if v {
			return "*"
		}
		return ""
	default:
		return fmt.Sprint(v)
	}
}

func (s sheet) writeCSV(b *bytes.Buffer, heads bool) error {
	w := csv.NewWriter(b)
	if heads {
		names := make([]string, len(s.columns))
		for i, c := range s.columns {
			names[i] = c.name
		}
		if err := w.Write(names); err != nil {
			return err
		}
	}
	for _, row := range s.rows {
		cells := make([]string, len(row))
		for i, value := range row {
			switch v := value.(type) {
			case nil:
			case float64:
				cells[i] = strconv.FormatFloat(v, 'g', -1, 64)
			default:
				cells[i] = fmt.Sprint(v)
			}
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
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
