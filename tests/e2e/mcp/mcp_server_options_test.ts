/** Options of a server: certificates and time-outs. Others are tested with what they are about. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { startDescribedServer } from "../../harness/mcp/described_server.ts";
import { callModern, listTools } from "../../harness/mcp/modern_call.ts";

const NAME = "mcp.internal";

/** Starts a server of HTTPS in front of another one, with a certificate for `mcp.internal`. */
async function startTlsServer(origin: string) {
  const authority = await createAuthority();
  const certificate = await authority.issueServer([NAME]);
  const folder = await Deno.makeTempDir();
  const file = `${folder}/ca.pem`;
  await Deno.writeTextFile(file, authority.cert);
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...certificate },
    (request) => {
      const { method, headers, body } = request;
      const own = new Headers(headers);
      own.delete("host");
      return fetch(`${origin}/mcp`, { method, headers: own, body });
    },
  );
  return {
    url: `https://127.0.0.1:${server.addr.port}/mcp`,
    file,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

Deno.test("a server with TLS is verified by its name and its authority", async () => {
  await using plain = startDescribedServer({ find: "Finds" });
  await using server = await startTlsServer(new URL(plain.url).origin);
  const caCertificateRefs = [{ file: server.file }];
  const { url } = server;
  await using gateway = await startTestGateway({
    routes: [{
      backends: [{
        mcp: {
          servers: [
            { name: "good", url, tls: { hostname: NAME, caCertificateRefs } },
            {
              name: "other",
              url,
              tls: { hostname: "x.internal", caCertificateRefs },
            },
            { name: "unknown", url, tls: { hostname: NAME } },
          ],
        },
      }],
    }],
  });

  const { result } = await callModern(`${gateway.origin}/mcp`, "tools/list");

  assert.deepEqual(result.tools.map(({ name }: { name: string }) => name), [
    "good_find",
  ]);
  const missing = result._meta["gateway/unavailableServers"];
  assert.deepEqual(missing.map(({ name }: { name: string }) => name), [
    "other",
    "unknown",
  ]);
  const called = await callModern(`${gateway.origin}/mcp`, "tools/call", {
    name: "good_find",
  });
  assert.equal(called.result.content[0].text, "called find");
});

/** A server that responds to everything but requests of one method. */
function startSilentServer(silent: string) {
  const cached = { resultType: "complete", ttlMs: 0, cacheScope: "public" };
  const tools = [{ name: "wait", inputSchema: { type: "object" } }];
  const results: Readonly<Record<string, unknown>> = {
    "server/discover": {
      ...cached,
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
    },
    "tools/list": { ...cached, tools },
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { id, method } = await request.json();
      if (method === silent) {
        const { promise, resolve } = Promise.withResolvers<Response>();
        request.signal.addEventListener("abort", () => resolve(new Response()));
        return await promise;
      }
      return Response.json({ jsonrpc: "2.0", id, result: results[method] });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

for (
  const [option, method] of [
    ["connect", "server/discover"],
    ["list", "tools/list"],
    ["call", "tools/call"],
  ] as const
) {
  Deno.test(`timeouts.${option} limits ${method} of its server only`, async () => {
    await using silent = startSilentServer(method);
    await using other = startDescribedServer({ find: "Finds" });
    const timeouts = { [option]: "100ms" };
    await using gateway = await startTestGateway({
      routes: [{
        backends: [{
          mcp: {
            servers: [
              { name: "silent", url: silent.url, timeouts },
              { name: "other", url: other.url },
            ],
          },
        }],
      }],
    });
    const url = `${gateway.origin}/mcp`;

    const listed = await callModern(url, "tools/list");
    const missing = listed.result._meta["gateway/unavailableServers"];
    const isListed = option === "call";
    assert.equal(missing === undefined, isListed);
    assert.equal((await listTools(url)).includes("other_find"), true);
    const called = await callModern(url, "tools/call", { name: "silent_wait" });
    assert.equal(called.result.isError, true);
    assert.match(called.result.content[0].text, /did not .* in time/);
    const found = await callModern(url, "tools/call", { name: "other_find" });
    assert.equal(found.result.content[0].text, "called find");
  });
}
