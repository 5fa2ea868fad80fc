// Command prebuilt is where the tests put an example of adk, together with what they add to it.
package main

import (
	_ "google.golang.org/adk/v2/cmd/launcher/full" // with which adk's examples start
)

func main() {}
