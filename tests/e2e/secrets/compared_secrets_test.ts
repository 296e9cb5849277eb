import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";

const sent = {
  "x-door": "planted-environment",
  "x-auth-token": "planted-auth",
  "x-csrf-token": "planted-csrf",
  "x-api-key": "planted-key",
} as const;

Deno.test("secrets that rules compare are shown neither by traces nor by the configuration", async () => {
  await using gateway = await GatewayProcess.start({
    env: { DOOR: sent["x-door"] },
    config: {
      routes: [{
        policies: {
          apiKeyAuthentication: {
            keys: [{
              key: sent["x-api-key"],
              metadata: { upstreamKey: "planted-metadata" },
            }],
            location: { header: { name: "x-api-key" } },
          },
          authorization: {
            policy: {
              matchExpressions: [
                "request.headers['x-door'] == '${DOOR}'",
                `request.headers["x-auth-token"] in ['planted-auth', "a\\"planted-other"]`,
                "request.path.startsWith('/shown')",
              ],
            },
          },
          directResponse: { status: 200 },
        },
      }],
    },
  });
  const { body } = await fetch(`${gateway.admin}/debug/trace`);
  const response = await fetch(`${gateway.origin}/shown`, { headers: sent });
  await response.body?.cancel();
  const trace = await new Response(body).text();
  const config = await (await fetch(`${gateway.admin}/config_dump`)).text();

  assert.equal(response.status, 200);
  for (const text of [trace, config]) {
    assert.doesNotMatch(text, /planted/);
    assert.match(text, /request\.path\.startsWith\('\/shown'\)/);
    assert.match(text, /x-auth-token.{1,4} in \['<redacted>', '<redacted>'\]/);
  }
  assert.match(trace, /"upstreamKey":"<redacted>"/);
});
