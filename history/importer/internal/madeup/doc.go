// Package madeup makes up a session of a coding agent: what its user asked, what it read, searched, ran and changed in
// a project that does not exist. Nothing in it comes from anybody's work, so it may be shipped where a real session may
// not, and it is the same on every machine.
//
// Texts are templates with slots (in texts/), filled from word lists by dice with a fixed seed. The agent works on
// files in memory: what it greps stands in them, and what it edits has changed when it reads them again.
package madeup
