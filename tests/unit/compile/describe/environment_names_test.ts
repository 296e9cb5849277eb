import assert from "node:assert/strict";
import { compileAll, gateway, policy, route } from "../resources.ts";

Deno.test("headers and query parameters that the environment gives a value are credentials", () => {
  const header = { name: "X-Upstream", value: "Token s3cret" };
  const { snapshot: { credentials } } = compileAll({
    gateways: [gateway("gw")],
    httpRoutes: [route("r", {
      rules: [{
        matches: [{
          headers: [
            { name: "x-in", value: "s3cret", type: "Exact" },
            { name: "x-plain", value: "plain", type: "Exact" },
            { name: "x-short", value: "id", type: "Exact" },
          ],
          queryParams: [{ name: "pass", value: "s3cret", type: "Exact" }],
        }],
        filters: [{
          type: "RequestHeaderModifier",
          requestHeaderModifier: { set: [header] },
        }],
      }],
    })],
    gatewayPolicies: [
      policy("p", [{ kind: "HTTPRoute", name: "r" }], {
        traffic: {
          transformation: {
            response: { add: [{ name: "x-out", value: '"s3cret"' }] },
          },
        },
      }),
    ],
    environment: ["s3cret", "id"],
  });

  assert.deepEqual(
    [...credentials.headers].sort(),
    ["x-in", "x-out", "x-upstream"],
  );
  assert.deepEqual([...credentials.parameters], ["pass"]);
});
