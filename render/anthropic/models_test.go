package anthropic_test

import (
	"testing"

	"github.com/promptree-go/promptree/internal/test/sdktest"
)

func TestTheTableKnowsTheModelsThatTheSDKNames(t *testing.T) {
	sdktest.KnowsModels(t, "github.com/anthropics/anthropic-sdk-go", "Model", nil)
}
