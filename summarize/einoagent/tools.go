package einoagent

import (
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/promptree-go/promptree/elements/chat"
)

// fromEinoTools converts eino's descriptions of tools.
func fromEinoTools(infos []*schema.ToolInfo) ([]chat.Tool, error) {
	var list []chat.Tool
	for _, info := range infos {
		t := chat.Tool{Name: info.Name, Description: info.Desc}
		s, err := info.ToJSONSchema()
		if err == nil && s != nil {
			t.Parameters, err = json.Marshal(s)
		}
		if err != nil {
			return nil, fmt.Errorf("einoagent: the parameters of tool %q: %w", info.Name, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// toEinoTools converts tools to eino's descriptions.
func toEinoTools(tools []chat.Tool) ([]*schema.ToolInfo, error) {
	list := make([]*schema.ToolInfo, 0, len(tools))
	for _, t := range tools {
		info := &schema.ToolInfo{Name: t.Name, Desc: t.Description}
		if parameters := t.Schema(); parameters != nil {
			s := &jsonschema.Schema{}
			if err := json.Unmarshal(parameters, s); err != nil {
				return nil, fmt.Errorf("einoagent: the parameters of tool %q: %w", t.Name, err)
			}
			info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(s)
		}
		list = append(list, info)
	}
	return list, nil
}
