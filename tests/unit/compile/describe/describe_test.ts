import assert from "node:assert/strict";
import { createAuthority } from "../../../harness/login/certificates.ts";
import {
  backend,
  compileAll,
  gateway,
  policy,
  route,
  routeFor,
  tlsPolicy,
  to,
} from "../resources.ts";

const authority = await createAuthority();
const server = await authority.issueServer(["gw.example"]);

/** As `/config_dump` prints it. */
async function dump(
  compiled: ReturnType<typeof compileAll>,
  sensitiveHeaders: string[] = [],
) {
  return JSON.parse(
    JSON.stringify(await compiled.descriptions.full(sensitiveHeaders)),
  );
}

Deno.test("the description shows what each route does and where that is written", async () => {
  const description = await dump(compileAll({
    gateways: [gateway("gw")],
    httpRoutes: [route("mcp", {
      hostnames: ["mcp.example"],
      rules: [{
        matches: [{ path: { value: "/mcp" } }],
        filters: [{
          type: "URLRewrite",
          urlRewrite: { hostname: "up.example" },
        }],
        timeouts: { request: "10s" },
        backendRefs: [to("b", { weight: 2 }), to("gone")],
      }],
    })],
    gatewayBackends: [backend("b")],
    gatewayPolicies: [
      policy("p", [{ kind: "Gateway", name: "gw" }], {
        traffic: { cors: { allowOrigins: ["*"] } },
      }),
    ],
    backendTlsPolicies: [
      tlsPolicy("t", ["b"], {
        hostname: "b.example",
        wellKnownCACertificates: "System",
      }),
    ],
  }));

  assert.deepEqual(description.binds, [{
    key: "bind/80",
    address: "[::]:80",
    protocol: "http",
    timeouts: {},
    listeners: ["default/gw/http"],
  }]);
  assert.deepEqual(description.listeners, [{
    key: "default/gw/http",
    gatewayName: "gw",
    gatewayNamespace: "default",
    listenerName: "http",
    hostname: "*",
    port: 80,
    protocol: "HTTP",
    policies: [],
    routes: ["default/mcp/0"],
  }]);
  assert.deepEqual(description.routes, [{
    key: "default/mcp/0",
    name: "mcp",
    namespace: "default",
    listener: "default/gw/http",
    hostnames: ["mcp.example"],
    matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
    backends: [
      { weight: 2, backend: "default/b" },
      { weight: 1, problem: 'Backend "default/gone" not found' },
    ],
    mirrors: [],
    timeouts: { requestMs: 10_000 },
    policies: [
      {
        kind: "cors",
        source: "GatewayPolicy/default/p",
        config: { allowOrigins: ["*"], maxAge: 5 },
      },
      {
        kind: "urlRewrite",
        source: "HTTPRoute/default/mcp",
        config: { hostname: "up.example" },
      },
    ],
  }]);
  assert.deepEqual(description.backends, [{
    key: "default/b",
    name: "b",
    target: "b.example:80",
    protocol: "auto",
    firstByteTimeoutMs: 600_000,
    idleTimeoutMs: 300_000,
    tls: {
      hostname: "b.example",
      subjectAltNames: [],
      caCertificates: "System",
    },
  }]);
  assert.deepEqual(description.policies, [{
    key: "default/p",
    targetRefs: [{
      group: "gateway.networking.k8s.io",
      kind: "Gateway",
      name: "gw",
    }],
    traffic: { cors: { allowOrigins: ["*"], maxAge: 5 } },
  }]);
});

Deno.test("the description holds no private key, credential or sensitive header", async () => {
  const set = [
    { name: "Authorization", value: "Bearer s3cret" },
    { name: "X-Api-Key", value: "s3cret" },
    { name: "x-plain", value: "visible" },
  ];
  const compiled = compileAll({
    gateways: [
      gateway("gw", [{
        port: 443,
        protocol: "HTTPS",
        tls: { certificates: [server] },
      }]),
    ],
    httpRoutes: [route("r", {
      rules: [{
        matches: [{
          headers: set.map((header) => ({ ...header, type: "Exact" })),
          queryParams: [
            { type: "Exact", name: "api_key", value: "s3cret" },
            { type: "Exact", name: "page", value: "shown too" },
          ],
        }],
        filters: [{
          type: "RequestHeaderModifier",
          requestHeaderModifier: { set },
        }],
        backendRefs: [to("b")],
      }],
    })],
    gatewayBackends: [backend("b")],
    gatewayPolicies: [policy("p", [{ kind: "HTTPRoute", name: "r" }], {
      traffic: {
        basicAuthentication: { users: ["user:s3cret"] },
        apiKeyAuthentication: { keys: [{ key: "s3cret" }] },
      },
    })],
  });

  const text = JSON.stringify(await compiled.descriptions.full(["x-api-key"]));

  assert.doesNotMatch(text, /s3cret|PRIVATE KEY/);
  assert.match(text, /visible/);
  assert.match(text, /shown too/);
});

