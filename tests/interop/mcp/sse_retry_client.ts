/**
 * The client that the conformance scenario `sse-retry` runs: it calls a tool whose event stream breaks
 * off, and gets the answer by resuming. Its arguments are the name of a path and the URL of the server.
 */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { paths } from "../../harness/process/paths.ts";

const [name = "", url = ""] = Deno.args;
const path = paths.find((path) => path.name === decodeURI(name));
if (path === undefined) throw new Error(`Cannot find the path "${name}"`);
await using server = await path.reach(new URL(url).origin);
const client = new Client({ name: "sse-retry", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(server.origin)));
await client.callTool({ name: "test_reconnection", arguments: {} });
await client.close();
