/** A configuration that is compiled after changes is the same as one that is compiled at once. */
import assert from "node:assert/strict";
import {
  emptyResourceSet,
  type Resource,
  type ResourceSet,
  resourceSetOf,
} from "../../../src/api/resources/resource_set.ts";
import { compile, type Compiled } from "../../../src/compile/compile.ts";
import { Compilations } from "../../../src/compile/compilations.ts";
import type { WeightedBackend } from "../../../src/snapshot/snapshot.ts";
import { builtInPolicies } from "../../../src/policy/registry.ts";
import { noopServices } from "../../../src/policy/noop_services.ts";
import { fc } from "../../harness/parsers/properties.ts";
import {
  backend,
  decode,
  diagnosticLines,
  gateway,
  policy,
  route,
  tlsPolicy,
  to,
} from "./resources.ts";

const GROUP = "gateway.networking.k8s.io";
const CA = `-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n`;

/** Makes an object in one of several variants. */
type Make = (index: number, variant: number) => Resource;

function refs(index: number, variant: number): object[] {
  const backends = [
    to(`b${index % 3}`),
    to("missing"),
    to("b0", { namespace: "other" }),
    { name: `s${index % 3}`, port: 80 },
    { name: "s1", port: 80, namespace: "other" },
  ];
  return [backends[variant % 5] ?? {}, backends[(variant + index) % 5] ?? {}];
}

function makeRoute(index: number, variant: number) {
  const parents = [
    { name: "gw" },
    { name: "gw", sectionName: "a" },
    { name: "gw2" },
    { name: "none" },
  ];
  return route(`r${index}`, {
    parentRefs: [parents[variant % 4], parents[(variant >> 1) % 4]],
    hostnames: variant % 3 === 0 ? [] : [`h${variant % 5}.example.com`],
    rules: [{
      name: "first",
      matches: [{ path: { value: `/${(index + variant) % 4}` } }],
      backendRefs: refs(index, variant),
      filters: variant % 2 === 0 ? [] : [{
        type: "RequestHeaderModifier",
        requestHeaderModifier: { set: [{ name: "x", value: `${variant}` }] },
      }],
    }],
  });
}

function makePolicy(index: number, variant: number) {
  const targets = [
    { group: GROUP, kind: "Gateway", name: "gw" },
    { group: GROUP, kind: "Gateway", name: "gw", sectionName: "a" },
    { group: GROUP, kind: "HTTPRoute", name: `r${index}` },
    { group: GROUP, kind: "HTTPRoute", name: "r0", sectionName: "first" },
    { group: GROUP, kind: "HTTPRoute", name: "misspelled" },
  ];
  const traffic = [
    { rateLimit: { local: [{ requests: variant + 1, unit: "Minutes" }] } },
    {
      jwtAuthentication: {
        providers: [{
          issuer: "https://idp.example",
          audiences: ["a"],
          jwks: {
            remote: { backendRef: to("b0"), jwksPath: "/keys" },
          },
        }],
      },
    },
    { basicAuthentication: { file: "keys" } },
    {
      cors: { allowOrigins: ["https://a.example"] },
      timeouts: { request: "3s" },
    },
    { authorization: { policy: { matchExpressions: ["broken ("] } } },
  ];
  return policy(`p${index}`, [targets[(index + variant) % 5]], {
    traffic: traffic[variant % 5],
  });
}

function makeGateway(index: number, variant: number) {
  const routes = [
    undefined,
    { namespaces: { from: "All" } },
    {
      namespaces: {
        from: "Selector",
        selector: { matchLabels: { team: "a" } },
      },
    },
  ];
  const allowedRoutes = routes[variant % 3];
  const own = allowedRoutes === undefined ? {} : { allowedRoutes };
  return gateway(index === 0 ? "gw" : `gw${index + 1}`, [
    { name: "a", port: 80 + index * (variant % 2), ...own },
    { name: "b", port: 8080 + index, hostname: "*.example.com", ...own },
  ]);
}

function makeBackend(index: number, variant: number) {
  const name = `b${index}`;
  if (variant % 4 === 3) {
    const server = { name: "one", backend: { name: `b${(index + 1) % 3}` } };
    return decode("GatewayBackend", { name }, { mcp: { servers: [server] } });
  }
  const host = { host: `v${variant}.example`, port: 80 };
  return backend(name, variant % 2 === 0 ? {} : { static: host });
}

