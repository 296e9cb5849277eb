import assert from "node:assert/strict";
import { startOneEra } from "../../harness/mcp/one_era.ts";
import type {
  Check,
  Era,
  EraServer,
  Feature,
  Outcome,
  Peer,
} from "./era_features.ts";

/** An SDK in Python, with its programs in `tests/interop/eras/python`. */
interface PythonSdk {
  readonly name: string;
  /** Begin of the names of its servers in the configuration. */
  readonly prefix: string;
  /** Name of its virtual environment in the folder that `.ci/interop/python_clients` prints. */
  readonly environment: string;
  /** Begin of the names of its programs. */
  readonly program: string;
  readonly eras: readonly Era[];
  /** Features that its server and its client lack, by era. */
  readonly serverLacks: Readonly<Record<Era, readonly Feature[]>>;
  readonly clientLacks: Readonly<Record<Era, readonly Feature[]>>;
}

const sdks: readonly PythonSdk[] = [
  {
    name: "Python 1",
    prefix: "py1",
    environment: "mcp1",
    program: "mcp1",
    eras: ["legacy"],
    serverLacks: { legacy: [], modern: [] },
    clientLacks: { legacy: [], modern: [] },
  },
  {
    name: "Python 2",
    prefix: "py2",
    environment: "mcp2",
    program: "mcp2",
    eras: ["legacy", "modern"],
    serverLacks: { legacy: ["task"], modern: ["task"] },
    clientLacks: { legacy: ["task"], modern: ["task"] },
  },
  {
    name: "FastMCP",
    prefix: "fastmcp",
    environment: "mcp2",
    program: "fastmcp",
    eras: ["legacy", "modern"],
    serverLacks: {
      legacy: ["subscription", "task"],
      modern: ["subscription"],
    },
    clientLacks: { legacy: ["task"], modern: [] },
  },
];

/** A client in Python; it makes all its checks in one process. */
export interface PythonEraClient extends Peer {
  /** Returns the outcomes, in the order of the checks. @throws {Error} If the client does not start. */
  run(url: string, checks: readonly ServerCheck[]): Promise<readonly Outcome[]>;
}

/** A check of a server, by its name in the configuration. */
export interface ServerCheck {
  readonly server: string;
  readonly check: Check;
}

/** The clients in Python. */
export const pythonEraClients: readonly PythonEraClient[] = sdks.flatMap(
  (sdk) =>
    sdk.eras.map((era) => ({
      name: nameOf(sdk, era),
      era,
      lacks: sdk.clientLacks[era],
      async run(url, checks) {
        const child = spawn(sdk, "client", "piped");
        const output = child.output();
        const request = JSON.stringify({ url, era, checks });
        await new Blob([request]).stream().pipeTo(child.stdin);
        const { stdout, stderr } = await output;
        const outcomes = new TextDecoder().decode(stdout).split("\n")
          .filter((line) => line.startsWith('"'))
          .map((line) => String(JSON.parse(line)));
        assert.equal(
          outcomes.length,
          checks.length,
          new TextDecoder().decode(stderr),
        );
        return outcomes;
      },
    })),
);

/** Starts the servers in Python, each of which understands one era. */
export async function startPythonServers(): Promise<EraServer[]> {
  const started = await Promise.all(sdks.map(startServers));
  return started.flat();
}

/** Starts a server of an SDK, and what makes it one of each era. */
async function startServers(sdk: PythonSdk): Promise<EraServer[]> {
  const child = spawn(sdk, "server", "null");
  const stderr = new Response(child.stderr).text();
  const port = await readPort(child.stdout, stderr);
  const stop = async () => {
    child.kill();
    await Promise.all([child.status, stderr]);
  };
  return sdk.eras.map((era, index) => {
    const filtered = startOneEra(`http://127.0.0.1:${port}/mcp`, era);
    return {
      name: nameOf(sdk, era),
      era,
      lacks: sdk.serverLacks[era],
      prefix: sdk.eras.length === 1 ? sdk.prefix : `${sdk.prefix}-${era}`,
      url: filtered.url,
      async [Symbol.asyncDispose]() {
        await filtered[Symbol.asyncDispose]();
        if (index === 0) await stop();
      },
    };
  });
}

function nameOf({ name, eras }: PythonSdk, era: Era): string {
  return eras.length === 1 ? name : `${name}, ${era}`;
}

function spawn(
  { environment, program }: PythonSdk,
  side: "client" | "server",
  stdin: "piped" | "null",
): Deno.ChildProcess {
  const folder = Deno.env.get("PYTHON_CLIENTS");
  assert(folder, "PYTHON_CLIENTS is not set: use make");
  const file = new URL(`python/${program}_${side}.py`, import.meta.url);
  return new Deno.Command(`${folder}/${environment}/bin/python`, {
    args: [file.pathname],
    env: { NO_COLOR: "1", PYTHONDONTWRITEBYTECODE: "1" },
    stdin,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Reads the first line of a server. @throws {Error} If it ends without one. */
async function readPort(
  stdout: ReadableStream<Uint8Array>,
  stderr: Promise<string>,
): Promise<number> {
  let text = "";
  const reader = stdout.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes("\n")) {
    const { value } = await reader.read();
    if (value === undefined) throw new Error(await stderr);
    text += value;
  }
  reader.releaseLock();
  return JSON.parse(text.slice(0, text.indexOf("\n"))).port;
}
