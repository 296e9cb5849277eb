import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";
import {
  type RunningCommand,
  startCommand,
} from "../../harness/process/running_command.ts";
import {
  startStoryGateway,
  type StoryGateway,
} from "../../harness/gateway/story_gateway.ts";
import {
  gatewayCommandLine,
  Terminal,
} from "../../harness/process/terminal.ts";

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "story", version: "1" },
  },
});

/** Which request, and what the screen says about it without a key pressed. */
interface Story {
  readonly name: string;
  readonly path: string;
  /** Variable of the terminal. */
  readonly token?: "ALLOWED" | "DENIED";
  /** The event that is selected. */
  readonly selected: RegExp;
  /** The last line but one. */
  readonly outcome: RegExp;
  readonly detail: RegExp;
}

const stories: readonly Story[] = [
  {
    name: "401",
    path: "/mcp",
    selected: /^> .* error +policy[ ·]+401 jwt: a bearer token is required/m,
    outcome: /complete · 401 a bearer token is required/,
    detail: /status: 401/,
  },
  {
    name: "403",
    path: "/mcp",
    token: "DENIED",
    selected:
      /^> .* error +authorizationResult[ ·]+denied by 'call:mcp' in jwt\.perm/m,
    outcome: /complete · 403 rule "'call:mcp' in jwt.permissions" is false/,
    detail: /- name: "'call:mcp' in jwt\.permissions"\n +matched: false/,
  },
  {
    name: "429",
    path: "/limited",
    selected:
      /^> .* error +rateLimit[ ·]+429 local: 1 requests? per hour exceeded/m,
    outcome:
      /complete · 429 Limit "1 requests? per hour" of HTTPRoute\/default\//,
    detail: /kind: local/,
  },
  {
    name: "404",
    path: "/nowhere",
    selected: /^> .* error +routeSelection[ ·]+no route matched of 2/m,
    outcome: /complete · 404 No route matches/,
    detail: /selectedRoute: null/,
  },
  {
    name: "200",
    path: "/mcp",
    token: "ALLOWED",
    selected: /^> .* info +requestFinished[ ·]+200/m,
    outcome: /events, complete · 200/,
    detail: /reason: upstream/,
  },
];

async function openTerminal(
  story: StoryGateway,
  [columns, rows]: readonly [number, number],
): Promise<Terminal> {
  return await Terminal.open(columns, rows, {
    ALLOWED: story.allowedToken,
    DENIED: story.deniedToken,
  });
}

async function assertTold(
  terminal: Terminal,
  { selected, outcome, detail }: Story,
): Promise<void> {
  await terminal.waitFor(outcome, selected, detail);
}

async function useUp({ gateway }: StoryGateway): Promise<void> {
  await fetchRaw(`${gateway.origin}/limited`);
}

