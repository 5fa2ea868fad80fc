// Package judge reads the summary in the answer of a model, and says by its form whether it is one.
package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Answer is an answer that was read.
type Answer struct {
	Response chat.Response
	Summary  string            // what was read of it
	Open     bool              // it stood in the tag that was asked for
	Closed   bool              // the tag was closed
	Asked    policy.AnswerForm // the form that the prompt asked for
	Request  string            // what asked for it
	Given    string            // what stands in the request besides the prompt's own words, with the arguments of calls
	Said     string            // what of Given is covered and no summary; "" for a summary that is shortened
	Covered  int               // characters (code points) of what the summary stands for
	Room     int               // characters that it may take, 0 for no limit
}

// Judge returns nil for an answer that has the form of a summary, and otherwise a [*policy.SummaryError]. Doubtful is set
// if there is a single sign against it and that is not one of those that say never:
//
//	sign                                                            alone     threshold
//	a tool call or a stop for one, beside a closed Asked.Tag        doubtful
//	a tool call or a stop for one, without it                       never
//	an end other than those two                                     never     a reason that is missing is no sign
//	no text: nothing, no letters, control characters                never     60% of it, 2% of it
//	a page of markup, JSON, a call as text                          never     its start, also below headings, or its end; half
//	                                                                          of it in tags
//	code                                                            never     but for 29 characters of it; below headings
//	the words of the request, or headings without a text            never     half of it; headings up to 50 characters
//	the lines of what is covered                                    never     but for 29 characters of it, or a third of it is
//	                                                                          such lines with who said them before
//	one text over and over                                          never     90% said before
//	repetition of a part                                            doubtful  Judge.Repeated said before
//	next to nothing: below the floor                                never     1/25 of what is covered, 30 to Judge.Floor
//	                                                                          characters, at most a quarter of the room
//	far shorter than what is covered                                doubtful  1/25 of what is covered or of the room, at
//	                                                                          most Judge.Short characters
//	without a name (x.go, aName) of what is covered                 doubtful  if that has 20, and 1 per 1,000 characters; without
//	                                                                          a heading, far too short is then up to 1/4 of the
//	                                                                          room and 2 Judge.Short; in a closed Asked.Tag it
//	                                                                          counts only alone, or with the next sign
//	the next step of the work, an apology, a question to the user   doubtful  in English, by how it begins, after headings,
//	                                                                          or ends: "Let me", "I can't", "shall I … ?"; a
//	                                                                          sentence "Let me read"; in any language, most of
//	                                                                          three lines or more are questions
//	without Asked.Tag, or the tag is not closed                     doubtful
//	without a heading although Asked.Headings                       doubtful
//
// A character of Chinese, Japanese or Korean counts twice in a length that may be too short. Names of an earlier answer are not
// names of what is covered. A short text without the form that was asked for has two signs. If no form was asked for, it has two
// if it has neither a heading nor such a name: nothing but its length shows what it is.
//
// The floor of 30 is that of Copilot Chat and stagewise. The seven recorded summaries of coding sessions have 43 to 122 names of
// what they cover, and no 800 characters of them have none; that has one name in 270 to 620 characters.
func Judge(a Answer, j policy.Judge) error {
	never, doubts := a.signs(j)
	reason := strings.Join(slices.Concat(never, doubts), ", and ")
	if reason == "" {
		return nil
	}
	return &policy.SummaryError{Reason: reason, Doubtful: len(never) == 0 && len(doubts) == 1}
}

