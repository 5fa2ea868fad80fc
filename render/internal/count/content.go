package count

import (
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing"
)

// content is what stands in a message, piece by piece, and its exact count while pieces go.
//
// The texts of a message are joined, and the tokens of a joined text are those of its pieces and what changes at the
// seams between them. At a seam only the end of the one text from its last safe cut on, a line break if one is put
// there, and the start of the other up to its first safe cut matter ([sizing.Joiner]). A text without a safe cut
// belongs to the seams on both sides of it, which then are counted as one. So a piece that goes changes a few bytes
// around it, whatever the length of the message.
type content struct {
	*Counter
	message tree.ID
	atoms   []atom   // the first is none: it stands for both ends of the list
	spans   []span   // the atoms of the message's nodes, from the message on
	runs    []run    // of texts between parts
	texts   []around // the texts around each text; nil if there is nothing else
	leaves  bool     // the ends of elements are among the atoms

	text   int   // tokens of the texts, joined
	frame  frame // everything else
	buffer []byte
}

// span is a range of atoms.
type span struct{ from, to int32 }

// span returns what a node in the message is among the atoms.
func (t *content) span(n tree.ID) span { return t.spans[n-t.message] }

// run is the texts between two parts. If the part that ended one went, the next is part of it.
type run struct {
	texts int   // that are there
	end   int32 // the atom of the part that ends it, 0 for the last
	part  chat.Part
	into  int32 // the run that it is part of, or nearer to that than this one; itself if it is a run of its own
}

// around is the atoms on both sides of something; 0 is none.
type around struct{ before, after int32 }

// atomKind says what an atom does.
type atomKind uint8

const (
	atomText    atomKind = iota
	atomElement          // text that is an element
	atomPart             // or a breakpoint
	atomOpen             // the opening of a tag
	atomClose            // its closing
	atomLeave            // the end of an element that holds others
)

// atom is a step in putting a message together. Lengths and counts are of 32 bits: there are many atoms, and a message of
// 2 GB is not sent. An atom has the size of a cache line, for pieces go in any order.
type atom struct {
	kind    atomKind
	flags   tree.Flags // of a text
	there   bool
	newLine bool          // a line break goes before it
	known   known         // what was found out about it
	cuts    cuts          // at the seam before it
	state   join.Progress // before it

	// Tokens that a line break adds before the head and after the tail.
	breakBefore, breakAfter int8

	before, after int32 // the atoms that are there around it
	run           int32

	text   string
	tokens int32 // of the text by itself
	seam   int32 // tokens that the seams from the one before it on add, up to the next cut

	// The text up to its first safe cut and from its last one, in bytes, and what they count. Without a cut both are the
	// whole text.
	head, tail             int32
	headTokens, tailTokens int32
}

// known is what was found out about a text.
type known uint8

const (
	knownBreaks      known = 1 << iota // the next two are
	cutAfterBreak                      // it can be cut from a line break before it
	cutBeforeBreak                     // and from one after it
	knownEnds                          // head and tail are
	hasCut                             // there is a safe cut in it
	knownBreakBefore                   // breakBefore is
	knownBreakAfter                    // breakAfter is
)

// cuts says where a seam can be cut.
type cuts uint8

const (
	cutHard   cuts = 1 << iota // no text is joined here
	cutBefore                  // before the line break
	cutAfter                   // before the text
)

// isText reports whether the atom adds to the text.
func (a *atom) isText() bool { return a.kind != atomPart && a.kind != atomLeave }

// newContent counts a message.
func newContent(c *Counter, m tree.ID) *content {
	t := &content{Counter: c, message: m, frame: frame{joiner: c.joiner}, spans: make([]span, c.state.Nodes[m].End-m)}
	if !t.list() { // a text's line break depends on where elements end
		t.leaves = true
		t.list()
	}
	last := int32(len(t.atoms) - 1)
	t.atoms[0].before, t.atoms[last].after = last, 0
	if t.leaves || len(t.runs) > 1 {
		t.listTexts()
	}
	t.frame.count(c.frame(m, t.skeleton()))
	t.count()
	return t
}

