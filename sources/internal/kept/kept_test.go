package kept_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sources/internal/kept"
)

func TestSourcesLeaveRoomForTheConversation(t *testing.T) {
	require.GreaterOrEqual(t, kept.Rest, 0.3)
}
