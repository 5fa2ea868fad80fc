package anthropic_test

import (
	"net/http"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestBodiesAreWhatTheyWere(t *testing.T) {
	sent := &wiretest.Transport{}
	client := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: sent}))
	given := &server{thought: map[string]string{}}
	wiretest.Check(t, "messages", &anthropic.Model{Client: client, Name: "claude-test"}, sent, given.said)
}
