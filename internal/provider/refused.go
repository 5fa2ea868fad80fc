package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider/refusal"
)

// Refusal is an error of a server: {"error":{"message":…}}, {"error":"…"}, {"message":"…"} or MiniMax's
// {"base_resp":{"status_code":…,"status_msg":"…"}}. What OpenRouter quotes of the server behind it belongs to the message.
type Refusal struct {
	// Status is the HTTP status, or the one that the error names as its code or status, 0 if there is none.
	Status int
	// Code, Type and Message of the error, "" if there is none.
	Code, Type, Message string
	// Raw is the JSON of the error. It may hold secrets, so that no error may keep it.
	Raw []byte
	// Answered reports whether the server sent it in the place of an answer, or in a stream.
	Answered bool
	// Limit is set if the API's own words say that the request is too large, and Wait is how long they ask to wait.
	Limit *chat.ContextLimitError
	Wait  time.Duration
}

// ReadRefusal reads the JSON of an error, however it is nested.
func ReadRefusal(raw []byte) Refusal {
	r := Refusal{Raw: raw}
	r.read(raw)
	return r
}

// OrRefused returns err, the error of an answer without content, or the error that the server sent in its place, with a
// status of success. The response must have been read to its end. Errors begin with the name of the adapter; own, if not nil,
// adds what only its API says.
func (x *Exchange) OrRefused(name string, own func(*Refusal), err error) error {
	found := Refusal{Answered: true, Raw: bytes.TrimSpace(x.Object())}
	if !found.read(found.Raw) {
		return err
	}
	found.Message = x.secrets.maskAndCut(found.Message, 1000)
	found.Code, found.Type = x.secrets.maskAndCut(found.Code, 100), x.secrets.maskAndCut(found.Type, 100)
	if own != nil {
		own(&found)
	}
	return found.Typed(fmt.Errorf("%s: %w", name, found.Err()))
}

// read reads the error in a body, and reports whether there is one.
func (r *Refusal) read(raw []byte) bool {
	if bytes.HasPrefix(raw, []byte("[")) { // Gemini's form of a stream without events
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			return false
		}
		raw = list[0]
	}
	var body map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&body) != nil {
		return false
	}
	const deepest = 4 // of errors in errors
	inner, is := body, false
	if response, _ := body["response"].(map[string]any); response["error"] != nil { // an event's
		inner = response
	} else if base, _ := body["base_resp"].(map[string]any); base["status_msg"] != nil && body["error"] == nil { // cherry-studio#11287
		inner = base
	}
	for range deepest {
		switch e := inner["error"].(type) {
		case string:
			r.Message, is = strings.TrimSpace(e), true
		case map[string]any:
			inner, is = e, true
			continue
		}
		break
	}
	if !is {
		for _, field := range [...]string{"choices", "output", "content", "candidates"} {
			if list, _ := body[field].([]any); len(list) > 0 {
				return false
			}
		}
	}
	reason := r.Message
	r.Message = ""
	r.fields(inner)
	if is {
		r.fields(body) // some have the code outside, and some the message
	}
	switch {
	case r.Message == "":
		r.Message = reason
	case reason != "" && !strings.Contains(r.Message, reason): // {"error":"Unauthorized","message":"Invalid key"}
		r.Message = reason + ": " + r.Message
	}
	return r.Message != "" || is && (r.Status != 0 || r.Code != "" || r.Type != "")
}

// fields reads the fields of an error that are not known yet.
func (r *Refusal) fields(object map[string]any) {
	first := func(known string, names ...string) string {
		for _, name := range names {
			if text, _ := object[name].(string); known == "" {
				known = strings.TrimSpace(text)
			}
		}
		return known
	}
	r.Message = first(r.Message, "message", "detail", "msg", "status_msg")
	metadata, _ := object["metadata"].(map[string]any)
	if quoted, _ := metadata["raw"].(string); quoted != "" { // computer#293
		behind := ReadRefusal([]byte(quoted))
		r.Message = strings.TrimPrefix(r.Message+": "+cmp.Or(behind.Message, strings.TrimSpace(quoted)), ": ")
		r.Code, r.Type = cmp.Or(r.Code, behind.Code), cmp.Or(r.Type, behind.Type)
	}
	r.Code = first(r.Code, "code")
	if code, is := object["status_code"].(json.Number); is && r.Code == "" && object["status_msg"] != nil {
		r.Code = code.String()
	}
	if r.Type = first(r.Type, "type", "status"); r.Type == "error" { // an event's
		r.Type = ""
	}
	for _, name := range [...]string{"code", "status", "status_code", "statusCode"} {
		text, number := object[name].(json.Number)
		if !number {
			words, _ := object[name].(string)
			text = json.Number(words)
		}
		if status, err := strconv.Atoi(text.String()); err == nil && r.Status == 0 && status >= http.StatusBadRequest && status < 600 {
			r.Status = status
		}
	}
}

