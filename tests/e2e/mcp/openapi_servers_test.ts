/** REST APIs with an OpenAPI document as MCP servers. */
import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  createConfigFolder,
  followFile,
  replaceFile,
} from "../../harness/gateway/file_gateway.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { clientV2, sdkV1 } from "../../harness/clients/mcp_clients.ts";
import { callModern, listTools } from "../../harness/mcp/modern_call.ts";

const secret = "planted-credential-41f7";

const text = { schema: { type: "string" } };

/** A document with a parameter in each place, and bodies of several kinds. */
const document = {
  openapi: "3.1.0",
  info: { title: "Echo", version: "1" },
  security: [{ key: [] }],
  paths: {
    "/things/{id}": {
      put: {
        operationId: "putThing",
        parameters: [
          { name: "id", in: "path", required: true, ...text },
          { name: "dry run", in: "query", schema: { type: "boolean" } },
          { name: "tag", in: "query", schema: { type: "array" } },
          { name: "X-Reason", in: "header", ...text },
          { name: "lang", in: "cookie", ...text },
        ],
        requestBody: {
          content: {
            "application/json": {
              schema: { $ref: "#/components/schemas/Thing" },
            },
          },
        },
        responses: {
          200: {
            description: "What has arrived",
            content: { "application/json": { schema: { type: "object" } } },
          },
        },
      },
    },
    "/files": {
      post: {
        operationId: "upload",
        requestBody: {
          content: {
            "multipart/form-data": {
              schema: {
                type: "object",
                properties: { file: { type: "string", format: "binary" } },
              },
            },
          },
        },
        responses: { 204: { description: "ok" } },
      },
    },
    "/missing": {
      get: { operationId: "missing", responses: { 200: { description: "" } } },
    },
    "/slow": {
      get: { operationId: "slow", responses: { 200: { description: "" } } },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: "object",
        properties: { parent: { $ref: "#/components/schemas/Thing" } },
      },
    },
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "X-Api-Key" },
    },
  },
};

/** Responds when the client has gone. */
function untilAborted({ signal }: Request): Promise<Response> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(new Response()))
  );
}

/** An API that returns what has arrived, and its document at `/openapi.json`. */
function startApi() {
  const state = { document: JSON.stringify(document), keys: [] as unknown[] };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/openapi.json") return new Response(state.document);
      state.keys.push(request.headers.get("x-api-key"));
      if (pathname === "/v1/missing") {
        return Response.json({ error: "no such thing" }, { status: 404 });
      }
      if (pathname === "/v1/slow") return await untilAborted(request);
      const type = request.headers.get("content-type") ?? "";
      const isForm = type.startsWith("multipart/");
      const file = isForm ? (await request.formData()).get("file") : null;
      return Response.json({
        method: request.method,
        pathname,
        query: [...searchParams],
        reason: request.headers.get("x-reason"),
        cookie: request.headers.get("cookie"),
        body: isForm
          ? file instanceof File && await file.text()
          : await request.json(),
      });
    },
  );
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    state,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function gatewayFor(openapi: JsonObject, server: JsonObject = {}) {
  const { config, ...rest } = server;
  return startTestGateway({
    ...(config !== undefined && { config }),
    routes: [{
      backends: [{
        mcp: {
          servers: [{
            name: "echo",
            openapi,
            credentials: { key: secret },
            ...rest,
          }],
        },
      }],
    }],
  });
}

/** Lists tools until the document is there. */
async function listWhenRead(url: string): Promise<readonly string[]> {
  for (const end = Date.now() + 20_000; Date.now() < end;) {
    const names = await listTools(url);
    if (names.length > 0) return names;
  }
  return [];
}

for (const config of [{}, { workers: 2 }]) {
  Deno.test(`every argument of a tool lands where the document says, with ${JSON.stringify(config)}`, async () => {
    await using api = startApi();
    await using gateway = await gatewayFor({
      url: `${api.origin}/openapi.json`,
      baseUrl: `${api.origin}/v1/`,
    }, { config });
    const url = `${gateway.origin}/mcp`;

    const names = await listWhenRead(url);
    const { text: list } = await callModern(url, "tools/list");
    const { result } = await callModern(url, "tools/call", {
      name: "putThing",
      arguments: {
        id: "a/b c",
        "dry_run": true,
        tag: ["x&y", "z"],
        "X-Reason": "because",
        lang: "de",
        body: { parent: { parent: {} } },
      },
    });

    assert.deepEqual(names, ["missing", "putThing", "slow", "upload"]);
    assert.equal(list.includes(secret), false);
    assert.equal(/x-api-key/i.test(list), false);
    assert.deepEqual(result.structuredContent, {
      method: "PUT",
      pathname: "/v1/things/a%2Fb%20c",
      query: [["dry run", "true"], ["tag", "x&y"], ["tag", "z"]],
      reason: "because",
      cookie: "lang=de",
      body: { parent: { parent: {} } },
    });
    assert.deepEqual(api.state.keys, [secret]);
  });
}

