package einoagent

import (
	"context"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// RecallTools returns the tools of package recall, by which the agent reads and searches what its prompt no longer
// shows. Add them to the agent's tools. The options are those of the middleware; sessions must be opened with
// [history.Options].Recall. An answer takes an eighth of the budget at most. An agent that runs in a tool of another
// reads the conversation of that one.
func RecallTools(o Options) ([]tool.BaseTool, error) {
	if c := o.Compactor; c != nil && c.Session != nil && !c.Session.Recall() {
		return nil, recall.ErrUnmarked
	}
	infos, err := toEinoTools(recall.Tools{}.Declared())
	var list []tool.BaseTool
	for _, info := range infos {
		list = append(list, &lookUp{info, o})
	}
	return list, err
}

// lookUp is a tool of package recall.
type lookUp struct {
	info *schema.ToolInfo
	of   Options
}

// Info implements [tool.InvokableTool].
func (l *lookUp) Info(context.Context) (*schema.ToolInfo, error) { return l.info, nil }

// InvokableRun implements [tool.InvokableTool]. An error would end the run, so wrong arguments are a result.
func (l *lookUp) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	c, err := l.of.conversation(ctx)
	if err != nil {
		return "", err
	}
	result, err := mirror.New(c.Compactor).LookUp(ctx, chat.ToolCall{Name: l.info.Name, Arguments: arguments})
	return result.Text(), err
}
