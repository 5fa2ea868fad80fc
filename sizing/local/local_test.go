package local_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/local"
)

// answers are a server's answers, by method, path and query. One that begins with three digits is a status and a body.
type answers map[string]string

// serve starts a server with these answers. It answers every other request with status and body.
func serve(t *testing.T, all answers, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Method + " " + r.URL.RequestURI()
		if r.Method == http.MethodPost {
			posted, _ := io.ReadAll(r.Body)
			key += " " + string(posted)
		}
		code, text := status, body
		if answer, ok := all[key]; ok {
			code, text = http.StatusOK, answer
			if n := 0; len(answer) > 4 && answer[3] == ' ' {
				if _, err := fmt.Sscanf(answer[:3], "%d", &n); err == nil {
					code, text = n, answer[4:]
				}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Sources of the answers, read on 2026-11-23.
const (
	lmStudioModels = "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/726"
	lmStudioOther  = "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/618"
	llamaProps     = "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-models.cpp"
	ollamaAPI      = "https://github.com/ollama/ollama/blob/v0.33.0-rc2/api/types.go"
	vllmModels     = "https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/serving_models.py"
)

const (
	lmNotFound    = `{"error":"Unexpected endpoint or method. (GET /props)"}`
	llamaNotFound = `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`
	ollamaNothing = "404 page not found"
	vllmNotFound  = `{"detail":"Not Found"}`
)

func lmStudio(models string) answers {
	return answers{"GET /api/v0/models": `{"object":"list","data":[` + models + `]}`}
}

const gemma = `{"id":"google/gemma-3-4b","object":"model","type":"vlm","publisher":"google","arch":"gemma3","state":"loaded","max_context_length":131072,"loaded_context_length":12918}`

func TestTheWindowIsTheOneOnTheServer(t *testing.T) {
	ps := func(models string) string { return `{"models":[` + models + `]}` }
	show := `POST /api/show {"model":"qwen3"}`
	for _, test := range []struct {
		name, source string
		answers      answers
		status       int // and body of every other path
		other, model string
		want         int
		says         string // the error, if there is one
		trained      int
	}{
		{"LM Studio, loaded", lmStudioModels, lmStudio(gemma), 200, lmNotFound, "google/gemma-3-4b", 12918, "", 0},
		{"LM Studio, the only one that is loaded", lmStudioModels, lmStudio(`{"id":"other","state":"not-loaded"},` + gemma), 200, lmNotFound, "", 12918, "", 0},
		{"LM Studio, not loaded", lmStudioModels, lmStudio(`{"id":"qwen2","state":"not-loaded","max_context_length":32768}`), 200, lmNotFound, "qwen2", 0,
			"the model is not loaded: load it", 32768},
		{"LM Studio, older than 0.3.15", lmStudioModels, lmStudio(`{"id":"qwen2","state":"loaded","max_context_length":32768}`), 200, lmNotFound, "qwen2", 0,
			"update it to 0.3.15", 32768},
		{"LM Studio, without the model", lmStudioModels, lmStudio(gemma), 200, lmNotFound, "gemma", 0, "it has no model of that name, but google/gemma-3-4b", 0},
		{"LM Studio, with nothing loaded", lmStudioModels, lmStudio(""), 200, lmNotFound, "", 0, "it has 0 models", 0},
		{"LM Studio, without that API", lmStudioOther, answers{"GET /v1/models": `{"data":[{"id":"m","object":"model"}]}`}, 200, lmNotFound, "m", 0, "set sizing.Window.Tokens", 0},

		{"llama.cpp", llamaProps, answers{"GET /props?autoload=false&model=m": `{"default_generation_settings":{"id":0,"n_ctx":8192},"total_slots":4}`}, 404, llamaNotFound, "m", 8192, "", 0},
		{"llama.cpp, without a name", llamaProps, answers{"GET /props": `{"default_generation_settings":{"n_ctx":8192}}`}, 404, llamaNotFound, "", 8192, "", 0},
		{"llama.cpp's router, without a name", llamaProps, answers{"GET /props": `{"role":"router","default_generation_settings":{"params":{},"n_ctx":0}}`}, 404, llamaNotFound, "", 0,
			"it has several models", 0},
		{"llama.cpp's router, not loaded", llamaProps, answers{"GET /props?autoload=false&model=m": `400 {"error":{"code":400,"message":"model is not loaded"}}`}, 404, llamaNotFound, "m", 0,
			"model is not loaded", 0},
		{"llama.cpp, too old to report it", llamaProps, answers{"GET /props?autoload=false&model=m": `{"default_generation_settings":{}}`}, 404, llamaNotFound, "m", 0, "--ctx-size", 0},

		{"Ollama, loaded", ollamaAPI, answers{"GET /api/ps": ps(`{"name":"phi4:latest","context_length":16384},{"name":"qwen3:latest","model":"qwen3:latest","context_length":4096}`)},
			404, ollamaNothing, "Qwen3", 4096, "", 0},
		{"Ollama, the only one", ollamaAPI, answers{"GET /api/ps": ps(`{"name":"qwen3:8b","context_length":4096}`)}, 404, ollamaNothing, "", 4096, "", 0},
		{"Ollama, with num_ctx", ollamaAPI, answers{"GET /api/ps": ps(`{"name":"qwen3:8b","context_length":4096}`),
			show: `{"parameters":"stop                           \"<s>\"\nnum_ctx                        16384","model_info":{"qwen3.context_length":40960}}`},
			404, ollamaNothing, "qwen3", 16384, "", 0},
		{"Ollama, with num_ctx above the training length", ollamaAPI, answers{"GET /api/ps": ps(""), show: `{"parameters":"num_ctx 65536","model_info":{"qwen3.context_length":40960,"general.tags":["a"]}}`},
			404, ollamaNothing, "qwen3", 40960, "", 0},
		{"Ollama, in the cloud", ollamaAPI, answers{"GET /api/ps": ps(""), show: `{"remote_host":"https://ollama.com:443","model_info":{"qwen3.context_length":262144}}`},
			404, ollamaNothing, "qwen3", 262144, "", 0},
		{"Ollama, not loaded", ollamaAPI, answers{"GET /api/ps": ps(""), show: `{"parameters":"temperature 0.6","model_info":{"qwen3.context_length":40960}}`}, 404, ollamaNothing, "qwen3", 0,
			"OLLAMA_CONTEXT_LENGTH", 40960},
		{"Ollama, without the model", ollamaAPI, answers{"GET /api/ps": ps(""), show: `404 {"error":"model 'qwen3' not found"}`}, 404, ollamaNothing, "qwen3", 0, "pull it", 0},
		{"Ollama, without a name", ollamaAPI, answers{"GET /api/ps": ps("")}, 404, ollamaNothing, "", 0, "it has no loaded model, or several", 0},

		{"vLLM", vllmModels, answers{"GET /v1/models": `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","root":"Qwen/Qwen3-8B","max_model_len":32768}]}`}, 404, vllmNotFound, "Qwen/Qwen3-8B", 32768, "", 0},
		{"vLLM, a LoRA", vllmModels, answers{"GET /v1/models": `{"data":[{"id":"base","max_model_len":32768},{"id":"sql","parent":"base","max_model_len":null}]}`}, 404, vllmNotFound, "sql", 32768, "", 0},
		{"vLLM, without the model", vllmModels, answers{"GET /v1/models": `{"data":[{"id":"base","max_model_len":32768}]}`}, 404, vllmNotFound, "bass", 0, "it has no model of that name, but base", 0},
		{"a gateway to llama.cpp", llamaProps, answers{"GET /v1/models": `{"data":[{"id":"m","meta":{"n_ctx":8192,"n_ctx_train":40960}}]}`}, 404, "", "m", 8192, "", 0},
		{"a server that does not report it", "", answers{"GET /v1/models": `{"data":[{"id":"gpt-5.4","object":"model"}]}`}, 404, "", "gpt-5.4", 0, "set sizing.Window.Tokens", 0},
		{"an unknown server", "", nil, 404, "<html>", "m", 0, "it is not a known product: set sizing.Window.Tokens", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := serve(t, test.answers, test.status, test.other)
			for _, url := range []string{at, at + "/", at + "/v1", at + "/v1/"} {
				got, err := local.Server{URL: url, Model: test.model}.Window(t.Context())
				require.Equal(t, test.want, got)
				if test.says == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, sizing.ErrUnknownWindow)
				require.ErrorContains(t, err, test.says)
				unknown := errtest.As[*local.UnknownError](t, err)
				require.Equal(t, [3]any{at, test.model, test.trained}, [3]any{strings.TrimSuffix(unknown.URL, "/"), unknown.Model, unknown.Trained})
			}
		})
	}
}

func TestANumberThatCannotBeAWindowIsUnknown(t *testing.T) {
	for _, n := range []string{"0", "-1", "4294967296", "99999999999999999999", "8192.5", "1e4", `"8192"`, "null", "[]", "{}", "true"} {
		for name, all := range map[string]answers{
			"LM Studio": {"GET /api/v0/models": `{"data":[{"id":"m","state":"loaded","loaded_context_length":` + n + `}]}`},
			"llama.cpp": {"GET /props?autoload=false&model=m": `{"default_generation_settings":{"n_ctx":` + n + `}}`},
			"Ollama": {"GET /api/ps": `{"models":[{"name":"m","context_length":` + n + `}]}`,
				`POST /api/show {"model":"m"}`: `{"parameters":"num_ctx ` + n + `","model_info":{"m.context_length":` + n + `}}`},
			"vLLM": {"GET /v1/models": `{"data":[{"id":"m","max_model_len":` + n + `,"meta":{"n_ctx":` + n + `}}]}`},
		} {
			_, err := local.Server{URL: serve(t, all, 404, ""), Model: "m"}.Window(t.Context())
			require.ErrorIs(t, err, sizing.ErrUnknownWindow, "%s: %s", name, n)
		}
	}
}

func TestAnswersOfAnotherFormAreFromAnUnknownServer(t *testing.T) {
	for _, body := range []string{"", "null", "[]", `"x"`, "7", "{", `{"data":5,"models":{},"default_generation_settings":[]}`, `{"data":[7]}`, strings.Repeat("[", 100_000)} {
		_, err := local.Server{URL: serve(t, nil, 200, body), Model: "m"}.Window(t.Context())
		require.ErrorIs(t, err, sizing.ErrUnknownWindow, "%.40s", body)
	}
}

func TestAFailureOfTheServerIsNotAnUnknownWindow(t *testing.T) {
	const key = "sk-secret-of-somebody"
	for status, passes := range map[int]bool{401: false, 403: false, 408: true, 429: true, 500: true, 503: true} {
		at := serve(t, nil, status, `{"error":{"message":"Loading model, `+key+`"}}`)
		s := local.Server{URL: at + "?key=" + key, Model: "m", Header: http.Header{"Authorization": {"Bearer " + key}}}
		_, err := s.Window(t.Context())
		require.NotErrorIs(t, err, sizing.ErrUnknownWindow)
		_, transient := errors.AsType[*chat.TransientError](err)
		require.Equal(t, passes, transient, "%d: %v", status, err)
		require.ErrorContains(t, err, fmt.Sprintf("status %d", status))
		require.ErrorContains(t, err, "Loading model")
		require.NotContains(t, err.Error(), key)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	_, err := local.Server{URL: gone.URL}.Window(t.Context())
	require.ErrorAs(t, err, new(*chat.TransientError))
}

func TestAnEndlessAnswerIsReadUpToTheLimit(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		block := []byte(strings.Repeat(" ", 1<<16))
		for r.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	_, err := local.Server{URL: s.URL}.Window(t.Context())
	require.ErrorContains(t, err, "the answer is larger than 8388608 bytes")
}

func TestAnInvalidURLIsRefused(t *testing.T) {
	for _, url := range []string{"", "localhost:11434", "ftp://localhost", "http://", "http://[::1", "unix:///run/ollama.sock"} {
		_, err := local.Server{URL: url}.Window(t.Context())
		require.EqualError(t, err, "local: Server.URL is not an http or https URL")
	}
}
