package gemini_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// judge checks requests by Google's documentation and the API's own messages. It does not use the package's own rules.
// issued holds the ids of the calls that the server made, each with its signature.
type judge struct {
	legacy bool
	issued map[string]bool
}

type object = map[string]any

// The fields of a part, of which one must be set.
var dataFields = []string{
	"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse",
}

var declarationName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]*$`)

// refuse returns the refusal of a request, "" if it is accepted.
func (j judge) refuse(body object) string {
	for key := range body {
		switch key {
		case "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent":
		default:
			return fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot find field.", key)
		}
	}
	contents, ok := body["contents"].([]any)
	if !ok || len(contents) == 0 {
		return "* GenerateContentRequest.contents: contents is not specified"
	}
	for i, c := range contents {
		if why := j.content(c); why != "" {
			return fmt.Sprintf("* GenerateContentRequest.contents[%d]%s", i, why)
		}
	}
	if system, given := body["systemInstruction"].(object); given {
		for _, p := range list(system["parts"]) {
			if text, _ := p.(object)["text"].(string); text == "" {
				return "* GenerateContentRequest.system_instruction: only text is supported"
			}
		}
	}
	if why := tools(body); why != "" {
		return why
	}
	if why := sequence(contents); why != "" {
		return why
	}
	return j.thoughts(contents)
}

func list(v any) []any { l, _ := v.([]any); return l }

func (j judge) content(v any) string {
	c, ok := v.(object)
	if !ok {
		return ": Invalid value"
	}
	if role, _ := c["role"].(string); role != "user" && role != "model" {
		return ".role: Please use a valid role: user, model."
	}
	if len(list(c["parts"])) == 0 {
		return ".parts: contents.parts must not be empty."
	}
	for k, p := range list(c["parts"]) {
		if why := j.part(p.(object)); why != "" {
			return fmt.Sprintf(".parts[%d]%s", k, why)
		}
	}
	return ""
}

func (j judge) part(p object) string {
	set := 0
	for _, field := range dataFields {
		if v, given := p[field]; given && v != "" {
			set++
		}
	}
	if set != 1 {
		return ".data: required oneof field 'data' must have one initialized field"
	}
	if signature, given := p["thoughtSignature"]; given {
		if s, _ := signature.(string); !isBytes(s) {
			return ".thought_signature: Invalid value, Base64 decoding failed"
		}
	}
	if blob, given := p["inlineData"].(object); given {
		if why := inline(blob); why != "" {
			return why
		}
	}
	if file, given := p["fileData"].(object); given {
		uri, _ := file["fileUri"].(string)
		if !strings.HasPrefix(uri, "https://") && !strings.HasPrefix(uri, "gs://") {
			return ".file_data: Unsupported file URI type: " + uri
		}
	}
	if call, given := p["functionCall"].(object); given {
		if name, _ := call["name"].(string); !declarationName.MatchString(name) || len(name) > 128 {
			return ".function_call.name: Invalid function name."
		}
		if args, given := call["args"]; given {
			if _, isObject := args.(object); !isObject {
				return ".function_call.args: Invalid value, not a Struct"
			}
		}
	}
	if response, given := p["functionResponse"].(object); given {
		if name, _ := response["name"].(string); name == "" {
			return ".function_response.name: Name cannot be empty."
		}
		if _, isObject := response["response"].(object); !isObject {
			return ".function_response.response: Invalid value, not a Struct"
		}
		media := list(response["parts"])
		if j.legacy && len(media) > 0 {
			return ".function_response.parts: multimodal function responses are not supported by this model"
		}
		for _, m := range media {
			if blob, given := m.(object)["inlineData"].(object); given {
				if why := inline(blob); why != "" {
					return why
				}
			} else if m.(object)["fileData"] == nil {
				return ".function_response.parts: required oneof field 'data' must have one initialized field"
			}
		}
	}
	return ""
}

func inline(blob object) string {
	mediaType, _ := blob["mimeType"].(string)
	data, _ := blob["data"].(string)
	if mediaType == "" || data == "" || !isBytes(data) {
		return ".inline_data: mime type and data are required"
	}
	return ""
}

func isBytes(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return s != "" && err == nil
}

// kind returns the parts of one kind in a content.
func kind(content any, field string) []object {
	var found []object
	for _, p := range list(content.(object)["parts"]) {
		if v, given := p.(object)[field].(object); given {
			found = append(found, v)
		}
	}
	return found
}

// sequence checks the order of contents.
func sequence(contents []any) string {
	for i, c := range contents {
		calls, responses := kind(c, "functionCall"), kind(c, "functionResponse")
		role := c.(object)["role"]
		if len(calls) > 0 && (role != "model" || i == 0 || contents[i-1].(object)["role"] != "user") {
			return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
		}
		if len(calls) > 0 {
			if i+1 == len(contents) || len(kind(contents[i+1], "functionResponse")) != len(calls) {
				return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
			}
			if why := matched(calls, kind(contents[i+1], "functionResponse")); why != "" {
				return why
			}
		}
		if len(responses) > 0 && (i == 0 || len(kind(contents[i-1], "functionCall")) == 0) {
			return "Please ensure that function response turn comes immediately after a function call turn."
		}
	}
	if contents[len(contents)-1].(object)["role"] != "user" {
		return "Please ensure that single turn requests end with a user role or the role field is empty."
	}
	return ""
}

// matched checks that each response has the name of its call, which is the one with its id or in its place.
func matched(calls, responses []object) string {
	byID := map[any]object{}
	for _, call := range calls {
		if id, given := call["id"]; given {
			if byID[id] != nil {
				return fmt.Sprintf("Duplicate function call id %v.", id)
			}
			byID[id] = call
		}
	}
	seen := map[any]bool{}
	for k, response := range responses {
		call := calls[k]
		if id, given := response["id"]; given {
			if call = byID[id]; call == nil || seen[id] {
				return fmt.Sprintf("Function response id %v does not match a function call.", id)
			}
			seen[id] = true
		}
		if call["name"] != response["name"] {
			return "Please ensure that the function response name matches its function call."
		}
	}
	return ""
}

func tools(body object) string {
	declared := 0
	for _, t := range list(body["tools"]) {
		for _, d := range list(t.(object)["functionDeclarations"]) {
			declared++
			if name, _ := d.(object)["name"].(string); !declarationName.MatchString(name) {
				return "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name."
			}
			if schema, given := d.(object)["parametersJsonSchema"].(object); given && schema["type"] != "object" {
				return "* GenerateContentRequest.tools[0].function_declarations[0].parameters_json_schema: schema must be an object"
			}
		}
	}
	if body["toolConfig"] != nil && declared == 0 {
		return "Function calling config is set without function_declarations."
	}
	return ""
}

// thoughts checks the signatures of the current turn, which is everything after the last content of a user without
// function responses. The first call of each content must have the signature with which it was issued.
func (j judge) thoughts(contents []any) string {
	if j.legacy {
		return ""
	}
	current := 0
	for i, c := range contents {
		if c.(object)["role"] == "user" && len(kind(c, "functionResponse")) == 0 {
			current = i
		}
	}
	for i := current; i < len(contents); i++ {
		first := true
		for k, p := range list(contents[i].(object)["parts"]) {
			call, is := p.(object)["functionCall"].(object)
			if !is {
				continue
			}
			id, _ := call["id"].(string)
			signature, _ := p.(object)["thoughtSignature"].(string)
			switch {
			case signature == base64.StdEncoding.EncodeToString([]byte("skip_thought_signature_validator")):
			case first && signature == "":
				return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. Additional data, function call `default_api:%v`, position %d.", call["name"], k+1)
			case signature != "" && !j.issued[id+" "+signature]:
				return "Thought signature is not valid."
			}
			first = false
		}
	}
	return ""
}

func decode(data []byte) (object, error) {
	var body object
	err := json.Unmarshal(data, &body)
	return body, err
}
