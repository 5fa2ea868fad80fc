package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

const claudeSnapshot = "file-history-snapshot"

// claudeReader reads the sessions of Claude Code (its versions 1.0 and 2.0; the format has no version of its own): one
// JSON object per line, those of the conversation linked by uuid and parentUuid into a tree.
//
// An answer of the model takes one line for each of its blocks, with the same message id, and results may come in
// between. They are put together again, followed by the results, so the tree branches only where the user went back.
type claudeReader struct {
	*builder
	answers    map[string]*claudeAnswer // by record: the answer that it is, or directly follows
	last       string                   // the last record of the conversation, sidechains left out
	compaction entry.Compaction         // whose summary has not been read
	labels     map[int]entry.Custom     // by record: the line of a label, kept in case its target is missing
}

// claudeAnswer is an answer of the model.
type claudeAnswer struct {
	*messages.Decoder        // of what was read of it
	id                string // of its record
	message           string // the provider's id of it
	tail              string // the last record that directly follows it
}

func isClaude(o *wire.Object) bool {
	typ := o.Peek("type")
	return typ != "" && (o.Given("sessionId") || o.Given("leafUuid") || o.Given("uuid") || typ == claudeSnapshot)
}

func (c *claudeReader) link(o *wire.Object) (id, parent string) {
	return o.Peek("uuid"), cmp.Or(o.Peek("parentUuid"), o.Peek("logicalParentUuid"))
}

func (c *claudeReader) line(o *wire.Object) {
	r := Record{Recorded: o.Text("type"), Sidechain: o.Flag("isSidechain")}
	r.Time = o.Time("timestamp")
	uuid, parent, session := o.OptionalText("uuid"), o.OptionalText("parentUuid"), o.OptionalText("sessionId")
	logical := o.OptionalText("logicalParentUuid")
	if o.Err() != nil {
		return
	}
	if subtype := o.Peek("subtype"); subtype != "" {
		r.Recorded += "." + subtype
	}
	if uuid == "" || c.after[uuid] != "" { // outside the tree, or a duplicate
		if uuid != "" {
			c.note(noteRepeated, "uuid")
		}
		c.aside(r, o)
		return
	}
	if len(uuid) > entry.MaxID-len(claudePart) || c.has(uuid) {
		o.Fail(fmt.Errorf("the uuid %q is too long or used twice", clip(uuid)))
		return
	}
	r.Parent = c.follows(cmp.Or(parent, logical), c.last, "parentUuid")
	c.entry(r, uuid, o)
	if c.rec.Header.From == "" && o.Err() == nil {
		c.rec.Header.From, c.rec.Header.Time = session, r.Time
	}
}

// aside keeps a record that is not part of the conversation. The summary of a conversation names its last record.
func (c *claudeReader) aside(r Record, o *wire.Object) {
	r.Parent, r.Aside = c.last, true
	line := entry.Custom{Name: r.Recorded, Data: o.Source()}
	if target := o.Peek("leafUuid"); r.Recorded == "summary" && target != "" && o.Is("summary", wire.KindText) {
		c.labels[len(c.rec.Records)] = line
		c.add(r, entry.Label{Target: target, Text: o.Text("summary")})
		return
	}
	c.add(r, line)
}

// entry reads a line of the tree.
func (c *claudeReader) entry(r Record, uuid string, o *wire.Object) {
	custom := entry.Custom{Name: r.Recorded, Data: o.Source()}
	switch {
	case r.Recorded == "system.compact_boundary":
		c.boundary(r, uuid, o, custom)
		return
	case r.Recorded == "user", r.Recorded == "assistant" && !o.Flag("isApiErrorMessage"):
		c.said(r, uuid, o, o.Object("message"))
		return
	case !slices.Contains(claudeTypes, custom.Name[:strings.IndexByte(custom.Name+".", '.')]):
		c.note(noteUnknown, r.Recorded)
	}
	c.follow(r, uuid, custom)
}

// claudeTypes are the types of lines in the tree.
var claudeTypes = []string{"user", "assistant", "system", "attachment", "progress"}

// claudeItself is the model that Claude Code names for answers that it wrote itself.
const claudeItself = "<synthetic>"

