import { logModules } from "../../../src/base/log/log_filter.ts";
import assert from "node:assert/strict";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  type RunningCommand,
  startCommand,
} from "../../harness/process/running_command.ts";

type Address =
  | {
    readonly transport: "tcp";
    readonly hostname: string;
    readonly port: number;
  }
  | { readonly transport: "unix"; readonly path: string };

interface AdminProcess extends AsyncDisposable {
  readonly process: RunningCommand;
  readonly folder: string;
}

/** A gateway that serves nothing but its admin interface. */
async function startAdmin(
  config: Readonly<Record<string, unknown>>,
): Promise<AdminProcess> {
  const folder = await Deno.makeTempDir();
  const adminAddr = String(config["adminAddr"]).replace("FOLDER", folder);
  const file = `${folder}/gateway.yaml`;
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      config: { statsAddr: "off", ...config, adminAddr },
      gateways: { default: { port: freePort(), address: "127.0.0.1" } },
      routes: [{ name: "all", backends: [{ host: "127.0.0.1:9" }] }],
    }),
  );
  const process = startCommand({ args: ["-f", file] });
  await process.waitFor(/\tadmin\tListening .*\n/);
  return {
    process,
    folder,
    async [Symbol.asyncDispose]() {
      await process[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function startOnTcp(): Promise<
  AdminProcess & { readonly address: Address }
> {
  const admin = await startAdmin({ adminAddr: "localhost:0" });
  const [, port] = await admin.process.waitFor(
    /admin="?http:\/\/127\.0\.0\.1:([0-9]+)/,
  );
  return {
    ...admin,
    address: { transport: "tcp", hostname: "127.0.0.1", port: Number(port) },
  };
}

async function startOnSocket(): Promise<
  AdminProcess & { readonly address: Address }
> {
  const admin = await startAdmin({ adminAddr: "unix:FOLDER/admin.sock" });
  return {
    ...admin,
    address: { transport: "unix", path: `${admin.folder}/admin.sock` },
  };
}

interface Answer {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

/** Sends exactly these bytes' worth of request and reads to the end. */
async function ask(
  address: Address,
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = { Host: "localhost" },
): Promise<Answer> {
  using connection = address.transport === "tcp"
    ? await Deno.connect(address)
    : await Deno.connect(address);
  const fields = Object.entries({ ...headers, Connection: "close" }).map((
    [name, value],
  ) => `${name}: ${value}\r\n`);
  await connection.write(
    new TextEncoder().encode(
      `${method} ${target} HTTP/1.1\r\n${fields.join("")}\r\n`,
    ),
  );
  const text = await new Response(connection.readable).text();
  const [head = "", ...body] = text.split("\r\n\r\n");
  return {
    status: Number(head.split(" ")[1]),
    headers: head.toLowerCase(),
    body: body.join("\r\n\r\n"),
  };
}

const usage = `usage:
  GET  /logging                            shows the log filter
  POST /logging?level=<level>              sets the default level
  POST /logging?level=<module>=<level>     sets the level of a module
  POST /logging?level=<level>,<module>=<level>,...
  POST /logging?reset[&level=...]          resets to the configured filter first
levels: off, error, warn, info, debug, trace
`;
const notFound = [404, "not found\n"] as const;
const wrongMethod = [405, "method not allowed\n"] as const;

type Row = readonly [
  method: string,
  target: string,
  status: number,
  body: string | RegExp,
];

function profileRows(): readonly Row[] {
  const profile = "/debug/pprof/profile";
  const seconds = "invalid seconds: expected a whole number from 1 to 300\n";
  const frequency =
    "invalid frequency: expected a whole number from 1 to 1000\n";
  return [
    ["HEAD", profile, 405, ""],
    ["POST", profile, ...wrongMethod],
    ["GET", `${profile}?seconds=0`, 400, seconds],
    ["GET", `${profile}?seconds=301`, 400, seconds],
    ["GET", `${profile}?seconds=1s`, 400, seconds],
    ["GET", `${profile}?frequency=0`, 400, frequency],
    ["GET", `${profile}?frequency=1001`, 400, frequency],
    ["GET", `${profile}?frequency=99.5`, 400, frequency],
  ];
}

/** In order: the log level is the only state. */
const rows: readonly Row[] = [
  [
    "GET",
    "/",
    200,
    /^<!doctype html>.*<a href="\/config_dump">.*<td>\/quitquitquit<\/td><td>POST<\/td><td>Shuts down /s,
  ],
  ["HEAD", "/", 200, ""],
  ["POST", "/", ...wrongMethod],
  ["GET", "/config_dump", 200, /^\{\n {2}"binds": \[/],
  ["GET", "/config_dump?anything=1", 200, /^\{\n {2}"binds": \[/],
  ["HEAD", "/config_dump", 200, ""],
  ["POST", "/config_dump", ...wrongMethod],
  ["PUT", "/config_dump", ...wrongMethod],
  ["DELETE", "/config_dump", ...wrongMethod],
  ["OPTIONS", "/config_dump", ...wrongMethod],
  ["GET", "/config_dump/", ...notFound],
  ["GET", "/CONFIG_DUMP", ...notFound],
  ["GET", "/logging", 200, "current log level is info\n"],
  ["HEAD", "/logging", 200, ""],
  ["PUT", "/logging", ...wrongMethod],
  ["DELETE", "/logging?level=debug", ...wrongMethod],
  [
    "GET",
    "/logging?level=debug",
    400,
    `GET /logging has no parameters\n${usage}`,
  ],
  ["POST", "/logging", 200, "current log level is info\n"],
  ["POST", "/logging?level=debug", 200, "current log level is debug\n"],
  [
    "POST",
    "/logging?level=proxy=trace",
    200,
    "current log level is debug,proxy=trace\n",
  ],
  [
    "POST",
    "/logging?level=http:off",
    200,
    "current log level is debug,http=off,proxy=trace\n",
  ],
  [
    "POST",
    "/logging?level=info,proxy%3Dwarn",
    200,
    "current log level is info,http=off,proxy=warn\n",
  ],
  [
    "POST",
    "/logging?level=error&level=http=info",
    200,
    "current log level is error,http=info,proxy=warn\n",
  ],
  [
    "POST",
    "/logging?level=loud",
    400,
    `Invalid level provided: loud\n${usage}`,
  ],
  [
    "POST",
    "/logging?level=warn,prox=debug",
    400,
    `Unknown module: prox; expected one of ${logModules.join(", ")}\n${usage}`,
  ],
  ["POST", "/logging?level=", 400, `Invalid level provided: \n${usage}`],
  [
    "POST",
    "/logging?level=proxy",
    400,
    `Invalid level provided: proxy\n${usage}`,
  ],
  [
    "POST",
    "/logging?level=debug,proxy=loud",
    400,
    `Invalid level provided: proxy=loud\n${usage}`,
  ],
  [
    "POST",
    "/logging?level=a%0Ab",
    400,
    `Invalid level provided: a\\nb\n${usage}`,
  ],
  ["POST", "/logging?lvl=debug", 400, `Unknown parameter: lvl\n${usage}`],
  [
    "POST",
    "/logging?reset&level=loud",
    400,
    `Invalid level provided: loud\n${usage}`,
  ],
  [
    "GET",
    "/logging",
    200,
    "current log level is error,http=info,proxy=warn\n",
  ],
  [
    "POST",
    "/logging?reset&level=http=debug",
    200,
    "current log level is info,http=debug\n",
  ],
  ["POST", "/logging?reset", 200, "current log level is info\n"],
  ["GET", "/audit", 200, /^\{\n {2}"changes": \[/],
  ["HEAD", "/audit", 200, ""],
  ["POST", "/audit", ...wrongMethod],
  ["POST", "/keys/refresh", 200, /^\{\n {2}"keySets": \[\]/],
  ["GET", "/keys/refresh", ...wrongMethod],
  [
    "GET",
    "/usage?by=model&since=7d",
    200,
    /"model"\n {2}\],\n {2}"usage": \[\]/,
  ],
  [
    "GET",
    "/usage?by=color",
    400,
    "invalid by: expected up to 4 of key, user, team, tag, model, provider, route, server, tool\n",
  ],
  ["POST", "/usage", ...wrongMethod],
  ["POST", "/limits/reset?key=anna", 200, '{\n  "reset": 0\n}\n'],
  [
    "POST",
    "/limits/reset?limit=foo",
    400,
    "invalid limit: the configuration has no limits\n",
  ],
  ["GET", "/limits/reset", ...wrongMethod],
  ["GET", "/quitquitquit", ...wrongMethod],
  ["HEAD", "/quitquitquit", 405, ""],
  ["PUT", "/quitquitquit", ...wrongMethod],
  ["HEAD", "/debug/trace", 405, ""],
  ["GET", "/mcp/servers", 200, '{\n  "servers": []\n}\n'],
  ["POST", "/mcp/servers", ...wrongMethod],
  ["GET", "/mcp/tools", 200, '{\n  "servers": []\n}\n'],
  ["GET", "/mcp/tools?server=a", 400, /^invalid query: usage: GET/],
  ["POST", "/mcp/tools", 400, /^invalid content-type: /],
  ["PUT", "/mcp/tools", ...wrongMethod],
  ["POST", "/mcp/tools/revoke", 400, /^invalid content-type: /],
  ["GET", "/memory", 200, /^\{\n {2}"takenAt": ".*"stores": \[/s],
  ["HEAD", "/memory", 200, ""],
  ["POST", "/memory", ...wrongMethod],
  ["GET", "/debug/tasks", 200, /"connections": 0,.*"watchers": \[\]/s],
  ["HEAD", "/debug/tasks", 200, ""],
  ["POST", "/debug/tasks", ...wrongMethod],
  [
    "GET",
    "/debug/tasks?limit=0",
    400,
    "invalid limit: expected a whole number from 1 to 100000\n",
  ],
  ["HEAD", "/debug/pprof/heap", 405, ""],
  ["POST", "/debug/pprof/heap", ...wrongMethod],
  ["GET", "/openapi.json", 200, /^\{\n {2}"openapi": "3\.1\.1"/],
  ["POST", "/openapi.json", ...wrongMethod],
  ...(Deno.build.os === "linux" ? profileRows() : []),
  ["GET", "/metrics", ...notFound],
  ["GET", "/unknown", ...notFound],
  ["POST", "/unknown", ...notFound],
  ["HEAD", "/unknown", 404, ""],
];

for (
  const { name, start } of [{ name: "TCP", start: startOnTcp }, {
    name: "a unix socket",
    start: startOnSocket,
  }]
) {
  Deno.test(`admin answers every path, method and parameter on ${name}`, async (t) => {
    await using admin = await start();

    for (const [method, target, status, body] of rows) {
      await t.step(`${method} ${target} is ${status}`, async () => {
        const answer = await ask(admin.address, method, target);

        assert.equal(answer.status, status);
        if (typeof body === "string") assert.equal(answer.body, body);
        else assert.match(answer.body, body);
        assert.match(answer.headers, /\r\nx-content-type-options: nosniff\r\n/);
      });
    }
  });

  Deno.test(`admin shuts the process down through /quitquitquit on ${name}`, async () => {
    await using admin = await start();

    const answer = await ask(admin.address, "POST", "/quitquitquit");

    assert.deepEqual([answer.status, answer.body], [200, "shutdown now\n"]);
    assert.equal(await admin.process.exited, 0);
    assert.match(admin.process.stderr(), /\tgateway\tDraining/);
  });
}

Deno.test("admin names the methods that a path allows", async () => {
  await using admin = await startOnTcp();

  const answers = [
    await ask(admin.address, "DELETE", "/logging"),
    await ask(admin.address, "GET", "/quitquitquit"),
    await ask(admin.address, "POST", "/config_dump"),
  ];

  assert.deepEqual(
    answers.map(({ headers }) => /\r\nallow: ([^\r]*)/.exec(headers)?.[1]),
    ["get, head, post", "post", "get, head"],
  );
});

const foreign = [
  {
    name: "a name that an attacker's DNS points here",
    headers: { Host: "evil.example.com" },
  },
  {
    name: "the same with our port",
    headers: { Host: "evil.example.com:15000" },
  },
  { name: "an address that is not bound", headers: { Host: "10.0.0.7:15000" } },
  { name: "an empty Host", headers: { Host: "" } },
  {
    name: "another site",
    headers: { Host: "localhost", Origin: "https://evil.example.com" },
  },
  { name: "an opaque origin", headers: { Host: "localhost", Origin: "null" } },
];

Deno.test("admin rejects cross-origin requests, on TCP", async (t) => {
  await using admin = await startOnTcp();

  for (const { name, headers } of foreign) {
    await t.step(name, async () => {
      const answers = [
        await ask(admin.address, "GET", "/config_dump", headers),
        await ask(admin.address, "POST", "/quitquitquit", headers),
        await ask(admin.address, "GET", "/unknown", headers),
      ];

      assert.deepEqual(answers.map(({ status }) => status), [403, 403, 403]);
      assert(answers.every(({ body }) => /^forbidden: .*\n$/.test(body)));
    });
  }
  assert.equal((await ask(admin.address, "GET", "/logging")).status, 200);
});

Deno.test("admin on a Unix socket ignores Host", async () => {
  await using admin = await startOnSocket();

  const answer = await ask(admin.address, "GET", "/logging", {
    Host: "anything.example.com",
  });

  assert.equal(answer.status, 200);
});

Deno.test("admin sends pages that load nothing and cannot be framed", async () => {
  await using admin = await startOnTcp();

  const { headers } = await ask(admin.address, "GET", "/");

  assert.match(
    headers,
    /content-security-policy: default-src 'none';.* frame-ancestors 'none'/,
  );
  assert.match(headers, /cache-control: no-store/);
  assert.doesNotMatch(headers, /access-control/);
});

Deno.test("admin off listens nowhere", async () => {
  await using admin = await startAdmin({ adminAddr: "off" });

  const listening = await admin.process.waitFor(/\tadmin\tListening (.*)\n/);

  assert.equal(listening[1], "admin=off stats=off");
});

Deno.test("admin dump shows a rejected change and keeps the current configuration", async () => {
  await using admin = await startOnTcp();
  const file = `${admin.folder}/gateway.yaml`;
  const before = JSON.parse(
    (await ask(admin.address, "GET", "/config_dump")).body,
  );

  await replaceFile(file, "routes: 5\n");
  await admin.process.waitFor(/Configuration rejected/);

  const after = JSON.parse(
    (await ask(admin.address, "GET", "/config_dump")).body,
  );
  assert.equal(before.lastRejected, null);
  assert.equal(after.hash, before.hash);
  assert.deepEqual(after.routes, before.routes);
  assert.match(
    after.lastRejected.diagnostics[0],
    /^.*gateway\.yaml:1:9: error: routes: expected a list/,
  );
});

Deno.test("stats on loopback responds to names of this machine alone", async () => {
  await using admin = await startAdmin({
    adminAddr: "off",
    statsAddr: "127.0.0.1:0",
  });
  const [, port] = await admin.process.waitFor(
    /stats="?http:\/\/127\.0\.0\.1:([0-9]+)/,
  );
  const address: Address = {
    transport: "tcp",
    hostname: "127.0.0.1",
    port: Number(port),
  };
  const statusFor = async (headers: Record<string, string>) =>
    (await ask(address, "GET", "/metrics", headers)).status;

  assert.equal(await statusFor({ Host: "localhost" }), 200);
  assert.equal(await statusFor({ Host: "rebound.example.com" }), 403);
});

Deno.test("stats on all addresses responds to any name", async () => {
  await using admin = await startAdmin({
    adminAddr: "off",
    statsAddr: "0.0.0.0:0",
  });
  const [, port] = await admin.process.waitFor(
    /stats="?http:\/\/0\.0\.0\.0:([0-9]+)/,
  );
  const address: Address = {
    transport: "tcp",
    hostname: "127.0.0.1",
    port: Number(port),
  };

  const ready = await ask(address, "GET", "/healthz/ready", {
    Host: "pod.example.com",
  });
  const metrics = await ask(address, "GET", "/metrics", {
    Host: "pod.example.com",
  });

  assert.deepEqual([ready.status, ready.body], [200, "ready\n"]);
  assert.match(metrics.body, /^gateway_build_info\{version="[0-9.]+"\} 1$/m);
  assert.match(
    metrics.body,
    /^gateway_config_reloads_total\{result="applied"\} 1$/m,
  );
  assert.match(
    metrics.body,
    /^gateway_log_lines_dropped_total\{log="access"\} 0$/m,
  );
});
