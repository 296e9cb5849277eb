import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createAuthority } from "../../../harness/login/certificates.ts";
import type { ResourceSet } from "../../../../src/api/resources/resource_set.ts";
import { compileAll, decode, diagnosticLines, gateway } from "../resources.ts";

const authority = await createAuthority();
const one = await authority.issueServer(["one.example", "*.one.example"]);
const two = await authority.issueServer(["two.example"]);
const files = {
  "one.pem": one.cert,
  "one.key": one.key,
  "two.pem": two.cert,
  "two.key": two.key,
  "ca.pem": authority.cert,
};
const certificate = { cert: "one.pem", key: "one.key" };

function https(more: object = {}, tls: object = {}) {
  return {
    port: 443,
    protocol: "HTTPS",
    tls: { certificates: [certificate], ...tls },
    ...more,
  };
}

Deno.test("listeners of one port share a socket, the most specific hostname first", () => {
  const { snapshot } = compileAll({
    gateways: [
      gateway("gw", [{ name: "all" }, { name: "a", hostname: "a.example" }]),
      gateway("other", [{ name: "wild", hostname: "*.example" }, {
        name: "b",
        port: 81,
      }]),
    ],
  });
  assert.deepEqual(
    snapshot.ports.map((
      { port, listeners },
    ) => [port, listeners.map(({ key }) => key)]),
    [
      [80, ["default/gw/a", "default/other/wild", "default/gw/all"]],
      [81, ["default/other/b"]],
    ],
  );
});

Deno.test("a port has the settings that its listeners state", () => {
  const { snapshot } = compileAll({
    gateways: [gateway("gw", [
      {
        name: "a",
        hostname: "a.example",
        address: "127.0.0.1",
        maxConnections: 9,
        timeouts: { requestHeaders: "5s", idle: "1m" },
      },
      { name: "b", address: "127.0.0.1" },
    ])],
  });
  const [port] = snapshot.ports;
  assert.equal(port?.address, "127.0.0.1");
  assert.equal(port?.maxConnections, 9);
  assert.deepEqual(port?.timeouts, { requestHeadersMs: 5_000, idleMs: 60_000 });
});

const disagreements = [
  ["maxConnections", { maxConnections: 1 }, { maxConnections: 2 }],
  ["timeouts", { timeouts: { idle: "1s" } }, { timeouts: { idle: "2s" } }],
] as const;
for (const [field, first, second] of disagreements) {
  Deno.test(`listeners that disagree about ${field} are an error`, () => {
    const compiled = compileAll({
      gateways: [
        gateway("gw", [{ name: "a", hostname: "a.example", ...first }, {
          name: "b",
          ...second,
        }]),
      ],
    });
    assert.deepEqual(diagnosticLines(compiled), [
      `error Gateway/default/gw spec.listeners.1.${field}: Cannot use another "${field}" than listener "default/gw/a": both are on port 80`,
    ]);
  });
}

/** Two gateways of port 80 at these addresses; `undefined` is all. */
function gatewaysAt(...addresses: readonly (readonly string[] | undefined)[]) {
  return addresses.map((values, index) => {
    const { spec, ...resource } = gateway(`gw${index}`);
    const addresses = values?.map((value) => ({
      type: "IPAddress" as const,
      value,
    }));
    return { ...resource, spec: { ...spec, ...(addresses && { addresses }) } };
  });
}

Deno.test("gateways share a port at different addresses, each with its own socket", () => {
  const compiled = compileAll({
    gateways: gatewaysAt(["10.0.0.1", "10.0.0.2"], ["10.0.0.3"]),
  });
  assert.deepEqual(diagnosticLines(compiled), []);
  assert.deepEqual(
    compiled.snapshot.ports.map(({ key, port, address, listeners }) => [
      key,
      port,
      address,
      ...listeners.map(({ key }) => key),
    ]),
    [
      ["10.0.0.1:80", 80, "10.0.0.1", "default/gw0/http"],
      ["10.0.0.2:80", 80, "10.0.0.2", "default/gw0/http"],
      ["10.0.0.3:80", 80, "10.0.0.3", "default/gw1/http"],
    ],
  );
});

Deno.test("a listener's own address replaces those of its gateway", () => {
  const [resource] = gatewaysAt(["10.0.0.1"]);
  const [listener] = resource?.spec.listeners ?? [];
  assert.ok(resource !== undefined && listener !== undefined);
  const { snapshot } = compileAll({
    gateways: [{
      ...resource,
      spec: {
        ...resource.spec,
        listeners: [{ ...listener, address: "0:0::1" }],
      },
    }],
  });
  assert.deepEqual(snapshot.ports.map(({ key }) => key), ["[::1]:80"]);
});

