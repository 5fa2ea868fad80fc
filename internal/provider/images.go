package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Rules of images that each module has by the same names.
const (
	RuleImageCount chat.Rule = "not more images than the API takes"
	RuleImageBytes chat.Rule = "not more bytes of images than the API takes"
)

// ImageLimits are what a provider takes of images in one request.
type ImageLimits struct {
	// Count of the images.
	Count int
	// Each is the most bytes of an image, and All those of the request; inline files are counted in base64. 0 is no limit.
	Each, All int
}

// ImageExcess is an image that is more than a provider takes.
type ImageExcess struct {
	Message, Part int
	Rule          chat.Rule
	// Older reports that it would stay if there were fewer after it.
	Older bool
	// Err says why, in the same words while more is said after it, so that a request that goes on from this one has the same
	// beginning.
	Err error
}

// steps in which the oldest images go, of a limit: each changes what the provider has cached, so some go ahead of their time.
const steps = 4

// Excess returns the images that have to go for a provider to take the rest: those that are too large, and the oldest.
func (l ImageLimits) Excess(messages []chat.Message) []ImageExcess {
	var gone, images []ImageExcess // images are those that may stay
	var sizes []int
	all := 0
	for i, m := range messages {
		for k, p := range m.Content {
			n := bytesOf(p)
			if _, ok := p.(chat.Image); ok && l.Each > 0 && n > l.Each {
				gone = append(gone, ImageExcess{i, k, RuleImageBytes, false, fmt.Errorf("an image of %d bytes in base64: at most %d are accepted", n, l.Each)})
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
		gone = append(gone, e)
	}
	return gone
}

// inSteps returns how much must go, of a limit that is exceeded by over.
func inSteps(over, limit int) int {
	if over <= 0 {
		return 0
	}
	step := max(1, limit/steps)
	return (over + step - 1) / step * step
}

// bytesOf returns about what a part takes in a request.
func bytesOf(p chat.Part) int {
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

// ImageViolations returns a violation of each rule that images break together, and of each image that is too large.
func (l ImageLimits) ImageViolations(messages []chat.Message) []chat.Violation {
	var list []chat.Violation
	older := map[chat.Rule]bool{}
	for _, e := range l.Excess(messages) {
		if e.Older && older[e.Rule] {
			continue
		}
		older[e.Rule] = older[e.Rule] || e.Older
		list = append(list, chat.Violation{Index: e.Message, Rule: e.Rule, Detail: fmt.Sprintf("part %d: %v", e.Part, e.Err)})
	}
	return list
}

// Images puts a text for each image that is more than a provider takes.
func (c *Changes) Images(l ImageLimits, messages []Indexed, text func(error) chat.Text) {
	plain := make([]chat.Message, len(messages))
	for i, m := range messages {
		plain[i] = m.Message
	}
	for _, e := range l.Excess(plain) {
		m := &messages[e.Message]
		c.Report(m.Index, e.Rule, "part %d replaced by a text: %v", e.Part, e.Err)
		m.Content = slices.Clone(m.Content)
		m.Content[e.Part] = text(e.Err)
	}
}
