package mirror

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/internal/modelerr"
	"github.com/promptree-go/promptree/summarize/internal/toolbox"
)

// Mirror keeps a session in step with a list of messages of type M that somebody else owns. Set the fields before the
// first call. Calls must not overlap.
type Mirror[M any] struct {
	// Compactor of the session. Its target's tools are set to those of each request. The mirror closes neither it nor the
	// session.
	Compactor *summarize.Compactor
	// Prompt that shows the session. The system prompt comes before it. Defaults to the conversation alone, a
	// [history.All].
	Prompt elements.Node
	// Tools that [Mirror.Answer] answers. Whoever owns the list declares them, in [Request.Tools]. A recall.Tools defaults to
	// the compactor's session and to answers of an eighth of the budget, a [summarize.CompactTool] to the compactor.
	Tools []chat.Toolbox
	// CallLimit is how long a call of a tool may take. Defaults to 10 minutes.
	CallLimit time.Duration
	// From converts a message. One that holds several, such as the results of parallel calls, is converted to several; one
	// that holds nothing to none.
	From func(M) ([]chat.Message, error)
	// To converts messages that follow each other in a prompt, but not as they were said: summaries, cleared or cut results,
	// what the list does not have. Calls are there with all their results. What it returns may be sent more than once, and
	// must not be changed.
	To func([]chat.Message) ([]M, error)
	// Partial says that a list may be less than the conversation: only new messages, its end, or questions and answers
	// without the rounds of tools. What the session has besides stays. Messages are then the same if their role, texts,
	// calls, images and documents are. Off by default: the conversation is what the list has.
	Partial bool

	once  sync.Once
	boxes *toolbox.Boxes // of Tools

	step[M]
	reported string // the leaf up to which Fitted.Entries were returned

	// What the session has of the list.
	inStep  bool                // whether records describe its path
	leaf    string              // of the session, when that was last known
	records []record            // of the messages after the leading system messages
	pairing *pairing            // of the calls and results on its path, nil if that is to be read
	moved   *entry.Compaction   // what stays in force once the message is there with which what is kept begins, nil for none
	left    map[uint64][]string // by digest, the entries of a branch that was left, until they are said again
	leading []record            // of these
	system  []chat.Message      // what they were converted to
	head    []uint64            // the identities of these and of the next message
}

// step is what the last request was made of.
type step[M any] struct {
	list     []M
	prompt   elements.Node
	separate bool           // it begins with a system message that is not in the list
	sent     *render.Result // what it was rendered to
	made     map[uint64][]M // what To returned, by a hash of what it was made from
}

// Mirrored is a conversation of an agent of a framework, and the prompt that shows it. The adapters to frameworks
// mirror it.
type Mirrored struct {
	// Compactor of the session that keeps the conversation. Before each request the tools of its target are set to those of
	// the agent. The caller closes it, and the session.
	Compactor *summarize.Compactor
	// Prompt that shows the session. The agent's instruction comes before it. Defaults to the conversation alone, a
	// [history.All]. It may not declare tools: the agent has its own.
	Prompt elements.Node
	// Tools that the functions answer which the adapter returns for the options' tools; see [Mirror].Tools. Defaults to
	// those of the options, and must declare the same.
	Tools []chat.Toolbox
}

// New returns a mirror of a list of [chat.Message].
func New(c *summarize.Compactor) *Mirror[chat.Message] {
	return &Mirror[chat.Message]{
		Compactor: c,
		From:      func(m chat.Message) ([]chat.Message, error) { return []chat.Message{m}, nil },
		To:        func(list []chat.Message) ([]chat.Message, error) { return list, nil },
	}
}

// Request is what an application is about to send.
type Request[M any] struct {
	// System is the system prompt, if it is not in Messages. It counts towards the budget.
	System string
	// Messages is the conversation so far.
	Messages []M
	// Tools of the agent.
	Tools []chat.Tool
	// Shape is what the application asks of the answer, if it differs from the target's. The schema of a form counts, and no
	// request for a summary inherits it: see [summarize.Target].
	Shape *chat.Shape
}