// list makes atoms of what is in the message. It gives up if the ends of elements matter and are not listed.
func (t *content) list() (done bool) {
	t.atoms, t.runs = append(t.atoms[:0], atom{after: 1, there: true}), append(t.runs[:0], run{})
	return t.listIn(t.message)
}

func (t *content) addText(kind atomKind, s string, flags tree.Flags, tokens int) {
	t.add(atom{kind: kind, text: s, flags: flags, tokens: int32(tokens), run: int32(len(t.runs) - 1)})
	t.runs[len(t.runs)-1].texts++
}

func (t *content) listIn(n tree.ID) (done bool) {
	s := t.state
	for c := s.First(n); c != tree.None; c = s.Next(c) {
		from := int32(len(t.atoms))
		node := &s.Nodes[c]
		switch node.Kind {
		case tree.Text:
			if node.Is(tree.StartsElement) && n != t.message && !t.leaves {
				return false
			}
			kind := atomText
			if node.Is(tree.Element) {
				kind = atomElement
			}
			t.addText(kind, node.Text, node.Flags, t.Piece(c))
		case tree.Part, tree.Breakpoint:
			last := &t.runs[len(t.runs)-1]
			last.end, last.part = int32(len(t.atoms)), s.Extra(c).Part
			t.add(atom{kind: atomPart, run: int32(len(t.runs) - 1)})
			t.runs = append(t.runs, run{into: int32(len(t.runs))})
		default:
			tag := s.Tag(c)
			if tag != nil && s.Blank(c) { // which is not written, and neither is what is in it
				s.Walk(c, tree.Latest, func(n tree.ID) { t.spans[n-t.message] = span{} })
				break
			}
			if tag != nil {
				t.addText(atomOpen, tag.Open, tree.StartsLine, t.joiner.CountText(tag.Open))
			}
			if !t.listIn(c) {
				return false
			}
			if tag != nil {
				t.addText(atomClose, tag.Close, tree.StartsLine, t.joiner.CountText(tag.Close))
			}
		}
		if t.leaves && !node.Leaf() {
			t.add(atom{kind: atomLeave})
		}
		t.spans[c-t.message] = span{from, int32(len(t.atoms))}
	}
	return true
}

// add adds an atom to the list. What decides about its line break is worked out at once, while its text is at hand.
func (t *content) add(a atom) {
	i := int32(len(t.atoms))
	a.before, a.after, a.there = i-1, i+1, true
	a.state = t.stateAfter(i - 1)
	if a.isText() {
		if _, a.newLine = a.state.Text(a.text, a.flags); a.newLine {
			t.breaks(&a)
		}
	}
	t.atoms = append(t.atoms, a)
}

// listTexts notes which text stands next to which.
func (t *content) listTexts() {
	t.texts = make([]around, len(t.atoms))
	last := int32(0)
	for i := 1; i < len(t.atoms); i++ {
		if t.atoms[i].isText() {
			t.texts[last].after, t.texts[i].before = int32(i), last
			last = int32(i)
		}
	}
	t.texts[0].before = last
}

// nextText is the text after a text, textBefore the one before it; 0 is before the first and after the last.
func (t *content) nextText(i int32) int32 {
	if t.texts == nil {
		return t.atoms[i].after
	}
	return t.texts[i].after
}

func (t *content) textBefore(i int32) int32 {
	if t.texts == nil {
		return t.atoms[i].before
	}
	return t.texts[i].before
}

// tokens of the message.
func (t *content) tokens() int {
	if t.frame.stale {
		joined := t.frame.joined
		t.frame.count(t.Counter.frame(t.message, t.skeleton()))
		if t.frame.joined != joined {
			t.count()
		}
	}
	return t.frame.tokens + t.text
}

