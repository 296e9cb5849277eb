import assert from "node:assert/strict";
import { emptyResourceSet } from "../../../../src/api/resources/resource_set.ts";
import { EgressPolicy } from "../../../../src/base/wire/egress_policy.ts";
import type { ReservedAddress } from "../../../../src/base/wire/egress_rules.ts";
import { compile } from "../../../../src/compile/compile.ts";
import { builtInPolicies } from "../../../../src/policy/registry.ts";
import { createAuthority } from "../../../harness/login/certificates.ts";
import {
  backend,
  compileAll,
  decode,
  diagnosticLines,
  gateway,
  route,
  tlsPolicy,
} from "../resources.ts";

const authority = await createAuthority();
const system = { hostname: "b.example", wellKnownCACertificates: "System" };

Deno.test("a backend has its address, protocol, limits and timeouts", () => {
  const { snapshot } = compileAll({
    gatewayBackends: [backend("b", {
      static: { host: "10.0.0.1", port: 8080 },
      protocol: "HTTP2",
      limits: { maxConnections: 10, maxPendingRequests: 0 },
      timeouts: { connect: "1s", idle: "1m" },
    })],
  });
  assert.deepEqual(snapshot.backends.get("default/b"), {
    key: "default/b",
    name: "b",
    host: "10.0.0.1",
    port: 8080,
    protocol: "http2",
    tls: undefined,
    maxConnections: 10,
    maxPendingRequests: 0,
    connectTimeoutMs: 1_000,
    firstByteTimeoutMs: 600_000,
    idleTimeoutMs: 60_000,
    streamTimeouts: { firstByteMs: undefined, idleMs: 60_000 },
  });
});

Deno.test("a backend has no limit between pieces of a body with an idle timeout of zero", () => {
  const { snapshot } = compileAll({
    gatewayBackends: [backend("b", {
      static: { host: "10.0.0.1", port: 8080 },
      timeouts: { idle: "0s" },
    })],
  });
  assert.equal(snapshot.backends.get("default/b")?.idleTimeoutMs, undefined);
});

Deno.test("a TLS policy sets what to verify", () => {
  const { snapshot } = compileAll({
    gatewayBackends: [backend("b")],
    backendTlsPolicies: [tlsPolicy("t", ["b"], {
      ...system,
      subjectAltNames: [
        { type: "Hostname", hostname: "x.example" },
        { type: "URI", uri: "spiffe://cluster/ns/a" },
      ],
    })],
  });
  assert.deepEqual(snapshot.backends.get("default/b")?.tls, {
    hostname: "b.example",
    subjectAltNames: ["x.example", "spiffe://cluster/ns/a"],
    caCertificates: undefined,
  });
});

Deno.test("CA certificates come from files and from the resource", () => {
  const { snapshot } = compileAll({
    gatewayBackends: [backend("b")],
    backendTlsPolicies: [tlsPolicy("t", ["b"], {
      hostname: "b.example",
      caCertificateRefs: [{ file: "ca.pem" }, { inline: authority.cert }],
    })],
  }, { "ca.pem": authority.cert });
  assert.deepEqual(snapshot.backends.get("default/b")?.tls, {
    hostname: "b.example",
    subjectAltNames: [],
    caCertificates: [authority.cert, authority.cert],
  });
});

// Gateway API: "Connections using an invalid CACertificateRef MUST fail".
const invalid = [
  [{ file: "missing.pem" }, 'No such file "missing.pem"'],
  [{ file: "empty.pem" }, '"empty.pem" holds no certificate'],
  [
    { kind: "ConfigMap", group: "", name: "ca" },
    'ConfigMap "default/ca" not found',
  ],
] as const;
for (const [reference, reason] of invalid) {
  Deno.test(`a CA certificate that cannot be used fails every connection: ${reason}`, () => {
    const compiled = compileAll({
      gatewayBackends: [backend("b")],
      backendTlsPolicies: [tlsPolicy("t", ["b"], {
        hostname: "b.example",
        caCertificateRefs: [{ inline: authority.cert }, reference],
      })],
    }, { "empty.pem": "" });
    assert.equal(compiled.snapshot.backends.get("default/b")?.tls, "invalid");
    assert.deepEqual(diagnosticLines(compiled), [
      "warning BackendTLSPolicy/default/t spec.validation.caCertificateRefs.1: " +
      `Cannot use CA certificate, so every connection to the backend fails: ${reason}`,
    ]);
  });
}

Deno.test("a broken CA certificate fails every connection", () => {
  const broken = authority.cert.replace(/\n[^-]{20}/, "\nAAAA");
  const compiled = compileAll({
    gatewayBackends: [backend("b")],
    backendTlsPolicies: [tlsPolicy("t", ["b"], {
      hostname: "b.example",
      caCertificateRefs: [{ inline: broken }],
    })],
  });
  assert.equal(compiled.snapshot.backends.get("default/b")?.tls, "invalid");
});

