// Package modelinfo knows models by name: their context windows, longest answers, prices, caches, encodings and what
// they take in.
//
//	model, err := modelinfo.Find("openrouter/anthropic/claude-opus-5.5")
//	if err != nil { … } // no model of that family is known
//	window := model.WindowFor(8192)
//	fmt.Println(model) // claude-opus-5-5
//
// [Find] takes a name as gateways, clouds and dated versions spell it. If the model is not known, but others of its
// family are, the result is guessed by the nearest of them, and says so in Model.Guess; a guess has no prices. Zero
// values mean that something is not known, never that there is none.
//
// The table is part of the package and as old as its sources, which its head lists. Nothing is downloaded. To know the
// models of today without a new release, read a catalogue over it:
//
//	table, err := modelinfo.Read(file) // models.dev's, LiteLLM's or catwalk's JSON, or rows of your own
//	model, err := table.Find("gpt-7")
//
// A form of your own is an object with a list of rows, each with the fields of [Info] that you know:
//
//	{"models": [{"name": "my-model", "window": 32768, "answer": 4096, "prices": {"input": 0.5, "output": 2}}]}
//
// What the provider's API itself says is better than any table: the models of render/anthropic and render/gemini have a
// method Window that asks it, and sizing/local asks servers of your own.
package modelinfo

//go:generate go run ./internal/generate -help
