// Servers in Go that say which tool or model they found: the MCP SDK, and encoding/json as servers with an API like OpenAI's use it.
//
// Prints {"mcp": port, "json": port} and ends with its standard input.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func saw(name string, argument any) string {
	text, err := json.Marshal([]any{name, argument})
	if err != nil {
		return ""
	}
	return "saw:" + base64.StdEncoding.EncodeToString(text) + ":"
}

func mcpHandler() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1.0.0"}, nil)
	for _, name := range []string{"echo", "drop_table"} {
		tool := &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}
		server.AddTool(tool, func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var arguments struct {
				N any `json:"n"`
			}
			// An argument that it cannot read stays empty.
			_ = json.Unmarshal(request.Params.Arguments, &arguments)
			text := &mcp.TextContent{Text: saw(name, arguments.N)}
			return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil
		})
	}
	options := &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
}

func chat(response http.ResponseWriter, request *http.Request) {
	var body struct {
		Model string `json:"model"`
	}
	if err := json.NewDecoder(request.Body).Decode(&body); err != nil || body.Model == "" {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	fmt.Fprint(response, saw(body.Model, nil))
}

func main() {
	handlers := map[string]http.Handler{"mcp": mcpHandler(), "json": http.HandlerFunc(chat)}
	ports := map[string]int{}
	for name, handler := range handlers {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		ports[name] = listener.Addr().(*net.TCPAddr).Port
		go http.Serve(listener, handler)
	}
	line, err := json.Marshal(ports)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
	io.Copy(io.Discard, os.Stdin)
}
