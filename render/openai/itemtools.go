package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
)

// inNamespace is the most deferred tools of a namespace: fewer than 10, as OpenAI's guide to tool search advises
// (developers.openai.com/api/docs/guides/tools-tool-search).
const inNamespace = 9

func itemTools(tools []chat.Tool) []responses.ToolUnionParam {
	var out []responses.ToolUnionParam
	for _, t := range tools {
		if !t.Deferred {
			f := responses.FunctionToolParam{Name: t.Name, Description: optional(t.Description), Strict: param.NewOpt(false)}
			f.SetExtraFields(map[string]any{"parameters": itemSchema(t)})
			out = append(out, responses.ToolUnionParam{OfFunction: &f})
		}
	}
	spaces := namespaces(tools)
	for _, space := range spaces {
		out = append(out, responses.ToolUnionParam{OfNamespace: space})
	}
	if len(spaces) > 0 {
		out = append(out, responses.ToolUnionParam{OfToolSearch: &responses.ToolSearchToolParam{}})
	}
	return out
}

// namespaces returns the deferred tools, those of one server or kind together. Of a function in a namespace the model
// sees nothing until the search finds it, of others the name and the description; so a namespace is described by the names
// in it.
func namespaces(tools []chat.Tool) (list []*responses.NamespaceToolParam) {
	open, count := map[string]*responses.NamespaceToolParam{}, map[string]int{}
	for _, t := range tools {
		if !t.Deferred {
			continue
		}
		kind := kindOf(t.Name)
		space := open[kind]
		if space == nil || len(space.Tools) == inNamespace {
			count[kind]++
			number := fmt.Sprintf("_%d", count[kind])
			space = &responses.NamespaceToolParam{Name: kind[:min(len(kind), 64-len(number))] + number, Description: "Functions:"}
			open[kind], list = space, append(list, space)
		}
		space.Description += " " + t.Name
		space.Tools = append(space.Tools, responses.NamespaceToolToolUnionParam{OfFunction: &responses.NamespaceToolToolFunctionParam{
			Name: t.Name, Description: optional(t.Description), Strict: param.NewOpt(false), DeferLoading: param.NewOpt(true), Parameters: itemSchema(t),
		}})
	}
	return list
}

// kindOf returns what a tool's name begins with: mcp__github for mcp__github__create_issue, git for git_log.
func kindOf(name string) string {
	if at := strings.LastIndex(name, "__"); at > 0 {
		return name[:at]
	}
	if at := strings.IndexByte(name, '_'); at > 0 {
		return name[:at]
	}
	return "tools"
}

func itemSchema(t chat.Tool) json.RawMessage {
	if schema := t.Schema(); schema != nil {
		return schema
	}
	return json.RawMessage(`{"type":"object","properties":{}}`)
}
