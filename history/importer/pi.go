package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
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

func (p *piReader) link(o *object) (id, parent string) {
	if o.peek("type") == piSession {
		return "", ""
	}
	return o.peek("id"), o.peek("parentId")
}

func (p *piReader) line(number int, o *object, raw []byte) error {
	typ := o.text("type")
	switch {
	case o.err != nil:
		return o.err
	case typ == piTitle && !p.begun:
		return p.add(Record{
			Line: number, Recorded: typ, Aside: true, Entry: entry.Entry{Body: entry.Custom{Name: typ, Data: clone(raw)}},
		})
	case typ == piSession && p.begun:
		return errors.New("a second session begins")
	case typ == piSession:
		id := o.text("id")
		if o.err != nil {
			return o.err
		}
		p.rec.Header = entry.Header{From: id, Time: o.time("timestamp"), Data: clone(raw)}
		p.order, p.begun = append(p.order, ""), true
		if version := o.count("version"); version > piVersion {
			p.note(number, Later, fmt.Sprint("version ", version))
		}
		return o.err
	case !p.begun:
		return fmt.Errorf(`expected the header, found a line of type %q`, clip(typ))
	}
	r := Record{Line: number, Recorded: typ}
	r.ID, r.Parent = o.optionalText("id"), p.tip
	if p.has(r.ID) {
		p.note(number, Repeated, "id")
		r.ID, r.Aside, r.Body = "", true, entry.Custom{Name: typ, Data: clone(raw)}
		return p.add(r)
	}
	var notes pending
	linked := r.ID != ""
	if parent := o.optionalText("parentId"); linked {
		// Pi leaves labels out when it copies a session, but does not fix the parents of the lines after them.
		if parent != "" && !p.has(parent) {
			notes.add(Unlinked, "parentId")
		} else {
			r.Parent = parent
		}
	}
	r.Time = o.time("timestamp")
	if o.err != nil {
		return o.err
	}
	if err := p.entry(&r, o, raw, &notes); err != nil {
		return err
	}
	if err := p.add(r); err != nil {
		return err
	}
	p.order = append(p.order, p.tip)
	p.noteAll(number, notes)
	return nil
}

// entry reads the content of an entry. Fields without an equivalent go into its data, or else the whole line does.
func (p *piReader) entry(r *Record, o *object, raw []byte, notes *pending) error {
	switch r.Recorded {
	case "message":
		m := o.object("message")
		if o.err != nil {
			return o.err
		}
		if err := p.message(r, o, m, raw, notes); err != nil {
			return fmt.Errorf("message: %w", err)
		}
	case "compaction":
		return p.compaction(r, o, notes)
	case "branch_summary":
		b := entry.BranchSummary{From: o.optionalText("fromId"), Summary: piSummary(o)}
		b.Data = o.remainder()
		r.Body = b
	case "custom_message":
		m := chat.Message{Role: chat.RoleUser}
		if err := piContent(&m, o, notes); err != nil {
			return err
		}
		r.Body = entry.CustomMessage{Name: o.optionalText("customType"), Content: m.Content, Data: o.remainder()}
	case "custom":
		r.Body = entry.Custom{Name: o.optionalText("customType"), Data: clone(raw)}
	case "label":
		r.Body = entry.Label{Target: o.optionalText("targetId"), Text: o.optionalText("label")}
		notes.rest("label", o)
	case "model_change":
		b := entry.ModelChange{Provider: o.optionalText("provider"), Model: o.optionalText("modelId")}
		if b.Model == "" { // oh-my-pi writes both in one field
			if b.Model = o.optionalText("model"); strings.Contains(b.Model, "/") {
				b.Provider, b.Model, _ = strings.Cut(b.Model, "/")
			}
		}
		r.Body = b
		notes.rest("model_change", o)
	case "thinking_level_change":
		r.Body = entry.ThinkingChange{Level: o.optionalText("thinkingLevel")}
		notes.rest("thinking_level_change", o)
	case "model_usage":
		usage, cost, err := piUsage.read(o, notes)
		if err != nil {
			return err
		}
		r.Body = entry.Usage{Model: o.optionalText("model"), Usage: usage, Cost: cost}
		notes.rest("model_usage", o)
	case "session_info":
		r.Body = entry.Custom{Name: r.Recorded, Data: clone(raw)}
	default:
		notes.add(Unknown, r.Recorded)
		r.Body = entry.Custom{Name: r.Recorded, Data: clone(raw)}
	}
	return o.err
}

func (p *piReader) compaction(r *Record, o *object, notes *pending) error {
	c := entry.Compaction{
		FirstKept: o.optionalText("firstKeptEntryId"), TokensBefore: o.count("tokensBefore"), TokensAfter: o.count("tokensAfter"),
		Mode: o.optionalText("method"), Title: o.optionalText("shortSummary"), Summary: piSummary(o),
	}
	c.Messages = []chat.Message{summaryMessage(c.Text)}
	if i := o.count("firstKeptEntryIndex"); i > 0 && i < len(p.order) {
		c.FirstKept = p.order[i]
	}
	if c.FirstKept != "" && !p.has(c.FirstKept) {
		notes.add(Unlinked, "firstKeptEntryId")
		c.FirstKept = ""
	}
	c.Data = o.remainder()
	r.Body = c
	return o.err
}

// piSummary reads the common fields of compactions and branch summaries. The lists of files are part of the details if
// pi made the summary itself.
func piSummary(o *object) entry.Summary {
	s := entry.Summary{Text: o.text("summary"), Extension: o.flag("fromHook")}
	s.Extension = o.flag("fromExtension") || s.Extension
	if s.Extension || !o.is("details", kindObject) {
		return s
	}
	details, err := parseObject(o.fields["details"])
	if err != nil {
		return s
	}
	var files struct{ ReadFiles, ModifiedFiles []string }
	for name, to := range map[string]*[]string{"readFiles": &files.ReadFiles, "modifiedFiles": &files.ModifiedFiles} {
		if details.given(name) && json.Unmarshal(details.fields[name], to) != nil {
			return s
		}
		delete(details.fields, name)
	}
	s.Files = entry.Files{Read: files.ReadFiles, Modified: files.ModifiedFiles}
	delete(o.fields, "details")
	o.put("details", details.remainder())
	return s
}