// skeleton is the message's content with empty texts.
func (t *content) skeleton() chat.Parts {
	if len(t.runs) == 1 && t.runs[0].texts > 0 {
		return oneText
	}
	var parts chat.Parts
	for i, r := range t.runs {
		if int(r.into) != i {
			continue
		}
		if r.texts > 0 {
			parts = append(parts, chat.Text(""))
		}
		switch {
		case r.end == 0:
		case TypeOf(r.part) == BreakpointType:
			parts = join.AddBreakpoint(parts, r.part)
		default:
			parts = append(parts, r.part)
		}
	}
	return parts
}

// run returns the run that one is part of by now.
func (t *content) run(i int32) int32 {
	for t.runs[i].into != i {
		above := &t.runs[t.runs[i].into]
		t.runs[i].into = above.into
		i = above.into
	}
	return i
}

// loseText records that a text of a run is not there any more.
func (t *content) loseText(in int32) {
	in = t.run(in)
	r := &t.runs[in]
	if r.texts--; r.texts == 0 {
		t.frame.lose(chat.Text(""))
		t.closeUp(in)
	}
}

// losePart records that the part that ended a run is not there any more.
func (t *content) losePart(ended int32) {
	left, right := t.run(ended), t.run(ended+1)
	l, r := &t.runs[left], &t.runs[right]
	if TypeOf(l.part) == BreakpointType {
		t.frame.stale = true // another may stand in its place
	}
	t.frame.lose(l.part)
	if l.texts > 0 && r.texts > 0 {
		t.frame.lose(chat.Text("")) // two are one
	}
	l.texts, l.end, l.part = l.texts+r.texts, r.end, r.part
	r.into = left
	if l.texts == 0 {
		t.closeUp(left)
	}
}

// closeUp records that nothing is left of a run: if it stood between breakpoints, only the second of them stands.
func (t *content) closeUp(in int32) {
	if in == 0 || t.runs[in].end == 0 {
		return
	}
	before := &t.runs[t.run(in-1)]
	if TypeOf(before.part) == BreakpointType && TypeOf(t.runs[in].part) == BreakpointType {
		t.frame.lose(before.part)
	}
}

// written are the atoms of a tag and what is in it, its end as an element not among them.
func (t *content) written(n tree.ID) span {
	s := t.span(n)
	if t.leaves {
		s.to--
	}
	return s
}

// remove takes atoms out.
func (t *content) remove(s span) {
	var sides, texts around // of all, and of the texts among them
	any, anyText := false, false
	for i := s.from; i < s.to; i++ {
		a := &t.atoms[i]
		if !a.there {
			continue
		}
		if !any {
			sides.before, any = a.before, true
		}
		sides.after = a.after
		a.there = false
		switch {
		case a.isText():
			t.text -= int(a.tokens + a.seam)
			if !anyText {
				texts.before, anyText = t.textBefore(i), true
			}
			texts.after = t.nextText(i)
			t.loseText(a.run)
		case a.kind == atomPart:
			t.losePart(a.run)
		}
	}
	if !any {
		return
	}
	t.atoms[sides.before].after, t.atoms[sides.after].before = sides.after, sides.before
	if anyText && t.texts != nil {
		t.texts[texts.before].after, t.texts[texts.after].before = texts.after, texts.before
	}
	first, last := t.join(sides.after)
	switch {
	case !anyText && first == 0: // what texts there are meet as before
		return
	case !anyText:
		texts.before = t.textBefore(first)
	case first == 0 && texts.after != 0: // others meet
		last = texts.after
	case first == 0: // the last went
		last = texts.before
	}
	if last != 0 {
		t.weigh(t.stopBefore(texts.before), t.stopAfter(last))
	}
}

// join works out where line breaks go, from an atom on, as far as anything changes. It returns the first and the last text
// that changed, or 0.
func (t *content) join(from int32) (first, last int32) {
	if from == 0 {
		return 0, 0
	}
	state := t.stateAfter(t.atoms[from].before)
	for i := from; i != 0; i = t.atoms[i].after {
		a := &t.atoms[i]
		if a.state == state {
			break
		}
		a.state = state
		if a.isText() {
			_, a.newLine = state.Text(a.text, a.flags)
			if first == 0 {
				first = i
			}
			last = i
		}
		state = t.stateAfter(i)
	}
	return first, last
}

