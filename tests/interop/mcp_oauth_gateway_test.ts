import assert from "node:assert/strict";
import { startIdpA } from "../../cli/dev/idp_a.ts";
import { startIdpB } from "../../cli/dev/idp_b.ts";
import { runAuthorizationConformance } from "../harness/conformance.ts";
import {
  clientV2,
  mcpClients,
  mcpRemote,
  sdkV1,
} from "../harness/mcp_clients.ts";
import { startProtectedGateway } from "../harness/protected_gateway.ts";

const api = "https://mcp.example.com/api";
const permission = ["'call:mcp' in jwt.permissions"];
const permissions = ["call:mcp"];
const resourceMetadata = "GET /.well-known/oauth-protected-resource/mcp 200";
const serverMetadata = "GET /.well-known/oauth-authorization-server/mcp 200";
const registration =
  "POST /.well-known/oauth-authorization-server/mcp/client-registration 201";

for (const client of mcpClients) {
  Deno.test(`${client.name} registers at IdpA, logs in there and calls the MCP server`, async () => {
    const idp = await startIdpA({ permissions });
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpA",
      audience: api,
      rules: permission,
    });

    const tools = await client.visit(gateway);

    assert(tools.includes("echo"), tools.join());
  });

  Deno.test(`${client.name} registers at the gateway, which has a client id, and logs in at IdpA without registration`, async () => {
    const idp = await startIdpA({ permissions, registration: false });
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpA",
      audience: api,
      rules: permission,
      mcp: { clientId: idp.clientId, registration: "Gateway" },
    });

    const tools = await client.visit(gateway);

    assert(tools.includes("echo"), tools.join());
    assert(gateway.requests().includes(registration));
  });

  Deno.test(`${client.name} with a client id logs in at IdpB, which is the issuer itself`, async () => {
    const idp = await startIdpB({ roles: ["editor"] });
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpB",
      rules: ["'editor' in jwt.roles"],
      mcp: { issuerMode: "Upstream" },
    });

    const { url } = gateway;
    const tools = await client.visit({ url, clientId: idp.clientId });

    assert(tools.includes("echo"), tools.join());
  });

  Deno.test(`${client.name} without the permission is refused with 403`, async () => {
    const idp = await startIdpA({ permissions: ["read:other"] });
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpA",
      audience: api,
      rules: permission,
    });

    await assert.rejects(client.visit(gateway));

    assert(gateway.requests().includes("POST /mcp 403"));
    assert(!gateway.requests().includes("POST /mcp 200"));
  });
}

for (const client of [sdkV1, clientV2]) {
  Deno.test(`${client.name} asks the gateway in the known order`, async () => {
    const idp = await startIdpA();
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpA",
      audience: api,
      mcp: { clientId: idp.clientId, registration: "Gateway" },
    });

    await client.visit(gateway);

    const requests = gateway.requests();
    assert.deepEqual(requests.slice(0, requests.indexOf("POST /mcp 200")), [
      "POST /mcp 401",
      resourceMetadata,
      serverMetadata,
      registration,
    ]);
  });

  Deno.test(`${client.name} is refused registration at IdpB through a gateway without a client id`, async () => {
    await using gateway = await startProtectedGateway(await startIdpB(), {
      provider: "IdpB",
    });

    await assert.rejects(client.visit(gateway), /token|registration/i);
  });

  Deno.test(`${client.name} fails at IdpA without registration and without a client id`, async () => {
    const idp = await startIdpA({ registration: false });
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpA",
    });

    await assert.rejects(
      client.visit(gateway),
      /does not support dynamic client registration/,
    );
  });
}

