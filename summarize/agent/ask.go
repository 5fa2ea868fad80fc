package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// FormError is the error of an answer that does not have the form that was asked for.
type FormError struct {
	// Answer is the last one.
	Answer Answer
	// Err says what is wrong with it.
	Err error
}

func (e *FormError) Error() string {
	return "agent: the answer does not have its form: " + e.Err.Error()
}

// Unwrap returns what is wrong.
func (e *FormError) Unwrap() error { return e.Err }

// maxForms is how often a model is asked again for an answer that does not have its form.
const maxForms = 2

// Ask says a text in the user's place and returns the answer as a value, a struct whose schema the provider is given
// ([chat.Shape].Format), as [Tool] makes it of parameters; what not every provider takes, such as the bounds of a number, is
// said in descriptions, and checked. The model may call tools before it answers, as in
// [Agent.Run], which makes the steps. The session holds the answer as text.
//
// An answer that does not fit is followed by a message in the user's place that says why, at most twice. Then the error is
// a [*FormError], as it is for an answer that was cut off or filtered, or that left calls to the caller; its Answer holds
// the part. Other errors are those of Run, and of a type that no schema describes.
func Ask[T any](ctx context.Context, a *Agent, text string) (value T, err error) {
	schema, resolved, err := schemaOf[T]()
	var sent []byte
	if err == nil {
		sent, err = json.Marshal(portable(schema))
	}
	if err != nil {
		return value, fmt.Errorf("agent: the answer: %w", err)
	}
	format := &chat.Format{Name: formName(reflect.TypeFor[T]()), Schema: sent, Strict: true}
	format.Strict = provider.StrictSchemas.Check(*format) == ""
	restore, err := a.inForm(ctx, format)
	if err != nil {
		return value, err
	}
	defer func() { err = cmp.Or(err, restore()) }()
	for again := 0; ; again++ {
		answer, err := a.Run(ctx, text)
		if err != nil {
			return value, err
		}
		value, err = readForm[T](answer, resolved)
		if err == nil {
			return value, nil
		}
		if answer.Response.StopReason != chat.StopEnd || again == maxForms {
			return value, &FormError{answer, err}
		}
		text = "Your answer does not have the form that was asked for: " + err.Error() + ". Answer again, with nothing but JSON that fits the schema."
	}
}

// inForm makes the agent's requests ask for a form, until the function that it returns is called.
func (a *Agent) inForm(ctx context.Context, f *chat.Format) (restore func() error, err error) {
	if a.Compactor == nil {
		return func() error { return nil }, nil // Run returns the error
	}
	set := func(ctx context.Context, f *chat.Format) error {
		target := a.Compactor.Current()
		target.Shape.Format = f
		return a.Compactor.Retarget(ctx, target)
	}
	was := a.Compactor.Current().Shape.Format
	return func() error { return set(context.WithoutCancel(ctx), was) }, set(ctx, f)
}

// readForm returns an answer as a value.
func readForm[T any](answer Answer, schema *jsonschema.Resolved) (value T, err error) {
	switch stop := answer.Response.StopReason; {
	case len(answer.Open) > 0:
		return value, fmt.Errorf("it leaves a call of %s to the caller", answer.Open[0].Name)
	case stop != chat.StopEnd:
		return value, fmt.Errorf("it ended by %s", stop)
	}
	text := strings.TrimSpace(answer.Message().Text())
	if inside, fenced := strings.CutPrefix(text, "```"); fenced { // models without schemas put JSON so
		inside = strings.TrimPrefix(inside, "json")
		text = strings.TrimSuffix(inside, "```")
	}
	if !json.Valid([]byte(text)) {
		return value, errors.New("it is not JSON")
	}
	if err := decode([]byte(text), schema, &value); err != nil {
		return value, fmt.Errorf("its values %w", err)
	}
	return value, nil
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// formName returns the name of a type as that of a form.
func formName(t reflect.Type) string {
	name := cmp.Or(strings.Trim(notInName.ReplaceAllString(t.Name(), "_"), "_"), "answer")
	return name[:min(len(name), 64)]
}
