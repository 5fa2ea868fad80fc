// Command gensession makes up a session of a coding agent: what its user asked, what it read, searched, ran and changed in
// a project that does not exist. Nothing in it comes from anybody's work, so it may be shipped where a real session may
// not, and it is the same on every machine.
//
// Texts are templates with slots (in texts/), filled from word lists by dice with a fixed seed. The agent works on
// files in memory: what it greps stands in them, and what it edits has changed when it reads them again.
package main

import (
	"flag"
	"log"
	"os"
)

// What tests and benchmarks of all modules read.
//go:generate go run . -out ../../../history/importer/testdata/generated.jsonl

func main() {
	out := flag.String("out", "", "the file to write")
	flag.Parse()
	if *out == "" {
		log.Fatal("gensession: -out names no file")
	}
	if err := os.WriteFile(*out, session(), 0o644); err != nil {
		log.Fatalf("gensession: %v", err)
	}
}
