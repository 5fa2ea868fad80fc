package adkagent

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// fromADKTools converts function declarations to tools. Tools that the provider runs, such as a search, have none.
func fromADKTools(tools []*genai.Tool) ([]chat.Tool, error) {
	var list []chat.Tool
	for _, t := range tools {
		if t == nil {
			continue
		}
		for _, d := range t.FunctionDeclarations {
			tool := chat.Tool{Name: d.Name, Description: d.Description}
			var err error
			switch {
			case d.ParametersJsonSchema != nil:
				tool.Parameters, err = plainjson.Marshal(d.ParametersJsonSchema)
			case d.Parameters != nil:
				tool.Parameters, err = jsonSchema(d.Parameters)
			}
			if err != nil {
				return nil, fmt.Errorf("adkagent: the parameters of tool %q: %w", d.Name, err)
			}
			list = append(list, tool)
		}
	}
	return list, nil
}

// jsonSchema converts a schema of Gemini's to a JSON schema.
func jsonSchema(s *genai.Schema) (json.RawMessage, error) {
	data, err := plainjson.Marshal(s)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, err
	}
	lowerTypes(schema)
	return plainjson.Marshal(schema)
}

// lowerTypes writes the names of types in lower case, as JSON schema does.
func lowerTypes(schema map[string]any) {
	if name, ok := schema["type"].(string); ok {
		schema["type"] = strings.ToLower(name)
	}
	for key, v := range schema {
		switch v := v.(type) {
		case map[string]any:
			if key != "properties" && key != "$defs" {
				lowerTypes(v)
				continue
			}
			for _, property := range v {
				if property, ok := property.(map[string]any); ok {
					lowerTypes(property)
				}
			}
		case []any:
			for _, element := range v {
				if element, ok := element.(map[string]any); ok {
					lowerTypes(element)
				}
			}
		}
	}
}
