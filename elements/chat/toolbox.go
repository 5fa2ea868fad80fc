package chat

import (
	"context"
	"fmt"
)

// Toolbox holds tools with who answers their calls: recall.Tools, skills.Skills, tools.Deferred, the functions of
// agent.Tool, or a type of yours. agent.Agent, mirror.Mirror and the adapters to agent frameworks take a list of them.
// It is safe for concurrent use, because parallel calls are answered in parallel.
//
// A toolbox may also be a [RuledToolbox], a [ReportingToolbox] or an elements.SizedToolbox, and then the methods of those are
// called. A type that wraps another one, to log calls or to ask a person first, must have them too: embed the concrete type, as
// in struct{ *mcp.Server }, not this interface, which hides them. What wraps a ReportingToolbox answers in AnswerReporting.
type Toolbox interface {
	// Declared returns the tools, to be declared to a model.
	Declared() []Tool
	// Answer returns the result of a call, and false if it is not a call of these tools. A mistake of the model is an
	// [*ArgumentError]. Whoever calls Answer for a model turns any error but the end of the context into a failed result
	// that holds its text.
	Answer(ctx context.Context, call ToolCall) (result Message, ok bool, err error)
}

// CallRules says how calls of a tool may be answered.
type CallRules struct {
	// Alone says that no other call of the toolbox is answered meanwhile. By default up to eight are.
	Alone bool
	// Again says that a call may be answered again if nobody knows whether it was, because the process ended. Otherwise it is
	// answered as interrupted.
	Again bool
}

// RuledToolbox is a [Toolbox] that says how its calls may be answered. For any other, the zero value of [CallRules] holds.
type RuledToolbox interface {
	Toolbox
	CallRules(call ToolCall) CallRules
}

// ReportingToolbox is a [Toolbox] that changes what prompts show while it answers a call, and reports it.
type ReportingToolbox interface {
	Toolbox
	// AnswerReporting is Answer. Unless the toolbox has a listener of its own, report is called with what changed.
	AnswerReporting(ctx context.Context, call ToolCall, report func(fmt.Stringer)) (result Message, ok bool, err error)
}

// ArgumentError says what is wrong with a call, or with its arguments, and what to do. The reason is for the model.
type ArgumentError struct {
	// Package that answers the call.
	Package string
	Reason  string
}

// WrongArguments returns an [*ArgumentError] with a reason that is formatted as by [fmt.Sprintf].
func WrongArguments(pkg, format string, args ...any) error {
	return &ArgumentError{Package: pkg, Reason: fmt.Sprintf(format, args...)}
}

// NotAnObject is the reason of an [ArgumentError] for arguments that cannot be read.
const NotAnObject = "the arguments are not an object of the tool's schema: write texts in quotes and numbers without"

func (e *ArgumentError) Error() string { return e.Package + ": " + e.Reason }
