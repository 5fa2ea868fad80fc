package local

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// tokens is a number in an answer. A number that cannot be a context window counts as 0.
type tokens int

// UnmarshalJSON accepts any JSON.
func (t *tokens) UnmarshalJSON(data []byte) error {
	n, err := strconv.Atoi(string(data))
	if err != nil || n < 0 || n > math.MaxInt32 {
		n = 0
	}
	*t = tokens(n)
	return nil
}

// entry of a list of models.
type entry struct {
	ID     string `json:"id"`
	Parent string `json:"parent"` // of a LoRA (vLLM)

	State  string `json:"state"` // LM Studio's
	Loaded tokens `json:"loaded_context_length"`
	Max    tokens `json:"max_context_length"`

	Length tokens `json:"max_model_len"` // vLLM's
	Meta   struct {
		Context tokens `json:"n_ctx"`
	} `json:"meta"` // llama.cpp's
}

// pick returns the entry with an id. If name is "" and there is one entry, it returns that.
func pick(list []entry, name string) (entry, bool) {
	if name == "" && len(list) == 1 {
		return list[0], true
	}
	if i := slices.IndexFunc(list, func(e entry) bool { return e.ID == name && name != "" }); i >= 0 {
		return list[i], true
	}
	return entry{}, false
}

// lmStudio asks LM Studio, which answers unknown paths with status 200 and an error.
func (a *asking) lmStudio(ctx context.Context) (int, error) {
	const product = "LM Studio"
	var answer struct {
		Data *[]entry `json:"data"`
	}
	if err := a.get(ctx, "api/v0/models", nil, nil, &answer); err != nil {
		return 0, err
	}
	if answer.Data == nil {
		return 0, errOther
	}
	models := slices.DeleteFunc(*answer.Data, func(e entry) bool { return a.Model == "" && e.State != "loaded" })
	e, ok := pick(models, a.Model)
	switch {
	case !ok:
		return 0, a.absent(product, models)
	case e.Loaded > 0:
		return int(e.Loaded), nil
	case e.State == "loaded":
		return 0, a.unknown(product, int(e.Max), "update it to 0.3.15 or newer, or set sizing.Window.Tokens to the context length that the model was loaded with")
	}
	return 0, a.unknown(product, int(e.Max), "the model is not loaded: load it (lms load, with --context-length), or set sizing.Window.Tokens")
}

// llamaCpp asks llama-server.
func (a *asking) llamaCpp(ctx context.Context) (int, error) {
	const product = "llama.cpp"
	var answer struct {
		Role     string `json:"role"`
		Settings *struct {
			Context tokens `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	query := url.Values{}
	if a.Model != "" {
		query = url.Values{"model": {a.Model}, "autoload": {"false"}} // for router mode: do not load the model
	}
	err := a.get(ctx, "props", query, nil, &answer)
	if refused, ok := errors.AsType[*refusedError](err); ok && refused.status == http.StatusBadRequest {
		return 0, a.unknown(product, 0, "it says "+strconv.Quote(refused.body)+": load the model, or set sizing.Window.Tokens to its --ctx-size")
	}
	switch {
	case err != nil:
		return 0, err
	case answer.Settings == nil:
		return 0, errOther
	case answer.Settings.Context > 0:
		return int(answer.Settings.Context), nil
	case answer.Role == "router":
		return 0, a.unknown(product, 0, "it has several models: set Server.Model to the name that requests use")
	}
	return 0, a.unknown(product, 0, "set sizing.Window.Tokens to the context of one of its slots (see --ctx-size)")
}

// ollama asks Ollama.
func (a *asking) ollama(ctx context.Context) (int, error) {
	const product = "Ollama"
	var running struct {
		Models *[]struct {
			Name    string `json:"name"`
			Context tokens `json:"context_length"`
		} `json:"models"`
	}
	if err := a.get(ctx, "api/ps", nil, nil, &running); err != nil {
		return 0, err
	}
	if running.Models == nil {
		return 0, errOther
	}
	for _, m := range *running.Models {
		if m.Context > 0 && (tagged(m.Name) == tagged(a.Model) || a.Model == "" && len(*running.Models) == 1) {
			return int(m.Context), nil
		}
	}
	if a.Model == "" {
		return 0, a.unknown(product, 0, "it has no loaded model, or several: set Server.Model to the name that requests use")
	}
	var shown struct {
		Parameters string            `json:"parameters"`
		RemoteHost string            `json:"remote_host"`
		Info       map[string]tokens `json:"model_info"`
	}
	err := a.get(ctx, "api/show", nil, map[string]string{"model": a.Model}, &shown)
	if errors.Is(err, errOther) {
		return 0, a.unknown(product, 0, "it has no model of that name: pull it, or set Server.Model to the name that requests use")
	}
	if err != nil {
		return 0, err
	}
	trained := 0
	for key, n := range shown.Info {
		if strings.HasSuffix(key, ".context_length") {
			trained = max(trained, int(n))
		}
	}
	for line := range strings.Lines(shown.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			var n tokens
			if _ = n.UnmarshalJSON([]byte(f[1])); n > 0 {
				if trained > 0 {
					return min(int(n), trained), nil // as the server does
				}
				return int(n), nil
			}
		}
	}
	if shown.RemoteHost != "" && trained > 0 { // a cloud model's host allows the whole training length
		return trained, nil
	}
	return 0, a.unknown(product, trained, "the model is not loaded, and its default depends on the machine's memory: "+
		"load it first, or set PARAMETER num_ctx in its Modelfile, or start the server with OLLAMA_CONTEXT_LENGTH and set sizing.Window.Tokens to the same number")
}

// tagged returns the name of a model with its tag, in lower case.
func tagged(name string) string {
	if _, tag, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":"); tag == "" && name != "" {
		name = strings.TrimSuffix(name, ":") + ":latest"
	}
	return strings.ToLower(name)
}

// listed asks vLLM, and other servers with the same list of models.
func (a *asking) listed(ctx context.Context) (int, error) {
	const product = "the server"
	var answer struct {
		Data *[]entry `json:"data"`
	}
	if err := a.get(ctx, "v1/models", nil, nil, &answer); err != nil {
		return 0, err
	}
	if answer.Data == nil {
		return 0, errOther
	}
	e, ok := pick(*answer.Data, a.Model)
	if !ok {
		return 0, a.absent(product, *answer.Data)
	}
	if e.Length == 0 && e.Parent != "" {
		if of, ok := pick(*answer.Data, e.Parent); ok {
			e.Length = of.Length
		}
	}
	if n := max(e.Length, e.Meta.Context); n > 0 {
		return int(n), nil
	}
	return 0, a.unknown(product, 0, "set sizing.Window.Tokens to the context length that it was started with (--max-model-len of vLLM)")
}
