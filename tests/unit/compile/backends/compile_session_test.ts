import assert from "node:assert/strict";
import { compileSessions } from "../../../../src/compile/routes/rule_choice.ts";
import { compileAll, decode, gateway, route, routeFor } from "../resources.ts";

const cookie = { type: "Cookie" } as const;

function keyOf(
  { name = "r", uid, secret }: {
    readonly name?: string;
    readonly uid?: string;
    readonly secret?: string;
  },
): string {
  const own = route(name);
  const of = { ...own, metadata: { ...own.metadata, uid } };
  return compileSessions(of, cookie, secret).key.toHex();
}

Deno.test("the key of a route of a cluster comes from its UID, unless there is a secret", () => {
  assert.equal(keyOf({ uid: "a" }), keyOf({ uid: "a" }));
  assert.notEqual(keyOf({ uid: "a" }), keyOf({ uid: "b" }));
  assert.equal(keyOf({ uid: "a", secret: "s" }), keyOf({ secret: "s" }));
  assert.notEqual(keyOf({ secret: "s" }), keyOf({ secret: "t" }));
  assert.notEqual(keyOf({ secret: "s" }), keyOf({ secret: "s", name: "q" }));
});

Deno.test("routes have cookies of their own, and headers one name", () => {
  const names = ["a", "b"].map((name) =>
    compileSessions(route(name), cookie, undefined).name
  );

  assert.notEqual(names[0], names[1]);
  assert.equal(
    compileSessions(route("a"), { type: "Header" }, undefined).name,
    "x-gateway-session",
  );
});

Deno.test("rules of both kinds of routes have sessions", () => {
  const compiled = compileAll({
    gateways: [gateway("gw")],
    httpRoutes: [
      route("r", {
        rules: [{ sessionPersistence: { absoluteTimeout: "1h" } }],
      }),
    ],
  });

  assert.equal(
    routeFor(compiled, { target: "/" })?.sessions?.lifetimeMs,
    3_600_000,
  );
  const grpc = decode("GRPCRoute", { name: "g" }, {
    parentRefs: [{ name: "gw" }],
    rules: [{ sessionPersistence: {} }],
  });
  assert.equal(grpc.spec.rules[0]?.sessionPersistence?.type, "Cookie");
});
