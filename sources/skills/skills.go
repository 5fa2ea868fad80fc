package skills

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/sources/internal/kept"
)

// Skills are the skills of one agent, and what it has loaded of them. Set the fields before use. It is safe for
// concurrent use and must not be copied.
type Skills struct {
	// Session that holds what was loaded.
	Session *history.Session
	// Folders that hold the folders of skills, the most important first: of two skills with one name that of the first
	// folder counts. Take them from [os.Root.FS], so that no symbolic link leads out of them.
	Folders []fs.FS
	// Allow, if set, reports whether the agent may see and load a skill. By default it may load all.
	Allow func(Skill) bool
	// CatalogueShare is the part of the prompt's budget that the catalogue may take, up to 1. Defaults to 0.05.
	CatalogueShare float64
	// LoadedShare is the part of the prompt's budget that what was loaded may take, up to 0.5. Defaults to 0.25.
	LoadedShare float64
	// MaxFile is the size of the largest file that is read, in bytes. Defaults to 256 KiB.
	MaxFile int64
	// OnLetGo, if set, is called when something that was loaded is no longer kept. If it is not set, the observers of an
	// agent's compactor hear of it (event.SourceChanged).
	OnLetGo func(Unloaded)

	mu     sync.Mutex
	found  *found // nil if the folders were not read yet
	sizing kept.Sizing
}

// Unloaded says what is no longer kept.
type Unloaded struct {
	// Skill and File, a path in its folder; part of it if it was loaded in parts.
	Skill, File string
	// Tokens that it took, 0 if nothing was rendered before.
	Tokens int
	// Asked reports that the agent or the application asked for it. Otherwise it had to make room.
	Asked bool
}

// String returns a text such as "skill review/SKILL.md was let go".
func (l Unloaded) String() string { return "skill " + path.Join(l.Skill, l.File) + " was let go" }

// Skill describes a skill, as its front matter says.
type Skill struct {
	// Name of the skill, at most 64 letters, digits and hyphens.
	Name string
	// Description of what it does and when to use it, at most 1,024 characters.
	Description string
	// Matter is the front matter, as YAML decodes it: with license, compatibility, metadata, allowed-tools and fields that the
	// specification does not know.
	Matter map[string]any
	// Folder of the skill, a path in one of [Skills].Folders.
	Folder string

	in fs.FS
}

// Note says why a skill was left out, or how it departs from the specification.
type Note struct {
	// Path of the skill's folder or file, in one of [Skills].Folders.
	Path string
	// Text says what is wrong.
	Text string
}

// String returns the path and the text.
func (n Note) String() string { return n.Path + ": " + n.Text }

// List returns the skills in the order of the folders, and by name in each. The folders are read the first time, and
// after [Skills.Refresh].
func (s *Skills) List() []Skill { return s.read().skills }

// Notes returns what was wrong with skills when the folders were read.
func (s *Skills) Notes() []Note { return s.read().notes }

// Refresh lets the folders be read again, which may change the catalogue, and so break the provider's cache.
func (s *Skills) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = nil
}

// Catalogue lists the skills, a line each, within [Skills].CatalogueShare. Place it in a message, usually the system's.
// It shows nothing if there are no skills.
//
// If the lines do not fit, descriptions are cut to one length; below 60 bytes, the last skills of the list are left out,
// and a line says how many. Give it a priority, and the system message too, and pruning takes single lines, the last
// skill's first.
type Catalogue struct {
	elements.Props
	Skills *Skills
}

// ElementProps returns the properties, with the category of skills.
func (c Catalogue) ElementProps() elements.Props {
	return kept.Props(c.Props, elements.CategorySkills, false)
}

// IgnoresBudget marks the element as one whose size does not depend on its share of the budget.
func (c Catalogue) IgnoresBudget() {}

// Loaded shows what was loaded and is shown by no result of the tool: because that was compacted or cleared, or the
// application loaded it. The tool must be declared: by an agent of whose tools the skills are one. Place it between
// [history.Compacted] and [history.Conversation], where it changes only when something is compacted, cleared or let go.
// It is required, takes at most [Skills].LoadedShare, and shows nothing if there are no skills.
type Loaded struct {
	elements.Props
	Skills *Skills
}

// ElementProps returns the properties, with Required and the category of skills.
func (l Loaded) ElementProps() elements.Props {
	return kept.Props(l.Props, elements.CategorySkills, true)
}

// IgnoresBudget marks the element as one whose size does not depend on its share of the budget.
func (l Loaded) IgnoresBudget() {}

