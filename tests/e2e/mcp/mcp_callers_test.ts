/** Callers who look the same in logs are still different callers: nothing of one is another one's. */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";
import { stdioServer } from "../../harness/mcp/stdio_processes.ts";
import { startSdk1Server } from "../../interop/eras/sdk1_server.ts";

function headersOf(key: string) {
  return { authorization: `Bearer ${key}` };
}

for (const metadata of [undefined, { team: "a" }]) {
  Deno.test(`keys with metadata ${JSON.stringify(metadata)} share no session, task or process`, async () => {
    await using server = startSdk1Server();
    await using gateway = await startTestGateway({
      routes: [{
        policies: {
          apiKeyAuthentication: {
            keys: ["one", "two"].map((key) => ({ key, metadata })),
          },
        },
        backends: [{
          mcp: {
            servers: [
              { name: "remote", url: server.url },
              { name: "program", stdio: stdioServer() },
            ],
          },
        }],
      }],
    });
    const url = `${gateway.origin}/mcp`;
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: headersOf("one") },
    });
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(transport);
    const { task: { taskId } } = await client.request({
      method: "tools/call",
      params: {
        name: "remote_work",
        arguments: {},
        task: { ttl: 60_000 },
      },
    }, CreateTaskResultSchema);
    const stolen = (key: string, method: string, params: object) =>
      fetch(url, {
        method: "POST",
        headers: {
          ...headersOf(key),
          "accept": "application/json, text/event-stream",
          "content-type": "application/json",
          "mcp-session-id": transport.sessionId ?? "",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });

    const theft = await stolen("two", "tools/list", {});
    const end = await fetch(url, {
      method: "DELETE",
      headers: {
        ...headersOf("two"),
        "mcp-session-id": transport.sessionId ?? "",
      },
    });
    const other = new Client({ name: "test", version: "1.0.0" });
    await other.connect(
      new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: headersOf("two") },
      }),
    );
    const pidOf = async (key: string) => {
      const { result } = await callModern(url, "tools/call", {
        name: "program_facts",
        arguments: {},
      }, { headers: headersOf(key) });
      return JSON.parse(result.content[0].text).pid;
    };
    const pids = [await pidOf("one"), await pidOf("two"), await pidOf("one")];

    assert.deepEqual([theft.status, end.status], [404, 404]);
    await theft.body?.cancel();
    await end.body?.cancel();
    await assert.rejects(
      other.experimental.tasks.getTask(taskId),
      /Unknown task/,
    );
    assert.equal(
      (await client.experimental.tasks.getTask(taskId)).taskId,
      taskId,
    );
    assert.notEqual(pids[0], pids[1]);
    assert.equal(pids[0], pids[2]);
    await client.close();
    await other.close();
  });
}
