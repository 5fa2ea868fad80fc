package instructions

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/sources/internal/kept"
)

// DefaultNames returns the names of instruction files in a folder, of which the first that exists and is not blank is
// shown.
func DefaultNames() []string {
	return []string{"AGENTS.override.md", "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"}
}

// DefaultRootNames returns the paths of the files that are shown in addition if they exist, from the root.
func DefaultRootNames() []string { return []string{".github/copilot-instructions.md"} }

// Files shows the instruction files from the root of a project to the working directory. Place it in a message, in
// front of the history. It is required unless [Files.Droppable] is set.
//
// Set the fields before the first render; Dir may be set between renders. Use it by a pointer, because it remembers what
// it showed. It is safe for concurrent renders.
type Files struct {
	elements.Props
	// FS is the root folder of the project, above which nothing is read. The FS of an [os.Root] is one that symbolic
	// links do not leave; that of [os.DirFS] is not.
	FS fs.FS
	// Dir is the working directory, relative to the root and with slashes, such as "services/api". Defaults to the root. It
	// is an error if it does not exist when it is first read.
	Dir string
	// Names of files in a folder, of which the first that exists and is not blank is shown. Defaults to [DefaultNames].
	Names []string
	// RootNames are paths of files that are shown in addition, from the root. Nil means [DefaultRootNames].
	RootNames []string
	// MaxFile is the number of bytes of a file that are shown, MaxTotal that of all files together with their tags. They
	// default to 65,536 and 262,144.
	MaxFile, MaxTotal int
	// Share is the part of the prompt's budget ([elements.Sizing].PromptBudget) that all files may take, in tokens, up to 1.
	// Defaults to 0.25.
	Share float64
	// Droppable lets files be pruned whole, the farthest from the working directory first. A compactor prunes them before
	// it compacts. Off by default.
	Droppable bool
	// Session, if set, makes a file that changed stay at its place as it was until the next compaction of the session,
	// so that the prefix of the prompt stays the same. [Changes] then shows it as it is. A process that is started anew
	// shows all files as they are, at their places.
	Session *history.Session
	// OnChange, if set, is called in a render with the paths of files that were changed, added or removed since the
	// previous one, in order.
	OnChange func(paths []string)
	// OnCut, if set, is called in a render with the paths of files that are shown in part, or not at all, because of the
	// limits, whenever these are others than in the previous one.
	OnCut func(paths []string)

	mu    sync.Mutex
	found *string  // the last Dir that was a folder, nil before the first
	last  *reading // the newest
	base  *reading // at the places, with Session
	since string   // the compaction since which base is shown, "" for none
}

// ElementProps returns the properties, Required unless the files are droppable.
func (f *Files) ElementProps() elements.Props {
	return kept.Props(f.Props, elements.CategoryInstructions, !f.Droppable)
}

// IgnoresBudget marks the element as one whose size does not depend on its budget.
func (f *Files) IgnoresBudget() {}

// Render shows the files.
func (f *Files) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	shown, _, err := f.read(ctx, s)
	if err != nil {
		return nil, err
	}
	var nodes elements.Nodes
	for i, b := range shown.blocks {
		nodes = append(nodes, b.node(i))
	}
	return nodes, nil
}

// Changes shows, as a user message at the end of the prompt, the files that changed since they were shown at their
// places, until the next compaction. Place it behind the history. It renders to nothing if [Files].Session is not set.
type Changes struct {
	elements.Props
	Files *Files
}

// ElementProps returns the properties, with Required.
func (c Changes) ElementProps() elements.Props {
	return kept.Props(c.Props, elements.CategoryInstructions, true)
}

// IgnoresBudget marks the element as one whose size does not depend on its budget.
func (c Changes) IgnoresBudget() {}

// Render shows the changed files.
func (c Changes) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	if c.Files == nil {
		return nil, errors.New("instructions: Changes.Files is not set: set the element that shows the files")
	}
	shown, now, err := c.Files.read(ctx, s)
	if err != nil {
		return nil, err
	}
	nodes := elements.Nodes{chunk(elements.Props{}, "Instruction files changed. What stands here replaces what stands above under the same path.")}
	for _, b := range now.blocks {
		if !slices.Contains(shown.blocks, b) {
			nodes = append(nodes, b.node(len(nodes)))
		}
	}
	for _, b := range shown.blocks {
		if !slices.ContainsFunc(now.blocks, func(n block) bool { return n.path == b.path }) {
			nodes = append(nodes, block{b.path, empty(plaintext.InstructionsTag, b.path, "note", "the file does not apply any more")}.node(len(nodes)))
		}
	}
	if len(nodes) == 1 {
		return nil, nil
	}
	return elements.UserMessage{Children: nodes}, nil
}

// read reads the files, and returns what to show at their places and what they are now.
func (f *Files) read(ctx context.Context, s elements.Sizing) (shown, now *reading, err error) {
	shown, now, changed, cut, err := f.update(ctx, s)
	if len(changed) > 0 && f.OnChange != nil {
		f.OnChange(changed)
	}
	if cut && f.OnCut != nil {
		f.OnCut(now.cut)
	}
	return shown, now, err
}

// update is read without the calls of OnChange, for which it returns the paths, and of OnCut, of which it reports whether
// it is to be called.
func (f *Files) update(ctx context.Context, s elements.Sizing) (shown, now *reading, changed []string, cut bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now, err = f.steady(ctx, s); err != nil {
		return nil, nil, nil, false, err
	}
	cut = len(now.cut) > 0 && (f.last == nil || !slices.Equal(now.cut, f.last.cut))
	if f.last != nil {
		changed = f.last.differ(now)
	}
	if f.last = now; f.Session == nil {
		return now, now, changed, cut, nil
	}
	latest, _, err := f.Session.Latest(ctx, entry.TypeCompaction)
	if err != nil {
		return nil, nil, changed, cut, err
	}
	if f.base == nil || f.since != latest.ID || f.base.room != now.room {
		f.base, f.since = now, latest.ID
	}
	return f.base, now, changed, cut, nil
}

// How a file that is being saved is waited for: until readings of it are the same, pause apart. A reading in which
// something is gone must stay the same stillGone times.
const (
	pause     = 20 * time.Millisecond
	attempts  = 10
	stillGone = 5
)

// steady reads the files. If anything changed, it waits until nothing changes any more. If that does not happen, it
// returns the reading before.
func (f *Files) steady(ctx context.Context, s elements.Sizing) (*reading, error) {
	next, err := f.load(s)
	if err != nil || f.last == nil || next.equal(f.last) || next.room != f.last.room {
		return next, err
	}
	same := 0
	for range attempts {
		if err := retry.Sleep(ctx, pause); err != nil {
			return nil, err
		}
		again, err := f.load(s)
		if err != nil {
			return nil, err
		}
		if same++; !again.equal(next) {
			same = 0
		}
		if next = again; next.equal(f.last) || same > 0 && (same >= stillGone || !next.lost(f.last)) {
			return next, nil
		}
	}
	return f.last, nil
}
