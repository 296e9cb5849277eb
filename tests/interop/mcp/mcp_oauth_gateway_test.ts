import assert from "node:assert/strict";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../../cli/dev/mock_idp_b.ts";
import { runAuthorizationConformance } from "../../harness/parsers/conformance.ts";
import {
  clientV2,
  mcpClients,
  mcpRemote,
  sdkV1,
  visit,
} from "../../harness/clients/mcp_clients.ts";
import { startProtectedGateway } from "../../harness/gateway/protected_gateway.ts";

const api = "https://mcp.example.com/api";
const permission = ["'call:mcp' in jwt.permissions"];
const permissions = ["call:mcp"];
const resourceMetadata = "GET /.well-known/oauth-protected-resource/mcp 200";
const serverMetadata = "GET /.well-known/oauth-authorization-server/mcp 200";
const registration =
  "POST /.well-known/oauth-authorization-server/mcp/client-registration 201";

// Details of logins; login_matrix_test.ts tests which clients can log in.

const unauthorized = "POST /mcp 401";
// These end in any order: the event stream lasts as long as the session.
const session = ["DELETE /mcp 200", "GET /mcp 200", "POST /mcp 200"];

for (const client of [sdkV1, clientV2]) {
  Deno.test(`${client.name} asks the gateway and IdpA in the known order`, async () => {
    const calls: string[] = [];
    const idp = await startIdpA({ onRequest: (line) => calls.push(line) });
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpA",
      audience: api,
      mcp: { clientId: idp.clientId, registration: "Gateway" },
    });

    await visit(client, gateway);

    const requests = gateway.requests();
    assert.deepEqual(requests.slice(0, 6), [
      unauthorized,
      resourceMetadata,
      serverMetadata,
      registration,
      "POST /mcp 200",
      "POST /mcp 202",
    ]);
    assert.deepEqual(requests.slice(6).sort(), session);
    const [authorize = "", ...more] = calls.filter((line) =>
      /authorize\?|token/.test(line)
    );
    const query = new URLSearchParams(authorize.replace(/^.*?\?/, ""));
    assert.deepEqual(query.getAll("audience"), [api]);
    assert.deepEqual(query.getAll("resource"), [gateway.url]);
    assert.equal(query.get("code_challenge_method"), "S256");
    assert.deepEqual(more, ["POST /oauth/token"]);
  });

  Deno.test(`${client.name} asks the gateway for nothing but the resource when IdpB is the issuer`, async () => {
    const idp = await startIdpB();
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpB",
      mcp: { issuerMode: "Upstream" },
    });

    await visit(client, { url: gateway.url, clientId: idp.clientId });

    const requests = gateway.requests();
    assert.deepEqual(requests.slice(0, 4), [
      unauthorized,
      resourceMetadata,
      "POST /mcp 200",
      "POST /mcp 202",
    ]);
    assert.deepEqual(requests.slice(4).sort(), session);
  });
}

Deno.test("mcp-remote asks the gateway in the known order", async () => {
  await using gateway = await startProtectedGateway(await startIdpA(), {
    provider: "IdpA",
    audience: api,
  });

  await visit(mcpRemote, gateway);

  const requests = gateway.requests();
  assert.equal(requests[0], "GET /mcp 401");
  assert.deepEqual(
    requests.slice(0, requests.indexOf("POST /mcp 200")).filter((line) =>
      line !== "GET /mcp 401"
    ),
    [
      resourceMetadata,
      serverMetadata,
      unauthorized,
      resourceMetadata,
      serverMetadata,
    ],
  );
});

for (const client of mcpClients) {
  for (const provider of ["IdpA", "IdpB"] as const) {
    Deno.test(`${client.name} refreshes its token at ${provider} when the keys were rotated, and goes on`, async () => {
      const calls: string[] = [];
      const onRequest = (line: string) => calls.push(line);
      const idp = provider === "IdpA"
        ? await startIdpA({ onRequest })
        : await startIdpB({ onRequest });
      await using gateway = await startProtectedGateway(idp, {
        provider,
        mcp: provider === "IdpA" ? {} : { issuerMode: "Upstream" },
      });
      await using connection = await client.connect({
        url: gateway.url,
        clientId: idp.clientId,
        scope: "openid offline_access",
      });
      assert((await connection.listTools()).includes("echo"));
      const count = (pattern: RegExp) =>
        calls.filter((line) => pattern.test(line)).length;
      const logins = count(/authorize\?/);

      await idp.rotateKeys();
      // Somebody else's token tells the gateway of the new key.
      const program = await idp.issueMachineToken(gateway.url);
      const response = await initializeMcp(gateway, program);
      const tokens = count(/POST .*token/);
      const before = gateway.requests().filter((line) => line === unauthorized);

      assert.equal(response.status, 200);
      assert((await connection.listTools()).includes("echo"));
      const after = gateway.requests().filter((line) => line === unauthorized);
      assert.equal(after.length, before.length + 1);
      assert.equal(count(/POST .*token/), tokens + 1);
      assert.equal(count(/authorize\?/), logins);
    });
  }
}

Deno.test("MCP SDK v1 registers at the gateway and logs in at IdpB with the roles of a tenant", async () => {
  const idp = await startIdpB({ tenant: "T1", roles: ["editor"] });
  await using gateway = await startProtectedGateway(idp, {
    provider: "IdpB",
    rules: ["'editor' in jwt.tenants['T1'].roles"],
    mcp: { clientId: idp.clientId },
  });

  const tools = await visit(sdkV1, gateway);

  assert(tools.includes("echo"), tools.join());
  assert(gateway.requests().includes(registration));
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
    Deno.test(`a program's token of ${name} ${allowed ? "with" : "without"} what the rule requires gets ${status}`, async () => {
      const idp = await start(allowed);
      await using gateway = await startProtectedGateway(idp, {
        provider,
        rules,
      });

      const token = await idp.issueMachineToken(gateway.url);
      const response = await initializeMcp(gateway, token);

      assert.equal(response.status, status);
    });
  }

  Deno.test(`a token of ${name} for another audience gets 401`, async () => {
    const idp = await start(true);
    await using gateway = await startProtectedGateway(idp, { provider, rules });

    const token = await idp.issueMachineToken("https://other.example.com/mcp");
    const response = await initializeMcp(gateway, token);

    assert.equal(response.status, 401);
    assert.match(
      response.challenge,
      /error="invalid_token"/,
    );
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
  Deno.test(`permissions of a wrong shape are rejected: ${JSON.stringify(permissions)}`, async () => {
    const idp = await startIdpA({ machinePermissions: permissions });
    await using gateway = await startProtectedGateway(idp, {
      provider: "IdpA",
      rules: permission,
    });

    const token = await idp.issueMachineToken(gateway.url);
    const response = await initializeMcp(gateway, token);

    assert.equal(response.status, 403);
  });
}

for (const provider of ["IdpA", "IdpB"] as const) {
  Deno.test(`MCP conformance suite accepts the authorization server metadata before ${provider}`, async () => {
    const idp = await (provider === "IdpA" ? startIdpA() : startIdpB());
    await using gateway = await startProtectedGateway(idp, { provider });

    const { passed, failed, problems } = await runAuthorizationConformance(
      gateway.url,
      "authorization-server-metadata-endpoint",
    );

    assert.deepEqual({ passed, failed }, { passed: 1, failed: 0 });
    // It is the provider that would have to support these.
    assert.deepEqual(
      problems.map((problem) => /"(.+)"/.exec(problem)?.[1]),
      ["client_id_metadata_document_supported"],
    );
  });
}
