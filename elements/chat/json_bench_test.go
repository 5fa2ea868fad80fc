package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

func BenchmarkMessageFromJSON(b *testing.B) {
	for _, size := range []int{100, 40_000} {
		b.Run(fmt.Sprint(size, " bytes of text"), func(b *testing.B) {
			data, err := json.Marshal(chat.ToolResult("c1", strings.Repeat("a line of it\n", size/13)))
			require.NoError(b, err)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var m chat.Message
				if err := json.Unmarshal(data, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