// stateAfter is how far the message has been put together after an atom.
func (t *content) stateAfter(i int32) join.Progress {
	a := &t.atoms[i]
	if i == 0 {
		return 0
	}
	switch a.kind {
	case atomPart:
		return a.state.Part()
	case atomLeave:
		return a.state.Leave()
	}
	next, _ := a.state.Text(a.text, a.flags)
	switch a.kind {
	case atomElement:
		return next.Leave()
	case atomOpen:
		return next.EnterTag()
	case atomClose:
		return next.CloseTag()
	}
	return next
}

// count counts all seams.
func (t *content) count() {
	t.text = 0
	last := int32(0)
	for i := t.nextText(0); i != 0; i = t.nextText(i) {
		t.text += int(t.atoms[i].tokens)
		t.atoms[i].seam = 0
		last = i
	}
	t.weigh(0, last)
}

// stopBefore is the last text, up to i, from whose end on seams can be counted without those before it; 0 is the start.
func (t *content) stopBefore(i int32) int32 {
	for i != 0 {
		a := &t.atoms[i]
		if a.cuts&(cutHard|cutAfter) != 0 || t.measure(a) {
			return i
		}
		i = t.textBefore(i)
		if a.cuts&cutBefore != 0 {
			break
		}
	}
	return i
}

// stopAfter is the first text, from i on, up to whose start seams can be counted without those after it.
func (t *content) stopAfter(i int32) int32 {
	for {
		if t.atoms[i].known&hasCut != 0 {
			return i
		}
		after := t.nextText(i)
		if after == 0 {
			return i
		}
		switch a := &t.atoms[after]; {
		case a.cuts&(cutHard|cutBefore) != 0, !a.newLine && a.cuts&cutAfter != 0, t.measure(&t.atoms[i]):
			return i
		case a.cuts&cutAfter != 0:
			return after
		}
		i = after
	}
}

// weigh counts the seams from one text to another.
func (t *content) weigh(from, to int32) {
	var (
		first  int32  // the seam at which the stretch that is being joined began; 0 if there is none
		apart  int    // tokens of its pieces by themselves
		before = from // the text whose end comes before the next seam, if no stretch is being joined
		b      = t.buffer[:0]
	)
	end := func() {
		if first != 0 {
			n := t.lineBreak
			if len(b) != 1 || b[0] != '\n' {
				n = t.joiner.CountText(string(b))
			}
			t.atoms[first].seam = int32(n - apart)
			t.text += n - apart
		}
		first, apart, before, b = 0, 0, 0, b[:0]
	}
	reach := func(seam int32) {
		if first != 0 {
			return
		}
		first = seam
		if a := &t.atoms[before]; before != 0 {
			t.measure(a)
			b = append(b, a.text[a.tail:]...)
			apart = int(a.tailTokens)
		}
	}
	for i := from; i != to; {
		previous := i
		i = t.nextText(i)
		a := &t.atoms[i]
		t.text -= int(a.seam)
		a.seam = 0
		a.cuts = t.cutsAt(previous, a)
		if a.newLine && first == 0 {
			if tokens, ok := t.breakSeam(previous, a); ok {
				a.seam, before = tokens, i
				t.text += int(tokens)
				continue
			}
		}
		if a.cuts&(cutHard|cutBefore) != 0 || !a.newLine && a.cuts&cutAfter != 0 {
			end()
		}
		if a.newLine {
			reach(i)
			b = append(b, '\n')
			if a.cuts&cutAfter != 0 {
				end()
			}
		} else if a.cuts&(cutHard|cutAfter) == 0 {
			reach(i)
		}
		switch {
		case first == 0:
			before = i
		case t.measure(a):
			b = append(b, a.text[:a.head]...)
			apart += int(a.headTokens)
			end()
			before = i
		default:
			b = append(b, a.text...)
			apart += int(a.tokens)
		}
	}
	end()
	t.buffer = b
}

