package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

func inline(bytes int) chat.Image {
	return chat.Image{URL: "data:image/png;base64," + strings.Repeat("A", bytes)}
}

// shown returns for each image of a conversation an x if it stays, else a -.
func shown(l provider.ImageLimits, images ...chat.Part) string {
	var req chat.Request
	for _, p := range images {
		req.Messages = append(req.Messages, chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Look:"), p}})
	}
	api := lenient()
	api.Images = l
	req, changes := api.Repair(req)
	var stays strings.Builder
	for _, m := range req.Messages {
		if _, text := m.Content[1].(chat.Text); text {
			stays.WriteByte('-')
		} else {
			stays.WriteByte('x')
		}
	}
	if len(changes) != strings.Count(stays.String(), "-") {
		return fmt.Sprint(stays.String(), changes)
	}
	return stays.String()
}

func images(n, bytes int) []chat.Part {
	list := make([]chat.Part, n)
	for i := range list {
		list[i] = inline(bytes)
	}
	return list
}

func TestTheOldestImagesAreRemovedAQuarterOfTheLimitAtATime(t *testing.T) {
	l := provider.ImageLimits{Count: 8}
	for n, want := range map[int]string{
		8: "xxxxxxxx", 9: "--xxxxxxx", 10: "--xxxxxxxx", 11: "----xxxxxxx", 12: "----xxxxxxxx", 13: "------xxxxxxx",
	} {
		require.Equal(t, want, shown(l, images(n, 4)...))
	}
	require.Equal(t, "-x", shown(provider.ImageLimits{Count: 1}, images(2, 4)...), "a limit below 4 is removed one by one")
}

func TestImagesThatExceedALimitOfBytesAreRemoved(t *testing.T) {
	address := chat.Image{URL: "https://example.com/a.png"}
	for _, test := range []struct {
		limits provider.ImageLimits
		images []chat.Part
		want   string
	}{
		{provider.ImageLimits{Count: 9, Each: 100}, []chat.Part{inline(100), inline(101), inline(99)}, "x-x"},
		{provider.ImageLimits{Count: 9, All: 420}, images(4, 100), "xxxx"}, // with 5 bytes of text each
		{provider.ImageLimits{Count: 9, All: 419}, images(4, 100), "--xx"},
		{provider.ImageLimits{Count: 9, All: 419}, append([]chat.Part{address}, images(4, 100)...), "x--xx"},
		{provider.ImageLimits{Count: 4, Each: 150, All: 419}, append([]chat.Part{inline(200), inline(100)}, images(4, 100)...), "----xx"},
		{provider.ImageLimits{Count: 9, All: 10}, []chat.Part{chat.NewDocument("application/pdf", make([]byte, 90)), inline(4), address}, "x-x"},
		{provider.ImageLimits{Count: 9, All: 390}, []chat.Part{inline(100), chat.Opaque{Value: make([]byte, 200)}, inline(90)}, "-xx"},
	} {
		require.Equal(t, test.want, shown(test.limits, test.images...))
	}
}

// The text that replaces an image does not depend on later images, so that the provider's cache holds it.
func TestALaterRequestBeginsWithTheSameBytes(t *testing.T) {
	l := provider.ImageLimits{Count: 8}
	beginning := func(n int) []provider.ImageExcess {
		return l.Excess([]chat.Message{{Role: chat.RoleUser, Content: images(n, 4)}})
	}
	require.Len(t, beginning(9), 2)
	require.Equal(t, beginning(9), beginning(10))
	require.Equal(t, beginning(9), beginning(11)[:2])
}
