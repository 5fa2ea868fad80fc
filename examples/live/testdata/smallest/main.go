// Command smallest is an agent with three tools. It answers its arguments; without any it goes on where it ended.
package main

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/frugal"
)

type file struct{ Path string }

func main() {
	ctx := context.Background()
	folder := must(os.OpenRoot("."))
	session := must(history.Open("session.jsonl", history.Options{}))
	defer session.Close()
	model := &openai.Model{Client: sdk.NewClient(), Name: "gpt-4o"}
	target := must(summarize.TargetOf(ctx, model, model.Name, summarize.TargetOptions{}))
	compactor := &summarize.Compactor{Session: session, Target: target, Policy: frugal.Policy()}
	defer compactor.Close()
	list := must(agent.Tool("list_files", "Lists the files of a folder.", func(_ context.Context, in file) ([]string, error) {
		return fs.Glob(folder.FS(), in.Path+"/*")
	}))
	read := must(agent.Tool("read_file", "Reads a file.", func(_ context.Context, in file) (string, error) {
		data, err := folder.ReadFile(in.Path)
		return string(data), err
	}))
	remove := must(agent.Tool("remove_file", "Removes a file.", func(_ context.Context, in file) (string, error) {
		return "It is gone.", folder.Remove(in.Path)
	}))
	worker := &agent.Agent{Compactor: compactor, System: "You work on files.", MaxTokens: 4000, Tools: []chat.Toolbox{list, read, remove}}
	fmt.Println(must(worker.Run(ctx, strings.Join(os.Args[1:], " "))).Message().Text())
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
