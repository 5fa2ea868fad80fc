package einoagent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/callback"
)

const (
	// idKey is the key of eino's own id in a message's Extra.
	idKey = "_eino_msg_id"
	// markKey is the key in a message's Extra that says that a message of the agent's state was composed from a session, and
	// how far that was: "session entry", with instructionMark before it in an instruction of the framework.
	markKey         = "_promptree"
	instructionMark = "instruction "
	// systemName names what a handler of the framework said as the system amid the conversation.
	systemName = "system"
)

// kept is what a session keeps of a message that no model needs.
type kept struct {
	ID       string               `json:"id,omitempty"`
	Meta     *schema.ResponseMeta `json:"responseMeta,omitempty"`
	ToolName string               `json:"toolName,omitempty"` // as the call says it too
}

// state is an agent's list of messages as it was parted.
type state struct {
	instruction []*schema.Message // the framework's, without marks
	base        string            // the entry up to which the rest was composed, "" at the beginning of a run
	fresh       []*schema.Message // what was said since
}

// part splits an agent's messages into the framework's instruction, what was composed from a session, and what was said since.
func part(messages []*schema.Message, session string) state {
	var s state
	for _, m := range messages {
		mark, _ := m.Extra[markKey].(string)
		mark, instruction := strings.CutPrefix(mark, instructionMark)
		of, entry, _ := strings.Cut(mark, " ")
		switch marked := mark != "" && of == session; {
		case marked && instruction:
			s.instruction, s.base = append(s.instruction, without(m, markKey)), entry
		case marked:
			s.base = entry
		case m.Role == schema.System && len(s.fresh) == 0 && s.base == "":
			s.instruction = append(s.instruction, m)
		default:
			s.fresh = append(s.fresh, without(m, markKey))
		}
	}
	return s
}

// marked returns a message of which a later call knows where it is from.
func marked(m *schema.Message, prefix, session, entry string) *schema.Message {
	c := *m
	c.Extra = maps.Clone(m.Extra)
	if c.Extra == nil {
		c.Extra = map[string]any{}
	}
	c.Extra[markKey] = prefix + session + " " + entry
	return &c
}

// body returns the entry of a message that was said. Names are those of the tools that were called, by call.
func body(m *schema.Message, names map[string]string) (history.Body, error) {
	k := kept{Meta: m.ResponseMeta}
	k.ID, _ = m.Extra[idKey].(string)
	said := without(m, idKey, markKey)
	said.ResponseMeta = nil
	said.ToolCalls = withoutIndex(said.ToolCalls)
	if m.ToolName != "" && m.ToolName == names[m.ToolCallID] {
		k.ToolName, said.ToolName = m.ToolName, ""
	}
	c, err := FromEino(said)
	if err != nil {
		return nil, err
	}
	if c.Role == chat.RoleSystem {
		return history.CustomMessage{Name: systemName, Content: c.Content}, nil
	}
	out := history.Message{Message: c}
	if k != (kept{}) {
		if out.Data, err = json.Marshal(k); err != nil {
			return nil, fmt.Errorf("einoagent: what the model says of its answer: %w", err)
		}
	}
	return out, nil
}

// withoutIndex returns calls without their place in the stream that they came by, and with the type that eino means by none.
func withoutIndex(calls []schema.ToolCall) []schema.ToolCall {
	list := cloned(calls)
	for i := range list {
		list[i].Index = nil
		if list[i].Type == "" {
			list[i].Type = "function"
		}
	}
	return list
}

// names returns the names of the tools that messages call, by call.
func names(messages []*schema.Message) map[string]string {
	list := map[string]string{}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			list[c.ID] = c.Function.Name
		}
	}
	return list
}

