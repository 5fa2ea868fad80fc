package counting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func TestCountsMayBeKeptIfTheTokenizerDoesNotLearnAndIsComparable(t *testing.T) {
	for _, tt := range []struct {
		rule      string
		tokenizer chat.Tokenizer
		want      bool
	}{
		{"a counter", tiktoken.O200k(), true},
		{"an estimator", sizing.Estimator{}, true},
		{"no tokenizer", nil, false},
		{"a tokenizer that learns", &sizing.Calibrated{}, false},
		{"a wrapper of a tokenizer that learns", struct{ *sizing.Calibrated }{&sizing.Calibrated{}}, false},
		{"a type that is not comparable", struct {
			chat.Tokenizer
			names []string
		}{Tokenizer: sizing.Estimator{}}, false},
		{"an interface that holds a type that is not comparable", struct{ chat.Tokenizer }{struct {
			chat.Tokenizer
			names []string
		}{}}, false},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, counting.MayKeep(tt.tokenizer)) })
	}
}