const overlaps = [
  [undefined, "10.0.0.1", "spec.addresses"],
  ["10.0.0.1", undefined, "spec.listeners.0.port"],
  ["0.0.0.0", "10.0.0.1", "spec.addresses"],
  ["localhost", "127.0.0.1", "spec.addresses"],
  ["::", "0.0.0.0", "spec.addresses"],
] as const;
for (const [first, second, path] of overlaps) {
  const [one, two] = [first ?? "all addresses", second ?? "all addresses"];
  Deno.test(`${one} and ${two} cannot both have a listener on one port`, () => {
    const compiled = compileAll({
      gateways: gatewaysAt(first && [first], second && [second]),
    });
    assert.deepEqual(diagnosticLines(compiled), [
      `error Gateway/default/gw1 ${path}: Cannot listen on port 80 of ${two}: listener "default/gw0/http" listens on ${one}, and one includes the other; use the same address for both`,
    ]);
  });
}

Deno.test("a port of two protocols is an error and not opened", () => {
  const compiled = compileAll({
    gateways: [
      gateway("gw", [
        { name: "a", port: 443, hostname: "a.example" },
        https({ name: "b" }),
      ]),
    ],
  }, files);
  assert.deepEqual(compiled.snapshot.ports, []);
  assert.deepEqual(diagnosticLines(compiled), [
    'error Gateway/default/gw spec.listeners.1.protocol: Cannot use another "protocol" than listener "default/gw/a": both are on port 443',
  ]);
});

Deno.test('"ALL indistinct Listeners must not be accepted for processing"', () => {
  const compiled = compileAll({ gateways: [gateway("a"), gateway("b")] });
  assert.deepEqual(compiled.snapshot.ports, []);
  assert.deepEqual(
    diagnosticLines(compiled),
    ["a", "b"].map((name) =>
      `error Gateway/default/${name} spec.listeners.0: The listener conflicts with "default/${
        name === "a" ? "b" : "a"
      }/http": both accept hostname "*" on port 80`
    ),
  );
});

Deno.test("a TLS port has the certificates of its listeners, each for the listener's hostname", () => {
  const { snapshot } = compileAll({
    gateways: [gateway("gw", [
      https({ name: "a", hostname: "*.one.example" }),
      https({ name: "b" }, {
        certificates: [{ cert: two.cert, key: two.key }],
      }),
    ])],
  }, files);
  assert.deepEqual(snapshot.ports[0]?.tls, {
    certificates: [
      { hostnames: ["*.one.example"], ...one },
      { hostnames: [], ...two },
    ],
    clientCa: undefined,
    clientCertificate: "none",
    minVersion: "TLSv1.2",
  });
});

Deno.test("several certificates of a listener are for the names that they state", () => {
  const certificates = [certificate, { cert: "two.pem", key: "two.key" }];
  const { snapshot } = compileAll({
    gateways: [gateway("gw", [https({}, { certificates })])],
  }, files);
  assert.deepEqual(
    snapshot.ports[0]?.tls?.certificates.map(({ hostnames }) => hostnames),
    [
      ["one.example", "*.one.example"],
      ["two.example"],
    ],
  );
});

Deno.test("client certificates are requested as configured", () => {
  const tls = {
    clientCa: "ca.pem",
    clientCertificate: "Require",
    minVersion: "TLSv1.3",
  };
  const { snapshot } = compileAll({
    gateways: [gateway("gw", [https({}, tls)])],
  }, files);
  const { clientCa, clientCertificate, minVersion } = snapshot.ports[0]?.tls ??
    {};
  assert.deepEqual([clientCa, clientCertificate, minVersion], [
    authority.cert,
    "require",
    "TLSv1.3",
  ]);
});

Deno.test("a listener whose port requires client certificates for another gets a warning", () => {
  const tls = { clientCa: "ca.pem", clientCertificate: "Require" };
  const compiled = compileAll({
    gateways: [
      gateway("gw", [
        https({ name: "a", hostname: "a.example" }, tls),
        https({ name: "b", hostname: "b.example" }),
      ]),
    ],
  }, files);
  assert.equal(compiled.snapshot.ports[0]?.tls?.clientCertificate, "require");
  assert.deepEqual(diagnosticLines(compiled), [
    'warning Gateway/default/gw spec.listeners.1.tls: Clients need a certificate here too: listener "default/gw/a" requires one on port 443, and TLS asks before the host is known; use another port or address',
  ]);
});