// prompt returns messages as a model of eino takes them.
func prompt(messages []chat.Message) ([]*schema.Message, error) {
	list := make([]*schema.Message, 0, len(messages))
	called := map[string]string{}
	for _, m := range messages {
		e, err := toEino(m)
		if err != nil {
			return nil, err
		}
		for _, c := range m.ToolCalls {
			called[c.ID] = c.Name
		}
		empty := e.Content == "" && len(e.MultiContent)+len(e.UserInputMultiContent)+len(e.AssistantGenMultiContent)+len(e.ToolCalls) == 0
		switch {
		case empty && e.Role == schema.Tool:
			e.Content = "(no output)"
		case empty:
			continue
		}
		if e.Role == schema.Tool && e.ToolName == "" {
			e.ToolName = called[e.ToolCallID]
		}
		list = append(list, e)
	}
	return list, nil
}

// mirror appends to a session what was said since, and goes back if the framework did.
func mirror(ctx context.Context, s *history.Session, st state, called map[string]string) error {
	bodies := make([]history.Body, len(st.fresh))
	for i, m := range ordered(st.fresh) {
		var err error
		if bodies[i], err = body(m, called); err != nil {
			return err
		}
	}
	write, done := callback.Outlive(ctx) // what was said is kept
	defer done()
	known, err := align(write, s, st.base, bodies)
	if err != nil {
		return fmt.Errorf("einoagent: finding what the session has already: %w", err)
	}
	var entries []history.Entry
	for _, b := range bodies[known:] {
		entries = append(entries, history.Entry{Body: b})
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := s.Add(write, entries...); err != nil {
		return fmt.Errorf("einoagent: recording what was said: %w", err)
	}
	return nil
}

// ordered returns messages with the results of parallel calls in the order of the calls. Events bring them as they come.
func ordered(messages []*schema.Message) []*schema.Message {
	list := slices.Clone(messages)
	place := map[string]int{}
	for i := 0; i < len(list); i++ {
		if list[i].Role != schema.Tool {
			clear(place)
			for k, c := range list[i].ToolCalls {
				place[c.ID] = k
			}
			continue
		}
		from := i
		for i+1 < len(list) && list[i+1].Role == schema.Tool {
			i++
		}
		slices.SortStableFunc(list[from:i+1], func(a, b *schema.Message) int { return place[a.ToolCallID] - place[b.ToolCallID] })
	}
	return list
}

// align returns how many of what was said the session has already, and moves its leaf to where the rest is to follow.
func align(ctx context.Context, s *history.Session, base string, said []history.Body) (known int, err error) {
	if base != "" {
		has, err := s.Has(ctx, base)
		if err != nil {
			return 0, err
		}
		if has {
			return alignAfter(ctx, s, base, said)
		}
	}
	return alignInput(ctx, s, said)
}

// alignAfter aligns what was said after an entry.
func alignAfter(ctx context.Context, s *history.Session, base string, said []history.Body) (int, error) {
	var after []history.Entry
	found := false
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			return 0, err
		}
		if found = e.ID == base; found {
			break
		}
		if mirrored(e) {
			after = append(after, e)
		}
	}
	if !found {
		return 0, s.Branch(ctx, base) // the session went another way meanwhile
	}
	slices.Reverse(after)
	n := common(after, said)
	switch {
	case n == len(after):
		return n, nil
	case n == 0:
		return 0, s.Branch(ctx, base)
	}
	return n, s.Branch(ctx, after[n-1].ID)
}

// alignInput aligns the input of a run: the whole conversation as the application keeps it, with all rounds of tools or without
// some, the end of it, or only what is new.
func alignInput(ctx context.Context, s *history.Session, said []history.Body) (int, error) {
	b := &backwards{}
	next, stop := iter.Pull2(s.Back(ctx, ""))
	defer stop()
	b.next = next
	for n := len(said); n > 0; n-- {
		lost := n == len(said) || roleOf(said[n]) == chat.RoleUser // rounds that followed may be
		if ok := b.endsWith(said[:n], lost); b.err != nil || ok {
			return n, b.err
		}
	}
	if !slices.ContainsFunc(said, func(b history.Body) bool { return roleOf(b) == chat.RoleAssistant }) {
		return 0, nil // only what is new
	}
	n, last, at := 0, "", ""
	for e, err := range s.PathTo(ctx, "") {
		if err != nil {
			return 0, err
		}
		if !mirrored(e) {
			continue
		}
		at = e.ID
		if n < len(said) && says(e, said[n]) {
			n, last = n+1, e.ID
		} else if spoken(e.Body) {
			break
		}
	}
	if last == at {
		return n, nil // the session is empty
	}
	return n, s.Branch(ctx, last)
}

