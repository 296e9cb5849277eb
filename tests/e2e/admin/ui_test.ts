import assert from "node:assert/strict";
import { textSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";
import {
  startUiGateway,
  UI_AUTHORIZATION,
  uiPolicies,
} from "../../harness/browser/ui_gateway.ts";

const authorization = UI_AUTHORIZATION;

async function statusOf(
  url: string,
  init: RequestInit = {},
): Promise<number> {
  const response = await fetch(url, { redirect: "manual", ...init });
  await response.body?.cancel();
  return response.status;
}

/** Lets everything else happen first. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** With the path as it stands: other clients resolve its dots. */
async function statusOfRaw(
  port: number,
  method: string,
  path: string,
): Promise<number> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request = [
    `${method} ${path} HTTP/1.1`,
    "Host: localhost",
    `Authorization: ${authorization}`,
    "Connection: close",
    "Content-Length: 0",
  ];
  const bytes = new TextEncoder().encode(`${request.join("\r\n")}\r\n\r\n`);
  await connection.write(bytes);
  const answer = await new Response(connection.readable).text();
  return Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(answer)?.[1]);
}

Deno.test("the admin server serves the page with a policy that lets it load nothing else", async () => {
  await using gateway = await startTracedGateway({});

  const response = await fetch(`${gateway.admin}/ui`);

  assert.equal(response.url, `${gateway.admin}/ui/`);
  assert.equal(
    response.headers.get("content-type"),
    "text/html; charset=utf-8",
  );
  const policy = response.headers.get("content-security-policy") ?? "";
  assert.match(
    policy,
    /^default-src 'none'; script-src 'self'; style-src 'self'/,
  );
  assert.doesNotMatch(policy, /unsafe|\*|http/);
  const html = await response.text();
  assert.doesNotMatch(html, /<script>|<style|style=| on[a-z]+=|https?:/);
});

Deno.test("every file that the page refers to is there", async () => {
  await using gateway = await startTracedGateway({});
  const seen = new Set<string>();
  const wanted = [""];

  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    const response = await fetch(`${gateway.admin}/ui/${name}`);
    assert.equal(response.status, 200, name);
    const text = await response.text();
    const names = text.matchAll(
      /(?:from ?"\.\/|import\("\.\/|src="|href=")([\w-]+\.(?:js|css))"/g,
    );
    wanted.push(...Array.from(names, ([, found = ""]) => found));
  }

  assert(seen.has("main.js") && seen.has("main.css"));
});

for (
  const { method, path, status } of [
    { method: "GET", path: "/ui", status: 308 },
    { method: "HEAD", path: "/ui/", status: 200 },
    { method: "POST", path: "/ui/", status: 405 },
    { method: "GET", path: "/ui/main.js", status: 200 },
    { method: "GET", path: "/ui/none.js", status: 404 },
    { method: "GET", path: "/ui/api/status", status: 200 },
    { method: "GET", path: "/ui/api/config", status: 200 },
    { method: "GET", path: "/ui/api/config/part?route=none", status: 404 },
    { method: "GET", path: "/ui/api/metrics", status: 200 },
    { method: "GET", path: "/ui/api/budgets", status: 200 },
    { method: "GET", path: "/ui/api/keys", status: 200 },
    { method: "GET", path: "/ui/api/requests", status: 200 },
    { method: "GET", path: "/ui/api/requests?limit=x", status: 400 },
    { method: "GET", path: "/ui/api/requests/none", status: 404 },
    { method: "GET", path: "/ui/api/trace?filter=%28", status: 400 },
    { method: "GET", path: "/ui/api/logging", status: 200 },
    { method: "POST", path: "/ui/api/logging?level=debug", status: 405 },
    { method: "GET", path: "/ui/api/profiles/cpu?seconds=1", status: 404 },
    { method: "GET", path: "/ui/api/profiles/heap", status: 404 },
    { method: "GET", path: "/ui/api/config_dump", status: 404 },
    { method: "GET", path: "/ui/config_dump", status: 404 },
    { method: "POST", path: "/ui/api/quitquitquit", status: 404 },
    { method: "POST", path: "/ui/quitquitquit", status: 405 },
    { method: "GET", path: "/ui/../config_dump", status: 404 },
    { method: "GET", path: "/ui/%2e%2e/config_dump", status: 404 },
    { method: "GET", path: "/ui/debug/pprof/heap", status: 404 },
    { method: "GET", path: "/config_dump", status: 404 },
    { method: "GET", path: "/debug/trace", status: 404 },
    { method: "GET", path: "/debug/requests", status: 404 },
    { method: "GET", path: "/debug/tasks", status: 404 },
    { method: "GET", path: "/debug/pprof/profile", status: 404 },
    { method: "GET", path: "/debug/pprof/heap", status: 404 },
    { method: "GET", path: "/memory", status: 404 },
    { method: "GET", path: "/logging", status: 404 },
    { method: "GET", path: "/metrics", status: 404 },
    { method: "GET", path: "/openapi.json", status: 404 },
    { method: "POST", path: "/quitquitquit", status: 404 },
  ]
) {
  Deno.test(`a gateway that serves the web UI answers ${method} ${path} with ${status}`, async () => {
    await using gateway = await startUiGateway();

    assert.equal(await statusOfRaw(gateway.port, method, path), status);
  });
}