// signs returns the signs against an answer: those that say never, and others.
func (a Answer) signs(j policy.Judge) (never, doubts []string) {
	text := a.Summary
	no := func(format string, of ...any) { never = append(never, fmt.Sprintf(format, of...)) }
	doubt := func(format string, of ...any) { doubts = append(doubts, fmt.Sprintf(format, of...)) }
	switch stop := a.Response.StopReason; {
	case len(a.Response.Message.ToolCalls) == 0 && stop == chat.StopEnd:
	case len(a.Response.Message.ToolCalls) == 0 && stop != chat.StopToolCalls:
		no("%s", cmp.Or(ended[stop], fmt.Sprintf("it stopped by %q", stop)))
	case a.Closed:
		doubt("it calls a tool beside it")
	default:
		no("it calls a tool")
	}
	size := utf8.RuneCountInString(text)
	switch {
	case size == 0:
		no("it is empty")
	case a.Asked.Tag != "" && !a.Open && size < least:
		no("it has no <%s> block, and %d characters", a.Asked.Tag, size)
	}
	if len(never) > 0 || j.Off {
		return never, nil
	}
	again := repeated(text)
	fresh := int(float64(size+wide(text)) * (1 - again)) // characters that were not said before
	own, other, taken, copied := a.words()
	body := below(text)
	share, room := a.Covered/25, cmp.Or(a.Room, math.MaxInt)
	floor := max(least, min(share, room/4, j.Floor))
	short := max(floor, min(share, room/25, j.Short))
	headed := heading.MatchString(calls.ReplaceAllString(text, ""))
	switch {
	case !letters(text):
		no("it is not text")
	case data(text), page.MatchString(body):
		no("it is a page of markup or data")
	case code.MatchString(body) && utf8.RuneCountInString(strings.TrimSpace(code.ReplaceAllString(body, ""))) < least:
		no("it is code")
	case a.Said != "" && (own+other+taken < least || 3*copied > size):
		no("it repeats the conversation")
	case other > own:
		no("it repeats the request, or has nothing under its headings")
	case again > 0.9:
		no("it says one thing over and over")
	case fresh < floor:
		no("it has %d characters, and next to nothing is below %d", fresh, floor)
	case again > j.Repeated:
		doubt("%.0f%% of it were said in it before", 100*again)
	}
	talk := talks(body)
	if talk {
		doubt("it goes on with the work, apologises or asks")
	}
	given, named := names(cmp.Or(a.Said, a.Given)), false
	for name := range names(text) {
		named = named || given[name]
	}
	nameless, tagged := !named && len(given) >= max(20, a.Covered/1000), a.Asked.Tag != "" && a.Closed
	formless := a.Asked == policy.AnswerForm{} && !headed && !named
	if a.Asked.Tag != "" && !a.Closed {
		doubt("it is not in <%s> and </%[1]s>", a.Asked.Tag)
		formless = true
	}
	if a.Asked.Headings && !headed {
		doubt("it has no heading")
		formless = true
	}
	if nameless && !tagged {
		doubt("it names nothing of what it covers")
		if formless {
			short = max(floor, min(share, room/4, 2*j.Short))
		}
	}
	if fresh < short {
		doubt("it has %d characters, and far too short is below %d", fresh, short)
		if formless && len(doubts) == 1 {
			doubt("it has no heading")
		}
	}
	if nameless && tagged && (talk || len(doubts) == 0) { // alone: the tag shows what it is
		doubt("it names nothing of what it covers")
	}
	return never, doubts
}

// below returns a text without the headings that it begins with: a title, a section, and one below it.
func below(text string) string {
	for range 3 {
		if at := heading.FindStringIndex(text); at != nil && at[0] == 0 {
			text = Tidy(text[at[1]:])
		}
	}
	return text
}

// talks reports whether a text goes on with the work, apologises or asks the user something: by its first words, its last, a
// step that it announces between them, or by what it asks.
func talks(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return apology.MatchString(text) || question.MatchString(text) || step.MatchString(text) && !account.MatchString(first) || next.MatchString(text) || asks(text)
}

// asks reports whether most lines of a text, three or more, end as questions do, in any script.
func asks(text string) bool {
	questions, lines := 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRightFunc(line, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N) && r != '?' && r != '？' })
		if line == "" {
			continue
		}
		lines++
		if strings.HasSuffix(line, "?") || strings.HasSuffix(line, "？") {
			questions++
		}
	}
	return questions > 2 && 2*questions > lines
}

// wide returns how many characters of a text say as much as two letters.
func wide(text string) (n int) {
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n++
		}
	}
	return n
}

// least is the fewest characters of a summary that is not in a tag.
const least = 30

// ended says why an answer did not end by itself.
var ended = map[chat.StopReason]string{chat.StopMaxTokens: "it was cut off at the output limit", chat.StopFiltered: "the provider filtered it"}

// window is the number of characters of which a text is compared with what stands before.
const window = 32

// repeated returns the share of a text that stands in it before, 0 to 1.
func repeated(text string) float64 {
	runes := []rune(text)
	parts := max(0, len(runes)-window)
	seen, again := map[string]bool{}, 0
	for n := range parts {
		part := string(runes[n : n+window])
		if seen[part] {
			again++
		}
		seen[part] = true
	}
	return float64(again) / float64(max(1, parts))
}

// letters reports whether a text consists of letters and digits for the most part, and hardly has control characters or
// replaced ones.
func letters(text string) bool {
	all, good, bad := 0, 0, 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			continue
		case unicode.In(r, unicode.L, unicode.M, unicode.N):
			good++
		case unicode.IsControl(r), r == utf8.RuneError:
			bad++
		}
		all++
	}
	return 10*good >= 4*all && 50*bad <= all
}

