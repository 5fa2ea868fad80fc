//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// message is a message of a transcript.
type message struct {
	Entry string            `json:"entry"`
	Of    string            `json:"of"` // the entry that was acknowledged, if it was said again behind an answer
	Role  string            `json:"role"`
	Text  string            `json:"text"`
	Calls []json.RawMessage `json:"calls"`
}

// said returns the entry that was acknowledged.
func (m message) said() string { return cmp.Or(m.Of, m.Entry) }

// event is an event of a stream.
type event struct {
	Name string
	Data struct {
		Entry, Text               string
		Tokens, Budget            int
		Done                      bool
		Type, Message             string
		TokensBefore, TokensAfter int
	}
}

// refusedError is an error from the service, as an answer or at the end of a stream.
type refusedError struct {
	Status     int // 200 in a stream
	Type, Text string
}

func (e *refusedError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Type, e.Text) }

// refused reports whether an error is from the service and of a type.
func refused(err error, kind string) bool {
	e, ok := errors.AsType[*refusedError](err)
	return ok && e.Type == kind
}

// client sends the requests of one tenant to any address. It keeps no connection.
type client struct {
	token string
	http  *http.Client
}

func newClient(token string) *client {
	return &client{token, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// do makes a request. The answer's body is the caller's to close.
func (c *client) do(ctx context.Context, method, base, path string, body any) (*http.Response, error) {
	var data io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		data = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, data)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	var wrong struct {
		Error struct{ Type, Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&wrong); err != nil {
		return nil, fmt.Errorf("status %d with a body that is no error: %w", resp.StatusCode, err)
	}
	return nil, &refusedError{resp.StatusCode, wrong.Error.Type, wrong.Error.Message}
}

// call makes a request and reads its answer.
func (c *client) call(ctx context.Context, method, base, path string, body, answer any) error {
	resp, err := c.do(ctx, method, base, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if answer == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

// errCut is returned for a stream that ended before the last answer.
var errCut = errors.New("the stream ended before the answer")

// stream makes a request and calls on with each event of its answer. It returns nil once the answer is done.
func (c *client) stream(ctx context.Context, base, path string, body any, on func(event)) error {
	resp, err := c.do(ctx, http.MethodPost, base, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var e event
	done := false
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			e = event{Name: name}
		} else if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e.Data); err != nil {
				return fmt.Errorf("event %s: %w: %s", e.Name, err, data)
			}
		} else if line == "" && e.Name != "" {
			on(e)
			if e.Name == "error" {
				return &refusedError{resp.StatusCode, e.Data.Type, e.Data.Message}
			}
			done = done || e.Data.Done
			e = event{}
		}
	}
	if done {
		return nil
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", errCut, err)
	}
	return errCut
}

// transcript reads all of a session's messages.
func (c *client) transcript(ctx context.Context, base, session string) (list []message, err error) {
	for {
		var page struct{ Entries []message }
		err := c.call(ctx, http.MethodGet, base, "/v1/sessions/"+session+"?after="+newest(list), nil, &page)
		if refused(err, "not_found") { // nothing was said yet
			return nil, nil
		}
		if err != nil || len(page.Entries) == 0 {
			return list, err
		}
		list = append(list, page.Entries...)
	}
}
