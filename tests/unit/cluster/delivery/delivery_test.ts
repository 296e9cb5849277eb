import assert from "node:assert/strict";
import { POLICY_API_GROUP } from "../../../../src/api/schema/group.ts";
import {
  emptyResourceSet,
  type ResourceSet,
} from "../../../../src/api/resources/resource_set.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { readControllerAccess } from "../../../../src/cluster/client/cluster_access.ts";
import { KubernetesApi } from "../../../../src/cluster/client/kubernetes_api.ts";
import type { KubernetesObject } from "../../../../src/cluster/client/kubernetes_object.ts";
import { Deliveries } from "../../../../src/cluster/delivery/deliveries.ts";
import { DeliveryServer } from "../../../../src/cluster/delivery/delivery_server.ts";
import { createSelfSigned } from "../../../../src/cluster/delivery/self_signed.ts";
import { TokenReviews } from "../../../../src/cluster/delivery/token_reviews.ts";
import { ClusterCache } from "../../../../src/cluster/source/cluster_cache.ts";
import { keyOf } from "../../../../src/cluster/source/cluster_feed.ts";
import {
  collectionPath,
  createCollections,
} from "../../../../src/cluster/source/collections.ts";
import {
  DELIVERED_NAMESPACE,
  objectAddresses,
} from "../../../../src/cluster/source/reserved_addresses.ts";
import { readObject } from "../../../../src/cluster/source/read_objects.ts";
import { schemasOf } from "../../../../src/gateway/candidate/candidate.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";
import { FakeApiServer } from "../client/fake_api_server.ts";

const AUDIENCE = "example.com/gateway";
const collections = createCollections(POLICY_API_GROUP);
const certificate = createSelfSigned("localhost", Date.now());
const options = {
  schemas: schemasOf().kinds,
  policyApiGroup: POLICY_API_GROUP,
  isManaged: true,
};

let lastVersion = 0;

/** An object of namespace "team" at a new version. */
function object(
  kind: string,
  name: string,
  fields: object,
): KubernetesObject & { readonly kind: string } {
  const { apiVersion = "" } = collections.find((each) => each.kind === kind) ??
    {};
  const resourceVersion = String(++lastVersion);
  return {
    ...{ apiVersion, kind, ...fields },
    metadata: { name, namespace: "team", uid: name, resourceVersion },
  };
}

const gateway = object("Gateway", "gw", {
  spec: {
    gatewayClassName: "class",
    listeners: [{ name: "a", port: 80, protocol: "HTTP" }],
  },
});

function route(name: string, parent = "gw") {
  return object("HTTPRoute", name, {
    spec: {
      parentRefs: [{ name: parent }],
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    },
    status: { parents: ["a status is for the controller"] },
  });
}

const service = object("Service", "web", { spec: { ports: [{ port: 80 }] } });

function slice(name: string, of: string) {
  const { metadata, ...rest } = object("EndpointSlice", name, {
    ...{ addressType: "IPv4", endpoints: [], ports: [] },
  });
  const labels = { "kubernetes.io/service-name": of };
  return { ...rest, metadata: { ...metadata, labels } };
}

/** Objects that a controller has read. */
class Cluster {
  readonly collections = collections;
  taken: { readonly resources: ResourceSet } | undefined;
  readonly cache = {
    version: 0,
    objectsOf: ({ kind }: { readonly kind: string }) =>
      this.#objects.filter((each) => each.kind === kind),
  };
  structure = 0;
  problemNow: string | undefined;
  #objects: readonly (KubernetesObject & { readonly kind: string })[] = [];

  set(objects: readonly (KubernetesObject & { readonly kind: string })[]) {
    this.#objects = objects;
    this.structure++;
    this.cache.version++;
  }

  problem() {
    return this.problemNow;
  }

  *entries() {
    for (const each of this.#objects) {
      const collection = collections.find(({ kind }) => kind === each.kind);
      if (collection === undefined || each.kind === "EndpointSlice") continue;
      const { resource } = readObject(each, collection, options);
      const key = keyOf(collection, collectionPath(collection));
      if (resource !== undefined) yield { key, object: each, resource };
    }
  }

