package counting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func TestCountsAreKeptOfTokenizersThatDoNotLearnAndCanBeToldApart(t *testing.T) {
	for _, tt := range []struct {
		rule      string
		tokenizer chat.Tokenizer
		want      bool
	}{
		{"a counter's", tiktoken.O200k(), true},
		{"an estimator's", sizing.Estimator{}, true},
		{"none's", nil, false},
		{"not those of one that learns", &sizing.Calibrated{}, false},
		{"nor of one that wraps it and says so", struct{ *sizing.Calibrated }{&sizing.Calibrated{}}, false},
		{"nor of one that has no ==", struct {
			chat.Tokenizer
			names []string
		}{Tokenizer: sizing.Estimator{}}, false},
		{"nor of one that may hold such a one", struct{ chat.Tokenizer }{struct {
			chat.Tokenizer
			names []string
		}{}}, false},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, counting.MayKeep(tt.tokenizer)) })
	}
}