// backwards reads what a session's path says from its end.
type backwards struct {
	next func() (history.Entry, error, bool)
	read []history.Entry // the newest first
	err  error
}

// at returns the i-th entry from the end, and reports whether there is one.
func (b *backwards) at(i int) (history.Entry, bool) {
	for len(b.read) <= i && b.err == nil {
		e, err, ok := b.next()
		if !ok {
			return history.Entry{}, false
		}
		if b.err = err; err == nil && mirrored(e) {
			b.read = append(b.read, e)
		}
	}
	if b.err != nil {
		return history.Entry{}, false
	}
	return b.read[i], true
}

// endsWith reports whether the path ends with what was said. It may have rounds of tools between, and after a question if they
// may be lost, that the application did not keep.
func (b *backwards) endsWith(said []history.Body, lost bool) bool {
	j := len(said) - 1
	skips := lost && roleOf(said[j]) == chat.RoleUser
	for i := 0; j >= 0; i++ {
		e, ok := b.at(i)
		switch {
		case !ok:
			return false
		case says(e, said[j]):
			j, skips = j-1, true
		case !skips || spoken(e.Body):
			return false
		}
	}
	return true
}

func roleOf(b history.Body) chat.Role {
	m, _ := b.(history.Message)
	return m.Role
}

// spoken reports whether something was said by the user, or by the assistant as an answer.
func spoken(b history.Body) bool {
	m, _ := b.(history.Message)
	return m.Role == chat.RoleUser || m.Role == chat.RoleAssistant && len(m.ToolCalls) == 0
}

// mirrored reports whether an entry is one that the framework has a message for.
func mirrored(e history.Entry) bool {
	m, ok := e.Body.(history.CustomMessage)
	return e.Type() == history.TypeMessage || ok && m.Name == systemName
}

// common returns how many entries, from the first on, are what was said.
func common(entries []history.Entry, said []history.Body) int {
	for i, e := range entries {
		if i == len(said) || !says(e, said[i]) {
			return i
		}
	}
	return len(entries)
}

// says reports whether an entry is what was said: by eino's id, or else by role, text and calls, for applications keep no more.
func says(e history.Entry, b history.Body) bool {
	had, isMessage := e.Body.(history.Message)
	said, ok := b.(history.Message)
	if !isMessage || !ok {
		was, isCustom := e.Body.(history.CustomMessage)
		now, ok := b.(history.CustomMessage)
		return isCustom && ok && (chat.Message{Content: was.Content}).Text() == (chat.Message{Content: now.Content}).Text()
	}
	if had.Role != said.Role || had.ToolCallID != said.ToolCallID || len(had.ToolCalls) != len(said.ToolCalls) {
		return false
	}
	if id := idOf(had); id != "" && id == idOf(said) {
		return true
	}
	if len(e.Redacted) > 0 { // what was said is not there to be compared
		return true
	}
	for i, c := range had.ToolCalls {
		if o := said.ToolCalls[i]; c.ID != o.ID || c.Name != o.Name || c.Arguments != o.Arguments {
			return false
		}
	}
	return had.Text() == said.Text() && slices.Equal(images(had), images(said))
}

func idOf(m history.Message) string {
	var k kept
	if m.Data == nil || json.Unmarshal(m.Data, &k) != nil {
		return ""
	}
	return k.ID
}

func images(m history.Message) (list []chat.Part) {
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Image, chat.Document:
			list = append(list, p)
		}
	}
	return list
}
