import assert from "node:assert/strict";
import { loadPatterns } from "../../../../src/base/pattern.ts";
import { toHttpRoute } from "../../../../src/api/resources/grpc_route.ts";
import {
  compileAll,
  decode,
  gateway,
  policy,
  route,
  routeFor,
} from "../resources.ts";

await loadPatterns();

const matches = [
  [{}, "/any.Service/Method", true],
  [{ method: { service: "a.B", method: "C" } }, "/a.B/C", true],
  [{ method: { service: "a.B", method: "C" } }, "/a.B/D", false],
  [{ method: { service: "a.B" } }, "/a.B/D", true],
  [{ method: { service: "a.B" } }, "/a.Bc/D", false],
  [{ method: { method: "C" } }, "/x.Y/C", true],
  [{ method: { method: "C" } }, "/x.Y/D", false],
  [
    { method: { type: "RegularExpression", service: "a|b", method: "C.*" } },
    "/b/Cd",
    true,
  ],
  [
    { method: { type: "RegularExpression", service: "a|b", method: "C.*" } },
    "/ab/Cd",
    false,
  ],
] as const;
for (const [match, target, expected] of matches) {
  Deno.test(`a GRPCRoute with ${JSON.stringify(match)} ${expected ? "matches" : "does not match"} ${target}`, () => {
    const route = decode("GRPCRoute", { name: "r" }, {
      parentRefs: [{ name: "gw" }],
      rules: [{
        matches: [match],
        backendRefs: [{ name: "echo", port: 50051 }],
      }],
    });
    const compiled = compileAll({
      gateways: [gateway("gw", [{}])],
      httpRoutes: [toHttpRoute(route)],
      services: [decode("Service", { name: "echo" }, {
        ports: [{ port: 50051 }],
      })],
    });
    const found = routeFor(compiled, { target });
    assert.equal(found !== undefined, expected);
    if (found === undefined) return;
    const [backend] = found.backends;
    assert.equal(backend?.backend?.protocol, "http2");
  });
}

Deno.test("a listener for HTTPRoutes rejects a GRPCRoute, and the other way round", () => {
  const route = decode("GRPCRoute", { name: "r" }, {
    parentRefs: [{ name: "gw" }],
    rules: [{}],
  });
  const outcomeWith = (kind: string) =>
    compileAll({
      gateways: [gateway("gw", [{ allowedRoutes: { kinds: [{ kind }] } }])],
      httpRoutes: [toHttpRoute(route)],
    }).outcomes.routes.map(({ parents }) => parents[0]?.conditions[0]?.reason);
  assert.deepEqual(outcomeWith("GRPCRoute"), ["Accepted"]);
  assert.deepEqual(outcomeWith("HTTPRoute"), ["NotAllowedByListeners"]);
});

Deno.test("policies tell a GRPCRoute from an HTTPRoute of the same name", () => {
  const grpc = decode("GRPCRoute", { name: "r" }, {
    parentRefs: [{ name: "gw" }],
    rules: [{ matches: [{ method: { service: "a.B" } }] }],
  });
  const deniedBy = (kind: string) => {
    const compiled = compileAll({
      gateways: [gateway("gw", [{}])],
      httpRoutes: [
        toHttpRoute(grpc),
        route("r", { rules: [{ matches: [{ path: { value: "/page" } }] }] }),
      ],
      gatewayPolicies: [
        policy("deny", [{ kind, name: "r" }], {
          traffic: { directResponse: { status: 403 } },
        }),
      ],
    });
    return ["/a.B/C", "/page"].filter((target) =>
      routeFor(compiled, { target })?.policies.length === 1
    );
  };
  assert.deepEqual(deniedBy("GRPCRoute"), ["/a.B/C"]);
  assert.deepEqual(deniedBy("HTTPRoute"), ["/page"]);
});