const (
	catalogueHead = "Skills are instructions for kinds of tasks. Before a task that one is for, load it with " + ToolName + "."
	loadedHead    = "What was loaded of skills earlier in this conversation:"

	undeclared = "skills: the prompt shows skills, and no tool " + ToolName + " is declared: add the Skills to the agent's tools, or their Declared to the target's"

	setFolder = "set the FS of an os.Root of the folder"

	leastDescription = 60 // bytes
)

// Render shows the catalogue.
func (c Catalogue) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	if err := c.Skills.check(); err != nil {
		return nil, err
	}
	lines := catalogue(c.Skills.List(), kept.Share(c.Skills.CatalogueShare, kept.Catalogue, s), s.Tokenizer)
	if len(lines) > 0 {
		marks.Add(ctx, marks.Needs{Tool: ToolName, Text: undeclared})
	}
	ranked := make([]textblock.Ranked, len(lines))
	for i, line := range lines {
		ranked[i] = textblock.Ranked{Text: line, Priority: len(lines) - i}
	}
	return textblock.List(elements.Props{}, plaintext.SkillsTag, ranked), nil
}

// catalogue returns the lines of the catalogue, within limit tokens.
func catalogue(list []Skill, limit int, t chat.Tokenizer) []string {
	if len(list) == 0 {
		return nil
	}
	lines := func(n, length int) []string {
		out := []string{catalogueHead}
		for _, sk := range list[:n] {
			out = append(out, "- "+sk.Name+": "+kept.Line(sk.Description, length))
		}
		if n < len(list) {
			out = append(out, fmt.Sprintf("(%d more skills are not listed)", len(list)-n))
		}
		return out
	}
	fits := func(lines []string) bool {
		tokens := 8 // of the tags
		for _, line := range lines {
			tokens += t.CountText(line + "\n")
		}
		return tokens <= limit
	}
	longest := leastDescription
	for _, sk := range list {
		longest = max(longest, len(sk.Description))
	}
	if length := kept.MostThat(leastDescription, longest, func(n int) bool { return fits(lines(len(list), n)) }); length >= leastDescription {
		return lines(len(list), length)
	}
	return lines(max(0, kept.MostThat(0, len(list)-1, func(n int) bool { return fits(lines(n, leastDescription)) })), leastDescription)
}

// Render shows what was loaded.
func (l Loaded) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	if err := l.Skills.check(); err != nil {
		return nil, err
	}
	l.Skills.sizing.Set(s)
	view, err := l.Skills.Session.LookIn(ctx)
	if err != nil {
		return nil, err
	}
	items, err := l.Skills.store().Items(ctx, view.Leaf())
	if err != nil || len(items) == 0 && len(l.Skills.List()) == 0 {
		return nil, err
	}
	fit, over := l.Skills.fit(items, s)
	var texts []string
	for _, i := range fit {
		if !kept.Shown(view, s, i.Call, i.Text) {
			texts = append(texts, i.Text)
		}
	}
	if len(over) > 0 {
		texts = append(texts, "(loaded too, but without room at present: "+namesOf(over)+")")
	}
	marks.Add(ctx, marks.Shows{Of: l.Skills})
	marks.Add(ctx, marks.Needs{Tool: ToolName, Text: undeclared})
	return kept.Message(loadedHead, texts), nil
}

// namesOf returns the names of items on a line.
func namesOf(items []kept.Item) string { return kept.Line(strings.Join(kept.Names(items), ", "), 200) }

func (s *Skills) check() error {
	if s == nil || s.Session == nil {
		return fmt.Errorf("skills: the element has no Skills with a Session: %w", history.ErrSessionUnset)
	}
	if i := slices.Index(s.Folders, nil); i >= 0 {
		return fmt.Errorf("skills: Skills.Folders[%d] is nil: %s", i, setFolder)
	}
	return nil
}

func (s *Skills) store() kept.Store {
	return kept.Store{Session: s.Session, Kind: marks.SourceName + "skills"}
}

// fit divides items by the share of what was loaded.
func (s *Skills) fit(items []kept.Item, sizing elements.Sizing) (fit, over []kept.Item) {
	return kept.Fit(items, s.room(sizing), func(i kept.Item) int { return kept.Tokens(sizing, i.Text) })
}

// room returns the tokens for the texts of what was loaded.
func (s *Skills) room(sizing elements.Sizing) int {
	return kept.Room(s.LoadedShare, kept.Loaded, loadedHead, sizing)
}
