package modelinfo_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/sizing/modelinfo"
)

func ExampleFind() {
	for _, name := range []string{"us.anthropic.claude-opus-4-5-20251101-v1:0", "gpt-6.9-sol", "my-own-model"} {
		model, err := modelinfo.Find(name)
		if unknown, ok := errors.AsType[*modelinfo.UnknownModelError](err); ok {
			fmt.Println("unknown:", unknown.Model)
			continue
		}
		budget, err := model.WindowFor(8192).Budget(0)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(model, budget, model.Prices != nil)
	}
	// Output:
	// claude-opus-4-5 191808 true
	// gpt-6.9-sol: as gpt-6.2-sol, guessed 1041808 false
	// unknown: my-own-model
}

func ExampleRead() {
	// A file of models.dev, LiteLLM or catwalk would do as well.
	file := strings.NewReader(`{"models": [{"name": "my-own-model", "window": 32768, "prices": {"input": 0.5, "output": 2}}]}`)
	table, err := modelinfo.Read(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := table.Find("my-own-model")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model, model.Window, model.Prices.Output)
	// Output: my-own-model 32768 2
}
