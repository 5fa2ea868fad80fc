package program_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
)

func TestAReportIsOneLineAndAnExitCode(t *testing.T) {
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		rule   string
		ctx    context.Context
		err    error
		code   int
		stderr string
	}{
		{"no error", t.Context(), nil, program.ExitOK, ""},
		{"a request for help", t.Context(), flag.ErrHelp, program.ExitOK, ""},
		{"a failure of several lines", t.Context(), errors.New("a\nb\n"), program.ExitFailed, "it: a; b\n"},
		{"an error that the user can correct", t.Context(), fmt.Errorf("x: %w", program.UsageError{Err: errors.New("no file")}), program.ExitUsage, "it: x: no file\n"},
		{"an interrupt", stopped, errors.New("some error"), program.ExitInterrupted, "it: interrupted\n"},
		{"an interrupt too late", stopped, nil, program.ExitOK, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var stderr bytes.Buffer
			require.Equal(t, tt.code, program.Report(tt.ctx, "it", tt.err, &stderr))
			require.Equal(t, tt.stderr, stderr.String())
		})
	}
}
