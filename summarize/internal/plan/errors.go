package plan

import "errors"

// ErrOtherSession reports that the elements of a prompt show another session than the compactor's, or do not read theirs
// with [history.Session.ViewIn], so that a compaction would not change the prompt.
var ErrOtherSession = errors.New("summarize: the prompt does not show Compactor.Session: give its history elements that session")