Deno.test('"The older policy by creation timestamp takes precedence" and the other is told so', () => {
  const compiled = compileAll({
    gatewayBackends: [backend("b")],
    backendTlsPolicies: [
      tlsPolicy("new", ["b"], { ...system, hostname: "new.example" }, {
        creationTimestamp: "2026-02-01T00:00:00Z",
      }),
      tlsPolicy("old", ["b"], { ...system, hostname: "old.example" }, {
        creationTimestamp: "2026-01-01T00:00:00Z",
      }),
    ],
  });
  const tls = compiled.snapshot.backends.get("default/b")?.tls;
  assert.equal(typeof tls === "object" ? tls.hostname : tls, "old.example");
  assert.deepEqual(diagnosticLines(compiled), [
    'warning BackendTLSPolicy/default/new spec.targetRefs.0: Cannot apply to GatewayBackend/default/b: BackendTLSPolicy "default/old" takes precedence',
  ]);
});

Deno.test("a TLS policy without its backend gets a warning", () => {
  const compiled = compileAll({
    gatewayBackends: [backend("llm")],
    backendTlsPolicies: [tlsPolicy("t", ["lm"], system)],
  });
  assert.deepEqual(diagnosticLines(compiled), [
    'warning BackendTLSPolicy/default/t spec.targetRefs.0.name: Cannot find backend "default/lm" (llm?)',
  ]);
});

/** Compiles a backend where the configuration of this process denies hosts. */
function compileDenied(
  spec: Readonly<Record<string, unknown>>,
  { deny, reserved }: {
    readonly deny: readonly string[];
    readonly reserved?: readonly ReservedAddress[];
  },
) {
  const egress = new EgressPolicy({ settings: { allow: [], deny } });
  egress.reserve(reserved);
  const compiled = compile({
    ...emptyResourceSet,
    gateways: [gateway("gw")],
    gatewayBackends: [decode("GatewayBackend", { name: "b" }, spec)],
    httpRoutes: [route("r", {
      rules: [{
        backendRefs: [{
          group: "policy.gateway.internal",
          kind: "GatewayBackend",
          name: "b",
        }],
      }],
    })],
    isolatesErrors: true,
  }, { policies: builtInPolicies, egress, readFile: () => "" });
  const { snapshot: { backends }, outcomes } = compiled;
  return { backends, lines: diagnosticLines(compiled), outcomes };
}

for (
  const [name, spec, path] of [
    [
      "a metadata service",
      { static: { host: "169.254.169.254", port: 80 } },
      "static.host",
    ],
    [
      "the name of one",
      { static: { host: "Metadata.google.internal", port: 80 } },
      "static.host",
    ],
    [
      "one of several endpoints",
      { endpoints: [{ host: "a", port: 1 }, { host: "::1", port: 1 }] },
      "endpoints.1.host",
    ],
    [
      "the host of an LLM",
      { llm: { provider: "OpenAI", host: "[fe80::1]:80" } },
      "llm.host",
    ],
    [
      "the API server",
      { static: { host: "10.96.0.1", port: 443 } },
      "static.host",
    ],
  ] as const
) {
  Deno.test(`the route to a backend of a cluster that is ${name} says so in its status`, () => {
    const { backends, lines, outcomes } = compileDenied(spec, {
      deny: [],
      reserved: [{ address: "10.96.0.1", of: "apiServer" }],
    });

    assert.equal(backends.size, 0);
    assert.match(
      lines.find((line) => line.startsWith("error")) ?? "",
      new RegExp(
        `^error GatewayBackend/default/b spec.${path}: Cannot connect`,
      ),
    );
    const [found] = outcomes.routes.flatMap(({ parents }) =>
      parents.flatMap(({ conditions }) => conditions)
    ).filter(({ type }) => type === "ResolvedRefs");
    assert.equal(found?.status, false);
    assert.equal(found?.reason, "AddressDenied");
    assert.match(
      found?.message ?? "",
      /Backend "default\/b": .*denied|loopback/,
    );
  });
}

Deno.test("the backend of a file can be anywhere until the operator denies it", () => {
  const spec = { static: { host: "127.0.0.1", port: 80 } };

  assert.deepEqual([...compileDenied(spec, { deny: [] }).backends.keys()], [
    "default/b",
  ]);
  assert.deepEqual(
    compileDenied(spec, { deny: ["127.0.0.0/8"] }).lines[0],
    [
      "error GatewayBackend/default/b spec.static.host:",
      'Cannot connect to "127.0.0.1":',
      'denied by "127.0.0.0/8" of config.egress.deny',
    ].join(" "),
  );
});

Deno.test("backends of a cluster can have the loopback ports that the operator names, but not those of listeners", () => {
  const port = (number: number) => ({ host: "127.0.0.1", port: number });
  const own = decode("GatewayBackend", { name: "b" }, {
    endpoints: [port(8080), port(8081), port(8082)],
  });
  const resources = {
    ...emptyResourceSet,
    gateways: [gateway("gw", [{ port: 8082 }])],
    gatewayBackends: [{ ...own, metadata: { ...own.metadata, uid: "u1" } }],
  };

  const { snapshot } = compile(resources, {
    policies: builtInPolicies,
    loopbackPorts: [8080, 8082, 9000],
    readFile: () => "",
  });

  const found = snapshot.backends.get("default/b");
  assert.deepEqual(found?.loopbackPorts, [8080]);
});