Deno.test("the description holds nothing that the environment gave to headers, bodies and expressions", async () => {
  const secret = "env-s3cret";
  const header = { name: "x-upstream", value: `Token ${secret}` };
  const compiled = compileAll({
    gateways: [gateway("gw")],
    httpRoutes: [route("r", {
      rules: [{
        matches: [{
          headers: [{ ...header, type: "Exact" }],
          queryParams: [{ type: "Exact", name: "page", value: secret }],
        }],
      }, {
        filters: [{
          type: "RequestHeaderModifier",
          requestHeaderModifier: { add: [header] },
        }],
        backendRefs: [to("b")],
      }],
    })],
    gatewayBackends: [backend("b")],
    gatewayPolicies: [
      policy("p", [{ kind: "HTTPRoute", name: "r" }], {
        traffic: {
          authorization: {
            policy: { matchExpressions: [`request.path != "${secret}"`] },
          },
          transformation: {
            request: {
              set: [{ name: "x-a", value: `"${secret}"` }],
              body: `"${secret}"`,
            },
          },
          rateLimit: {
            local: [{
              requests: 1,
              unit: "Hours",
              key: `"${secret}"`,
              when: `request.path != "${secret}"`,
            }],
          },
          directResponse: { status: 200, body: `${secret} is it` },
          urlRewrite: { hostname: "given.example" },
        },
      }),
    ],
    environment: [secret, "given.example", "b"],
  });

  const description = await dump(compiled);
  const traced = routeFor(compiled)?.describePolicies(new Set());
  const part = (rule: number) =>
    compiled.descriptions.part({ route: `default/r/${rule}` }, []);
  const outline = JSON.stringify(await compiled.descriptions.outline([]));

  assert.match(outline, /Token <redacted>/);
  assert.doesNotMatch(outline, /s3cret/);
  for (
    const text of [description, traced, [part(0), part(1)]]
      .map((each) => JSON.stringify(each))
  ) {
    assert.doesNotMatch(text, /s3cret/);
    assert.match(text, /request\.path != \\"<redacted>\\"/);
    assert.match(text, /<redacted> is it/);
    // A name is what whoever looks for a mistake has to see.
    assert.match(text, /given\.example/);
  }
});

Deno.test("the description shows no credentials of a URL of keys", async () => {
  const jwks = { url: "https://me:s3cret@idp.example/keys?token=s3cret&v=2" };
  const compiled = compileAll({
    gatewayPolicies: [policy("p", [{ kind: "Gateway", name: "gw" }], {
      traffic: {
        jwtAuthentication: {
          mode: "Strict",
          providers: [{ issuer: "https://i.example/", audiences: ["a"], jwks }],
        },
      },
    })],
  });

  const { policies: [described] } = await dump(compiled);

  assert.equal(
    described.traffic.jwtAuthentication.providers[0].jwks.url,
    "https://<redacted>@idp.example/keys?token=<redacted>&v=2",
  );
});

Deno.test("every backend that a route of the description names is described, the web UI too", async () => {
  const compiled = compileAll({
    gateways: [gateway("gw")],
    httpRoutes: [route("r", {
      rules: [{
        backendRefs: [to("read-only", {
          group: "policy.gateway.internal",
          kind: "WebUI",
        })],
      }],
    })],
  });

  const { routes, backends } = await dump(compiled);

  assert.equal(routes[0].backends[0].backend, "web-ui/read-only");
  assert.deepEqual(backends, [
    { key: "web-ui/read-only", name: "web-ui", webUi: "read-only" },
  ]);
});