// Err returns the refusal as an error with its message, code, type and status.
func (r Refusal) Err() error {
	text := cmp.Or(r.Message, "no reason given")
	status := ""
	if r.Status != 0 {
		status = strconv.Itoa(r.Status)
	}
	var marks []string
	for _, mark := range [...]string{r.Code, r.Type, status} {
		if mark != "" && (len(marks) == 0 || marks[len(marks)-1] != mark) {
			marks = append(marks, mark)
		}
	}
	if len(marks) > 0 {
		text += " (" + strings.Join(marks, ", ") + ")"
	}
	return &refusedError{text: text, status: r.Status}
}

// refusedError is the error of a [Refusal].
type refusedError struct {
	text   string
	status int
}

func (e *refusedError) Error() string   { return e.text }
func (e *refusedError) StatusCode() int { return e.status }

// passing are the codes and types of errors after which the same request may be accepted later: OpenAI's, Anthropic's,
// Google's and MiniMax's (unknown, timeout, rate limit, internal).
var passing = map[string]bool{
	"rate_limit_exceeded": true, "rate_limit_error": true, "server_error": true, "server_is_overloaded": true, "slow_down": true,
	"overloaded_error": true, "api_error": true, "timeout_error": true,
	"RESOURCE_EXHAUSTED": true, "UNAVAILABLE": true, "INTERNAL": true, "DEADLINE_EXCEEDED": true,
	"1000": true, "1001": true, "1002": true, "1013": true,
}

// noMoney are the codes and types of errors of an account that is empty: OpenAI's, Kimi's and GLM's.
var noMoney = map[string]bool{"insufficient_quota": true, "exceeded_current_quota_error": true, "1113": true}

// unpaid reports whether the account is empty.
func (r Refusal) unpaid() bool { return noMoney[r.Code] || noMoney[r.Type] }

// statusNoCapacity is Groq's for its flex tier.
const statusNoCapacity = 498

// Passes reports whether the same request may be accepted later.
func (r Refusal) Passes() bool {
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests, statusNoCapacity:
		return !r.unpaid()
	case 0: // in a stream, or with a status of success
		return !r.unpaid() && (passing[r.Code] || passing[r.Type])
	}
	return !r.unpaid() && r.Status >= http.StatusInternalServerError
}

// Typed returns err, an adapter's error for the refusal, as one that a caller can act on: a [*chat.ContextLimitError], a
// [*chat.TransientError] or, if the server sent it in the place of an answer, a [*chat.AnswerError].
func (r Refusal) Typed(err error) error {
	limit := cmp.Or(r.Limit, tooLarge(r.Status, err))
	switch {
	case limit != nil && !r.unpaid():
		if limit.Limit == 0 || limit.Tokens == 0 { // err may have them escaped, and llama.cpp has them as fields
			fields := tooLarge(http.StatusRequestEntityTooLarge, errors.New(r.Message+" "+string(r.Raw)))
			limit.Limit, limit.Tokens = cmp.Or(limit.Limit, fields.Limit), cmp.Or(limit.Tokens, fields.Tokens)
		}
		limit.Err = err
		return limit
	case r.Passes() && !refusal.Of(err).OfContent():
		return &chat.TransientError{RetryAfter: min(r.Wait, MaxWait), Err: err}
	case r.Answered:
		return &chat.AnswerError{Err: err}
	}
	return err
}

// tooLarge returns the error for a request that a server refused with a status as too large, with the sizes that the text
// of err states. It returns nil if the server did not say so.
func tooLarge(status int, err error) *chat.ContextLimitError {
	limit := &chat.ContextLimitError{Err: err}
	if status != http.StatusRequestEntityTooLarge && refusal.Of(err).Kind != refusal.Tokens {
		return nil
	}
	size := refusal.Of(limit)
	limit.Limit, limit.Tokens = size.Limit, size.Tokens
	return limit
}
