// Command gensession generates a session of a coding agent: the messages of its user, and what it read, searched, ran
// and changed in a project that does not exist. Nothing in it comes from anybody's work, so unlike a real session it
// may be published. It is the same on every machine.
//
// Texts are templates with slots (in texts/), filled from word lists by dice with a fixed seed. The agent works on
// files in memory: it greps their actual content, and reads its own edits.
package main

import (
	"flag"
	"log"
	"os"
)

// Tests and benchmarks of all modules read the file.
//go:generate go run . -out ../../../history/importer/testdata/generated.jsonl

func main() {
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if *out == "" {
		log.Fatal("gensession: name a file with -out")
	}
	if err := os.WriteFile(*out, session(), 0o644); err != nil {
		log.Fatalf("gensession: %v", err)
	}
}
