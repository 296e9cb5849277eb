import assert from "node:assert/strict";
import type { Visit } from "../clients/mcp_clients.ts";
import type { ClientTraits } from "./login_cells.ts";

/** A Python MCP client. */
export interface PythonClient extends ClientTraits {
  readonly name: string;
  /** Name of its virtual environment in the folder that `.ci/interop/python_clients` prints. */
  readonly environment: string;
  readonly program: string;
}

/** All Python MCP clients. */
export const pythonClients: readonly PythonClient[] = [
  {
    name: "mcp 1",
    environment: "mcp1",
    program: "mcp_sdk.py",
    language: "Python",
    isStrict: false,
  },
  {
    name: "mcp 2",
    environment: "mcp2",
    program: "mcp_sdk.py",
    language: "Python",
    isStrict: true,
  },
  {
    name: "FastMCP",
    environment: "mcp2",
    program: "fastmcp_client.py",
    language: "Python",
    isStrict: true,
  },
];

/** A login, and whether the client then refreshes its token. */
export interface PythonLogin extends Visit {
  readonly refresh: boolean;
}

/**
 * Runs logins in one process, several at a time.
 * @returns For each login `logged in`, `refreshed` or the error.
 * @throws {Error} If the client does not start.
 */
export async function logInWithPython(
  { environment, program }: PythonClient,
  logins: readonly PythonLogin[],
): Promise<readonly string[]> {
  const folder = Deno.env.get("PYTHON_CLIENTS");
  assert(folder, "PYTHON_CLIENTS is not set: use make");
  const lines = logins.map((
    { url, clientId, clientMetadataUrl, refresh },
    id,
  ) =>
    JSON.stringify({
      id,
      url,
      refresh,
      client_id: clientId,
      client_metadata_url: clientMetadataUrl,
    })
  );
  const file = new URL(`../../interop/python/${program}`, import.meta.url);
  const child = new Deno.Command(`${folder}/${environment}/bin/python`, {
    args: [file.pathname],
    env: { NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  await new Blob([lines.join("\n")]).stream().pipeTo(child.stdin);
  const { stdout, stderr } = await output;
  const outcomes = new Map(
    new TextDecoder().decode(stdout).split("\n").filter((line) =>
      line.startsWith("{")
    ).map((line): [number, string] => {
      const { id, outcome } = JSON.parse(line);
      return [Number(id), String(outcome)];
    }),
  );
  assert(outcomes.size > 0, new TextDecoder().decode(stderr));
  return logins.map((_, id) => outcomes.get(id) ?? "no outcome");
}
