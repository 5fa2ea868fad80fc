//go:build !unix

package checkpoints

import "os"

// readFlags open a file for reading.
const readFlags = os.O_RDONLY