  slicesOf(name: string) {
    return this.#objects.filter(({ kind, metadata: { labels } }) =>
      kind === "EndpointSlice" &&
      `team/${labels?.["kubernetes.io/service-name"]}` === name
    );
  }
}

/** A controller, the API server that reviews tokens for it, and a proxy. */
class Site implements AsyncDisposable {
  readonly cluster = new Cluster();
  readonly log = new RecordedLog();
  readonly deliveries = new Deliveries({
    ...{ source: this.cluster, clock: systemClock, random: () => 1 },
  });
  readonly reviews: unknown[] = [];
  #server: DeliveryServer | undefined;
  readonly #api = new FakeApiServer(({ path, body }) => {
    assert.equal(path, "/apis/authentication.k8s.io/v1/tokenreviews");
    this.reviews.push(body);
    return { status: this.review };
  });
  readonly #folder = Deno.makeTempDirSync();
  review: object = {
    authenticated: true,
    audiences: [AUDIENCE],
    user: { username: "system:serviceaccount:system:proxy" },
  };

  /** Starts the controller; again at the same port. */
  open(): void {
    this.#server = new DeliveryServer({
      ...{ certificate, log: this.log, deliveries: this.deliveries },
      clock: systemClock,
      hostname: "127.0.0.1",
      port: this.#server?.port ?? 0,
      reviews: new TokenReviews({
        ...{ api: this.#api.api, audience: AUDIENCE, namespace: "system" },
      }),
      gatewayOf: (account) => account === "proxy" ? "team/gw" : undefined,
      isReady: () => true,
    });
  }

  async close(): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }

  change(objects: Parameters<Cluster["set"]>[0]): void {
    this.cluster.set(objects);
    this.deliveries.onChange();
  }

  get api(): KubernetesApi {
    Deno.writeTextFileSync(`${this.#folder}/ca.crt`, certificate.cert);
    Deno.writeTextFileSync(`${this.#folder}/token`, "a-token\n");
    const address = `localhost:${this.#server?.port}`;
    return new KubernetesApi(
      readControllerAccess(address, {
        ...{ folder: this.#folder, clock: systemClock, namespace: "" },
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await this.#api[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** The cache of a proxy. */
class Proxy implements AsyncDisposable {
  readonly log = new RecordedLog();
  readonly cache: ClusterCache;
  readonly #api: KubernetesApi;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(site: Site) {
    this.#api = site.api;
    this.cache = new ClusterCache({
      ...{ collections, namespaces: [], isDelivered: true },
      ...{ api: this.#api, clock: systemClock, log: this.log },
      random: () => 0,
      onChange() {},
    });
    this.#running = this.cache.run(this.#stop.signal);
  }

  names(): readonly string[] {
    return collections.flatMap((collection) =>
      Array.from(
        this.cache.objectsOf(collection),
        ({ metadata: { name } }) => `${collection.kind} ${name}`,
      )
    ).filter((name) => name !== "Service reserved");
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#api[Symbol.dispose]();
  }
}

const whole = [gateway, route("a"), service, slice("web-1", "web")];

Deno.test("a proxy gets the objects of its gateway, and each change, endpoints too", async () => {
  await using site = new Site();
  const others = [route("x", "other"), slice("other-1", "other")];
  site.cluster.set([...whole, ...others]);
  site.open();
  await using proxy = new Proxy(site);
  await proxy.cache.live;
  const first = [
    "Gateway gw",
    "HTTPRoute a",
    "Service web",
    "EndpointSlice web-1",
  ];
  assert.deepEqual(proxy.names(), first);
  assert.equal(
    [...proxy.cache.objects("HTTPRoute")][0]?.["status"],
    undefined,
  );

  site.change([...whole, ...others, route("b"), slice("web-2", "web")]);
  await proxy.until(() => proxy.names().length === 6);
  assert(proxy.names().includes("EndpointSlice web-2"));

  site.change([...whole, ...others]);
  await proxy.until(() => proxy.names().length === 4);
  assert.deepEqual(proxy.names(), first);
});

Deno.test("while the controller is away a proxy keeps what it has, then gets what it missed", async () => {
  await using site = new Site();
  site.cluster.set(whole);
  site.open();
  await using proxy = new Proxy(site);
  await proxy.cache.live;
  const before = proxy.cache.version;
  await site.close();
  await proxy.until(() => proxy.cache.failures.size > 0);
  assert.equal(proxy.names().length, 4);
  assert.match(
    proxy.log.lines.join("\n"),
    /Cannot read from the controller, attempting again/,
  );

  site.change([gateway, service]);
  site.open();
  await proxy.until(() => proxy.names().length === 1);
  assert.deepEqual(proxy.names(), ["Gateway gw"]);
  await proxy.until(() => proxy.cache.failures.size === 0);
  // Objects that stayed the same are not new.
  assert.equal(proxy.cache.version, before + 3);
});

Deno.test("a proxy reports that its controller cannot read the cluster", async () => {
  await using site = new Site();
  site.cluster.set(whole);
  site.cluster.problemNow = "Cannot read /api/v1/secrets: 500";
  site.open();
  await using proxy = new Proxy(site);
  await proxy.cache.live;
  assert.deepEqual([...proxy.cache.failures.values()], [
    "Cannot read /api/v1/secrets: 500",
  ]);
  site.cluster.problemNow = undefined;
  site.change([...whole, route("b")]);
  await proxy.until(() => proxy.cache.failures.size === 0);
});

Deno.test("a proxy knows the addresses that its backends must not reach, and no objects of others", async () => {
  await using site = new Site();
  site.cluster.taken = {
    resources: {
      ...emptyResourceSet,
      reserved: [
        { address: "10.0.0.1", of: "apiServer" },
        { address: "10.0.0.2", of: "gateway" },
      ],
    },
  };
  site.cluster.set([gateway]);
  site.open();
  await using proxy = new Proxy(site);
  await proxy.cache.live;
  const { addresses } = objectAddresses({
    namespace: DELIVERED_NAMESPACE,
    services: proxy.cache.objects("Service"),
    slices: [],
  });
  assert.deepEqual(addresses.map(({ address }) => address), [
    "10.0.0.1",
    "10.0.0.2",
  ]);
});

const user = { username: "system:serviceaccount:system:proxy" };
const strangers: readonly (readonly [string, object, number])[] = [
  ["is not valid", { authenticated: false }, 401],
  ["is for another audience", {
    ...{ authenticated: true, user },
    audiences: ["https://kubernetes.default.svc"],
  }, 401],
  ["has no audience", { authenticated: true, user }, 401],
  ["is of another namespace", {
    ...{ authenticated: true, audiences: [AUDIENCE] },
    user: { username: "system:serviceaccount:team:proxy" },
  }, 401],
  ["is of a person", {
    ...{ authenticated: true, audiences: [AUDIENCE] },
    user: { username: "proxy" },
  }, 401],
  ["is of no proxy", {
    ...{ authenticated: true, audiences: [AUDIENCE] },
    user: { username: "system:serviceaccount:system:gateway" },
  }, 403],
];
for (const [name, review, status] of strangers) {
  Deno.test(`nothing is delivered if the token ${name}`, async () => {
    await using site = new Site();
    site.cluster.set(whole);
    site.review = review;
    site.open();
    using api = site.api;
    await assert.rejects(
      api.open({ path: "/v1/configuration" }),
      ({ code }: { code: number }) => code === status,
    );
    assert.deepEqual(site.reviews, [{
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: "a-token", audiences: [AUDIENCE] },
    }]);
  });
}

Deno.test("a proxy speaks with nobody who has another certificate than its controller", async () => {
  const other = createSelfSigned("localhost", Date.now());
  await using server = Deno.serve({
    ...other,
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
  }, () => new Response('{"end":true}\n'));
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/ca.crt`, certificate.cert);
  await Deno.writeTextFile(`${folder}/token`, "a-token");
  using api = new KubernetesApi(
    readControllerAccess(`localhost:${server.addr.port}`, {
      ...{ folder, clock: systemClock, namespace: "" },
    }),
  );
  await assert.rejects(api.open({ path: "/v1/configuration" }), TypeError);
  await Deno.remove(folder, { recursive: true });
});
