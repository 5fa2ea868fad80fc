//go:build !unix

package checkpoints

import "os"

// readFlags opens a file for reading.
const readFlags = os.O_RDONLY
