package einoagent_test

import (
	"fmt"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

const question = "Why does the build fail? My name is Ada."

func TestAnAgentRunsToItsEndWithCompactions(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming %v", streaming), func(t *testing.T) {
			session, _ := opened(t)
			m := &scripted{answer: func(n int, _ request) (*schema.Message, error) {
				if n == 30 {
					return says("It is the linker."), nil
				}
				return reads(fmt.Sprintf("a%d.go", n), fmt.Sprintf("b%d.go", n)), nil
			}}
			got := run(t, agentOf(t, compactorOn(t, session), m, readTool(t, nil)), streaming, schema.UserMessage(question))
			require.NoError(t, got.err)
			require.Equal(t, "It is the linker.", got.last())
			require.Len(t, got.said, 31+60)
			require.Len(t, m.requests, 31)
			checkRequests(t, m.requests, question)
			require.Equal(t, "1 users, 31 answers, 60 results, compacted", summary(t, session))
			require.Equal(t, "read", m.requests[30].tools[0].Name)
		})
	}
}
