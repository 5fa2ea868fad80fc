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
		name string
		ctx  context.Context
		err  error
		code int
		said string
	}{
		{"all is well", t.Context(), nil, program.ExitOK, ""},
		{"help was asked for", t.Context(), flag.ErrHelp, program.ExitOK, ""},
		{"it failed", t.Context(), errors.New("a\nb\n"), program.ExitFailed, "it: a; b\n"},
		{"the user can mend it", t.Context(), fmt.Errorf("x: %w", program.UsageError{Err: errors.New("no file")}), program.ExitUsage, "it: x: no file\n"},
		{"it was interrupted", stopped, errors.New("some error"), program.ExitInterrupted, "it: interrupted\n"},
		{"it came to its end all the same", stopped, nil, program.ExitOK, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			require.Equal(t, tt.code, program.Report(tt.ctx, "it", tt.err, &stderr))
			require.Equal(t, tt.said, stderr.String())
		})
	}
}
