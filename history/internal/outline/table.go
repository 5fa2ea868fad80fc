package outline

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const name = ` *"?[\pL_#%][\pL\d_ .#%/()$:-]{0,59}"?`

var (
	// framed matches a header between pipes with its border: Markdown, psql, mysql.
	framed = regexp.MustCompile(`^(?:[+-]+\n)?.*\|.*\n[-+|: ]*--[-+|: ]*\n`)
	// named matches a header of names, and its first separator.
	named = regexp.MustCompile(`^(?:` + name + `)?([\t,;])(?:` + name + `[\t,;])*` + name + `\r?\n`)
	datum = regexp.MustCompile(`^\s*[-+]?[$€]?\.?\d`) // a number, a date, a time
)

// ofTable outlines a table with a header and at least three rows, each with as many fields as the header. The last may
// have fewer. If no border shows that it is one, the names must look like names, and the rows must have four columns or
// a number, a date or a time.
func ofTable(text string, limit int) []string {
	r := csv.NewReader(strings.NewReader(text))
	r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord, r.Comma = true, -1, true, '|'
	sure := framed.MatchString(text)
	if header := named.FindStringSubmatch(text); !sure && header == nil {
		return nil
	} else if !sure {
		r.Comma = rune(header[1][0])
	}
	var (
		columns, rows, full, dated int // full rows have a field for each column
		lines                      = []string{"", ""}
		facts                      = newFacts(limit)
	)
	for {
		start := r.InputOffset()
		fields, err := r.Read()
		if err != nil { // the end: lazy quotes are never wrong
			break
		}
		row := strings.TrimSpace(text[start:r.InputOffset()])
		if strings.Trim(row, "-+|:= ") == "" { // a border
			continue
		}
		if columns == 0 {
			columns, lines[1] = len(fields), "  header: "+cut(row, 2*facts.width)
			continue
		}
		if rows > full {
			return nil
		}
		if rows++; len(fields) == columns {
			full++
		}
		if slices.ContainsFunc(fields, datum.MatchString) {
			dated++
		}
		if rows == 1 {
			lines = append(lines, "  first: "+cut(row, facts.width))
		}
		facts.row(fmt.Sprintf("row %d: ", rows), row, failed(row))
	}
	if full < 3 || !sure && columns < 4 && dated <= full*9/10 {
		return nil
	}
	lines[0] = fmt.Sprintf("table, %d rows", full)
	return append(lines, facts.all()...)
}
