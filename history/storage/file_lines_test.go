package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/storage"
)

func TestALineIsParsedWhateverTheOrderOfItsFields(t *testing.T) {
	for name, raw := range map[string]string{
		"as promptree writes it":       `{"type":"custom","id":"e2","parent":"e1","time":"2026-01-02T03:04:05Z","custom":{"id":"x"}}`,
		"the parent after the time":    `{"type":"custom","id":"e2","time":"2026-01-02T03:04:05Z","parent":"e1"}`,
		"in another order":             `{"parent":"e1","id":"e2","type":"custom"}`,
		"with white space and escapes": `{ "type": "cust\u006fm", "id": "e\u0032", "parent": "e1" }`,
	} {
		t.Run(name, func(t *testing.T) {
			line, err := storage.ParseLine([]byte(raw))
			require.NoError(t, err)
			require.Equal(t, storage.Line{ID: "e2", Parent: "e1", Kind: "custom", Data: []byte(raw)}, line)
		})
	}
	header, err := storage.ParseLine([]byte(`{"type":"session","version":4,"id":"S"}`))
	require.NoError(t, err)
	require.Equal(t, "S", header.ID)
	require.Equal(t, storage.KindHeader, header.Kind)
}

func TestALineWithoutATypeOrAnIDIsNotParsed(t *testing.T) {
	for _, raw := range []string{"", "{", "[]", "{}", `{"type":"custom"}`, `{"id":"e1"}`, `{"type":"custom","id":1}`, `{"type":"","id":"e1"}`} {
		_, err := storage.ParseLine([]byte(raw))
		require.Error(t, err, raw)
	}
}

func TestCheckLinesRefusesIncompleteLines(t *testing.T) {
	good := storage.Line{ID: "e1", Kind: "custom", Data: []byte("{}")}
	require.NoError(t, storage.CheckLines([]storage.Line{good, good}))
	for name, change := range map[string]func(*storage.Line){
		"no id":        func(l *storage.Line) { l.ID = "" },
		"no kind":      func(l *storage.Line) { l.Kind = "" },
		"no data":      func(l *storage.Line) { l.Data = nil },
		"a line break": func(l *storage.Line) { l.Data = []byte("{\n}") },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			change(&bad)
			require.ErrorContains(t, storage.CheckLines([]storage.Line{good, bad}), "storage: line 2 of 2 ")
		})
	}
}
