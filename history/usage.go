package history

import (
	"iter"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// ReportedTokens says how many tokens a request takes that shows a path, such as [Session.PathTo] gives, by what the provider
// reported last: input and output of the newest answer whose [Usage] is on the path, plus a tokenizer's count of what came
// after it; the tokenizer may be a [sizing.Estimator]. It is oh-my-pi's measure, and that of [sizing.Reported] for a session
// that was opened anew.
//
// It is false where nothing was reported since the latest compaction: what was reported of a history that was changed says
// nothing. A branch holds what was reported on its own path alone. Where less is shown than the path has, for it is cut or
// pruned now and was not then, the count is too high. The error is that of the path.
func ReportedTokens(path iter.Seq2[Entry, error], t sizing.Tokenizer) (tokens int, ok bool, err error) {
	var after []chat.Message // since the answer of which the usage is known, or all
	answer, at := "", 0      // the newest answer, and how many of those messages end with it
	for e, err := range path {
		if err != nil {
			return 0, false, err
		}
		switch b := e.Body.(type) {
		case Compaction:
			tokens, ok, after, answer = 0, false, nil, ""
		case Usage:
			of := b.Of
			if of == "" {
				of = e.Parent
			}
			if of == answer && answer != "" && b.Input > 0 {
				tokens, ok = b.Input+b.Output, true
				after, at = after[at:], 0
			}
		default:
			m, shown := e.Shown()
			if !shown {
				continue
			}
			after = append(after, m)
			if m.Role == chat.RoleAssistant {
				answer, at = e.ID, len(after)
			}
		}
	}
	if !ok {
		return 0, false, nil
	}
	for _, m := range after {
		tokens += t.CountMessage(m)
	}
	return tokens, true, nil
}
