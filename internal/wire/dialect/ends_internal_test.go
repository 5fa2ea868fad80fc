package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReasonsAreWrittenAsTheyAreLookedUp(t *testing.T) {
	for reason := range ends {
		require.Equal(t, plain(reason), reason, "in lower case, in one word")
	}
}