// cutsAt returns where the seam before a text can be cut.
func (t *content) cutsAt(previous int32, a *atom) (found cuts) {
	if previous == 0 || !t.frame.joined && a.state&join.Open == 0 {
		return cutHard
	}
	before := &t.atoms[previous]
	if a.newLine {
		if t.breaks(before)&cutBeforeBreak != 0 {
			found = cutBefore
		}
		if t.breaks(a)&cutAfterBreak != 0 {
			found |= cutAfter
		}
		return found
	}
	last, ok := lastCharacter(before.text)
	next, known := firstCharacter(a.text)
	if ok && known && t.joiner.SafeCut(last, next) {
		found = cutAfter
	}
	return found
}

// breaks reports whether a text can be cut from a line break before it and after it.
func (t *content) breaks(a *atom) known {
	if a.known&knownBreaks == 0 {
		a.known |= knownBreaks | breaksOf(t.joiner, a.text)
	}
	return a.known
}

// breaksOf reports whether a text can be cut from a line break before it and after it.
func breaksOf(j sizing.Joiner, s string) (found known) {
	if first, ok := firstCharacter(s); ok && j.SafeCut('\n', first) {
		found = cutAfterBreak
	}
	if last, ok := lastCharacter(s); ok && j.SafeCut(last, '\n') {
		found |= cutBeforeBreak
	}
	return found
}

// firstCharacter is the first of a text, if there is a whole one: else one may come to be where texts meet.
func firstCharacter(s string) (r rune, ok bool) {
	r, n := utf8.DecodeRuneInString(s)
	return r, r != utf8.RuneError || n > 1
}

// lastCharacter is the last of a text, if there is a whole one.
func lastCharacter(s string) (r rune, ok bool) {
	r, n := utf8.DecodeLastRuneInString(s)
	return r, r != utf8.RuneError || n > 1
}

// breakSeam is what the seam before a text adds if a line break is all that joins it to the text before it, or only to
// this one: most often. Such seams are counted once for each text.
func (t *content) breakSeam(previous int32, a *atom) (tokens int32, ok bool) {
	switch a.cuts {
	case cutBefore | cutAfter:
		return int32(t.lineBreak), true
	case cutAfter:
		before := &t.atoms[previous]
		if before.known&knownBreakAfter == 0 {
			t.measure(before)
			n := int32(t.joiner.CountText(before.text[before.tail:]+"\n")) - before.tailTokens
			if before.breakAfter = int8(n); int32(before.breakAfter) != n {
				return n, true // too much to remember
			}
			before.known |= knownBreakAfter
		}
		return int32(before.breakAfter), true
	case cutBefore:
		if !t.measure(a) {
			return 0, false
		}
		if a.known&knownBreakBefore == 0 {
			n := int32(t.joiner.CountText("\n"+a.text[:a.head])) - a.headTokens
			if a.breakBefore = int8(n); int32(a.breakBefore) != n {
				return n, true
			}
			a.known |= knownBreakBefore
		}
		return int32(a.breakBefore), true
	}
	return 0, false
}

// measure finds the ends of a text, and reports whether it has a safe cut.
func (t *content) measure(a *atom) (cut bool) {
	if a.known&knownEnds == 0 {
		a.known |= knownEnds
		if head, tail, ok := sizing.Ends(t.joiner, a.text); ok {
			a.known |= hasCut
			a.head, a.headTokens = int32(head), int32(t.joiner.CountText(a.text[:head]))
			a.tail, a.tailTokens = int32(tail), int32(t.joiner.CountText(a.text[tail:]))
		} else {
			a.head, a.headTokens, a.tailTokens = int32(len(a.text)), a.tokens, a.tokens
		}
	}
	return a.known&hasCut != 0
}