// said reads a message.
func (c *claudeReader) said(r Record, uuid string, o, m *wire.Object) {
	role, id := chat.Role(m.Text("role")), m.OptionalText("id")
	if string(role) != r.Recorded {
		m.Fail(fmt.Errorf("role %q in a line of type %q", clip(string(role)), r.Recorded))
	}
	b := c.blocks(role, m)
	r.Usage = c.anthropicUsage(m)
	if model := m.Peek("model"); model != claudeItself {
		b.Message.Origin.Model = model
	}
	meta, summary := o.Flag("isMeta"), o.Flag("isCompactSummary")
	if o.Err() != nil {
		return
	}
	o.Put("message", m.Remainder())
	data := o.Remainder()
	switch {
	case role == chat.RoleAssistant:
		c.answered(r, uuid, id, b, data)
		return
	case summary: // older versions write no boundary before it
		body := c.compaction
		body.Messages, body.Text, body.Data = []chat.Message{b.Message}, b.Message.Text(), data
		c.compaction = entry.Compaction{}
		c.follow(r, uuid, body)
		return
	}
	for i := range b.Results {
		if id := claudePartID(uuid, i); c.has(id) {
			o.Fail(fmt.Errorf("the uuid %q is used twice", clip(id)))
			return
		}
	}
	// The results come first because they answer earlier calls.
	for i, result := range b.Results {
		if last := i == len(b.Results)-1; last && len(b.Message.Content) == 0 {
			c.follow(r, uuid, entry.Message{Message: result, Data: data})
			return
		}
		r.ID = claudePartID(uuid, i)
		c.follow(r, "", entry.Message{Message: result})
		r.Parent = r.ID
	}
	if meta {
		c.follow(r, uuid, entry.CustomMessage{Name: "isMeta", Content: b.Message.Content, Data: data})
	} else {
		c.follow(r, uuid, entry.Message{Message: b.Message, Data: data})
	}
}

// claudePart is the longest suffix that [claudePartID] adds to a uuid.
const claudePart = ".131072"

// claudePartID returns the id of a result on a line that holds more than one record.
func claudePartID(uuid string, i int) string { return fmt.Sprintf("%s.%d", uuid, i+1) }

// answered adds an answer, or the next block of one.
func (c *claudeReader) answered(r Record, uuid, id string, b *messages.Decoder, data json.RawMessage) {
	first := c.answers[r.Parent]
	if first != nil && id != "" && first.message == id && c.get(first.id).Sidechain == r.Sidechain {
		before := c.get(first.id)
		whole := before.Body.(entry.Message)
		first.Join(b)
		whole.Message = first.Message
		if len(whole.Data)+len(data) <= maxData {
			whole.Data = mergeData(whole.Data, data)
		} else if !bytes.Equal(whole.Data, data) {
			c.note(noteNoPlace, "data of the answer's further lines")
		}
		before.Body = whole
		if r.Usage != (chat.Usage{}) { // each line repeats it, and the last is complete
			before.Usage = r.Usage
		}
		c.after[uuid] = first.id
		return
	}
	c.follow(r, uuid, entry.Message{Message: b.Message, Data: data})
	c.answers[uuid] = &claudeAnswer{Decoder: b, id: uuid, message: id, tail: uuid}
}

// maxData is the maximum size in bytes of the data that is merged for one answer. Each further line merges it again.
const maxData = 16 << 10

// mergeData merges the data of two lines of one answer. If both have a field, the later line wins.
func mergeData(before, after json.RawMessage) json.RawMessage {
	switch {
	case before == nil || after == nil:
		return append(before, after...)
	case bytes.Equal(before, after):
		return before
	}
	a, _ := wire.Parse(before) // both are objects made here
	b, _ := wire.Parse(after)
	message := mergeData(a.Look("message"), b.Look("message"))
	a.Add(b)
	a.Put("message", message)
	return a.Remainder()
}

// follow adds a record to the tree. Results and other records that are not messages are chained one after the other,
// whichever line of the answer they name as their parent.
func (c *claudeReader) follow(r Record, uuid string, body entry.Body) {
	r.ID = cmp.Or(uuid, r.ID)
	answer := c.answers[r.Parent]
	if answer != nil {
		r.Parent = answer.tail
	}
	c.add(r, body)
	if uuid != "" {
		c.after[uuid] = r.ID
	}
	m, isMessage := body.(entry.Message)
	_, isCompaction := body.(entry.Compaction)
	if answer != nil && !isCompaction && (!isMessage || m.Role == chat.RoleTool) {
		c.answers[r.ID], answer.tail = answer, r.ID
	}
	if !r.Sidechain {
		c.last = r.ID
	}
}

// boundary starts a compaction. Its replacement follows as a user message.
func (c *claudeReader) boundary(r Record, uuid string, o *wire.Object, body entry.Custom) {
	var compaction entry.Compaction
	if o.Is("compactMetadata", wire.KindObject) {
		m := o.Object("compactMetadata")
		compaction.TokensBefore, compaction.TokensAfter = m.Count("preTokens"), m.Count("postTokens")
		compaction.Mode = m.OptionalText("trigger")
		compaction.FirstKept = c.after[within(m, "preservedSegment").Peek("headUuid")]
		if o.Err() != nil {
			return
		}
	}
	c.follow(r, uuid, body)
	c.compaction = compaction
}

func (c *claudeReader) finish() {
	c.rec.Leaf = c.last
	for i, line := range c.labels {
		r := &c.rec.Records[i]
		label := r.Body.(entry.Label)
		if id, ok := c.after[label.Target]; ok {
			label.Target = id
			r.Body = label
		} else { // the target is in another file
			r.Body = line
		}
	}
}
