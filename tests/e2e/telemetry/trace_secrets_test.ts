import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";
import {
  gatewayCommandLine,
  Terminal,
} from "../../harness/process/terminal.ts";

/** Every secret has this in it. */
const mark = "planted";
const url = "http://api.example.com/v1?access_token=planted-query&page=2";
const headers = {
  authorization: "Bearer planted-token",
  cookie: "theme=dark; sid=planted-cookie",
  "x-api-key": "planted-llm-key",
  "x-team-key": "planted-team-key",
  "x-session": "planted-session",
} as const;
const body = '{"echo":"planted-token","client_secret":"planted-client-secret"}';
const marker = "shown-body-text";

interface PlantedGateway extends AsyncDisposable {
  readonly gateway: GatewayProcess;
  readonly admin: string;
  /** Requests as they arrived at the upstream. */
  readonly received: readonly string[];
}

/** A gateway whose only route finds secrets everywhere; the upstream echoes them with a 500. */
async function startPlantedGateway(): Promise<PlantedGateway> {
  await using opening = new AsyncDisposableStack();
  const received: string[] = [];
  const upstream = opening.use(
    new RawUpstream(async (connection) => {
      for (;;) {
        const request = await connection.request();
        received.push(request);
        const fields = "set-cookie: sid=planted-set-cookie; Path=/\r\n" +
          "x-session: planted-answer\r\n";
        const text = `${marker} ${request}`;
        await connection.send(
          `HTTP/1.1 500 Any\r\n${fields}content-length: ${text.length}\r\n\r\n${text}`,
        );
      }
    }),
  );
  const gateway = opening.use(
    await GatewayProcess.start({
      config: {
        config: { sensitiveHeaders: ["X-Session"] },
        routes: [{
          name: "all",
          backends: [{ host: `127.0.0.1:${upstream.port}` }],
          policies: {
            apiKeyAuthentication: {
              keys: [{ key: "planted-team-key", metadata: { team: "blue" } }],
              location: { header: { name: "x-team-key" } },
            },
            transformation: {
              request: {
                set: [{
                  name: "x-upstream-auth",
                  value: "'made of ' + request.headers['authorization']",
                }],
              },
            },
          },
        }],
      },
    }),
  );
  const open = opening.move();
  return {
    gateway,
    admin: new URL(gateway.admin).host,
    received,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function assertArrived({ received }: PlantedGateway): void {
  const [request = ""] = received;
  for (
    const secret of [
      ...["planted-token", "planted-cookie", "planted-llm-key"],
      ...["planted-session", "planted-query", "planted-client-secret"],
      "made of Bearer planted-token",
    ]
  ) assert.ok(request.includes(secret), `${secret} did not arrive`);
}

const curlArguments = [
  ...Object.entries(headers).flatMap(([name, value]) => [
    "-H",
    `${name}: ${value}`,
  ]),
  ...["-d", body],
];

/** Taller than any event, so each of them is shown whole; not so wide that the panes stand side by side. */
const size = [130, 200] as const;
const modes = [["e", "raw event"], ["s", "snapshot"], ["d", "diff"]] as const;
const formats = ["yaml", "json"] as const;

/** Looks at every event of a complete trace in every way. */
async function assertNothingOnAnyScreen(terminal: Terminal): Promise<void> {
  const first = await terminal.waitFor(/complete · 500/);
  const [, count = ""] = /Events \d+\/(\d+)/.exec(first) ?? [];
  assert(Number(count) > 10, first);
  const screens: string[] = [first];
  for (const format of formats) {
    for (const [key, mode] of modes) {
      await terminal.press("Home", key);
      for (let event = 1; event <= Number(count); event++) {
        const heading =
          `Events ${event}/${count} [^]*Detail: ${mode}.*${format}`;
        screens.push(await terminal.waitFor(new RegExp(heading)));
        await terminal.press("Down");
      }
    }
    await terminal.press("f");
  }
  const all = screens.join("\n");
  // They did show what they might have shown too much of.
  assert.match(all, /x-upstream-auth: made of <redacted>/);
  assert.match(all, new RegExp(marker));
  assert.doesNotMatch(all, / \d+-\d+\/\d+ ─/, "an event was not shown whole");
  for (const screen of screens) {
    // Long values go on in the next row.
    assert.ok(!screen.replaceAll(/ *\n/g, "").includes(mark), screen);
  }
  for (let panes = 0; panes < 2; panes++) {
    await terminal.type(`/${mark}`);
    await terminal.press("Enter");
    await terminal.waitFor(new RegExp(`not found: "${mark}"`));
    await terminal.press("Tab");
  }
}

Deno.test("no screen of the terminal UI shows a secret of a request that gwctl sends", async () => {
  await using gateway = await startPlantedGateway();
  await using terminal = await Terminal.open(...size);
  const script = await Deno.makeTempFile();
  const words = ["ctl", "proxy", "trace", "--admin", gateway.admin];
  // A script, because a typed command would be on the screen.
  await Deno.writeTextFile(
    script,
    gatewayCommandLine([...words, "--", url, ...curlArguments]),
  );

  await terminal.run(`sh ${script}`);

  await assertNothingOnAnyScreen(terminal);
  assertArrived(gateway);
  await terminal.press("q");
  await Deno.remove(script);
});

Deno.test("no screen of the terminal UI shows a secret of a client's request", async () => {
  await using gateway = await startPlantedGateway();
  await using terminal = await Terminal.open(...size);
  const words = ["ctl", "proxy", "trace", "--admin", gateway.admin];
  await terminal.run(gatewayCommandLine(words));
  await terminal.waitFor(/waiting for a request…/);

  await sendPlanted(gateway);

  await assertNothingOnAnyScreen(terminal);
  assertArrived(gateway);
  await terminal.press("q");
});

async function sendPlanted({ gateway }: PlantedGateway): Promise<string> {
  const { pathname, search } = new URL(url);
  const answer = await fetchRaw(gateway.origin + pathname + search, {
    method: "POST",
    headers: { ...headers, "content-length": String(body.length) },
    body,
  });
  return String(answer.headers["x-request-id"]);
}

async function outputOf(args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await gatewayCommand({ args }).output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout) + decoder.decode(stderr);
}

/** With the bodies of a `--raw` trace as they were. */
function withBodies(text: string): string {
  const bodies = text.matchAll(/"body":"([A-Za-z0-9+/=]+)"/g);
  return [text, ...bodies.map(([, body = ""]) => atob(body))].join("\n");
}

for (const [form, options] of [["--raw", ["--raw"]], ["text", []]] as const) {
  Deno.test(`trace as ${form} shows no secret`, async () => {
    await using gateway = await startPlantedGateway();
    const words = ["ctl", "proxy", "trace", "--admin", gateway.admin];

    const text = withBodies(
      await outputOf([...words, ...options, "--", url, ...curlArguments]),
    );

    assertArrived(gateway);
    assert.match(text, /requestFinished/);
    assert.match(text, new RegExp(marker));
    assert.match(text, /access_token=<redacted>/);
    assert.ok(!text.includes(mark), text);
  });
}

Deno.test("explain shows no secret, as text, as JSON and in its list", async () => {
  await using gateway = await startPlantedGateway();
  const id = await sendPlanted(gateway);
  const explain = ["ctl", "explain", "--admin", gateway.admin];

  const texts = [
    await outputOf([...explain, id]),
    await outputOf([...explain, id, "-o", "json"]),
    await outputOf(explain),
    await outputOf([...explain, "-o", "json"]),
  ];

  assertArrived(gateway);
  for (const text of texts) {
    assert.match(text, /500/);
    assert.ok(text.includes(id) || text.includes("returned 500"), text);
    assert.ok(!withBodies(text).includes(mark), text);
  }
});