Deno.test("a gateway shows nothing of the web UI to those whom its policies turn away", async () => {
  await using gateway = await startUiGateway();

  for (const path of ["/ui", "/ui/", "/ui/main.js", "/ui/api/status"]) {
    const response = await fetch(`${gateway.origin}${path}`);
    assert.equal(response.status, 401, path);
    assert.match(
      response.headers.get("www-authenticate") ?? "",
      /^Basic realm=/,
    );
    assert.doesNotMatch(await response.text(), /Gateway<|readiness/);
  }
});

Deno.test("web UI of a gateway is for the hostnames that it has", async () => {
  await using gateway = await startUiGateway({ hostnames: ["ui.example.com"] });
  const ask = (host: string) =>
    fetchRaw(`${gateway.origin}/ui/`, { headers: { host, authorization } });

  assert.equal((await ask("ui.example.com")).status, 200);
  assert.equal((await ask("other.example.com")).status, 404);
});

Deno.test("web UI of a gateway traces other requests", async () => {
  await using gateway = await startUiGateway();
  const filter = encodeURIComponent('request.path == "/hello"');

  const response = await fetch(
    `${gateway.origin}/ui/api/trace?filter=${filter}`,
    { headers: { authorization } },
  );
  await (await fetch(`${gateway.origin}/hello`)).text();
  const text = await response.text();

  assert.match(text, /^: ready\n\n/);
  assert.match(text, /"type":"requestFinished","status":200/);
});

Deno.test("web UI of a gateway stops watching when its client leaves", async () => {
  await using gateway = await startUiGateway();
  const watchers = async () =>
    (await gateway.gateway.dataPlane.call("stores")).find(({ name }) =>
      name === "traceWatchers"
    )?.used;
  const leave = new AbortController();

  const response = await fetch(`${gateway.origin}/ui/api/trace`, {
    headers: { authorization },
    signal: leave.signal,
  });
  assert.equal(await watchers(), 1);
  leave.abort();
  await response.text().catch(() => {});

  // Nobody says when the gateway has noticed; without an end, the test runs into its time limit.
  while (await watchers() !== 0) await turn();
});

for (
  const { name, headers, status } of [
    {
      name: "its own page",
      headers: { "sec-fetch-site": "same-origin" },
      status: 200,
    },
    {
      name: "another site",
      headers: { "sec-fetch-site": "cross-site" },
      status: 403,
    },
    {
      name: "another site of the same domain",
      headers: { "sec-fetch-site": "same-site" },
      status: 403,
    },
    {
      name: "another site in an old browser",
      headers: { origin: "https://evil.example.com" },
      status: 403,
    },
    { name: "nobody knows whom", headers: {}, status: 403 },
  ]
) {
  Deno.test(`a gateway with access ReadWrite returns ${status} when ${name} sets the log level`, async () => {
    await using gateway = await startUiGateway({ access: "ReadWrite" });

    const { status: answered } = await fetchRaw(
      `${gateway.origin}/ui/api/logging?level=warn`,
      { method: "POST", headers: { authorization, ...headers } },
    );

    assert.equal(answered, status);
    assert.equal(
      gateway.gateway.logFilter(),
      status === 200 ? "warn" : "trace",
    );
  });
}

