// Command replay is `promptree replay`, to be run from a checkout:
//
//	go run ./bench/replay -window 64000 history/importer/testdata/generated.jsonl
//
// README.md says how to use it and how to read what it prints.
package main

import (
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/replay"
)

func main() { program.Main(replay.Main) }
