/**
 * The client that the conformance scenario `sse-retry` runs: it calls a tool whose event stream breaks
 * off, and gets the answer by resuming. Its argument is the URL of the server to call.
 */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url = ""] = Deno.args;
const client = new Client({ name: "sse-retry", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await client.callTool({ name: "test_reconnection", arguments: {} });
await client.close();
