import assert from "node:assert/strict";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../../cli/dev/mock_idp_b.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import {
  clientV2,
  mcpClients,
  mcpRemote,
  sdkV1,
  visit,
} from "../../harness/clients/mcp_clients.ts";
import {
  type ReferenceResourceServer,
  startReferenceResourceServer,
} from "../../harness/login/reference_resource_server.ts";

// Real clients at a server that follows the specification to the letter: the measure for the gateway.

const resourceMetadata = "GET /.well-known/oauth-protected-resource/mcp 200";
const serverMetadata = "GET /.well-known/oauth-authorization-server/mcp 200";
const session = ["POST /mcp 200", "POST /mcp 202"];
// At the same time, and at the end.
const streamAndCall = ["DELETE /mcp 200", "GET /mcp 200", "POST /mcp 200"];

for (const client of [sdkV1, clientV2]) {
  Deno.test(`${client.name} registers itself, logs in at IdpA and asks in the known order`, async () => {
    const calls: string[] = [];
    const idp = await startIdpA({ onRequest: (line) => calls.push(line) });
    await using site = await openSite(idp, "Gateway");

    const tools = await visit(client, { url: site.url });

    assert(tools.includes("echo"), tools.join());
    assert.deepEqual(site.requests.slice(0, -3), [
      "POST /mcp 401",
      resourceMetadata,
      serverMetadata,
      ...session,
    ]);
    assert.deepEqual(site.requests.slice(-3).sort(), streamAndCall);
    assert.deepEqual(
      calls.filter((line) => /register|authorize\?|token/.test(line)).map((
        line,
      ) => line.replace(/\?.*/, "")),
      ["POST /oidc/register", "GET /authorize", "POST /oauth/token"],
    );
  });

  Deno.test(`${client.name} with a client id logs in at IdpB and asks in the known order`, async () => {
    await using site = await openSite(await startIdpB(), "Upstream");
    const { url, clientId } = site;

    const tools = await visit(client, { url, clientId });

    assert(tools.includes("echo"), tools.join());
    assert.deepEqual(site.requests.slice(0, -3), [
      "POST /mcp 401",
      resourceMetadata,
      ...session,
    ]);
    assert.deepEqual(site.requests.slice(-3).sort(), streamAndCall);
  });
}

Deno.test("mcp-remote registers itself, logs in at IdpA and asks in the known order", async () => {
  await using site = await openSite(await startIdpA(), "Gateway");

  const tools = await visit(mcpRemote, { url: site.url });

  assert(tools.includes("echo"), tools.join());
  const [first, ...rest] = site.requests;
  assert.equal(first, "GET /mcp 401");
  assert.deepEqual(
    rest.slice(0, rest.indexOf("POST /mcp 200")).filter((line) =>
      line !== "GET /mcp 401"
    ),
    [
      resourceMetadata,
      serverMetadata,
      "POST /mcp 401",
      resourceMetadata,
      serverMetadata,
    ],
  );
});

Deno.test("mcp-remote with a client id logs in at IdpB", async () => {
  await using site = await openSite(await startIdpB(), "Upstream");
  const { url, clientId } = site;

  const tools = await visit(mcpRemote, { url, clientId });

  assert(tools.includes("echo"), tools.join());
});

for (const client of mcpClients) {
  Deno.test(`${client.name} with a client id logs in at IdpA without registration`, async () => {
    const idp = await startIdpA({ registration: false });
    await using site = await openSite(idp, "Gateway");
    const { url, clientId } = site;

    const tools = await visit(client, { url, clientId });

    assert(tools.includes("echo"), tools.join());
  });
}

for (const client of [sdkV1, clientV2]) {
  Deno.test(`${client.name} without a client id gives up at IdpA without registration`, async () => {
    const idp = await startIdpA({ registration: false });
    await using site = await openSite(idp, "Gateway");

    await assert.rejects(
      visit(client, { url: site.url }),
      /does not support dynamic client registration/,
    );
  });

  Deno.test(`${client.name} without a client id cannot register at IdpB`, async () => {
    await using site = await openSite(await startIdpB(), "Upstream");

    await assert.rejects(
      visit(client, { url: site.url }),
      /initial access token|no access token/i,
    );
  });
}

Deno.test("MCP client v2 gives up when the provider behind a gateway issuer names itself", async () => {
  const idp = await startIdpA({ sendsIssuer: true });
  await using site = await openSite(idp, "Gateway");

  await assert.rejects(visit(clientV2, { url: site.url }), /issuer/i);
});

Deno.test("MCP SDK v1 does not mind when the provider behind a gateway issuer names itself", async () => {
  const idp = await startIdpA({ sendsIssuer: true });
  await using site = await openSite(idp, "Gateway");

  const tools = await visit(sdkV1, { url: site.url });

  assert(tools.includes("echo"), tools.join());
});

Deno.test("MCP client v2 gets an opaque token at IdpA when it is the issuer itself", async () => {
  await using site = await openSite(await startIdpA(), "Upstream");

  await assert.rejects(visit(clientV2, { url: site.url }));

  assert.equal(site.requests.at(-1), "POST /mcp 401");
});

interface Site extends AsyncDisposable {
  readonly url: string;
  readonly clientId: string;
  readonly requests: ReferenceResourceServer["requests"];
}

/** An MCP server, protected; `idp` goes with it. */
async function openSite(
  idp: Idp,
  issuerMode: "Gateway" | "Upstream",
): Promise<Site> {
  await using opening = new AsyncDisposableStack();
  opening.use(idp);
  const mcp = opening.adopt(startMcpServer(), (mcp) => mcp.close());
  const server = opening.adopt(
    startReferenceResourceServer(idp, `${mcp.origin}/mcp`, issuerMode),
    (server) => server.close(),
  );
  const open = opening.move();
  return {
    url: `${server.origin}/mcp`,
    clientId: idp.clientId,
    requests: server.requests,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
