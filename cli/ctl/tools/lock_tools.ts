import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { describeError } from "../../../src/base/errors.ts";
import {
  diffStates,
  linesOf,
} from "../../../src/telemetry/trace/reading/diff_states.ts";
import { type AdminAddress, requestJson } from "../../client/admin_client.ts";
import { fieldOf, listOf, textOf } from "../../output/json_fields.ts";
import { print } from "../../output/output.ts";
import { printable } from "../../output/printable.ts";
import { exitCodes, Failure } from "../../process/exit.ts";

/** Options of `mcp lock`. */
export interface LockOptions extends AdminAddress {
  /** Key of the backend, such as `default/tools`; needed if there are several with MCP servers. */
  readonly backend?: string;
  /** Lock file to write. */
  readonly write?: string;
}

/** Servers may be slow to list their tools. */
export const LIST_MS = 20_000;

/**
 * Prints which tools of MCP servers wait for approval or are suspicious, and how they differ from what was approved; writes a lock
 * file with all tools as they are now, if asked to. Returns the exit code, 1 while tools wait.
 * @throws {Failure}
 */
export async function lockTools(options: LockOptions): Promise<number> {
  const state = await requestJson(options, {
    pathAndQuery: "/mcp/tools",
    extraMs: LIST_MS,
  }, "servers");
  const servers = serversOf(state, options.backend);
  const lines = servers.flatMap(describeServer);
  await print(lines.map((line) => `${printable(line)}\n`).join(""));
  if (options.write !== undefined) {
    await writeLock(options.write, servers);
    await print(`Approved: ${options.write} has all tools as they are now\n`);
    return exitCodes.ok;
  }
  const waiting = servers.flatMap((server) => listOf(server, "tools"))
    .filter((tool) => fieldOf(tool, "held") !== undefined).length;
  const isPinned = servers.some((server) =>
    textOf(server, "approval") === "firstUse"
  );
  await print(
    waiting === 0
      ? "No tool waits for approval\n"
      : `${waiting} ${
        waiting === 1 ? "tool waits" : "tools wait"
      } for approval: ${
        isPinned
          ? 'approve with "gwctl mcp approve <server> [tool]"'
          : "run it again with --write and the lock file"
      }\n`,
  );
  return waiting === 0 ? exitCodes.ok : exitCodes.failure;
}

/** Returns the servers of one backend. @throws {Failure} When there are several, and none is chosen. */
export function serversOf(
  state: unknown,
  backend: string | undefined,
): readonly unknown[] {
  const all = listOf(state, "servers");
  const backends = [...new Set(all.map((each) => textOf(each, "backend")))];
  const [only, ...others] = backends;
  if (backend === undefined && others.length === 0 && only !== undefined) {
    return all;
  }
  if (backend !== undefined && backends.includes(backend)) {
    return all.filter((each) => textOf(each, "backend") === backend);
  }
  throw new Failure(
    only === undefined
      ? "No backend has MCP servers"
      : `Choose a backend with --backend: ${backends.join(", ")}`,
  );
}

/** Describes the tools of a server that wait for approval or are suspicious, in lines. */
export function describeServer(server: unknown): readonly string[] {
  const name = textOf(server, "server");
  const error = textOf(server, "error");
  if (error !== "") return [`! ${name}: ${error}`];
  return listOf(server, "tools").flatMap((tool) => {
    const definition = fieldOf(tool, "definition");
    const held = textOf(tool, "held");
    const suspicions = listOf(tool, "suspicions").map(String);
    if (held === "" && suspicions.length === 0) return [];
    const title = `${name} ${textOf(definition, "name")}`;
    const changes = held === "changed"
      ? diffStates(fieldOf(tool, "approved"), definition)
        .flatMap((change) => linesOf(change))
      : [];
    return [
      held === "new" ? `+ ${title}` : held === "" ? `  ${title}` : `~ ${title}`,
      ...(held === "revoked" ? [`    ${describeRevocation(tool)}`] : []),
      ...suspicions.map((problem) => `    ! ${problem}`),
      ...changes.map(({ text }) => `    ${text}`),
    ];
  });
}

function describeRevocation(tool: unknown): string {
  const revoked = fieldOf(tool, "revoked");
  const [at, by] = [textOf(revoked, "at"), textOf(revoked, "by")];
  return `revoked${by === "" ? "" : ` by ${by}`}${
    at === "" ? "" : ` at ${at}`
  }`;
}

/** @throws {Failure} */
async function writeLock(
  file: string,
  servers: readonly unknown[],
): Promise<void> {
  const failed = servers.find((server) => textOf(server, "error") !== "");
  if (failed !== undefined) {
    throw new Failure(
      `Cannot write the lock file: ${
        textOf(failed, "error")
      }; its tools would be lost`,
    );
  }
  const content = {
    servers: Object.fromEntries(
      servers.map((server) => [
        textOf(server, "server"),
        { tools: listOf(server, "tools").map(definitionOf) },
      ]),
    ),
  };
  try {
    const draft = `${file}.draft`;
    await Deno.writeTextFile(draft, JSON.stringify(content, null, 2) + "\n");
    await Deno.rename(draft, file);
  } catch (error) {
    throw new Failure(`Cannot write "${file}": ${describeError(error)}`);
  }
}

function definitionOf(tool: unknown): JsonObject {
  const definition = fieldOf(tool, "definition");
  return isJsonObject(definition) ? definition : {};
}
