package local_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/local"
)

// The test server answers like vLLM.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","max_model_len":32768}]}`)
	}))
	defer server.Close()

	tokens, err := local.Server{URL: server.URL + "/v1", Model: "Qwen/Qwen3-8B"}.Window(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	budget, err := sizing.Window{Tokens: tokens, Answer: 2_000}.Budget(0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tokens, budget)
	// Output: 32768 30768
}
