package recall_test

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
)

// A model finds a fact in the middle of a long result, and reads what is around it.
func Example() {
	ctx := context.Background()
	n := 0
	ids := func() string { n++; return "entry" + strconv.Itoa(n) } // ids that are the same each time
	session, err := history.New(ctx, &storage.Memory{}, history.Options{Recall: true, IDs: ids})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	asked := chat.AssistantMessage("I look at the settings.")
	asked.ToolCalls = []chat.ToolCall{{ID: "1", Name: "read_file", Arguments: `{"path":"settings.json"}`}}
	settings := "{" + strings.Repeat(`"key":"value",`, 3000) + `"deployKey":"E1234",` + strings.Repeat(`"key":"value",`, 3000) + `"end":true}`
	if err := session.Append(ctx, chat.UserMessage("Deploy it."), asked, chat.ToolResult("1", settings)); err != nil {
		log.Fatal(err)
	}

	tools := recall.Tools{Session: session, MaxBytes: 1000}
	for _, call := range []chat.ToolCall{ // as the model calls them
		{ID: "2", Name: "search_session", Arguments: `{"query":"deploykey"}`},
		{ID: "3", Name: "read_session", Arguments: `{"entry":"entry3","from":42000,"to":42040}`},
	} {
		result, _, err := tools.Answer(ctx, call)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Text())
	}
	// Output:
	// result of read_file, 84032 bytes: read_session({"entry":"entry3","from":41526})
	// <session-entry>
	// key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","deployKey":"E1234","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value","key":"value"
	// </session-entry>
	// [nothing else matches]
	// Entry entry3, tool result, bytes 42000-42040 of 84032:
	// <session-entry>
	// ,"deployKey":"E1234","key":"value","key"
	// </session-entry>
}
