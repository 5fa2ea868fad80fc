package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/summarize"
)

func TestErrorsTellTheClientWhatToDo(t *testing.T) {
	const secret = "what was said"
	for _, test := range []struct {
		err    error
		status int
		kind   string
		logged bool
	}{
		{&pgconn.PgError{Code: "53100", Message: secret}, 503, "unavailable", true}, // the disk is full
		{&pgconn.PgError{Code: "57P01", Message: secret}, 503, "unavailable", true}, // the server stops
		{&pgconn.PgError{Code: "25006", Message: secret}, 503, "unavailable", true}, // it is read only
		{&pgconn.PgError{Code: "22021", Message: secret}, 500, "internal", true},
		{&net.OpError{Op: "read", Err: errors.New(secret)}, 503, "unavailable", true},
		{io.ErrUnexpectedEOF, 503, "unavailable", true},
		{syscall.ENOSPC, 503, "unavailable", true},
		{&storage.ConflictError{}, 409, "conflict", false},
		{&entry.BoundaryError{}, 409, "conflict", false},
		{&chat.TransientError{Err: errors.New(secret)}, 502, "model_failed", true},
		{&summarize.FailedError{Reasons: []error{errors.New(secret)}}, 502, "compaction_failed", true},
		{errors.New(secret), 500, "internal", true},
	} {
		p := problemOf(fmt.Errorf("wrapped: %w", test.err))
		require.Equal(t, fmt.Sprint(test.status, test.kind), fmt.Sprint(p.status, p.Type), test.err)
		require.Equal(t, test.logged, p.err != nil, test.err)
		require.NotContains(t, p.Message, secret)
	}
}

func TestAPanicIsAnErrorWhoseValueIsNotLogged(t *testing.T) {
	out := &log{}
	s := &service{log: slog.New(slog.NewJSONHandler(out, nil))}
	require.ErrorIs(t, s.caught(func() error { panic("what was said") }), errPanic)
	require.Contains(t, out.String(), `"type":"string"`)
	require.NotContains(t, out.String(), "what was said")
}
