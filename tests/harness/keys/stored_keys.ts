import assert from "node:assert/strict";
import type { KeyringCommand } from "../../../src/dataplane/keyring/keyring_commands.ts";
import type { KeyObjectView } from "../../../src/dataplane/keyring/keyring_views.ts";
import type { KeyObjectKind } from "../../../src/policy/keys/key_objects.ts";
import type { TestGateway } from "../gateway/gateway.ts";

/** Policies of a route that accepts stored keys, and returns who has the key. */
export const keyedPolicies = {
  apiKeyAuthentication: { stored: true },
  directResponse: { status: 200, body: "ok" },
};

/** An object, and its key if there is a new one. */
export interface Changed {
  readonly object: KeyObjectView;
  readonly secret: string;
}

/** Does something with an object that must succeed. */
export async function run(
  { gateway }: TestGateway,
  command: KeyringCommand,
): Promise<Changed> {
  const answer = await gateway.dataPlane.call("keyring", command);
  assert.equal(answer.result, "changed", JSON.stringify(answer));
  const { object, secret = "" } = answer;
  return { object, secret };
}

/** Creates an object. */
export function create(
  gateway: TestGateway,
  kind: KeyObjectKind,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Changed> {
  return run(gateway, { kind, do: "create", fields });
}

/** Returns the status of a request with a key. */
export async function statusOf(
  origin: string,
  key: string,
  init: RequestInit = {},
): Promise<number> {
  const response = await fetch(origin, {
    ...init,
    headers: { ...init.headers, "x-api-key": key },
  });
  await response.body?.cancel();
  return response.status;
}

/** Waits until a request with a key gets a status; fails after a second, in which changes reach all processes, and some time for a slow machine. */
export async function untilStatus(
  origin: string,
  key: string,
  status: number,
): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const found = await statusOf(origin, key);
    const elapsed = performance.now() - startedAt;
    if (found === status) return elapsed;
    assert(elapsed < 10_000, `still ${found} after ${elapsed} ms`);
  }
}
