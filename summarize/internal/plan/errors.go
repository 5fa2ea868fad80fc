package plan

import "errors"

// Errors of a prompt; package summarize says what they mean.
var (
	ErrOtherSession = errors.New("summarize: the prompt does not show Compactor.Session: give its history elements that session")
	ErrTools        = errors.New("summarize: the prompt holds tools, and Target.Tools are set: leave one of them out")
)