const broken = [
  ["cert", { cert: "none.pem", key: "one.key" }, 'No such file "none.pem"'],
  [
    "cert",
    { cert: "one.key", key: "one.key" },
    '"one.key" holds no certificate',
  ],
  [
    "key",
    { cert: "one.pem", key: "one.pem" },
    "the private key is not PEM or is encrypted",
  ],
  [
    "key",
    { cert: "one.pem", key: "two.key" },
    "the private key belongs to another certificate",
  ],
] as const;
Deno.test("a certificate is warned of once it has expired", () => {
  const gateways = [gateway("gw", [https()])];
  const expiry = new X509Certificate(one.cert).validToDate;
  const linesAt = (now: number) =>
    diagnosticLines(compileAll({ gateways }, files, now));

  assert.deepEqual(linesAt(expiry.getTime()), []);
  assert.deepEqual(linesAt(expiry.getTime() + 1), [
    `warning Gateway/default/gw spec.listeners.0.tls.certificates.0.cert: The certificate expired at ${expiry.toISOString()}: clients reject it`,
  ]);
});

for (const [field, pair, reason] of broken) {
  Deno.test(`a certificate that cannot be used is an error: ${reason}`, () => {
    const compiled = compileAll({
      gateways: [gateway("gw", [https({}, { certificates: [pair] })])],
    }, files);
    assert.deepEqual(compiled.snapshot.ports, []);
    assert.deepEqual(diagnosticLines(compiled), [
      `error Gateway/default/gw spec.listeners.0.tls.certificates.0.${field}: Cannot use the certificate: ${reason}`,
    ]);
  });
}

const tlsSecret = decode("Secret", { name: "tls", namespace: "certs" }, {}, {
  type: "kubernetes.io/tls",
  data: {
    "tls.crt": new TextEncoder().encode(files["one.pem"]).toBase64(),
    "tls.key": new TextEncoder().encode(files["one.key"]).toBase64(),
  },
});

function compileWithSecret(
  reference: object,
  resources: Partial<ResourceSet> = {},
) {
  const tls = { certificateRefs: [{ name: "tls", ...reference }] };
  return compileAll({
    gateways: [gateway("gw", [{ port: 443, protocol: "HTTPS", tls }])],
    secrets: [tlsSecret],
    ...resources,
  });
}

function grant(to: object) {
  return decode("ReferenceGrant", { name: "g", namespace: "certs" }, {
    from: [{
      group: "gateway.networking.k8s.io",
      kind: "Gateway",
      namespace: "default",
    }],
    to: [{ group: "", kind: "Secret", ...to }],
  });
}

for (const to of [{}, { name: "tls" }]) {
  Deno.test(`a ReferenceGrant to ${JSON.stringify(to)} allows a certificate of another namespace`, () => {
    const compiled = compileWithSecret({ namespace: "certs" }, {
      referenceGrants: [grant(to)],
    });
    assert.deepEqual(diagnosticLines(compiled), []);
    const [certificate] = compiled.snapshot.ports[0]?.tls?.certificates ?? [];
    assert.equal(certificate?.cert, files["one.pem"]);
    assert.equal(certificate?.key, files["one.key"]);
  });
}

const unusable = [
  [
    { namespace: "certs" },
    { referenceGrants: [grant({ name: "other" })] },
    'no ReferenceGrant of namespace "certs" allows Secret "certs/tls"',
  ],
  [{}, {}, 'Secret "default/tls" not found'],
  [{ kind: "ConfigMap" }, {}, 'kind "ConfigMap" is no "Secret"'],
  [
    {},
    {
      secrets: [decode("Secret", { name: "tls" }, {}, {
        stringData: { "tls.crt": "cert.pem", "tls.key": "key.pem" },
      })],
    },
    'Secret "default/tls" has no valid "tls.crt" and "tls.key"',
  ],
] as const;
for (const [reference, resources, reason] of unusable) {
  Deno.test(`a certificate of a Secret cannot be used: ${reason}`, () => {
    const compiled = compileWithSecret(reference, resources);
    assert.deepEqual(compiled.snapshot.ports, []);
    assert.deepEqual(diagnosticLines(compiled), [
      `error Gateway/default/gw spec.listeners.0.tls.certificateRefs.0: Cannot use the certificate: ${reason}`,
    ]);
  });
}

Deno.test("a client CA that cannot be read is an error and trusts nobody", () => {
  const tls = { clientCa: "none.pem", clientCertificate: "Require" };
  const compiled = compileAll(
    { gateways: [gateway("gw", [https({}, tls)])] },
    files,
  );
  assert.equal(compiled.snapshot.ports[0]?.tls?.clientCa, "");
  assert.deepEqual(diagnosticLines(compiled), [
    'error Gateway/default/gw spec.listeners.0.tls.clientCa: Cannot use the CA for client certificates: No such file "none.pem"',
  ]);
});