for (
  const { name, policies } of [
    { name: "without a policy", policies: {} },
    {
      name: "whose users may stay away",
      policies: {
        basicAuthentication: {
          ...uiPolicies.basicAuthentication,
          mode: "Optional",
        },
      },
    },
  ]
) {
  Deno.test(`web UI ${name} gets a warning that names the place`, async () => {
    await using gateway = await startTracedGateway({
      ui: { gateways: ["default"], policies },
    });

    const warnings = gateway.log.filter((line) => /web UI/.test(line));

    assert.equal(warnings.length, 1);
    assert.match(
      warnings[0] ?? "",
      /ui: Everybody who reaches gateway \\?"default\\?" can use the web UI/,
    );
    assert.equal(await statusOf(`${gateway.origin}/ui/`), 200);
  });
}

Deno.test("a gateway in a process without a web UI returns 500", async () => {
  const port = freePort();
  const gateways = { default: { port, address: "127.0.0.1" } };
  const ui = { gateways: ["default"], policies: uiPolicies };
  await using _gateway = await Gateway.start({
    config: textSource(JSON.stringify({ gateways, ui })),
  });

  const status = await statusOf(`http://127.0.0.1:${port}/ui/`, {
    headers: { authorization },
  });

  assert.equal(status, 500);
});

for (
  const { name, policy } of [
    { name: "of its own", policy: undefined },
    {
      name: "of its gateway",
      policy: { targetRefs: [{ kind: "Gateway", name: "default" }] },
    },
    {
      name: "before the routing",
      policy: {
        targetRefs: [{ kind: "Gateway", name: "default" }],
        phase: "PreRouting",
      },
    },
  ]
) {
  Deno.test(`web UI behind a policy ${name} gets no warning`, async () => {
    const users = ["ada:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M="];
    await using gateway = await startTracedGateway(
      policy === undefined
        ? {
          ui: {
            gateways: ["default"],
            policies: { basicAuthentication: { users } },
          },
        }
        : {
          ui: { gateways: ["default"] },
          policies: [{
            name: "guard",
            ...policy,
            traffic: { basicAuthentication: { users } },
          }],
        },
    );

    assert.deepEqual(gateway.log.filter((line) => /web UI/.test(line)), []);
    assert.equal(await statusOf(`${gateway.origin}/ui/api/config`), 401);
  });
}

Deno.test("a route of the Gateway API can refer to the web UI", async () => {
  const backend = {
    group: "policy.gateway.internal",
    kind: "WebUI",
    name: "read-only",
  };
  await using gateway = await startTracedGateway({}, {
    resources: [{
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "ui" },
      spec: {
        parentRefs: [{ name: "default" }],
        rules: [{
          matches: [{ path: { type: "PathPrefix", value: "/ui" } }],
          backendRefs: [backend],
        }],
      },
    }],
  });

  assert.equal(await statusOf(`${gateway.origin}/ui/`), 200);
});

Deno.test("config.adminToken leaves the page open, which requests it, and nothing of what it shows", async () => {
  const adminToken = "0123456789abcdef";
  await using gateway = await startTracedGateway({ config: { adminToken } });
  const bearer = { authorization: `Bearer ${adminToken}` };

  assert.equal(await statusOf(`${gateway.admin}/ui/`), 200);
  assert.equal(await statusOf(`${gateway.admin}/ui/main.js`), 200);
  assert.equal(await statusOf(`${gateway.admin}/ui/api/status`), 401);
  assert.equal(await statusOf(`${gateway.admin}/ui/api/none`), 401);
  assert.equal(await statusOf(`${gateway.admin}/config_dump`), 401);
  assert.equal(
    await statusOf(`${gateway.admin}/ui/api/status`, { headers: bearer }),
    200,
  );
});

Deno.test("web UI shows no secrets of the configuration", async () => {
  await using gateway = await startUiGateway();

  const response = await fetch(`${gateway.origin}/ui/api/config`, {
    headers: { authorization },
  });

  assert.doesNotMatch(await response.text(), /\{SHA\}/);
});
