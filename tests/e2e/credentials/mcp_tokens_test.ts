/** MCP servers that see who the caller is: nothing of one user reaches another. */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { objectSchema, text } from "../../../cli/dev/mcp/offer.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  eventsOf,
  startTracedGateway,
} from "../../harness/gateway/traced_gateway.ts";
import { startOneEra } from "../../harness/mcp/one_era.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";
import {
  CLIENT_SECRET,
  startTokenServer,
} from "../../harness/login/token_server.ts";
import { jwksOf } from "../../harness/login/tokens.ts";

const USERS = ["anna", "ben", "carla"];

/** An MCP server with a tool of its own for each user, which asks who the user is. */
function startServerOfUsers() {
  const servers = new Map(USERS.map((user) => [
    user,
    startMcpServer({
      offer: {
        tools: {
          [`of_${user}`]: {
            description: user,
            inputSchema: objectSchema(),
            call: () => [text(user)],
          },
          whoami: {
            description: "",
            inputSchema: objectSchema(),
            call: () => [text(user)],
          },
        },
        prompts: {},
        resources: [],
        resourceTemplates: [],
        readResource: () => undefined,
        completeArgument: () => [],
      },
    }),
  ]));
  const door = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const token = request.headers.get("authorization")?.split(" ")[1] ?? "";
      const { sub = "" } = token.includes(".") ? decodeJwt(token) : {};
      const server = servers.get(sub);
      if (server === undefined) return new Response("who?", { status: 401 });
      const headers = new Headers(request.headers);
      headers.delete("host");
      const body = request.body && await request.text();
      return await fetch(`${server.origin}/mcp`, {
        method: request.method,
        headers,
        ...(body !== null && { body }),
        signal: request.signal,
      }).catch(() => new Response("the client has gone", { status: 499 }));
    },
  );
  return {
    url: `http://127.0.0.1:${door.addr.port}/mcp`,
    async [Symbol.asyncDispose]() {
      await door.shutdown();
      await Promise.all(servers.values().map((server) => server.close()));
    },
  };
}

for (const workers of [1, 3]) {
  Deno.test({
    name:
      `users see their own tools and results of a server, with ${workers} workers`,
    // The connections of the last requests end by themselves.
    sanitizeResources: false,
    async fn() {
      await using tokens = await startTokenServer();
      const { users, idp } = tokens;
      await using server = startServerOfUsers();
      await using old = startOneEra(server.url, "legacy");
      const credentials = {
        tokenExchange: {
          issuer: idp.issuer,
          clientId: "gateway",
          clientSecret: { key: CLIENT_SECRET },
          resource: "https://mcp.example/",
        },
      };
      const provider = {
        issuer: users.issuer,
        audiences: ["https://gw.example/mcp"],
        jwks: { inline: jwksOf(users) },
      };
      await using gateway = await startTestGateway({
        config: { workers },
        routes: [{
          policies: {
            jwtAuthentication: { mode: "Optional", providers: [provider] },
          },
          backends: [{
            mcp: {
              servers: [
                { name: "new", url: server.url, credentials },
                { name: "old", url: old.url, credentials },
              ],
            },
          }],
        }],
      });
      const url = `${gateway.origin}/mcp`;
      const headersOf = async (sub: string) => ({
        authorization: `Bearer ${await users.sign({ sub })}`,
      });

      await Promise.all(
        USERS.flatMap((user) => [user, user]).map(async (user) => {
          const expected = [`new_of_${user}`, "new_whoami"]
            .concat([`old_of_${user}`, "old_whoami"]);
          const headers = await headersOf(user);
          const modern = await callModern(url, "tools/list", {}, { headers });
          const names = (tools: readonly { name: string }[]) =>
            tools.map(({ name }) => name);
          assert.deepEqual(names(modern.result.tools), expected);
          const client = new Client({ name: "test", version: "1.0.0" });
          await client.connect(
            new StreamableHTTPClientTransport(new URL(url), {
              requestInit: { headers },
            }),
          );
          for (let round = 0; round < 4; round++) {
            const { tools } = await client.listTools();
            assert.deepEqual(names(tools), expected);
            for (const name of ["new_whoami", "old_whoami"]) {
              // A token of the same user, as after a renewal.
              const renewed = { headers: await headersOf(user) };
              const old = await client.callTool({ name });
              const { result } = await callModern(
                url,
                "tools/call",
                { name },
                renewed,
              );
              assert.deepEqual(old.content, [text(user)]);
              assert.deepEqual(result.content, [text(user)]);
            }
          }
          await client.close();
        }),
      );

      const anonymous = await callModern(url, "tools/list");
      assert.deepEqual(anonymous.result.tools, []);
      const failures = JSON.stringify(anonymous.result._meta);
      assert.match(failures, /is not accessible to this user/);
      tokens.blocked.add("eve");
      const headers = await headersOf("eve");
      const eve = await callModern(
        url,
        "tools/call",
        { name: "new_whoami" },
        { headers },
      );
      assert.match(eve.text, /MCP server \\"new\\" is not accessible to this/);
    },
  });
}

Deno.test("the trace of a call to a server shows its token, without the token", async () => {
  await using tokens = await startTokenServer();
  const { users, idp } = tokens;
  await using server = startServerOfUsers();
  const provider = {
    issuer: users.issuer,
    audiences: ["https://gw.example/mcp"],
    jwks: { inline: jwksOf(users) },
  };
  const tokenExchange = {
    issuer: idp.issuer,
    clientId: "gateway",
    clientSecret: { key: CLIENT_SECRET },
    resource: "https://mcp.example/",
  };
  await using gateway = await startTracedGateway({
    routes: [{
      policies: { jwtAuthentication: { providers: [provider] } },
      backends: [{
        mcp: {
          servers: [{
            name: "a",
            url: server.url,
            credentials: { tokenExchange },
          }],
        },
      }],
    }],
  });
  tokens.blocked.add("eve");
  for (
    const [sub, expected] of [
      ["anna", { from: "server" }],
      ["anna", { from: "cache" }],
      ["eve", { error: /responds with 400, invalid_grant/ }],
    ] as const
  ) {
    const authorization = `Bearer ${await users.sign({ sub })}`;
    const watched = await gateway.watch();
    await callModern(
      `${gateway.origin}/mcp`,
      "tools/call",
      { name: "whoami" },
      { headers: { authorization } },
    );
    const events = await eventsOf(watched);
    const [first] = events.flatMap(({ message }) =>
      message.type === "policyEvent" && message.kind === "credentials"
        ? [Object(message.details)]
        : []
    );
    if ("error" in expected) assert.match(first.error, expected.error);
    else {
      assert.equal(first.from, expected.from);
      assert.equal(first.server, idp.issuer);
      assert.match(first.backend, /#a$/);
    }
    assert(!/eyJ[\w-]+\.eyJ/.test(JSON.stringify(events)));
  }
});
