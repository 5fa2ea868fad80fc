package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// reader is a client that records its input and may stop reading.
type reader struct {
	header   http.Header
	got      bytes.Buffer
	stuck    bool
	deadline time.Time
	err      error
}

func (r *reader) Header() http.Header { return r.header }
func (r *reader) WriteHeader(int)     {}
func (r *reader) Flush()              {}

func (r *reader) SetWriteDeadline(at time.Time) error {
	r.deadline = at
	return nil
}

func (r *reader) Write(data []byte) (int, error) {
	if r.stuck {
		time.Sleep(time.Until(r.deadline))
		return 0, os.ErrDeadlineExceeded
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.got.Write(data)
}

func TestAnIdleStreamSendsHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, r, done := newStream(func(error) {}), &reader{header: http.Header{}}, make(chan struct{})
		go func() {
			time.Sleep(20 * time.Second)
			out.send("text", map[string]string{"text": "a\nb"})
			time.Sleep(31 * time.Second)
			out.send("answer", struct{}{})
			close(done)
		}()
		out.serve(r, done)
		require.Equal(t, ": \n\nevent: text\ndata: {\"text\":\"a\\nb\"}\n\n: \n\n: \n\nevent: answer\ndata: {}\n\n", r.got.String())
		require.Equal(t, "text/event-stream", r.header.Get("Content-Type"))
	})
}

func TestAClientThatDoesNotReadCancelsItsStep(t *testing.T) {
	reset := errors.New("reset")
	for _, test := range []struct {
		rule   string
		client reader
		send   int // events
		want   error
	}{
		{"one that does not take what is written", reader{stuck: true}, 1, errSlow},
		{"one for which too much waits", reader{stuck: true}, 2000, errSlow},
		{"one that is gone", reader{err: reset}, 1, errGone},
	} {
		synctest.Test(t, func(t *testing.T) {
			var causes []error
			r, done := test.client, make(chan struct{})
			r.header = http.Header{}
			ended := make(chan struct{})
			out := newStream(func(err error) {
				if causes = append(causes, err); len(causes) == 1 {
					close(ended)
				}
			})
			go func() { // the step: it is never held up
				begun := time.Now()
				for range test.send {
					out.send("text", strings.Repeat("x", 1000))
				}
				require.Zero(t, time.Since(begun))
				<-ended
				out.send("error", "for nobody")
				close(done)
			}()
			out.serve(&r, done)
			require.ErrorIs(t, causes[0], test.want, test.rule)
			require.Zero(t, out.pending.Len())
			require.Empty(t, r.got.String())
		})
	}
}

func TestNoEventFollowsTheLast(t *testing.T) {
	for range 1000 {
		out := newStream(func(err error) { t.Error(err) })
		var sending, ended sync.WaitGroup
		for range 4 { // as summaries that are made in the background
			sending.Add(1)
			ended.Go(func() {
				out.send("compaction", object{})
				sending.Done()
				for range 50 {
					out.send("compaction", object{})
				}
			})
		}
		sending.Wait()
		out.last("answer", object{})
		ended.Wait()
		require.True(t, strings.HasSuffix(string(out.take()), "event: answer\ndata: {}\n\n"))
	}
}
