// Package compare measures promptree beside its peers, by benchmarks only:
//
//	go test -bench . ./bench/compare
//
// Each benchmark lets ours and a peer do the same job in turns, and reports how many times as fast ours is, beside the
// target. bench/README.md says how to read them.
package compare