for (const client of [sdkV1, clientV2]) {
  Deno.test(`${client.name} accepts the results of uploads, failures and wrong arguments`, async () => {
    await using api = startApi();
    await using gateway = await gatewayFor({
      url: `${api.origin}/openapi.json`,
      baseUrl: `${api.origin}/v1`,
      exclude: ["slow"],
    });
    const url = `${gateway.origin}/mcp`;
    await listWhenRead(url);
    await using connection = await client.connect({ url });

    const tools = await connection.listTools();
    const uploaded = await connection.callTool("upload", {
      body: { file: btoa("content") },
    });
    const missing = await connection.callTool("missing", {});
    const wrong = await connection.callTool("putThing", { id: "a", x: 1 });

    assert.deepEqual(tools, ["missing", "putThing", "upload"]);
    assert.match(uploaded, /"body":"content"/);
    assert.match(missing, /HTTP 404.*no such thing.*"isError":true/);
    assert.match(wrong, /Unknown arguments: x.*"isError":true/);
  });
}

Deno.test("an API that does not respond in time, or is gone, fails only the call", async () => {
  await using stack = new AsyncDisposableStack();
  const api = stack.use(startApi());
  await using gateway = await gatewayFor({
    url: `${api.origin}/openapi.json`,
    baseUrl: `${api.origin}/v1`,
  }, { timeouts: { call: "300ms" } });
  const url = `${gateway.origin}/mcp`;
  await listWhenRead(url);

  const slow = await callModern(url, "tools/call", { name: "slow" });
  await stack.disposeAsync();
  const gone = await callModern(url, "tools/call", { name: "missing" });

  assert.deepEqual(slow.result.isError, true);
  assert.match(slow.text, /MCP server \\"echo\\" did not respond in time/);
  assert.deepEqual(gone.result.isError, true);
  assert.match(gone.text, /cannot reach its API/);
  assert.equal((await listTools(url)).length, 4);
});

Deno.test("a changed file of the document applies, and the name of a broken part is logged", async () => {
  await using api = startApi();
  const port = freePort();
  const { folder, file } = await createConfigFolder("");
  const { paths } = document;
  await replaceFile(`${folder}/api.yaml`, document);
  await replaceFile(file, {
    gateways: { default: { port } },
    routes: [{
      backends: [{
        mcp: {
          servers: [{
            name: "echo",
            openapi: { file: "api.yaml", baseUrl: api.origin },
          }],
        },
      }],
    }],
  });
  await using followed = await followFile(folder, file);
  const url = `http://127.0.0.1:${port}/mcp`;

  const before = await listWhenRead(url);
  await replaceFile(`${folder}/api.yaml`, {
    ...document,
    paths: { "/slow": paths["/slow"], "/a/{b}": paths["/slow"] },
  });
  await followed.log.next(/Configuration applied/);
  const after = await listWhenRead(url);
  const warning = await followed.log.next(/Parts of an OpenAPI document/);

  assert.equal(before.length, 4);
  assert.deepEqual(after.length, 1);
  assert.match(warning, /#\/paths\/~1a~1\{b\}\/get: .*no such parameter/);
});

Deno.test("a document that cannot be read fails its server only, with the reason, until it can", async () => {
  await using api = startApi();
  api.state.document = '{"swagger": "1.2"}';
  await using gateway = await gatewayFor({
    url: `${api.origin}/openapi.json`,
    baseUrl: `${api.origin}/v1`,
  });
  const url = `${gateway.origin}/mcp`;

  const { text } = await callModern(url, "tools/list");
  for (let reason = text; !/not supported/.test(reason);) {
    ({ text: reason } = await callModern(url, "tools/list"));
  }
  api.state.document = JSON.stringify(document);

  assert.match(text, /unavailableServers/);
  assert.equal((await listWhenRead(url)).length, 4);
});