var (
	heading = regexp.MustCompile(`(?m)^(?:> ?)* {0,3}(#{1,6}[ \t]+\S.*|\*\*[^*\n]+\*\*:?[ \t]*\r?$|\*\*[^*\n]+(:\*\*|\*\*:)|<\w+>[ \t]*\r?$|(={3,}|-{3,})[ \t]*\r?$|\d+\.[ \t].*:[ \t]*\r?$|【[^】\n]+】|[■◆] ?\S)`)
	page    = regexp.MustCompile(`(?i)^(<!doctype|<\?xml|<(html|head|body)[^>]*>\s*<|<error[ >]|HTTP/[12](\.\d)? \d|event: \w+\r?\n|\[[\w.]+\(\w+=|data: ?[[{]|<` + call + `[ >=]|<[|｜]|\[TOOL_CALLS\]|` +
		`<!--|\*{3} begin patch|diff --git |--- a/|=== run |traceback \(most|⏺ ?\w+\(|\{\s*"(tool|tool_name|name|function)": |error code: ?\d|thought: .*\n+action: |\x60{3}(html|diff|tool_code)\b)`)
	apology  = regexp.MustCompile(begins + `(sorry|as an ai|unfortunately,? i|i(['’]m| am) (sorry|unable|not able)|i can(['’]t|not)|i apologi[sz]e)\b`)
	question = regexp.MustCompile(`(?i)\b(would you like|do you want|(shall|should) i|(can|may) i help|i can help you)\b[^?\n]*\?$|\blet me know (how|which|whether|what)\b.*$`)
	step     = regexp.MustCompile(begins + `(let me|let['’]s|i(['’]ll| will| need to| see|['’]m going to| am going to))\b`)
	next     = regexp.MustCompile(`(?m)(^|[.!?] )(Now let|Let) me ([a-jl-rt-z]|k[a-mo-z]|s[a-tv-z])\w* `) // no "Let me know", "Let me summarise"
	account  = regexp.MustCompile(`(?i)summar|recap|overview|hand-?off|so far`)
	ending   = regexp.MustCompile(`(?i)(</` + call + `>|\|>|\[/TOOL_CALLS\])\s*$`)
	code     = regexp.MustCompile("(?ms)^```([a-ln-wyz+#]\\S*)[ \t]*\r?\n.*?(^```[ \t]*\r?$|\\z)") // but for md, markdown and xml
	role     = regexp.MustCompile(`^[*_#\s]*(User|Human|Assistant|Agent|AI|Tool)[*_]*:[*_]*\s*`)
	tag      = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)
	calls    = regexp.MustCompile(`(?i)</?` + call + `[^<>]*>`)
)

// call matches the names of tags in which models without calls of their own write them.
const call = `(tool([_-](calls?|use|code|name|input))?|function([_-]calls?)?|invoke|antml:\w+|parameter)`

// begins matches the start of a text with the words with which a model takes up a conversation.
const begins = `(?i)^((sure|okay|ok|great|perfect|now|next|first|then|so)\b[,.!]?\s+)*`

// data reports whether a text is a page of markup, JSON, or a call of a tool in words.
func data(text string) bool {
	if fenced, ok := strings.CutPrefix(text, "```json"); ok {
		text = strings.TrimSpace(strings.TrimSuffix(fenced, "```"))
	}
	if page.MatchString(text) || ending.MatchString(text) || strings.ContainsAny(text[:1], "{[") && json.Valid([]byte(text)) {
		return true
	}
	return text[0] == '<' && 2*len(tag.ReplaceAllString(text, "")) < len(text)
}

// long is how many characters a heading has that says something itself.
const long = 50

// words returns how many characters of a summary are its own, how many are headings or lines of its request, how many are
// lines that the request was given besides what is covered, and how many begin with who said them, as it was said. Lines of
// fewer than 20 bytes are its own.
func (a Answer) words() (own, other, taken, copied int) {
	asks, given, said := lines(a.Request), lines(a.Given), lines(a.Said)
	for line := range lines(a.Summary) {
		size := utf8.RuneCountInString(line)
		without := role.ReplaceAllString(line, "")
		text := size
		if size <= long {
			text = utf8.RuneCountInString(heading.ReplaceAllString(line, ""))
		}
		switch {
		case said[line], said[without], len(line) > 2*long && strings.Contains(a.Said, line):
			if without != line {
				copied += size
			}
		case given[line]:
			taken += size
		case asks[line] && len(line) >= 20:
			other += size
		default:
			own, other = own+text, other+size-text
		}
	}
	return own, other, taken, copied
}

// lines returns the lines of a text, without space around them.
func lines(text string) map[string]bool {
	list := map[string]bool{}
	for line := range strings.Lines(text) {
		list[strings.TrimSpace(line)] = true
	}
	return list
}

const joints = `_-:./\`

var prose = regexp.MustCompile(`^([A-Za-z][a-z]*(-[A-Za-z][a-z]*)*|[A-Z]+s?|\d+)$`)

// names returns the words of a text that are hardly prose in any language: paths, names in code, versions, dates.
func names(text string) map[string]bool {
	list := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(joints, r)
	}) {
		if word = strings.Trim(word, joints); len(word) > 3 && !prose.MatchString(word) {
			list[word] = true
		}
	}
	return list
}
