package program

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
)

// Parse parses the arguments of a program. With -help it writes the flags to stdout and returns [flag.ErrHelp].
// Otherwise it writes nothing, and an error says what is wrong and what to do. A flag after an argument, which package
// flag takes for another argument, is an error.
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
	for i, arg := range flags.Args() {
		if i > 0 && len(arg) > 1 && arg[0] == '-' {
			return fmt.Errorf("flag %s comes after %s: flags come first, and a file of that name is ./%s", arg, flags.Arg(i-1), arg)
		}
	}
	return nil
}

// Usage sets the text that -help prints before the flags, such as "Usage: replay [flags] SESSION…".
func Usage(flags *flag.FlagSet, line string) {
	flags.Usage = func() {
		to := flags.Output()
		var text bytes.Buffer
		fmt.Fprintln(&text, line)
		flags.SetOutput(&text)
		flags.PrintDefaults()
		flags.SetOutput(to)
		_, _ = io.WriteString(to, Wrap(text.String(), Width(to))) // a terminal that is gone needs no help
	}
}
