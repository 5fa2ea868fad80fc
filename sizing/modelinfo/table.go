package modelinfo

import (
	"cmp"
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/promptree-go/promptree/internal/modelname"
)

// Table is a list of models. It never changes once it is made. A nil table is [Published], and the zero table has no rows.
type Table struct {
	rows  []Info
	byKey map[string]int
	parts []parts
}

//go:embed table.json
var published []byte

// Published returns the table that is part of the package. It is read when it is first used.
func Published() *Table { return ours() }

var ours = sync.OnceValue(func() *Table {
	rows, err := own(published)
	if err != nil {
		panic(fmt.Sprintf("modelinfo: the embedded table: %v", err)) // unreachable: it is tested
	}
	return tableOf(rows)
})

// Models returns all rows, by maker and name.
func (t *Table) Models() []Info { return sorted(t.orPublished().rows) }

func (t *Table) orPublished() *Table {
	if t == nil {
		return Published()
	}
	return t
}

// With returns a table with rows put over the table's own, the later over the earlier: what a row does not state stays as
// it was.
func (t *Table) With(rows ...Info) *Table { return tableOf(slices.Concat(t.orPublished().rows, rows)) }

// tableOf returns a table of rows, of which the later are put over the earlier of the same model.
func tableOf(rows []Info) *Table {
	t := &Table{byKey: map[string]int{}}
	for _, r := range rows {
		spelled := modelname.Hyphened(r.Name)
		key := keyOf(spelled)
		i, ok := t.byKey[key]
		if ok {
			t.rows[i] = t.rows[i].over(r)
			continue
		}
		t.byKey[key] = len(t.rows)
		t.rows, t.parts = append(t.rows, r), append(t.parts, partsOf(spelled))
	}
	return t
}

// own reads rows in the form of this package: a row a model, and of models of which nothing but the window is known,
// lists of those by maker. Rows that name a source of the head have its address and date.
func own(data []byte) ([]Info, error) {
	var form struct {
		Sources map[string]struct {
			Address string `json:"address"`
			Date    string `json:"date"`
		} `json:"sources"`
		// Default is the source of rows that name none.
		Default string                    `json:"default"`
		Windows map[string]map[string]int `json:"windows"`
		Models  []Info                    `json:"models"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, err
	}
	var rows []Info
	for maker, windows := range form.Windows {
		for name, tokens := range windows {
			rows = append(rows, Info{Name: name, Maker: maker, Window: tokens})
		}
	}
	rows = append(sorted(rows), form.Models...)
	for i, m := range rows {
		if s, ok := form.Sources[cmp.Or(m.Source, form.Default)]; ok {
			rows[i].Source, rows[i].Date = s.Address, s.Date
		}
	}
	return rows, nil
}
