package mcp_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sources/mcp"
)

func TestAResourceIsShownAsItIs(t *testing.T) {
	now, failed := "first", error(nil)
	var reads atomic.Int32
	s := open(t, &mcp.Server{Timeout: 300 * time.Millisecond, Transport: serve(func(s *sdk.Server) {
		read := func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			reads.Add(1)
			if now == "hang" {
				<-ctx.Done()
			}
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: now}, {URI: r.Params.URI, Blob: png, MIMEType: "image/png"}}}, failed
		}
		s.AddResource(&sdk.Resource{Name: "a", URI: "x:/a"}, read)
	})})
	show := func(uri string) chat.Parts {
		result, err := render.Render(t.Context(), el.Prompt(el.User(mcp.Resource{Server: s, URI: uri}, el.Text("And?"))), render.Options{Budget: 4000, Tokenizer: sizingtest.Quarter{}})
		require.NoError(t, err)
		return result.Messages[0].Content
	}
	const first = "<server-resource uri=\"x:/a\">\nfirst\n</server-resource>\nThe resource x:/a:"
	require.Equal(t, first, strings.TrimSpace(string(show("x:/a")[0].(chat.Text))))
	require.Equal(t, chat.NewImage("image/png", png), show("x:/a")[1])
	now = "second"
	require.Contains(t, show("x:/a")[0], "\nsecond\n", "it is read at each step")
	failed = errors.New("no")
	require.Contains(t, show("x:/a")[0], "\nsecond\n", "what was read last stays")
	require.Contains(t, show("x:/b")[0], "[the resource x:/b cannot be read: ")
	failed, now = nil, "hang"
	require.Contains(t, show("x:/a")[0], "\nsecond\n")
	require.Contains(t, s.Notes()[0], "cannot be reached")
	tried := reads.Load()
	require.Contains(t, show("x:/a")[0], "\nsecond\n")
	require.Equal(t, tried, reads.Load(), "steps do not wait for it again")

	_, err := render.Render(t.Context(), el.User(mcp.Resource{Server: s}), render.Options{Budget: 4000, Tokenizer: sizingtest.Quarter{}})
	require.ErrorContains(t, err, "mcp: Resource.Server or URI is not set")
}

func TestTheServersPriorityIsThatOfTheElement(t *testing.T) {
	s := open(t, &mcp.Server{Transport: serve(func(s *sdk.Server) {
		for uri, priority := range map[string]float64{"x:/low": 0.2, "x:/high": 0.8, "x:/none": 0} {
			s.AddResource(&sdk.Resource{Name: uri, URI: uri, Annotations: &sdk.Annotations{Priority: priority}}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, Text: strings.Repeat("word ", 100)}}}, nil
			})
		}
	})})
	for name, c := range map[string]struct {
		low   *int
		order []string // in which they go
	}{"unless one is set": {nil, []string{"x:/low", "x:/high"}}, "the element's, if set": {new(900), []string{"x:/high", "x:/low"}}} {
		t.Run(name, func(t *testing.T) {
			prompt := el.User(
				mcp.Resource{Server: s, URI: "x:/none"}, mcp.Resource{Server: s, URI: "x:/high"},
				mcp.Resource{Server: s, URI: "x:/low", Props: elements.Props{Priority: c.low}}, el.Text("And?"),
			)
			gone := 0
			for _, budget := range []int{500, 350, 220} {
				result, err := render.Render(t.Context(), prompt, render.Options{Budget: budget, Tokenizer: sizingtest.Quarter{}})
				require.NoError(t, err)
				for i, uri := range c.order {
					require.Equal(t, i >= gone, strings.Contains(result.Messages[0].Text(), uri), "%s at %d", uri, budget)
				}
				require.Contains(t, result.Messages[0].Text(), "x:/none")
				gone++
			}
		})
	}
}
