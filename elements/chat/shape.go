package chat

import (
	"encoding/json"
	"regexp"
	"slices"
)

// Shape is what a request asks of its answer. The zero value leaves everything to the provider. docs/providers.md says
// how each API takes each field; what it cannot take is a violation of [RuleShape].
type Shape struct {
	// Format is the form of the answer. The model may call tools before it answers. Nil for a text of any form.
	Format *Format
	// ToolChoice restricts whether the model may call tools. Defaults to [ToolChoiceAuto].
	ToolChoice ToolChoice
	// Tool names the tool that the model must call. ToolChoice is [ToolChoiceAuto] then. Empty by default.
	Tool string
	// OneCall forbids parallel calls: an answer holds at most one. Off by default.
	OneCall bool
	// Effort of reasoning. Defaults to that of the adapter's model, or else to the provider's.
	Effort Effort
}

// Forces reports whether the answer cannot be a text of any form, such as a summary.
func (s Shape) Forces() bool {
	return s.Format != nil || s.Tool != "" || s.ToolChoice == ToolChoiceRequired
}

// Format is the form of an answer: JSON that a schema describes.
type Format struct {
	// Name of 1 to 64 letters, digits, _ and -. The model may see it.
	Name string
	// Schema is the JSON schema of the answer, an object. It is sent as it is written.
	Schema json.RawMessage
	// Strict has the provider allow nothing but what the schema describes, which narrows what a schema may hold. Where the
	// API knows no other way, it is always on. Off by default.
	Strict bool
}

// Tool returns the format as a tool whose arguments are the answer, to be counted or sent as one.
func (f Format) Tool() Tool {
	return Tool{Name: f.Name, Description: "Call this to give your answer.", Parameters: f.Schema}
}

// ToolChoice restricts whether a model may call tools.
type ToolChoice string

// The choices. The zero value is auto.
const (
	ToolChoiceAuto     ToolChoice = ""
	ToolChoiceNone     ToolChoice = "none"
	ToolChoiceRequired ToolChoice = "required"
)

// Effort is how much a model reasons before it answers.
type Effort string

// The efforts. The zero value leaves it to the model.
const (
	EffortDefault Effort = ""
	EffortNone    Effort = "none"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
)

// Purpose is what a request is made for.
type Purpose string

// The purposes. The zero value is an agent's step.
const (
	PurposeStep    Purpose = ""
	PurposeSummary Purpose = "summary"
	PurposeTitle   Purpose = "title"
)

var formatName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// shape checks what a request asks of its answer.
func (v *validator) shape(req Request) {
	switch {
	case req.Tool != "" && !slices.ContainsFunc(req.Tools, func(t Tool) bool { return t.Name == req.Tool }):
		v.report(RequestIndex, RuleToolChoice, "a call of %q is required, and there is no such tool", req.Tool)
	case req.Tool != "" && req.ToolChoice != ToolChoiceAuto:
		v.report(RequestIndex, RuleToolChoice, "a call of %q is required beside the choice %q: set one of the two", req.Tool, req.ToolChoice)
	case req.ToolChoice == ToolChoiceRequired && len(req.Tools) == 0:
		v.report(RequestIndex, RuleToolChoice, "a call is required and there are no tools")
	case req.ToolChoice != ToolChoiceAuto && req.ToolChoice != ToolChoiceNone && req.ToolChoice != ToolChoiceRequired:
		v.report(RequestIndex, RuleToolChoice, "there is no choice %q", req.ToolChoice)
	}
	switch req.Effort {
	case EffortDefault, EffortNone, EffortLow, EffortMedium, EffortHigh:
	default:
		v.report(RequestIndex, RuleShape, "there is no effort %q", req.Effort)
	}
	if f := req.Format; f != nil {
		if !formatName.MatchString(f.Name) {
			v.report(RequestIndex, RuleShape, "the name %q of the format is not 1 to 64 letters, digits, _ and -", f.Name)
		}
		if schema := f.Tool().Schema(); schema == nil || schema[0] != '{' || !json.Valid(schema) {
			v.report(RequestIndex, RuleShape, "the schema of the format %q is not a JSON object", f.Name)
		}
	}
}
