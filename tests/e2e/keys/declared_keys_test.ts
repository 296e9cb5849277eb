import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { JsonObject } from "../../../src/base/json.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import {
  create,
  keyedPolicies,
  statusOf,
} from "../../harness/keys/stored_keys.ts";

const KEY = "sk-1234567890abcdefghij";

function start(): Promise<TestGateway> {
  return startTestGateway({
    config: { kv: { path: ":memory:" } },
    routes: [{ name: "r", policies: keyedPolicies }],
  });
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url");
}

/** Declares an object as the controller of a cluster does; returns the answer as a string. */
async function declare(
  { gateway: { dataPlane } }: TestGateway,
  kind: "GatewayTeam" | "GatewayKey",
  spec: JsonObject,
  { namespace = "default", name = "ci", key = KEY } = {},
): Promise<string> {
  const answer = await dataPlane.call("keyring", {
    kind: kind === "GatewayKey" ? "key" : "team",
    do: "declare",
    object: {
      ...{ kind, namespace, name, spec },
      ...kind === "GatewayKey" &&
        { secret: { hash: hashOf(key), prefix: "sk-123" } },
      isForAllRoutes: namespace === "system",
    },
  });
  return answer.result === "changed"
    ? `${answer.object.id} ${answer.object.changedAt}`
    : "problem" in answer
    ? answer.problem
    : answer.result;
}

function prune(
  { gateway: { dataPlane } }: TestGateway,
  ...keep: readonly string[]
) {
  return dataPlane.call("keyring", { kind: "key", do: "prune", keep });
}

Deno.test("a declared key is valid on the routes of its namespace, until its object is gone, and again when it is back", async () => {
  await using gateway = await start();
  const status = () => statusOf(gateway.origin, KEY);

  const first = await declare(gateway, "GatewayKey", {});
  assert.match(first, /^default\.ci /);
  assert.equal(await status(), 200);
  assert.equal(await declare(gateway, "GatewayKey", {}), first, "not written");

  await declare(gateway, "GatewayKey", { suspended: true });
  assert.equal(await status(), 401);
  await declare(gateway, "GatewayKey", {});
  assert.equal(await status(), 200);

  await prune(gateway, "default.ci");
  assert.equal(await status(), 200);
  await prune(gateway);
  assert.equal(await status(), 401);
  await declare(gateway, "GatewayKey", {});
  assert.equal(await status(), 200);

  await declare(gateway, "GatewayKey", { allow: { routes: ["other"] } });
  assert.equal(await status(), 403);
});

Deno.test("a key of another namespace is for none of these routes, one of the administrator for all", async () => {
  await using gateway = await start();
  const [red, system] = [`${KEY}-red`, `${KEY}-system`];
  const wide = { allow: { routes: ["default/r"] } };

  await declare(gateway, "GatewayKey", {}, { namespace: "red", key: red });
  assert.equal(await statusOf(gateway.origin, red), 403);
  assert.equal(
    await declare(gateway, "GatewayKey", wide, { namespace: "red", key: red }),
    'spec.allow.routes: expected names of routes of this namespace, got "default/r"',
  );
  await declare(gateway, "GatewayKey", wide, {
    ...{ namespace: "system", key: system },
  });
  assert.equal(await statusOf(gateway.origin, system), 200);
});

Deno.test("another key in the Secret takes the place of the first, at once or after the overlap", async () => {
  await using gateway = await start();
  const next = `${KEY}-2`;
  await declare(gateway, "GatewayKey", { overlap: "1h" });
  await declare(gateway, "GatewayKey", { overlap: "1h" }, { key: next });
  assert.equal(await statusOf(gateway.origin, KEY), 200);
  assert.equal(await statusOf(gateway.origin, next), 200);
  await declare(gateway, "GatewayKey", {}, { key: `${KEY}-3` });
  assert.equal(await statusOf(gateway.origin, next), 401);
});

Deno.test("declared objects need their owners, and neither take the place of others nor are changed by others", async () => {
  await using gateway = await start();
  const { object } = await create(gateway, "key", { id: "default.ci" });

  assert.equal(
    await declare(gateway, "GatewayKey", { team: "blue" }, { name: "b" }),
    'the team "default.blue" does not exist',
  );
  assert.equal(
    await declare(gateway, "GatewayKey", {}),
    "default.ci exists already, and no object of the cluster made it",
  );
  await declare(gateway, "GatewayTeam", {}, { name: "blue" });
  await declare(gateway, "GatewayKey", { team: "blue" }, { name: "b" });
  assert.equal(
    await declare(gateway, "GatewayKey", {}, { name: "c" }),
    "another key has the same secret",
  );
  const answer = await gateway.gateway.dataPlane.call("keyring", {
    ...{ kind: "key", do: "rotate", id: "default.b", overlapMs: 0 },
  });
  assert.deepEqual(answer, {
    result: "rejected",
    problem: "change it in the cluster: it is GatewayKey default/b",
  });
  await prune(gateway);
  const kept = await gateway.gateway.dataPlane.call("keyring", {
    ...{ kind: "key", do: "show", id: object.id },
  });
  assert(kept.result === "found" && kept.objects[0]?.status === "active");
});
