package openai

import (
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// fieldsOf returns the fields of answers in a request, those of each message and each call.
func fieldsOf(params *sdk.ChatCompletionNewParams) (list []map[string]any) {
	for _, m := range params.Messages {
		if m.OfAssistant == nil {
			continue
		}
		list = append(list, m.OfAssistant.ExtraFields())
		for _, c := range m.OfAssistant.ToolCalls {
			if c.OfFunction != nil {
				list = append(list, c.OfFunction.ExtraFields())
			} else if c.OfCustom != nil {
				list = append(list, c.OfCustom.ExtraFields())
			}
		}
	}
	return list
}

// leaveOut removes the fields of answers for which refused reports true from a request.
func leaveOut(params *sdk.ChatCompletionNewParams, refused func(name string) bool) {
	for _, fields := range fieldsOf(params) {
		maps.DeleteFunc(fields, func(name string, _ any) bool { return refused(name) })
	}
	for _, m := range params.Messages {
		a := m.OfAssistant
		if a != nil && len(a.ToolCalls)+len(a.ExtraFields())+len(a.Content.OfArrayOfContentParts) == 0 && !a.Content.OfString.Valid() {
			a.Content.OfString = param.NewOpt("") // something must be said
		}
	}
}

// missingText matches the words of a server that lacks a field: Google's, DeepSeek's "must be passed back", and "Field
// required" of those that check by pydantic.
var missingText = regexp.MustCompile(`(?i)missing|passed back|(?:is|field) required`)

// lacks returns the field of thinking that a server wants back with each call, "" if an error does not say so.
func lacks(err error) string {
	api, _ := errors.AsType[*sdk.Error](err)
	if !refusesForm(err) || !missingText.MatchString(api.RawJSON()) {
		return ""
	}
	words := word.FindAllString(api.RawJSON(), -1)
	if at := slices.IndexFunc(dialect.ThinkingFields[:], func(name string) bool { return slices.Contains(words, name) }); at >= 0 {
		return dialect.ThinkingFields[at]
	}
	return ""
}

// thinkOnCalls adds a field of thinking, empty, to the calls that lack it, and reports whether there were any.
func thinkOnCalls(params *sdk.ChatCompletionNewParams, field string) (added bool) {
	for _, m := range params.Messages {
		if a := m.OfAssistant; a != nil && len(a.ToolCalls) > 0 && a.ExtraFields()[field] == nil {
			fields := map[string]any{field: ""}
			maps.Copy(fields, a.ExtraFields())
			a.SetExtraFields(fields)
			added = true
		}
	}
	return added
}

// word matches what may be the name of a field.
var word = regexp.MustCompile(`\w+`)

// refusesForm reports whether a server refused a request for what is in it.
func refusesForm(err error) bool {
	api, ok := errors.AsType[*sdk.Error](err)
	return ok && (api.StatusCode == http.StatusBadRequest || api.StatusCode == http.StatusUnprocessableEntity)
}

// refuses returns the fields of answers in a request that an error names, none if it says that one is
// missing: Groq's "property 'reasoning' is unsupported", Mistral's list of what is not permitted.
func refuses(err error, params *sdk.ChatCompletionNewParams) map[string]bool {
	api, _ := errors.AsType[*sdk.Error](err)
	if !refusesForm(err) {
		return nil
	}
	said := api.Message + " " + api.Param
	if missingText.MatchString(said) {
		return nil
	}
	named := map[string]bool{}
	words := word.FindAllString(said, -1)
	for _, fields := range fieldsOf(params) {
		for name := range fields {
			if slices.Contains(words, name) {
				named[name] = true
			}
		}
	}
	return named
}
