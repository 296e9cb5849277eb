import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  startUiGateway,
  UI_AUTHORIZATION,
} from "../../harness/browser/ui_gateway.ts";

const adminToken = "0123456789abcdef";

const route = {
  name: "hello",
  policies: { directResponse: { status: 200, body: "first" } },
};

interface Change {
  readonly at: string;
  readonly address: string;
  readonly access: string;
  readonly action: string;
  readonly status: number;
  readonly outcome: string;
}

function start(config: object = { adminToken }): Promise<GatewayProcess> {
  return GatewayProcess.start({ config: { config, routes: [route] } });
}

async function send(
  origin: string,
  path: string,
  { token = adminToken, ...init }: RequestInit & { token?: string } = {},
) {
  const response = await fetch(origin + path, {
    ...init,
    headers: {
      ...(token !== "" && { authorization: `Bearer ${token}` }),
      "sec-fetch-site": "same-origin",
    },
  });
  const text = await response.text();
  return { status: response.status, text, headers: response.headers };
}

Deno.test("guesses of the admin token are logged and counted without the token, and soon get 429 with Retry-After", async () => {
  await using gateway = await start();

  const statuses: number[] = [];
  for (let each = 0; each < 200; each++) {
    const token = `guessed-token-${each}`;
    const { status } = await send(gateway.admin, "/config_dump", { token });
    statuses.push(status);
  }
  const right = await send(gateway.admin, "/config_dump");
  const { text: metrics } = await send(gateway.stats, "/metrics");

  const checked = statuses.filter((status) => status === 401).length;
  assert.deepEqual(statuses.slice(0, 11), Array(11).fill(401));
  assert.equal(statuses[11], 429);
  assert.ok(checked < 20, String(checked));
  assert.equal(right.status, 429);
  assert.match(right.headers.get("retry-after") ?? "", /^[1-9]\d?$/);
  assert.match(right.text, /too many invalid tokens: retry after \d+ seconds/);
  const lines = gateway.log.all.filter((line) =>
    line.includes("Invalid admin token")
  );
  assert.equal(lines.length, checked);
  assert.match(
    lines.at(-1) ?? "",
    /\twarn\tadmin\tInvalid admin token address=127\.0\.0\.1 failures=\d+/,
  );
  assert.doesNotMatch(gateway.log.all.join("\n"), /guessed-token/);
  const count = (reason: string) =>
    Number(
      new RegExp(`_rejections_total{reason="${reason}"} (\\d+)`).exec(metrics)
        ?.[1],
    );
  assert.equal(count("invalid_token"), checked);
  assert.equal(count("throttled"), 200 - checked + 1);
});

Deno.test("after guesses, the right token works from another address at once, and from the same one after the time of Retry-After", async () => {
  await using gateway = await start();
  const origin = gateway.admin;
  const guess = () => send(origin, "/", { token: "guessed-token-0" });
  while ((await guess()).status === 401);

  const other = await sendFrom("127.0.0.2", origin);
  const { headers, status } = await send(origin, "/");
  let last = status;
  while (last === 429) last = (await send(origin, "/")).status;

  assert.equal(other, "200");
  assert.equal(status, 429);
  assert.ok(Number(headers.get("retry-after")) <= 2);
  assert.equal(last, 200);
});

/** Sends the right token from another address of the loopback network. */
async function sendFrom(address: string, origin: string): Promise<string> {
  const authorization = `authorization: Bearer ${adminToken}`;
  const args = ["-s", "-o", "/dev/null", "-w", "%{http_code}"];
  const { stdout } = await new Deno.Command("curl", {
    args: [...args, "--interface", address, "-H", authorization, `${origin}/`],
  }).output();
  return new TextDecoder().decode(stdout);
}

