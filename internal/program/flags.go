package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Parse parses the arguments of a program. With -help it writes the flags to stdout, and the error is [flag.ErrHelp].
// Any other error says that -help lists the flags; nothing else is written.
func Parse(flags *flag.FlagSet, args []string, stdout io.Writer) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stdout)
		flags.Usage()
		return err
	case err != nil:
		return fmt.Errorf("%w (-help lists the flags)", err)
	}
	return nil
}

// Usage sets what -help prints before the flags, such as "Usage: replay [flags] SESSION…".
func Usage(flags *flag.FlagSet, line string) {
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), line)
		flags.PrintDefaults()
	}
}
