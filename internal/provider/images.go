package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// ImageLimits are the limits of a provider for the images of one request.
type ImageLimits struct {
	// Count is the maximum number of images.
	Count int
	// Each is the maximum size of an image and All that of the request, in bytes, with inline files in base64. 0 is no
	// limit.
	Each, All int
}

// ImageExcess is an image that exceeds a provider's limits.
type ImageExcess struct {
	Message, Part int
	Rule          chat.Rule
	// Older reports whether the image would stay if there were fewer images after it.
	Older bool
	// Err is the reason. Its text does not change as the conversation grows, so that later requests begin with the same
	// bytes.
	Err error
}

// imageSteps is the number of steps in which a limit's worth of the oldest images is removed. Each removal changes the
// prefix that the provider has cached, so a whole step is removed at once.
const imageSteps = 4

// Excess returns the images to remove so that a provider accepts the rest: those that are too large, and the oldest.
func (l ImageLimits) Excess(messages []chat.Message) []ImageExcess {
	var excess, images []ImageExcess // images may stay
	var sizes []int
	all := 0
	for i, m := range messages {
		for k, p := range m.Content {
			n := dataBytes(p)
			if _, ok := p.(chat.Image); ok && l.Each > 0 && n > l.Each {
				excess = append(excess, ImageExcess{i, k, RuleImageBytes, false, fmt.Errorf("an image of %d bytes in base64: at most %d are accepted", n, l.Each)})
				continue
			} else if ok {
				images, sizes = append(images, ImageExcess{Message: i, Part: k, Older: true}), append(sizes, n)
			}
			all += n
		}
		for _, c := range m.ToolCalls {
			all += len(c.Arguments)
		}
	}
	count, bytes := inSteps(len(images)-l.Count, l.Count), 0
	if l.All > 0 {
		bytes = inSteps(all-l.All, l.All)
	}
	for n, e := range images {
		switch {
		case n < count:
			e.Rule, e.Err = RuleImageCount, fmt.Errorf("an older image: a request takes at most %d images", l.Count)
		case bytes > 0 && sizes[n] > 0:
			e.Rule, e.Err = RuleImageBytes, fmt.Errorf("an older image: a request takes at most %d bytes", l.All)
		default:
			continue
		}
		bytes -= sizes[n]
		excess = append(excess, e)
	}
	return excess
}

// inSteps returns how much to remove if a limit is exceeded by over: whole steps.
func inSteps(over, limit int) int {
	if over <= 0 {
		return 0
	}
	step := max(1, limit/imageSteps)
	return (over + step - 1) / step * step
}

// dataBytes returns the bytes of a text or of data in a request.
func dataBytes(p chat.Part) int {
	switch p := p.(type) {
	case chat.Text:
		return len(p)
	case chat.Image:
		if len(p.URL) < len("data:") || !strings.EqualFold(p.URL[:len("data:")], "data:") {
			return 0
		}
		return len(p.URL) - strings.IndexByte(p.URL, ',') - 1
	case chat.Document:
		return len(p.Data)
	case chat.Opaque:
		return len(p.Value)
	}
	return 0
}

// Images replaces each image that exceeds a limit with a text. A limit that all images exceed together is one fault.
func (r *Repairer) Images(excess func([]chat.Message) []ImageExcess) {
	older := map[chat.Rule]bool{}
	for _, e := range excess(r.Plain()) {
		m := &r.Messages[e.Message]
		wrong := fmt.Sprintf("part %d: %v", e.Part, e.Err)
		if older[e.Rule] {
			wrong = ""
		}
		older[e.Rule] = e.Older
		r.Fault(m.Index, e.Rule, wrong, "part %d replaced by a text: %v", e.Part, e.Err)
		m.Content = slices.Clone(m.Content)
		m.Content[e.Part] = LeftOut(e.Err.Error())
	}
}