for (const size of [[80, 24], [120, 40]] as const) {
  Deno.test(`the trace of a request that gwctl sends tells its story at ${size.join("x")}`, async () => {
    await using gateway = await startStoryGateway();
    await useUp(gateway);
    await using terminal = await openTerminal(gateway, size);
    for (const story of stories) {
      const { path, token } = story;
      const trace = ["ctl", "proxy", "trace", "gateway/default"];
      const command = gatewayCommandLine([
        ...[...trace, "--admin", gateway.admin, "--"],
        `http://api.example.com${path}`,
      ]);
      const bearer = token === undefined
        ? ""
        : `-H "authorization: Bearer $${token}"`;
      const accept = "accept: application/json, text/event-stream";
      const body = `-H 'content-type: application/json' -d '${initialize}'`;

      await terminal.run(`clear; ${command} ${bearer} -H '${accept}' ${body}`);

      await assertTold(terminal, story);
      await terminal.waitFor(
        new RegExp(`^ trace of http://api\\.example\\.com${path} *$`, "m"),
      );
      await terminal.press("q");
      await terminal.waitFor(/^shell> *$/m);
    }
  });

  Deno.test(`the trace of a client's request tells its story at ${size.join("x")}`, async () => {
    await using gateway = await startStoryGateway();
    await useUp(gateway);
    await using terminal = await openTerminal(gateway, size);
    const tokens = {
      ALLOWED: gateway.allowedToken,
      DENIED: gateway.deniedToken,
    };
    for (const story of stories) {
      const trace = ["ctl", "proxy", "trace", "--admin", gateway.admin];
      await terminal.run(`clear; ${gatewayCommandLine(trace)}`);
      await terminal.waitFor(/waiting for a request…/);

      await fetchRaw(`${gateway.gateway.origin}${story.path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": String(initialize.length),
          accept: "application/json, text/event-stream",
          ...(story.token !== undefined &&
            { authorization: `Bearer ${tokens[story.token]}` }),
        },
        body: initialize,
      });

      await assertTold(terminal, story);
      await terminal.press("q");
      await terminal.waitFor(/^shell> *$/m);
    }
  });
}

/** A process with the gateways "blue" and "green", whose answers say 200. */
async function startTwoGateways() {
  await using opening = new AsyncDisposableStack();
  const upstream = opening.use(
    new RawUpstream(async (connection) => {
      for (;;) {
        await connection.request();
        await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
      }
    }),
  );
  const ports = { blue: freePort(), green: freePort() };
  const process = opening.use(
    await GatewayProcess.start({
      config: {
        gateways: {
          blue: { port: ports.blue, address: "127.0.0.1" },
          green: { port: ports.green, address: "127.0.0.1" },
        },
        routes: [{
          name: "all",
          gateways: ["blue", "green"],
          backends: [{ host: `127.0.0.1:${upstream.port}` }],
        }],
      },
    }),
  );
  const open = opening.move();
  return {
    ports,
    admin: new URL(process.admin).host,
    async send(gateway: keyof typeof ports, path: string): Promise<void> {
      await fetchRaw(`http://127.0.0.1:${ports[gateway]}${path}`);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

type TwoGateways = Awaited<ReturnType<typeof startTwoGateways>>;

function trace(
  { admin }: TwoGateways,
  ...args: readonly string[]
): RunningCommand {
  return startCommand({
    args: ["ctl", "proxy", "trace", "--admin", admin, "--raw", ...args],
  });
}

/** Paths of the requests of a `--raw` trace. */
function pathsOf(output: string): readonly string[] {
  return output.trimEnd().split("\n").map((line) => JSON.parse(line))
    .filter(({ message }) => message.stage === "initial request")
    .map(({ message }) => message.requestState.request.path);
}

/** The screen says when the gateway listens for a request; `--raw` says nothing, so each try is a request. */
async function sendUntilEnd(
  command: RunningCommand,
  send: () => Promise<void>,
): Promise<number> {
  let hasEnded = false;
  const ended = command.exited.finally(() => hasEnded = true);
  const deadline = Date.now() + 120_000;
  while (!hasEnded) {
    assert(Date.now() < deadline, "no request was the one");
    await send();
  }
  return await ended;
}

const choices: readonly {
  readonly what: string;
  readonly words: (gateways: TwoGateways) => readonly string[];
}[] = [
  { what: "gateway/<name>", words: () => ["gateway/green"] },
  {
    what: "--port",
    words: ({ ports }) => ["--port", String(ports.green)],
  },
  { what: "--filter", words: () => ["--filter", "request.path == '/green'"] },
];
for (const { what, words } of choices) {
  Deno.test(`trace ${what} shows the requests of one of two gateways`, async () => {
    await using gateways = await startTwoGateways();
    await using command = trace(gateways, ...words(gateways));

    const code = await sendUntilEnd(command, async () => {
      await gateways.send("blue", "/blue");
      await gateways.send("green", "/green");
    });

    assert.equal(code, 0, command.stderr());
    assert.deepEqual(pathsOf(command.stdout()), ["/green"]);
  });
}

Deno.test("trace of another gateway waits on the screen while requests pass by", async () => {
  await using gateways = await startTwoGateways();
  await using terminal = await Terminal.open(80, 24);
  const words = ["gateway/green", "--admin", gateways.admin];
  await terminal.run(
    gatewayCommandLine(["ctl", "proxy", "trace", ...words]),
  );
  await terminal.waitFor(/waiting for a request…/);

  await gateways.send("blue", "/blue");
  const before = await terminal.screen();
  await gateways.send("green", "/green");

  assert.match(before, /^ trace of gateway\/green/);
  const after = await terminal.waitFor(/complete · 200/);
  assert.doesNotMatch(after, /\/blue/);
  await terminal.press("Home", "Down");
  await terminal.waitFor(/^> .* initial request: GET http:\/\/127\.0\.0\.1/m);
  await terminal.press("q");
  await terminal.waitFor(/^shell> *$/m);
});

Deno.test("trace --count shows so many requests, then ends", async () => {
  await using gateways = await startTwoGateways();
  await using command = trace(gateways, "--count", "3");

  const code = await sendUntilEnd(command, () => gateways.send("blue", "/a"));

  assert.equal(code, 0, command.stderr());
  assert.deepEqual(pathsOf(command.stdout()), ["/a", "/a", "/a"]);
});

Deno.test("trace sends its request to the gateway that is named", async () => {
  await using gateways = await startTwoGateways();
  const url = "http://api.example.com/injected";
  await using named = trace(gateways, "gateway/blue", "--", url);
  const port = String(gateways.ports.green);
  await using chosen = trace(gateways, "--port", port, "--", url);
  await using neither = trace(gateways, "--", url);
  const local = `http://localhost:${gateways.ports.blue}/named`;
  await using byUrl = trace(gateways, "--", local);

  assert.equal(await named.exited, 0, named.stderr());
  assert.equal(await chosen.exited, 0, chosen.stderr());
  assert.equal(await neither.exited, 1);
  assert.equal(await byUrl.exited, 0, byUrl.stderr());
  assert.match(byUrl.stdout(), /"gateway":"blue"/);
  assert.deepEqual(pathsOf(named.stdout()), ["/injected"]);
  assert.match(named.stdout(), /"gateway":"blue"/);
  assert.match(named.stdout(), /"user-agent":"curl\//);
  assert.match(chosen.stdout(), /"gateway":"green"/);
  assert.match(
    neither.stderr(),
    /Several listeners match; select one with --port \d+ or/,
  );
});

const wrongWords: readonly (readonly [
  words: readonly string[],
  code: number,
  says: RegExp,
])[] = [
  [["--filter", "request.path =="], 2, /^gateway: Cannot trace: .*filter/],
  [["--filter", "requst.path == '/'"], 2, /requst/],
  [["--filter", "jwt.sub == 'anna'"], 2, /jwt/],
  [
    ["gateway/red"],
    1,
    /Cannot find gateway "red": expected one of "blue", "green"/,
  ],
  [
    ["--port", "1"],
    1,
    /Cannot trace port 1: no listener uses it, .*; -p selects the admin port/,
  ],
];
for (const [words, code, says] of wrongWords) {
  Deno.test(`trace ${words.join(" ")} fails at a real gateway and reports why`, async () => {
    await using gateways = await startTwoGateways();
    await using command = trace(gateways, ...words);

    assert.equal(await command.exited, code);
    assert.equal(command.stdout(), "");
    assert.match(command.stderr(), says);
  });
}

Deno.test("trace and explain give the token that the admin interface requests, and show it nowhere", async () => {
  const adminToken = "planted-admin-token";
  await using gateway = await GatewayProcess.start({
    config: { config: { adminToken }, routes: [] },
  });
  const folder = await Deno.makeTempDir();
  const tokenFile = `${folder}/token`;
  await Deno.writeTextFile(tokenFile, `${adminToken}\n`);
  const admin = ["--admin", new URL(gateway.admin).host];
  const run = async (
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ) => {
    const { code, stdout, stderr } = await gatewayCommand({
      args: ["ctl", ...args],
      env,
    }).output();
    const decoder = new TextDecoder();
    const text = decoder.decode(stdout) + decoder.decode(stderr);
    assert.doesNotMatch(text, /planted/);
    return { code, text };
  };
  const inject = ["--", "http://api.example.com/"];

  const without = await run(["proxy", "trace", ...admin, ...inject]);
  const withFile = await run(
    ["proxy", "trace", ...admin, "--token-file", tokenFile, ...inject],
  );
  const withVariable = await run(
    ["explain", ...admin],
    { GATEWAY_ADMIN_TOKEN: adminToken },
  );
  {
    await using terminal = await Terminal.open(80, 24);
    const words = ["ctl", "proxy", "trace", ...admin];
    await terminal.run(
      gatewayCommandLine([...words, "--token-file", tokenFile, ...inject]),
    );
    const screen = await terminal.waitFor(/complete · 404/);
    assert.doesNotMatch(screen, /planted/);
  }

  assert.equal(without.code, 1);
  assert.match(without.text, /token/);
  assert.equal(withFile.code, 0, withFile.text);
  assert.match(withFile.text, /requestFinished +404/);
  assert.equal(withVariable.code, 0, withVariable.text);
  assert.match(withVariable.text, /404 GET api\.example\.com\//);
  await Deno.remove(folder, { recursive: true });
});