Deno.test("mcp-remote asks the gateway in the known order", async () => {
  await using gateway = await startProtectedGateway(await startIdpA(), {
    provider: "IdpA",
    audience: api,
  });

  await mcpRemote.visit(gateway);

  const requests = gateway.requests();
  assert.equal(requests[0], "GET /mcp 401");
  assert.deepEqual(
    requests.slice(0, requests.indexOf("POST /mcp 200")).filter((line) =>
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

Deno.test("MCP SDK v1 registers at the gateway and logs in at IdpB behind it", async () => {
  const idp = await startIdpB({ tenant: "T1", roles: ["editor"] });
  await using gateway = await startProtectedGateway(idp, {
    provider: "IdpB",
    rules: ["'editor' in jwt.tenants['T1'].roles"],
    mcp: { clientId: idp.clientId },
  });

  const tools = await sdkV1.visit(gateway);

  assert(tools.includes("echo"), tools.join());
  assert(gateway.requests().includes(registration));
});

for (const provider of ["IdpA", "IdpB"] as const) {
  Deno.test(`MCP client v2 does not trust ${provider} behind a gateway issuer when it names itself`, async () => {
    const idp = provider === "IdpA"
      ? await startIdpA({ sendsIssuer: true })
      : await startIdpB();
    await using gateway = await startProtectedGateway(idp, { provider });

    await assert.rejects(
      clientV2.visit({ url: gateway.url, clientId: idp.clientId }),
      /issuer mismatch/i,
    );
  });
}

Deno.test("MCP client v2 gets an opaque token, and 401, when IdpA is the issuer itself", async () => {
  await using gateway = await startProtectedGateway(await startIdpA(), {
    provider: "IdpA",
    mcp: { issuerMode: "Upstream" },
  });

  await assert.rejects(clientV2.visit(gateway));

  assert.equal(gateway.requests().at(-1), "POST /mcp 401");
});

for (
  const { name, provider, rules, start } of [
    {
      name: "IdpA",
      provider: "IdpA" as const,
      rules: permission,
      start: (allowed: boolean) =>
        startIdpA(allowed ? { machinePermissions: permissions } : {}),
    },
    {
      name: "IdpB",
      provider: "IdpB" as const,
      rules: ["'editor' in jwt.roles"],
      start: (allowed: boolean) =>
        startIdpB(allowed ? { machineRoles: ["editor"] } : {}),
    },
  ]
) {
  for (
    const { allowed, status } of [
      { allowed: true, status: 200 },
      { allowed: false, status: 403 },
    ]
  ) {
    Deno.test(`a program's token of ${name} ${allowed ? "with" : "without"} what the rule asks for gets ${status}`, async () => {
      const idp = await start(allowed);
      await using gateway = await startProtectedGateway(idp, {
        provider,
        rules,
      });

      const token = await idp.issueMachineToken(gateway.url);
      const response = await initialize(gateway.url, token);

      assert.equal(response.status, status);
      await response.body?.cancel();
    });
  }

  Deno.test(`a token of ${name} for another audience gets 401`, async () => {
    const idp = await start(true);
    await using gateway = await startProtectedGateway(idp, { provider, rules });

    const token = await idp.issueMachineToken("https://other.example.com/mcp");
    const response = await initialize(gateway.url, token);

    assert.equal(response.status, 401);
    assert.match(
      response.headers.get("www-authenticate") ?? "",
      /error="invalid_token"/,
    );
    await response.body?.cancel();
  });
}

for (
  const permissions of [
    "call:mcp",
    { "call:mcp": true },
    7,
    null,
    undefined,
  ]
) {
  Deno.test(`permissions of a wrong shape are refused: ${JSON.stringify(permissions)}`, async () => {
    const idp = await startIdpA({ machinePermissions: permissions });
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpA",
      rules: permission,
    });

    const token = await idp.issueMachineToken(gateway.url);
    const response = await initialize(gateway.url, token);

    assert.equal(response.status, 403);
    await response.body?.cancel();
  });
}

for (const provider of ["IdpA", "IdpB"] as const) {
  Deno.test(`MCP conformance suite accepts the authorization server metadata before ${provider}`, async () => {
    const idp = await (provider === "IdpA" ? startIdpA() : startIdpB());
    await using gateway = await startProtectedGateway(idp, { provider });

    const { passed, failed } = await runAuthorizationConformance(
      gateway.url,
      "authorization-server-metadata-endpoint",
    );

    assert.equal(failed, 0);
    assert(passed > 0);
  });
}

function initialize(url: string, token: string): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "program", version: "1.0.0" },
      },
    }),
  });
}
