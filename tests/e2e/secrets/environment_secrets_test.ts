import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";

const secret = "planted-s3cret";

Deno.test("values of the environment in headers, bodies and expressions are used, and shown nowhere", async () => {
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ headers }) => new Response(headers.get("x-upstream-key")),
  );
  await using gateway = await GatewayProcess.start({
    env: { UPSTREAM_KEY: secret, UPSTREAM_HOST: "127.0.0.1" },
    config: {
      routes: [{
        name: "hidden",
        matches: [{
          path: { type: "PathPrefix", value: "/" },
          headers: [{ name: "x-door", value: "${UPSTREAM_KEY}" }],
        }],
        filters: [{
          type: "RequestHeaderModifier",
          requestHeaderModifier: {
            set: [{ name: "x-upstream-key", value: "${UPSTREAM_KEY}" }],
          },
        }],
        policies: {
          authorization: {
            policy: {
              matchExpressions: ["request.path != '/${UPSTREAM_KEY}'"],
            },
          },
        },
        backends: [{ host: `\${UPSTREAM_HOST}:${upstream.addr.port}` }],
      }],
    },
  });
  const trace = fetch(`${gateway.admin}/debug/trace`);
  const { body } = await trace;
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/`, {
    headers: { "x-door": secret },
  });
  const shown = [
    await (await fetch(`${gateway.admin}/config_dump`)).text(),
    await (await fetch(`${gateway.admin}/ui/api/config`)).text(),
    await new Response(body).text(),
  ];

  assert.equal(await answer.text(), secret);
  const part = await fetch(
    `${gateway.admin}/ui/api/config/part?route=default/hidden/0`,
  );
  for (const text of [...shown, await part.text()]) {
    assert.match(text, /<redacted>/);
    assert.doesNotMatch(text, new RegExp(secret));
  }
  for (const text of shown) {
    assert.match(text, new RegExp(`127\\.0\\.0\\.1:${upstream.addr.port}`));
  }
});

/** Returns the output of a command about the gateway. */
async function run(
  { admin }: GatewayProcess,
  ...args: readonly string[]
): Promise<string> {
  const command = gatewayCommand({
    args: [...args, "--admin", new URL(admin).host],
    env: { NO_COLOR: "1" },
  });
  const { stdout, stderr } = await command.output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

Deno.test("failing limits, rules and transformations show expressions without values of the environment", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await using gateway = await GatewayProcess.start({
      env: { PLANTED: secret },
      config: {
        config: {
          logging: { level: "debug" },
          kv: { path: `${folder}/limits.db` },
        },
        routes: [
          route("limited", {
            rateLimit: {
              local: [
                {
                  requests: 1,
                  unit: "Hours",
                  key: "'${PLANTED}' + jwt.sub",
                  when: "request.headers['x-door'] != '${PLANTED}'",
                },
                { requests: 9, unit: "Hours", key: "'${PLANTED}'" },
              ],
              global: {
                domain: "d",
                store: "KV",
                descriptors: [{
                  requests: 9,
                  unit: "Hours",
                  entries: [{
                    key: "by-${PLANTED}",
                    value: "'${PLANTED}' + source.address",
                  }],
                }],
              },
            },
          }),
          route("valueless", {
            rateLimit: {
              global: {
                domain: "e",
                store: "KV",
                descriptors: [{
                  requests: 9,
                  unit: "Hours",
                  entries: [{ key: "by-${PLANTED}", value: "jwt.sub" }],
                }],
              },
            },
          }),
          route("ruled", {
            authorization: {
              policy: {
                matchExpressions: [
                  "'${PLANTED}' in request.headers",
                  "jwt['${PLANTED}'] == 'a'",
                ],
              },
            },
          }),
          route("changed", {
            transformation: {
              request: { body: "request.headers['${PLANTED}']" },
              response: {
                set: [{
                  name: "x-a",
                  value: "request.headers['${PLANTED}']",
                }],
              },
            },
          }),
        ],
      },
    });
    const statuses = [];
    let trace = "";
    const paths = ["limited", "limited", "valueless", "ruled", "changed"];
    for (const path of paths) {
      const { body } = await fetch(`${gateway.admin}/debug/trace`);
      const answer = await fetch(`${gateway.origin}/${path}`, {
        method: "POST",
        body: "a",
        headers: { "x-request-id": `id-${path}` },
      });
      await answer.body?.cancel();
      statuses.push(answer.status);
      trace += await new Response(body).text();
    }
    const shown = {
      configDump: await (await fetch(`${gateway.admin}/config_dump`)).text(),
      metrics: await (await fetch(`${gateway.stats}/metrics`)).text(),
      memory: await (await fetch(`${gateway.admin}/memory`)).text(),
      limits: await run(gateway, "ctl", "proxy", "limits"),
      limitExplained: await run(gateway, "ctl", "explain", "id-limited"),
      ruleExplained: await run(gateway, "ctl", "explain", "id-ruled"),
    };
    gateway.signal("SIGTERM");
    await gateway.exitCode();
    const all = {
      ...shown,
      trace,
      log: gateway.log.all.join("\n"),
      accessLog: gateway.accessLog.all.join("\n"),
    };

    assert.deepEqual(statuses, [200, 429, 503, 403, 200]);
    for (const [place, text] of Object.entries(all)) {
      assert.ok(!text.includes(secret), `${place}:\n${text}`);
      assert.ok(text.includes("<redacted>"), `${place}:\n${text}`);
    }
    assert.match(
      shown.limits,
      /1 request per hour, by '<redacted>' \+ jwt\.sub/,
    );
    assert.match(trace, /"name":"'<redacted>' in request\.headers"/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

for (
  const [rule, planted, message] of [
    [
      "request.headers['x-door'] == ${PLANTED}",
      "plantedsecret",
      /unknown variable "<redacted>" at column 30/,
    ],
    [
      "request.headers['x-door'] == ${PLANTED}",
      "planted-and-secret",
      /it is invalid with the value of its environment variable/,
    ],
    [
      "reqest.path == '${PLANTED}'",
      "planted-and-secret",
      /unknown variable "reqest" at column 1/,
    ],
  ] as const
) {
  Deno.test(`the error of ${rule} shows nothing of ${planted}`, async () => {
    const errors = await errorsOf(rule, planted);

    assert.match(errors, message);
    assert.doesNotMatch(errors, /planted|secret/);
  });
}

/** Returns the errors of a configuration with a rule. */
async function errorsOf(rule: string, planted: string): Promise<string> {
  const config = JSON.stringify({
    gateways: { default: { port: 3000 } },
    routes: [
      route("ruled", {
        authorization: { policy: { matchExpressions: [rule] } },
      }),
    ],
  });
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/config.json`;
    await Deno.writeTextFile(file, config);
    const { code, stderr } = await gatewayCommand({
      args: ["-f", file, "--validate-only"],
      env: { NO_COLOR: "1", PLANTED: planted },
    }).output();
    assert.equal(code, 1);
    return new TextDecoder().decode(stderr);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A route that answers by itself. */
function route(name: string, policies: Readonly<Record<string, unknown>>) {
  return {
    name,
    matches: [{ path: { type: "PathPrefix", value: `/${name}` } }],
    policies: { ...policies, directResponse: { status: 200, body: "done" } },
  };
}
