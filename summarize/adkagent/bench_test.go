package adkagent_test

import (
	"fmt"
	"testing"

	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/session"

	"github.com/promptree-go/promptree/history"
)

// BenchmarkRequest measures a run of 500 requests, none of them compacted, with the plugin and without.
func BenchmarkRequest(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("plugin=%v", with), func(b *testing.B) {
			for b.Loop() {
				var plugins []*plugin.Plugin
				if with {
					c := compactorOn(b, &history.Session{})
					c.Target.Budget = 10_000_000
					plugins = append(plugins, pluginOn(b, c))
				}
				got := run(b, runnerOf(b, session.InMemoryService(), agentOf(b, rounds(500), readTool(b, nil)), plugins...), false, question)
				if got.err != nil {
					b.Fatal(got.err)
				}
			}
		})
	}
}
