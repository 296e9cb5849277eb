import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };
import { describeError } from "../../../src/base/errors.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const clientScript = "tests/harness/parsers/conformance_client.sh";
const suite = config.imports["@modelcontextprotocol/conformance"];
/** Revisions of MCP whose requirements the suite knows. */
export const revisions = ["2025-11-25", "2026-07-28"] as const;

/** A revision of MCP. */
export type Revision = (typeof revisions)[number];

const TIMEOUT_MS = 600_000;
const CLIENT_TIMEOUT_MS = 120_000;

/** The result of a run of the MCP conformance suite. */
export interface ConformanceResult {
  readonly passed: number;
  readonly failed: number;
  /** Failures and warnings, as `scenario: id: STATUS message`. */
  readonly problems: readonly string[];
  /** The checks of each scenario as `id: STATUS`, sorted, without informational checks. */
  readonly scenarios: Readonly<Record<string, readonly string[]>>;
}

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

/**
 * Runs every server scenario that a revision of MCP requires, and those that it does not score, against `url`.
 *
 * @throws {Error} If the suite itself cannot run.
 */
export function runConformance(
  url: string,
  revision: Revision,
): Promise<ConformanceResult> {
  return runSuite(["server", "--url", url, "--requirements", revision]);
}

/**
 * Runs a scenario for clients: the suite starts a server and runs `command` with the server's URL appended.
 *
 * @param revision `undefined` for extensions, which belong to none.
 * @throws {Error} If the suite itself cannot run.
 */
export function runClientConformance(
  scenario: string,
  revision: Revision | undefined,
  command: readonly string[],
): Promise<ConformanceResult> {
  return runSuite([
    "client",
    ...["--command", command.join(" "), "--timeout", `${CLIENT_TIMEOUT_MS}`],
    ...["--scenario", scenario],
    ...(revision === undefined ? [] : ["--spec-version", revision]),
  ]);
}

/** A scenario for clients, as the suite passes it to the client. */
export interface ClientScenario {
  readonly name: string;
  /** URL of the suite's server. */
  readonly url: string;
  /** JSON of what the client has to know, such as its credentials. */
  readonly context: string;
}

/**
 * Runs a scenario for clients with a client in this process: a program would load the whole gateway for each scenario.
 *
 * @throws {Error} If the suite itself cannot run.
 */
export async function runClientHere(
  scenario: string,
  revision: Revision | undefined,
  client: (scenario: ClientScenario) => Promise<void>,
): Promise<ConformanceResult> {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const fields = new URLSearchParams(await request.text());
      const [name = "", url = "", context = ""] = ["name", "url", "context"]
        .map((field) => fields.get(field) ?? "");
      try {
        await client({ name, url, context });
        return new Response();
      } catch (error) {
        return new Response(describeError(error), { status: 500 });
      }
    },
  );
  const command = ["sh", clientScript, `${server.addr.port}`];
  return await runClientConformance(scenario, revision, command);
}

/**
 * Runs a scenario for authorization servers against the server that protects `url`.
 *
 * @throws {Error} If the suite itself cannot run.
 */
export function runAuthorizationConformance(
  url: string,
  scenario: string,
): Promise<ConformanceResult> {
  return runSuite(["authorization", "--url", url, "--scenario", scenario]);
}

async function runSuite(args: readonly string[]): Promise<ConformanceResult> {
  const directory = await Deno.makeTempDir({ prefix: "conformance-" });
  try {
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", suite, ...args, "--output-dir", directory],
      cwd: repository,
      stdin: "null",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).output();
    const result = await readResult(directory);
    if (Object.keys(result.scenarios).length > 0) return result;
    const output = new TextDecoder().decode(
      new Uint8Array([...stdout, ...stderr]),
    );
    throw new Error(`The conformance suite ran no scenario:\n${output}`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Reads the `<scenario>-<time>/checks.json` that the suite writes per scenario. */
async function readResult(directory: string): Promise<ConformanceResult> {
  const scenarios: Record<string, string[]> = {};
  const problems: string[] = [];
  let passed = 0;
  let failed = 0;
  for await (const name of runsIn(directory)) {
    const checks = await readChecks(join(directory, name, "checks.json"));
    passed += checks.filter(({ status }) => status === "SUCCESS").length;
    failed += checks.filter(({ status }) => status === "FAILURE").length;
    const scenario = name.replace(/^server-/, "").replace(
      /-\d{4}-\d\d-\d\dT.*$/,
      "",
    );
    scenarios[scenario] = checks.filter(({ status }) => status !== "INFO")
      .map(({ id, status }) => `${id}: ${status}`).sort();
    for (const { id, status, errorMessage } of checks) {
      if (status === "FAILURE" || status === "WARNING") {
        problems.push(`${scenario}: ${id}: ${status} ${errorMessage}`);
      }
    }
  }
  return { passed, failed, problems: problems.sort(), scenarios };
}

/** Lists the folders of runs, those of scenarios such as `auth/dpop` one level deeper. */
async function* runsIn(directory: string): AsyncGenerator<string> {
  for await (const { name } of Deno.readDir(directory)) {
    if (/-\d{4}-\d\d-\d\dT/.test(name)) yield name;
    else {
      for await (const run of Deno.readDir(join(directory, name))) {
        yield `${name}/${run.name}`;
      }
    }
  }
}

async function readChecks(file: string): Promise<Check[]> {
  try {
    return JSON.parse(await Deno.readTextFile(file));
  } catch (error) {
    throw new Error(`Cannot read "${file}": ${describeError(error)}`, {
      cause: error,
    });
  }
}