const makers: Readonly<Record<string, { count: number; make: Make }>> = {
  routes: { count: 6, make: makeRoute },
  policies: { count: 4, make: makePolicy },
  gateways: { count: 2, make: makeGateway },
  backends: { count: 3, make: makeBackend },
  foreignBackend: {
    count: 1,
    make: () => backend("b0", {}, { namespace: "other" }),
  },
  services: {
    count: 3,
    make: (index, variant) =>
      decode("Service", {
        name: `s${index}`,
        namespace: variant % 3 === 0 ? "other" : "default",
      }, { ports: [{ name: "http", port: variant % 2 === 0 ? 80 : 81 }] }),
  },
  grants: {
    count: 1,
    make: (_, variant) =>
      decode("ReferenceGrant", { name: "g", namespace: "other" }, {
        from: [{ group: GROUP, kind: "HTTPRoute", namespace: "default" }],
        to: [{ group: "", kind: variant % 2 === 0 ? "Service" : "Secret" }],
      }),
  },
  namespaces: {
    count: 1,
    make: (_, variant) =>
      decode("Namespace", {
        name: "default",
        labels: { team: variant % 2 === 0 ? "a" : "b" },
      }),
  },
  tls: {
    count: 2,
    make: (index, variant) =>
      tlsPolicy(`t${index}`, ["b0", `b${variant % 3}`], {
        hostname: "b.example",
        caCertificateRefs: [
          variant % 2 === 0
            ? { file: "ca" }
            : { group: "", kind: "ConfigMap", name: "ca" },
        ],
      }),
  },
  configMaps: {
    count: 1,
    make: (_, variant) =>
      decode("ConfigMap", { name: "ca" }, {}, {
        data: { "ca.crt": variant % 2 === 0 ? CA : "" },
      }),
  },
};

/** Objects and files that change; what does not change stays the same object. */
class World {
  readonly #objects = new Map<string, Resource>();
  readonly #files = new Map<string, string>();
  #environment: readonly string[] = [];

  /** Variant 0 removes. */
  change(kind: string, place: number, variant: number): void {
    const maker = makers[kind];
    if (kind === "environment") {
      this.#environment = variant % 2 === 0 ? [] : ["some-secret"];
    } else if (maker === undefined) {
      this.#files.set(
        kind,
        variant % 2 === 0
          ? "a:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=\n"
          : "broken\n",
      );
    } else {
      const index = place % maker.count;
      const key = `${kind}/${index}`;
      if (variant === 0) this.#objects.delete(key);
      else this.#objects.set(key, maker.make(index, variant));
    }
  }

  get resources(): ResourceSet {
    return {
      ...emptyResourceSet,
      ...resourceSetOf([...this.#objects.values()]),
      environment: this.#environment,
    };
  }

  readonly readFile = (path: string): string => {
    const text = this.#files.get(path);
    if (text === undefined) throw new Error(`No such file "${path}"`);
    return text;
  };
}

/** Counts the policies that hold state. */
function countedLeases() {
  const services = noopServices();
  const counts = { held: 0 };
  return {
    counts,
    lease: () => {
      counts.held++;
      return {
        services,
        ready: () => Promise.resolve(),
        release: () => void counts.held--,
      };
    },
  };
}

/** Everything about a compiled configuration that can be compared. */
async function show(compiled: Compiled) {
  const { snapshot, outcomes } = compiled;
  return {
    diagnostics: diagnosticLines(compiled).toSorted(),
    outcomes,
    description: await compiled.descriptions.full(),
    backends: [...snapshot.backends],
    credentials: snapshot.credentials,
    listeners: snapshot.ports.flatMap(({ listeners }) =>
      listeners.map(({ key, policies, routes }) => ({
        key,
        policies: policies.map(({ kind }) => kind.name),
        routes: ["h1.example.com", "h2.example.com", "other"].map((hostname) =>
          [...routes.candidates(hostname)].map((route) => ({
            ...route,
            policies: route.policies.map(({ kind }) => kind.name),
            describePolicies: route.describePolicies(new Set()),
            backends: route.backends.map(showTarget),
            groups: route.groups?.map(({ backends }) =>
              backends.map(showTarget)
            ),
          }))
        ),
      }))
    ),
  };
}

function showTarget({ backend, weight, problem }: WeightedBackend) {
  return { backend, weight, problem };
}

const change = fc.tuple(
  fc.constantFrom(...Object.keys(makers), "keys", "ca", "environment"),
  fc.nat(10),
  fc.nat(12),
);
const steps = fc.array(
  fc.record({
    changes: fc.array(change, { minLength: 1, maxLength: 4 }),
    isAbandoned: fc.constantFrom(false, false, false, true),
  }),
  { minLength: 3, maxLength: 12 },
);

Deno.test("after any changes, a compilation that remembers gives what a full one gives", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 30, maxLength: 60 }),
      steps,
      async (first, later) => {
        const world = new World();
        const { counts, lease } = countedLeases();
        const compilations = new Compilations(lease);
        const all = [{ changes: first, isAbandoned: false }, ...later];
        for (const { changes, isAbandoned } of all) {
          for (const each of changes) world.change(...each);
          const options = {
            policies: builtInPolicies,
            now: 0,
            readFile: world.readFile,
          };
          const { resources } = world;
          const compiled = compile(resources, { ...options, compilations });
          const fresh = countedLeases();
          const full = compile(resources, {
            ...options,
            compilations: new Compilations(fresh.lease),
          });
          assert.deepEqual(await show(compiled), await show(full));
          if (isAbandoned) {
            compilations.abandon();
            continue;
          }
          compilations.commit();
          assert.equal(counts.held, fresh.counts.held, "state is held");
        }
        compilations.release();
        assert.equal(counts.held, 0);
      },
    ),
    { numRuns: 60 },
  );
});
