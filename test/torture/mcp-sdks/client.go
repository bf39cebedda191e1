// Lists the tools with Go's SDK, calls those named in the arguments, and reads the guide. Prints JSON.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type authorised struct{ key string }

func (a authorised) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+a.key)
	return http.DefaultTransport.RoundTrip(request)
}

type result struct {
	IsError bool   `json:"isError"`
	Text    string `json:"text"`
}

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1.0.0"}, nil)
	transport := &mcp.StreamableClientTransport{
		Endpoint:   os.Getenv("ENDPOINT"),
		HTTPClient: &http.Client{Transport: authorised{os.Getenv("SPOOR_API_KEY")}},
	}
	session, err := client.Connect(ctx, transport, nil)
	check(err)
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	check(err)
	tools := []string{}
	for _, tool := range list.Tools {
		tools = append(tools, tool.Name)
	}
	results := map[string]result{}
	for _, name := range os.Args[1:] {
		answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{}})
		check(err)
		results[name] = result{answer.IsError, answer.Content[0].(*mcp.TextContent).Text}
	}
	guide, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "spoor://guide"})
	check(err)
	output := map[string]any{"tools": tools, "results": results, "guide": guide.Contents[0].Text}
	check(json.NewEncoder(os.Stdout).Encode(output))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