// Fitted is what to send instead.
type Fitted[M any] struct {
	// Messages within the budget, valid for the providers. The system prompt of [Request.System] is not among them.
	Messages []M
	// Compacted reports whether the session was compacted since the last call: a summary that is new stands for old
	// messages.
	Compacted bool
	// Entries that the session gained since the last call, oldest first. A session in a file, or in another
	// [storage.Store], has stored them already; an application may note them with its own messages, for example to show a
	// compaction.
	Entries []entry.Entry
	// Result is the prompt as it was rendered, the system prompt included.
	Result *render.Result
}

// Fit brings the session in step with a list, compacts it if the policy says so, and returns what to send instead of the
// list.
//
// If the context ends, what is new in the list is recorded all the same, unless a partial list takes more than 1,000
// comparisons with the session. The errors are those of From and To, of the
// session and of [summarize.Compactor.Render]; after one, the next call goes on where this one failed.
func (m *Mirror[M]) Fit(ctx context.Context, req Request[M]) (Fitted[M], error) {
	if err := m.check(); err != nil {
		return Fitted[M]{}, err
	}
	if m.sent == nil && m.reported == "" {
		m.reported = m.Compactor.Session.Leaf()
	}
	if err := m.record(ctx, req.Messages); err != nil {
		return Fitted[M]{}, err
	}
	m.list = req.Messages
	target := m.Compactor.Current()
	shape := target.Shape
	if req.Shape != nil {
		shape = *req.Shape
	}
	if len(req.Tools) != len(target.Tools) || len(req.Tools) > 0 && !reflect.DeepEqual(req.Tools, target.Tools) || !reflect.DeepEqual(shape, target.Shape) {
		target.Tools, target.Shape = slices.Clone(req.Tools), shape
		if err := m.Compactor.Retarget(ctx, target); err != nil {
			return Fitted[M]{}, err
		}
	}
	prompt := elements.Nodes{}
	system := m.system
	if m.separate = strings.TrimSpace(req.System) != ""; m.separate {
		system = append([]chat.Message{chat.SystemMessage(req.System)}, system...)
	}
	for _, s := range system {
		if strings.TrimSpace(s.Text()) != "" {
			prompt = append(prompt, elements.Message(elements.Props{Required: true}, s))
		}
	}
	if prompt = append(prompt, m.Prompt); m.Prompt == nil {
		prompt = append(prompt, history.All{Session: m.Compactor.Session})
	}
	if err := m.toolboxes().BeforeStep(ctx); err != nil {
		return Fitted[M]{}, err
	}
	_, check, err := m.boxes.Declared(ctx, elements.Sizing{PromptBudget: target.Budget, Tokenizer: target.Tokenizer})
	if err != nil {
		return Fitted[M]{}, fmt.Errorf("mirror: Mirror.Tools: %w", err)
	}
	m.prompt = append(prompt, check)
	result, err := m.Compactor.RenderOrWait(ctx, m.prompt)
	if err != nil {
		return Fitted[M]{}, fmt.Errorf("mirror: composing the prompt: %w", err)
	}
	return m.fitted(ctx, result)
}

// Refit returns a smaller prompt after the provider refused the one before as too large; see
// [summarize.Compactor.Recover]. Any other error ([summarize.Recoverable]) is returned as it is.
func (m *Mirror[M]) Refit(ctx context.Context, refused error) (Fitted[M], error) {
	if err := m.check(); err != nil {
		return Fitted[M]{}, err
	}
	result, err := m.Compactor.Recover(ctx, m.prompt, refused, "")
	if err != nil {
		return Fitted[M]{}, err
	}
	return m.fitted(ctx, result)
}

