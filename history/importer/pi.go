package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// The types of pi's lines that are read, including those of oh-my-pi.
const (
	piSession = "session"
	piTitle   = "title"
)

// piVersion is the latest version of pi's format that is known.
const piVersion = 3

// piReader reads the sessions of pi (badlogic/pi-mono, versions 1 to 3 of its format) and oh-my-pi (can1357/oh-my-pi,
// version 3): a header of type "session", before which oh-my-pi may write a line of type "title", then one entry per
// line. In version 1 entries have no ids and each follows the one before; since version 2 they are a tree.
type piReader struct {
	*builder
	order []string // ids of the lines, starting with the header's: version 1 refers to the first kept entry by its index
	begun bool
}

func isPi(o *wire.Object) bool {
	typ := o.Peek("type")
	return typ == piSession && o.Is("id", wire.KindText) || typ == piTitle && o.Given("v") && o.Given("pad")
}

func (p *piReader) link(o *wire.Object) (id, parent string) {
	if o.Peek("type") == piSession {
		return "", ""
	}
	return o.Peek("id"), o.Peek("parentId")
}

func (p *piReader) line(o *wire.Object) {
	r := Record{Recorded: o.Text("type")}
	switch typ := r.Recorded; {
	case typ == piTitle && !p.begun:
		p.keep(r, o.Source())
		return
	case typ == piSession && p.begun:
		o.Fail(errors.New("a second session begins"))
		return
	case typ == piSession:
		header := entry.Header{From: o.Text("id"), Time: o.Time("timestamp"), Data: o.Source()}
		if version := o.Count("version"); version > piVersion {
			p.note(noteLater, fmt.Sprint("version ", version))
		}
		if o.Err() == nil {
			p.rec.Header, p.order, p.begun = header, append(p.order, ""), true
		}
		return
	case !p.begun:
		o.Fail(fmt.Errorf("expected the header, found a line of type %q", clip(typ)))
		return
	}
	r.ID, r.Parent = o.OptionalText("id"), p.tip
	if p.has(r.ID) {
		p.note(noteRepeated, "id")
		p.keep(r, o.Source())
		return
	}
	if parent := o.OptionalText("parentId"); r.ID != "" {
		// Pi leaves labels out when it copies a session, but does not fix the parents of the lines after them.
		r.Parent = p.follows(parent, p.tip, "parentId")
	}
	r.Time = o.Time("timestamp")
	body := p.entry(&r, o)
	if o.Err() != nil {
		return
	}
	p.add(r, body)
	p.order = append(p.order, p.tip)
	p.after[p.tip] = p.tip
}

// entry reads the content of an entry. Fields without an equivalent go into its data, if it has any, or else the whole line
// does.
func (p *piReader) entry(r *Record, o *wire.Object) (body entry.Body) {
	switch r.Recorded {
	case "message":
		return p.piMessage(r, o, o.Object("message"))
	case "compaction":
		return p.compaction(o)
	case "branch_summary":
		b := entry.BranchSummary{From: o.OptionalText("fromId"), Summary: piSummary(o)}
		if len(b.Files.Read)+len(b.Files.Modified) > 0 { // they are shown behind the text
			b.Text = strings.TrimSpace(fileLists.ReplaceAllString(b.Text, ""))
		}
		b.Data = o.Remainder()
		return b
	case "custom_message":
		m := chat.Message{Role: chat.RoleUser}
		p.piContent(&m, o)
		return entry.CustomMessage{Name: o.OptionalText("customType"), Content: m.Content, Data: o.Remainder()}
	case "custom":
		return entry.Custom{Name: o.OptionalText("customType"), Data: o.Source()}
	case "label":
		body = entry.Label{Target: o.OptionalText("targetId"), Text: o.OptionalText("label")}
	case "model_change":
		b := entry.ModelChange{Provider: o.OptionalText("provider"), Model: o.OptionalText("modelId")}
		if b.Model == "" { // oh-my-pi writes both in one field
			if b.Model = o.OptionalText("model"); strings.Contains(b.Model, "/") {
				b.Provider, b.Model, _ = strings.Cut(b.Model, "/")
			}
		}
		body = b
	case "thinking_level_change":
		body = entry.ThinkingChange{Level: o.OptionalText("thinkingLevel")}
	case "model_usage":
		usage, cost := p.piUsage(o)
		body = entry.Usage{Model: o.OptionalText("model"), Usage: usage, Cost: cost}
	default:
		if r.Recorded != "session_info" {
			p.note(noteUnknown, r.Recorded)
		}
		return entry.Custom{Name: r.Recorded, Data: o.Source()}
	}
	p.rest(r.Recorded, o)
	return body
}

func (p *piReader) compaction(o *wire.Object) entry.Compaction {
	c := entry.Compaction{
		FirstKept: o.OptionalText("firstKeptEntryId"), TokensBefore: o.Count("tokensBefore"), TokensAfter: o.Count("tokensAfter"),
		Mode: o.OptionalText("method"), Title: o.OptionalText("shortSummary"), Summary: piSummary(o),
	}
	c.Messages = []chat.Message{summaryMessage(c.Text)}
	if i := o.Count("firstKeptEntryIndex"); i > 0 && i < len(p.order) {
		c.FirstKept = p.order[i]
	}
	c.FirstKept = p.follows(c.FirstKept, "", "firstKeptEntryId")
	c.Data = o.Remainder()
	return c
}

// fileLists matches the lists of files that pi puts at the end of a summary.
var fileLists = regexp.MustCompile(`(?s)\n\n<(?:read|modified)-files>\n.*</(?:read|modified)-files>\s*$`)

// piSummary reads the common fields of compactions and branch summaries. The lists of files are part of the details if
// pi made the summary itself.
func piSummary(o *wire.Object) entry.Summary {
	s := entry.Summary{Text: o.Text("summary"), Extension: o.Flag("fromHook")}
	s.Extension = o.Flag("fromExtension") || s.Extension
	details := o.Inside("details")
	if s.Extension || details == nil {
		return s
	}
	var files entry.Files
	for name, to := range map[string]*[]string{"readFiles": &files.Read, "modifiedFiles": &files.Modified} {
		if details.Given(name) && json.Unmarshal(details.Look(name), to) != nil {
			return s
		}
		details.Skip(name)
	}
	s.Files = files
	o.Skip("details")
	o.Put("details", details.Remainder())
	return s
}
