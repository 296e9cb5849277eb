import assert from "node:assert/strict";
import { startIdpA } from "../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../cli/dev/mock_idp_b.ts";
import { freePort } from "../harness/free_port.ts";
import { mcpClients, visit } from "../harness/mcp_clients.ts";
import { startProtectedGateway } from "../harness/protected_gateway.ts";

// Issuer mode Proxied: every client logs in at every kind of provider, also at one that sends `iss`.

const settings = [
  { provider: "IdpA", sendsIssuer: false },
  { provider: "IdpA", sendsIssuer: true },
  { provider: "IdpB", sendsIssuer: true },
] as const;

for (const { provider, sendsIssuer } of settings) {
  for (const client of mcpClients) {
    const where = `${provider}${sendsIssuer ? " with iss" : ""}`;
    Deno.test(`${client.name} logs in at ${where} in issuer mode Proxied`, async () => {
      const port = freePort();
      const callback =
        `http://127.0.0.1:${port}/.well-known/oauth-authorization-server/mcp/callback`;
      const idp = provider === "IdpA"
        ? await startIdpA({
          permissions: ["call:mcp"],
          registration: false,
          sendsIssuer,
          redirectUris: [callback],
        })
        : await startIdpB({ roles: ["editor"], redirectUris: [callback] });
      await using gateway = await startProtectedGateway(idp, {
        port,
        provider,
        rules: provider === "IdpA"
          ? ["'call:mcp' in jwt.permissions"]
          : ["'editor' in jwt.roles"],
        mcp: { issuerMode: "Proxied", clientId: idp.clientId },
      });

      const tools = await visit(client, { url: gateway.url });

      assert(tools.includes("echo"), tools.join());
      const requests = gateway.requests();
      assert(
        requests.includes(
          "POST /.well-known/oauth-authorization-server/mcp/token 200",
        ),
        requests.join("\n"),
      );
    });
  }
}