// Answered records the usage that the provider reported for the last prompt, which policies and prices need, and with it
// the answer, if it is given: then nothing is lost if the process ends before the next call. Otherwise the answer is
// recorded when it is in the list.
//
// It returns the answer as the list takes it. Reason is why the answer ended, in the words of any provider or as a
// [chat.StopReason], "" if nobody says. If that is not an end, calls of the answer may be incomplete or missing: the
// answer is then returned, and recorded, without its calls, and a text says so in their place.
//
// If another process has said something in the meantime, nothing is recorded, and the error is a
// [*storage.ConflictError].
func (m *Mirror[M]) Answered(ctx context.Context, usage chat.Usage, reason string, answer ...M) ([]M, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if m.sent == nil {
		return nil, errors.New("mirror: no prompt was answered: call Fit first")
	}
	ctx, done := callback.Outlive(ctx)
	defer done()
	if modelerr.CutOff(reason) {
		var err error
		if answer, err = m.withoutCalls(answer); err != nil {
			return nil, err
		}
	}
	err := m.notice(ctx)
	if err == nil && !m.inStep {
		err = &storage.ConflictError{}
	}
	if err == nil {
		var said []converted
		var identities []uint64
		if identities, err = m.identities(ctx, answer); err == nil {
			said, err = m.convert(answer, identities)
		}
		if err == nil {
			err = m.append(ctx, said, entry.Entry{Body: m.Compactor.Usage(m.sent, chat.Response{Usage: usage}, "")})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("mirror: recording the answer: %w", err)
	}
	return answer, nil
}

// withoutCalls returns an answer that was cut off with a text in the place of its calls.
func (m *Mirror[M]) withoutCalls(answer []M) (whole []M, err error) {
	for _, given := range answer {
		said, err := m.From(given)
		if err != nil {
			return nil, fmt.Errorf("mirror: Mirror.From: %w", err)
		}
		list := []M{given}
		if slices.ContainsFunc(said, func(c chat.Message) bool { return len(c.ToolCalls) > 0 }) {
			for i, c := range said {
				if len(c.ToolCalls) > 0 {
					said[i].ToolCalls, said[i].Content = nil, append(slices.Clip(c.Content), chat.Text(modelerr.NotMade))
				}
			}
			if list, err = m.To(said); err != nil {
				return nil, fmt.Errorf("mirror: Mirror.To: %w", err)
			}
		}
		whole = append(whole, list...)
	}
	return whole, nil
}

// EndTurn compacts after a turn if the policy says so. The list, if it is not nil, is recorded first. Before the first Fit
// there is nothing to do. What a policy says in the user's place after a turn is left out, because nobody would answer it.
// A compaction that fails is no error here: the next Fit compacts or fails.
func (m *Mirror[M]) EndTurn(ctx context.Context, list []M) error {
	if err := m.check(); err != nil || m.sent == nil {
		return err
	}
	if list != nil {
		if err := m.record(ctx, list); err != nil {
			return err
		}
	}
	s := m.Compactor.Session
	before := s.Leaf()
	goOn, err := m.Compactor.AfterTurn(ctx, m.prompt)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case !goOn || s.Leaf() == before:
		return nil
	}
	said, err := s.Entry(ctx, s.Leaf())
	if err == nil {
		err = s.Branch(ctx, said.Parent)
	}
	if m.leaf = s.Leaf(); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

// Answer answers a call by the toolbox that has the tool; false if none of [Mirror].Tools has it. What goes wrong in a
// tool, or takes more than CallLimit, is a failed result, and observers of the compactor hear of it (event.ToolFailed); the
// error is that of the context. Calls may overlap.
func (m *Mirror[M]) Answer(ctx context.Context, call chat.ToolCall) (chat.Message, bool, error) {
	if err := m.check(); err != nil {
		return chat.Message{}, false, err
	}
	return m.toolboxes().Answer(ctx, call, 1)
}

func (m *Mirror[M]) toolboxes() *toolbox.Boxes {
	m.once.Do(func() { m.boxes = toolbox.New(m.Tools, m.Compactor, m.CallLimit) })
	return m.boxes
}

func (m *Mirror[M]) check() error {
	switch {
	case m.Compactor == nil || m.Compactor.Session == nil:
		return errors.New("mirror: there is no session: set Mirror.Compactor, and its Session")
	case m.From == nil || m.To == nil:
		return errors.New("mirror: messages cannot be converted: set Mirror.From and Mirror.To, or use New")
	}
	return nil
}

// fitted converts a rendered prompt and finds what the session gained.
func (m *Mirror[M]) fitted(ctx context.Context, result *render.Result) (f Fitted[M], err error) {
	if len(result.Tools) > 0 && len(m.Compactor.Current().Tools) > 0 { // whoever owns the list sends the latter alone
		return Fitted[M]{}, errors.New("mirror: the prompt holds tools, and Request.Tools are set: leave one of them out")
	}
	m.sent, f.Result = result, result
	if f.Messages, err = m.compose(result.Messages); err != nil {
		return Fitted[M]{}, err
	}
	s := m.Compactor.Session
	gained := s.PathTo(ctx, "")
	if m.reported != "" {
		gained = s.Abandoned(ctx, s.Leaf(), m.reported)
	}
	for e, err := range gained {
		if err != nil {
			return Fitted[M]{}, fmt.Errorf("mirror: reading what the session gained: %w", err)
		}
		f.Entries = append(f.Entries, e)
		f.Compacted = f.Compacted || e.Type() == entry.TypeCompaction && e.Compaction().Plan != "" // else it was taken along
	}
	m.reported = s.Leaf()
	return f, nil
}

// compose returns a prompt as messages of the owner's type: those of the list where they are sent as they were said. A
// round that lacks an id is not, because providers refuse it.
func (m *Mirror[M]) compose(messages []chat.Message) (out []M, err error) {
	if m.separate {
		messages = messages[1:]
	}
	records := slices.Concat(m.leading, m.records)
	digests := make([]uint64, len(messages))
	for i, c := range messages {
		digests[i] = digestSent(c)
	}
	said := placed(records[:min(len(records), len(m.list))], digests)
	made, from := map[uint64][]M{}, 0 // messages before from are in out
	convert := func(to int) error {
		if from == to {
			return nil
		}
		key := sumOf(digests[from:to])
		list, ok := m.made[key]
		if !ok {
			if list, err = m.To(messages[from:to]); err != nil {
				return fmt.Errorf("mirror: Mirror.To: %w", err)
			}
		}
		out, made[key] = append(out, list...), list
		return nil
	}
	for i := 0; i < len(messages); {
		own, next := []M(nil), i // the messages of the list that hold a message, or a round with all its results
		for next == i || next < len(messages) && messages[next].Role == chat.RoleTool {
			at := said[next]
			if at < 0 {
				own = nil
				break
			}
			own, next = append(own, m.list[at]), next+len(records[at].digests)
		}
		if own != nil {
			if err := convert(i); err != nil {
				return nil, err
			}
			out, from, i = append(out, own...), next, next
			continue
		}
		for i++; i < len(messages) && messages[i].Role == chat.RoleTool; i++ {
		}
	}
	if err := convert(len(messages)); err != nil {
		return nil, err
	}
	m.made = made
	return out, nil
}

// placed returns for each message of a prompt the record that begins with it, -1 if none does. Equal messages are told
// apart by their order, from the end; only a result that moved to its call is out of order.
func placed(records []record, digests []uint64) []int {
	left := make(map[uint64][]int, len(records)) // records, by their last digests
	for i, r := range records {
		if n := len(r.digests); n > 0 && !r.unnamed {
			left[r.digests[n-1]] = append(left[r.digests[n-1]], i)
		}
	}
	said, last := make([]int, len(digests)), len(records)
	for i := range said {
		said[i] = -1
	}
	for end := len(digests); end > 0; end-- {
		list := left[digests[end-1]]
		at, _ := slices.BinarySearch(list, last)
		if at--; at < 0 {
			at = len(list) - 1
		}
		if at < 0 {
			continue
		}
		r := records[list[at]].digests
		if start := end - len(r); start >= 0 && slices.Equal(r, digests[start:end]) {
			said[start], left[digests[end-1]] = list[at], list[:at]
			last = min(last, list[at])
			end = start + 1
		}
	}
	return said
}
