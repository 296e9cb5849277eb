import assert from "node:assert/strict";
import { GatewayProcess } from "../harness/gateway_process.ts";

const secret = "planted-s3cret";

Deno.test("what the environment gives to headers, bodies and expressions is used, and shown nowhere", async () => {
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ headers }) => new Response(headers.get("x-upstream-key")),
  );
  await using gateway = await GatewayProcess.start({
    env: { UPSTREAM_KEY: secret, UPSTREAM_HOST: "127.0.0.1" },
    config: {
      routes: [{
        name: "hidden",
        matches: [{
          path: { type: "PathPrefix", value: "/" },
          headers: [{ name: "x-door", value: "${UPSTREAM_KEY}" }],
        }],
        filters: [{
          type: "RequestHeaderModifier",
          requestHeaderModifier: {
            set: [{ name: "x-upstream-key", value: "${UPSTREAM_KEY}" }],
          },
        }],
        policies: {
          authorization: {
            policy: {
              matchExpressions: ["request.path != '/${UPSTREAM_KEY}'"],
            },
          },
        },
        backends: [{ host: `\${UPSTREAM_HOST}:${upstream.addr.port}` }],
      }],
    },
  });
  const trace = fetch(`${gateway.admin}/debug/trace`);
  const { body } = await trace;
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/`, {
    headers: { "x-door": secret },
  });
  const shown = [
    await (await fetch(`${gateway.admin}/config_dump`)).text(),
    await (await fetch(`${gateway.admin}/ui/api/config`)).text(),
    await new Response(body).text(),
  ];

  assert.equal(await answer.text(), secret);
  for (const text of shown) {
    assert.match(text, /<redacted>/);
    assert.doesNotMatch(text, new RegExp(secret));
    assert.match(text, new RegExp(`127\\.0\\.0\\.1:${upstream.addr.port}`));
  }
});