Deno.test("a listener that demands other client certificates than its port is not served", () => {
  const withFrontend = (name: string, hostname: string, mode: string) => {
    const { spec, metadata } = gateway(name, [
      https({ name: "https", hostname }),
    ]);
    const validation = { caCertificateRefs: [{ name: "ca" }], mode };
    return decode("Gateway", metadata, {
      ...spec,
      tls: { frontend: { default: { validation } } },
    });
  };
  const compiled = compileAll({
    gateways: [
      withFrontend("safe", "a.example", "AllowValidOnly"),
      withFrontend("unsafe", "b.example", "AllowInsecureFallback"),
    ],
    configMaps: [
      decode("ConfigMap", { name: "ca" }, {}, {
        data: { "ca.crt": files["one.pem"] },
      }),
    ],
  }, files);
  const [port] = compiled.snapshot.ports;
  assert.equal(port?.tls?.clientCertificate, "require");
  assert.deepEqual(port.listeners.map(({ key }) => key), [
    "default/safe/https",
  ]);
  assert.deepEqual(diagnosticLines(compiled), [
    'error Gateway/default/unsafe spec.listeners.0.tls.clientCertificate: Cannot use another "tls.clientCertificate" than listener "default/safe/https": both are on port 443',
  ]);
});

const older = { uid: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
const newer = { uid: "2", creationTimestamp: "2026-01-02T00:00:00Z" };

/** Gateways of a cluster, the newer one first, as the API server may send them. */
function clusterGateways(
  own: readonly object[],
  others: readonly object[],
): Partial<ResourceSet> {
  return {
    gateways: [gateway("a-newer", others, newer), gateway("z", own, older)],
  };
}

Deno.test("a newer gateway of a cluster cannot close the listeners of an older one", () => {
  const compiled = compileAll(clusterGateways([{}], [{}]));

  assert.deepEqual(
    compiled.snapshot.ports.map(({ port, listeners }) => [
      port,
      listeners.map(({ key }) => key),
    ]),
    [[80, ["default/z/http"]]],
  );
  assert.deepEqual(diagnosticLines(compiled), [
    'error Gateway/default/a-newer spec.listeners.0: The listener conflicts with "default/z/http": both accept hostname "*" on port 80',
  ]);
});

Deno.test("a newer gateway of a cluster cannot have another protocol on the port of an older one", () => {
  const compiled = compileAll(
    clusterGateways([{}], [https({ port: 80, hostname: "two.example" })]),
    files,
  );

  assert.deepEqual(
    compiled.snapshot.ports.map(({ tls, listeners }) => [
      tls,
      listeners.length,
    ]),
    [[undefined, 1]],
  );
  assert.deepEqual(diagnosticLines(compiled), [
    'error Gateway/default/a-newer spec.listeners.0.protocol: Cannot use another "protocol" than listener "default/z/http": both are on port 80',
  ]);
});

Deno.test("gateways with proxies of their own have the same port and hostname without a conflict", () => {
  const compiled = compileAll({
    ...clusterGateways(
      [https({ port: 80 })],
      [https({ port: 80 }, { minVersion: "TLSv1.3" })],
    ),
    separatesGateways: true,
  }, files);

  assert.deepEqual(
    compiled.snapshot.ports.map(({ port, tls, listeners }) => [
      port,
      tls?.minVersion,
      listeners.map(({ key }) => key),
    ]),
    [
      [80, "TLSv1.2", ["default/z/http"]],
      [80, "TLSv1.3", ["default/a-newer/http"]],
    ],
  );
  assert.deepEqual(diagnosticLines(compiled), []);
});

Deno.test("a newer gateway of a cluster cannot change the socket of an older one, and is not served without what it needs", () => {
  const compiled = compileAll(
    clusterGateways(
      [https()],
      [https({ hostname: "two.example" }, { minVersion: "TLSv1.3" })],
    ),
    files,
  );

  const [port] = compiled.snapshot.ports;
  assert.equal(port?.tls?.minVersion, "TLSv1.2");
  assert.deepEqual(port.listeners.map(({ key }) => key), ["default/z/http"]);
  assert.match(
    diagnosticLines(compiled).join("\n"),
    /error Gateway\/default\/a-newer .*Cannot use another "tls\.minVersion" than listener "default\/z\/http"/,
  );
});
