import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

Deno.test("log lines and metrics of rejections say which policy rejected and why, without a secret", async () => {
  await using gateway = await startTestGateway({
    routes: [{
      name: "tools",
      backends: [{ host: "127.0.0.1:1" }],
      policies: {
        apiKeyAuthentication: {
          keys: [{ key: "known-key", metadata: { roles: "secret" } }],
        },
        authorization: {
          action: "Allow",
          policy: { matchExpressions: ["'admin' in apiKey.roles"] },
        },
      },
    }],
  });
  const call = async (key: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${gateway.origin}/?q=secret`, { headers });
    await response.body?.cancel();
    return response.status;
  };

  assert.equal(await call("secret"), 401);
  assert.equal(await call("known-key"), 403);
  const metrics = await gateway.gateway.dataPlane.call("collectMetrics");
  await gateway.gateway.stop(0);

  const [unknown = "", denied = ""] = gateway.accessLog.join("").split("\n");
  assert.match(
    unknown,
    /\tinfo\t.* http\.status=401 .* reason=api_key_auth error="the API key is not known"/,
  );
  assert.match(
    denied,
    /\tinfo\t.* http\.status=403 .* reason=authorization error="rule \\"'admin' in apiKey\.roles\\" errors: .*overload.*"/,
  );
  assert.doesNotMatch(gateway.accessLog.join(""), /secret|known-key/);
  assert.match(metrics, /status="401",reason="api_key_auth"\} 1/);
  assert.match(metrics, /status="403",reason="authorization"\} 1/);
});
