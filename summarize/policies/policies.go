package policies

import (
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// All returns the policies by their names, each a new value.
func All() map[string]summarize.Policy {
	return map[string]summarize.Policy{
		a3s.Name:         a3s.Policy(),
		copilotchat.Name: copilotchat.Policy(),
		copilotcli.Name:  copilotcli.Policy(),
		frugal.Name:      frugal.Policy(),
		ohmypi.Name:      ohmypi.Policy(),
		stagewise.Name:   stagewise.Policy(),
	}
}
