package outline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// bordered matches a header between pipes with its border: Markdown, psql, mysql.
	bordered = regexp.MustCompile(`^(?:[+-]+\n)?.*\|.*\n[-+|: ]*--[-+|: ]*\n`)
	// capitals matches a header of at least three columns, as kubectl and docker write it.
	capitals   = regexp.MustCompile(`^[A-Z%][^a-z\n]*(?: {2,}[A-Z%][^a-z\n]*){2,}\n`)
	columnName = regexp.MustCompile(`^"?[\pL_#%][\pL\d_ .#%/()$:-]{0,59}"?$`)
	datum      = regexp.MustCompile(`^"?[-+]?[$€]?\.?\d`) // a number, a date, a time
	wide       = regexp.MustCompile(` {2,}`)
)

// ofTable outlines a table with a header and at least three rows, each on one line and with as many fields as the header.
// The last may have fewer. If neither a border nor capitals show that it is one, the names must look like names, and a
// column must have numbers, dates or times, or there must be four columns.
func ofTable(text string, limit int) []line {
	switch {
	case bordered.MatchString(text):
		return ofRows(text, "|", true, limit)
	case capitals.MatchString(text):
		return ofRows(text, "  ", true, limit)
	}
	for _, separator := range []string{"\t", ",", ";"} {
		if lines := ofRows(text, separator, false, limit); lines != nil {
			return lines
		}
	}
	return nil
}

// ofRows outlines a text as a table with a separator. Sure says that it is one, if all rows are alike.
func ofRows(text, separator string, sure bool, limit int) []line {
	var (
		columns []*shape
		digits  []int // by column, fields that begin with digits
		rows    int
		ragged  bool
		lines   = []line{{}}
		last    [2]string
		facts   = newFacts(limit)
	)
	for row := range strings.Lines(text) {
		if row = strings.TrimRight(row, " \r\n"); strings.Trim(row, "-+|:= ") == "" { // a border, or nothing
			continue
		}
		fields := split(row, separator)
		if columns == nil {
			for i, name := range fields {
				if !sure && !columnName.MatchString(name) && (i > 0 || name != "") {
					return nil
				}
				columns = append(columns, &shape{name: name})
			}
			digits = make([]int, len(columns))
			lines = append(lines, line{rank: 1, text: "  header: " + cut(row, 2*facts.width)})
			continue
		}
		if ragged || len(columns) < 2 {
			return nil
		}
		if ragged = len(fields) != len(columns); !ragged {
			rows++
			for i, field := range fields {
				columns[i].add(cut(field, facts.width))
				if datum.MatchString(field) {
					digits[i]++
				}
			}
		}
		if failed(row) {
			facts.add(fmt.Sprintf("row %d: ", rows), row, 1)
		}
		if rows == 1 {
			lines = append(lines, line{rank: 2, text: "  first: " + cut(row, facts.width)})
		}
		last = [2]string{last[1], row}
	}
	if rows < 3 || !sure && len(columns) < 4 && slices.Max(digits) <= rows*9/10 {
		return nil
	}
	lines[0].text = fmt.Sprintf("table, %d rows, %d columns", rows, len(columns))
	for _, row := range last {
		lines = append(lines, line{rank: 2, text: "  last: " + cut(row, facts.width)})
	}
	lines = append(lines, facts.lines...)
	for _, column := range columns {
		lines = append(lines, line{rank: 3, text: "  " + cut(column.name+": "+column.String(), 2*facts.width)})
	}
	return lines
}

// split returns the fields of a row, without the blanks around them. A separator in quotes is none, except a pipe.
func split(row, separator string) (fields []string) {
	if separator == "  " {
		return wide.Split(row, -1)
	}
	if separator == "|" && row[0] == '|' {
		row = strings.TrimSuffix(row[1:], "|")
	}
	start, quoted := 0, false
	for i := range len(row) {
		if row[i] == '"' {
			quoted = !quoted && separator != "|"
		} else if row[i] == separator[0] && !quoted {
			fields, start = append(fields, strings.TrimSpace(row[start:i])), i+1
		}
	}
	return append(fields, strings.TrimSpace(row[start:]))
}
