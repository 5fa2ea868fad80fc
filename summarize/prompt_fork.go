package summarize

import (
	"github.com/promptree-go/promptree/elements"
)

// ModeFork names [ForkPrompt].
const ModeFork Mode = "fork"

// ForkPrompt asks at the end of the request that the agent made last ([Material.Sent]): everything before is sent unchanged
// again, the tools included, so that the provider's prompt cache serves it. The summary is taken out of the <summary>
// block. It is how Copilot Chat compacts in the background. Without such a request it asks as [FullPrompt] does.
func ForkPrompt() Prompt {
	return Prompt{Mode: ModeFork, Request: forkRequest, Read: ReadSummaryBlock, Tools: true, Forks: true}
}

func forkRequest(m Material) elements.Node {
	if len(m.Sent) == 0 {
		return fullRequest(m)
	}
	return elements.Fragment{
		asTheyAre(m.Sent),
		elements.UserMessage{Props: kept, Children: asked(m)},
	}
}
