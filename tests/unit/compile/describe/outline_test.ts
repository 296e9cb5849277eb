import assert from "node:assert/strict";
import {
  backend,
  compileAll,
  gateway,
  policy,
  route,
  to,
} from "../resources.ts";

const body = "a long body ".repeat(40);

/** Compiles routes with policies of their own, one that all of them share, and a listener with a policy. */
function compileRoutes(count: number) {
  const names = Array.from({ length: count }, (_, index) => `route-${index}`);
  return compileAll({
    gateways: [gateway("gw")],
    httpRoutes: names.map((name) =>
      route(name, {
        rules: [{
          name: "only",
          matches: [{ path: { value: `/${name}` } }],
          backendRefs: [to("b"), to("gone")],
        }],
      })
    ),
    gatewayBackends: [backend("b")],
    gatewayPolicies: [
      ...names.map((name) =>
        policy(name, [{ kind: "HTTPRoute", name }], {
          traffic: {
            directResponse: { status: 200, body },
            rateLimit: { local: [{ requests: 5, unit: "Hours" }] },
          },
        })
      ),
      policy("all", [{ kind: "Gateway", name: "gw" }], {
        traffic: { cors: { allowOrigins: ["*"] } },
      }),
    ],
  });
}

Deno.test("the outline names the policies of a route by the resources that they come from, without their values", async () => {
  const { listeners, routes, backends } = await compileRoutes(2).descriptions
    .outline([]);

  assert.deepEqual(listeners.map(({ key, routes }) => [key, routes]), [
    ["default/gw/http", 2],
  ]);
  assert.deepEqual(backends.map(({ key }) => key), ["default/b"]);
  assert.equal(routes.length, 2);
  assert.deepEqual(JSON.parse(JSON.stringify(routes[0])), {
    key: "default/route-0/0",
    name: "route-0",
    ruleName: "only",
    listener: 0,
    hostnames: [],
    matches: [{ path: { type: "PathPrefix", value: "/route-0" } }],
    backends: [
      { backend: "default/b" },
      { problem: 'Backend "default/gone" not found' },
    ],
    policies: [
      { source: "GatewayPolicy/default/all", kinds: ["cors"] },
      {
        source: "GatewayPolicy/default/route-0",
        kinds: ["rateLimit", "directResponse"],
      },
    ],
  });
});

Deno.test("the outline has a few hundred bytes for a route, whatever its policies say", async () => {
  const compiled = compileRoutes(100);

  const { routes } = await compiled.descriptions.outline([]);
  const all = await compiled.descriptions.full();

  const bytes = JSON.stringify(routes).length / routes.length;
  assert.ok(bytes < 450, `${bytes} bytes`);
  assert.ok(JSON.stringify(all.routes).length / routes.length > 900);
});

Deno.test("a part of the outline is a route as the description has it, or a policy with its targets", async () => {
  const compiled = compileRoutes(2);
  const { routes } = await compiled.descriptions.full();

  const route = compiled.descriptions.part({ route: "default/route-1/0" }, []);
  const own = compiled.descriptions.part({
    kind: "rateLimit",
    source: "GatewayPolicy/default/route-1",
  }, []);
  const none = [
    compiled.descriptions.part({ route: "default/route-2/0" }, []),
    compiled.descriptions.part({
      kind: "cors",
      source: "GatewayPolicy/default/route-1",
    }, []),
  ];

  assert.deepEqual(route, { route: routes[1] });
  const group = "gateway.networking.k8s.io";
  const targetRefs = [{ group, kind: "HTTPRoute", name: "route-1" }];
  assert.deepEqual(JSON.parse(JSON.stringify(own)), {
    policy: {
      config: {
        local: [{ requests: 5, unit: "Hours", overshoot: "Forgive" }],
      },
      policy: { key: "default/route-1", targetRefs },
    },
  });
  assert.deepEqual(none, [undefined, undefined]);
});

Deno.test("the outline says which routes have the login of an MCP server", async () => {
  const login = (mcp?: object) => ({
    traffic: {
      jwtAuthentication: {
        providers: [{
          issuer: "https://i.example/",
          audiences: ["a"],
          jwks: { url: "https://i.example/keys" },
        }],
        ...(mcp !== undefined && { mcp }),
      },
    },
  });
  const compiled = compileAll({
    gateways: [gateway("gw")],
    httpRoutes: [route("tools"), route("api")],
    gatewayPolicies: [
      policy("tools", [{ kind: "HTTPRoute", name: "tools" }], login({})),
      policy("api", [{ kind: "HTTPRoute", name: "api" }], login()),
    ],
  });

  const { routes } = await compiled.descriptions.outline([]);

  assert.deepEqual(
    routes.map(({ name, isMcp }) => [name, isMcp]).sort(),
    [["api", undefined], ["tools", true]],
  );
});