Deno.test("each administrative change leaves a line in the log and an entry of /audit: who, what and the outcome", async () => {
  await using gateway = await start();
  const { admin } = gateway;
  const post = (path: string, body?: unknown) =>
    send(admin, path, {
      method: "POST",
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  await post("/logging?level=debug");
  await post("/logging?level=no");
  await post("/limits/reset");
  await post("/keys/refresh");
  await send(admin, "/debug/pprof/heap");
  const source = JSON.parse((await send(admin, "/ui/api/source")).text);
  const [{ name, text }] = source.files;
  const draft = { hash: source.hash, name, text: text.replace("first", "2nd") };
  await post("/ui/api/source/check", draft);
  await post("/ui/api/source/apply", { ...draft, text: '{"no":1}\n' });
  await post("/ui/api/source/apply", draft);
  await post("/no/such\u202epath");
  const { text: audit } = await send(admin, "/audit");
  const table = await gatewayCommand({
    args: ["ctl", "proxy", "audit", "--admin", new URL(admin).host],
    env: { NO_COLOR: "1", GATEWAY_ADMIN_TOKEN: adminToken },
  }).output();
  await post("/quitquitquit");
  await gateway.exitCode();

  const { changes, omitted }: { changes: Change[]; omitted: number } = JSON
    .parse(audit);
  assert.equal(omitted, 0);
  assert.deepEqual(
    changes.toReversed().map(({ action, status, outcome }) =>
      [action, status, outcome].join(" | ")
    ),
    [
      "POST /logging?level=debug | 200 | done",
      "POST /logging?level=no | 400 | rejected",
      "POST /limits/reset | 200 | done",
      "POST /keys/refresh | 200 | done",
      "GET /debug/pprof/heap | 200 | done",
      `POST /ui/api/source/apply | 200 | rejected: 1 errors in "${name}"`,
      `POST /ui/api/source/apply | 200 | wrote "${name}"`,
      "POST /no/such%E2%80%AEpath | 404 | rejected",
    ],
  );
  const [title, newest] = new TextDecoder().decode(table.stdout).split("\n");
  assert.match(title ?? "", /^AT +ADDRESS +ACCESS +ACTION +STATUS +OUTCOME$/);
  assert.match(newest ?? "", / 127\.0\.0\.1 +token +POST \/no\/such.* 404 /);
  for (const { address, access } of changes) {
    assert.deepEqual({ address, access }, {
      address: "127.0.0.1",
      access: "token",
    });
  }
  const lines = gateway.log.all.filter((line) =>
    line.includes("\tadmin\tAdministrative change\t") ||
    line.includes("\tadmin\tAdministrative change ")
  );
  const done = lines.filter((line) => / outcome=/.test(line));
  assert.equal(done.length, changes.length + 1);
  assert.match(
    done.at(-1) ?? "",
    /address=127\.0\.0\.1 access=token action="POST \/quitquitquit" status=200 outcome=done/,
  );
  assert.doesNotMatch(audit + lines.join(), new RegExp(adminToken));
});

Deno.test("who turns the log off leaves a line first", async () => {
  await using gateway = await start({});

  await send(gateway.admin, "/logging?level=off", {
    method: "POST",
    token: "",
  });

  const line = await gateway.log.next(/Administrative change begins/);
  assert.match(line, /access=none action="POST \/logging\?level=off"/);
});

Deno.test("a change through the web UI on a gateway is audited with the address of its user", async () => {
  await using gateway = await startUiGateway({ access: "ReadWrite" });
  const response = await fetch(
    `${gateway.origin}/ui/api/logging?level=debug`,
    {
      method: "POST",
      headers: {
        authorization: UI_AUTHORIZATION,
        "sec-fetch-site": "same-origin",
      },
    },
  );
  await response.text();

  const { text } = await send(gateway.admin, "/audit", { token: "" });

  const { changes: [change] }: { changes: Change[] } = JSON.parse(text);
  assert.deepEqual({ ...change, at: "" }, {
    at: "",
    address: "127.0.0.1",
    access: "gateway",
    action: "POST /ui/api/logging?level=debug",
    status: 200,
    outcome: "done",
  });
});
