// Command prebuilt is the folder in which the tests put an example of adk and their additions to it.
package main

import (
	_ "google.golang.org/adk/v2/cmd/launcher/full" // imported by adk's examples
)

func main() {}
