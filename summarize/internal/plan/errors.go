package plan

import "errors"

// ErrOtherSession is an error of a prompt; package summarize says what it means.
var ErrOtherSession = errors.New("summarize: the prompt does not show Compactor.Session: give its history elements that session")
