import assert from "node:assert/strict";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import type { IdpOptions } from "../../../cli/dev/idp/configuration.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../../cli/dev/mock_idp_b.ts";
import { clientV2, sdkV1, visit } from "../../harness/clients/mcp_clients.ts";
import { MemoryOAuthProvider } from "../../harness/login/memory_oauth_provider.ts";
import {
  type Protection,
  startProtectedGateway,
} from "../../harness/gateway/protected_gateway.ts";

const clientMetadataUrl = "https://client.example.com/oauth/client.json";

/** A provider that accepts the client of that URL, and notes what it is asked. */
async function startKnowing(
  start: (options: IdpOptions) => Promise<Idp>,
): Promise<{ readonly idp: Idp; readonly calls: readonly string[] }> {
  const calls: string[] = [];
  const { clientMetadata } = new MemoryOAuthProvider({});
  const idp = await start({
    onRequest: (line) => calls.push(line),
    fetchClient(url) {
      assert.equal(url, clientMetadataUrl);
      return Promise.resolve(
        Response.json({ ...clientMetadata, client_id: url }),
      );
    },
  });
  return { idp, calls };
}

const cases = [
  [sdkV1, startIdpA, { provider: "IdpA" }],
  [clientV2, startIdpA, { provider: "IdpA" }],
  [sdkV1, startIdpB, { provider: "IdpB" }],
  [clientV2, startIdpB, { provider: "IdpB", mcp: { issuerMode: "Upstream" } }],
] as const satisfies readonly [
  typeof sdkV1,
  (options: IdpOptions) => Promise<Idp>,
  Protection,
][];

for (const [client, start, protection] of cases) {
  Deno.test(`${client.name} that describes itself in a document logs in at ${protection.provider} and registers nowhere`, async () => {
    const { idp, calls } = await startKnowing(start);
    await using gateway = await startProtectedGateway(idp, protection);

    const tools = await visit(client, { url: gateway.url, clientMetadataUrl });

    assert.ok(tools.length > 0);
    const all = [...gateway.requests(), ...calls];
    assert.deepEqual(all.filter((line) => line.includes("regist")), []);
    const login = calls.find((line) => line.includes("authorize?")) ?? "";
    const query = new URLSearchParams(login.replace(/^.*?\?/, ""));
    assert.equal(query.get("client_id"), clientMetadataUrl);
  });
}
