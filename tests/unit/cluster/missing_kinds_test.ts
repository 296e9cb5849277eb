import assert from "node:assert/strict";
import { noopServices } from "../../../src/policy/noop_services.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { ClusterCache } from "../../../src/cluster/source/cluster_cache.ts";
import type { Collection } from "../../../src/cluster/source/collections.ts";
import {
  type ApiCall,
  failure,
  FakeApiServer,
} from "./client/fake_api_server.ts";

const policies: Collection = {
  kind: "BackendTLSPolicy",
  apiVersion: "gateway.networking.k8s.io/v1",
  plural: "backendtlspolicies",
};

/** Follows one collection of an API server until `isDone`. */
async function follow(
  respond: (call: ApiCall) => Response | object,
  isDone: (cache: ClusterCache) => Promise<void>,
): Promise<void> {
  await using server = new FakeApiServer(respond);
  const failed = Promise.withResolvers<void>();
  const log = {
    ...noopServices().log,
    error: () => failed.resolve(),
  };
  const cache = new ClusterCache({
    api: server.api,
    clock: systemClock,
    log,
    random: () => 0,
    collections: [policies],
    namespaces: [],
    onChange() {},
  });
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  await Promise.race([failed.promise, cache.synced]);
  await isDone(cache);
  stop.abort();
  await running;
}

Deno.test("a kind that the API server does not have has no objects", async () => {
  await follow(() => failure(404, "NotFound"), async (cache) => {
    await cache.synced;
    assert.equal(cache.failures.size, 0);
  });
});

Deno.test("a kind that the API server has in another version only is a failure that names both", async () => {
  const group = "/apis/gateway.networking.k8s.io";
  const old = "gateway.networking.k8s.io/v1alpha3";
  const pages: Readonly<Record<string, object>> = {
    [group]: { versions: [{ groupVersion: old }] },
    [`/apis/${old}`]: { resources: [{ name: "backendtlspolicies" }] },
  };
  await follow(
    ({ path }) => pages[path] ?? failure(404, "NotFound"),
    (cache) => {
      const [problem] = [...cache.failures.values()];
      assert.equal(
        problem,
        `The cluster has "backendtlspolicies" only in ${old}, and the gateway reads gateway.networking.k8s.io/v1: update its CustomResourceDefinition`,
      );
      return Promise.resolve();
    },
  );
});

Deno.test("a right that is missing is named", async () => {
  const message =
    'backendtlspolicies.gateway.networking.k8s.io is forbidden: User "x" cannot list resource "backendtlspolicies"';
  await follow(
    () => Response.json({ message, reason: "Forbidden" }, { status: 403 }),
    (cache) => {
      assert.match([...cache.failures.values()].join(), /cannot list resource/);
      return Promise.resolve();
    },
  );
});
