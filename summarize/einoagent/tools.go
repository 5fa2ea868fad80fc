package einoagent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/internal/toolbox"
)

// Tools returns the tools of [Options].Tools, such as those of recall.Tools, by which the agent reads and searches what its
// prompt no longer shows. Add them to the agent's tools. The options are those of the middleware. An agent that runs in a
// tool of another has the conversation of that one.
func Tools(o Options) ([]tool.BaseTool, error) {
	boxes := toolbox.New(o.Tools, o.Compactor, o.CallLimit)
	declared, err := boxes.Fixed()
	if err != nil {
		return nil, err
	}
	infos, err := toEinoTools(declared)
	var list []tool.BaseTool
	for _, info := range infos {
		list = append(list, &boxed{info, o, boxes})
	}
	return list, err
}

// boxed is a tool of a toolbox.
type boxed struct {
	info  *schema.ToolInfo
	of    Options
	boxes *toolbox.Boxes // of the options
}

// Info implements [tool.EnhancedInvokableTool].
func (b *boxed) Info(context.Context) (*schema.ToolInfo, error) { return b.info, nil }

// InvokableRun implements [tool.EnhancedInvokableTool]. An error would end the run, so what goes wrong in a tool is a
// result.
func (b *boxed) InvokableRun(ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	c, err := b.of.conversation(ctx)
	if err != nil {
		return nil, err
	}
	result, _, err := b.boxes.For(c.Compactor, c.Tools).Answer(ctx, chat.ToolCall{Name: b.info.Name, Arguments: argument.Text}, 1)
	out := &schema.ToolResult{}
	for _, p := range result.Content {
		switch p := p.(type) {
		case chat.Text:
			out.Parts = append(out.Parts, schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: string(p)})
		case chat.Image:
			out.Parts = append(out.Parts, schema.ToolOutputPart{Type: schema.ToolPartTypeImage, Image: &schema.ToolOutputImage{MessagePartCommon: common(p)}})
		case chat.Document:
			file := schema.MessagePartCommon{Base64Data: &p.Data, MIMEType: p.MediaType}
			out.Parts = append(out.Parts, schema.ToolOutputPart{Type: schema.ToolPartTypeFile, File: &schema.ToolOutputFile{MessagePartCommon: file}})
		}
	}
	return out, err
}

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
