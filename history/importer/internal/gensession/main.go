// Command gensession writes the made-up session that tests and benchmarks read.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/promptree-go/promptree/history/importer/internal/madeup"
)

func main() {
	out := flag.String("out", "", "the file to write")
	flag.Parse()
	if *out == "" {
		log.Fatal("gensession: -out names no file")
	}
	if err := os.WriteFile(*out, madeup.Session(), 0o644); err != nil {
		log.Fatalf("gensession: %v", err)
	}
}
