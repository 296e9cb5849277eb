import { requestJson } from "../../client/admin_client.ts";
import { fieldOf, listOf, textOf } from "../../output/json_fields.ts";
import { print } from "../../output/output.ts";
import { printable } from "../../output/printable.ts";
import { exitCodes, Failure } from "../../process/exit.ts";
import {
  describeServer,
  LIST_MS,
  type LockOptions,
  serversOf,
} from "./lock_tools.ts";

/** Options of `mcp approve`. */
export interface ApproveOptions extends Omit<LockOptions, "write"> {
  /** Does not ask. */
  readonly yes?: boolean;
  /** Revokes the approval of tools in use. */
  readonly revoke?: boolean;
}

/**
 * Prints how tools of a server differ from what was approved, and approves them after a question: what was printed, nothing else.
 * @param names Without any, all that wait.
 * @throws {Failure}
 */
export async function approveTools(
  name: string,
  names: readonly string[],
  options: ApproveOptions,
): Promise<number> {
  const server = await readServer(name, options);
  const waiting = waitingOf(server, names);
  if (waiting.length === 0) {
    await print("No tool waits for approval\n");
    return exitCodes.ok;
  }
  const lines = describeServer({ server: name, tools: waiting });
  await print(lines.map((line) => `${printable(line)}\n`).join(""));
  const question = `Approve ${counted(waiting.length)}?`;
  if (!isConfirmed(options, question)) return exitCodes.failure;
  await requestJson(options, {
    method: "POST",
    pathAndQuery: "/mcp/tools",
    extraMs: LIST_MS,
    body: {
      backend: textOf(server, "backend"),
      server: name,
      tools: waiting.map((tool) => ({
        name: nameOf(tool),
        digest: textOf(tool, "digest"),
      })),
    },
  }, "approved");
  await print(`Approved: ${counted(waiting.length)}\n`);
  return exitCodes.ok;
}

/**
 * Revokes the approval of tools of a server after a question: clients lose them until somebody approves them again.
 * @throws {Failure}
 */
export async function revokeTools(
  name: string,
  names: readonly string[],
  options: ApproveOptions,
): Promise<number> {
  if (names.length === 0) {
    throw new Failure(
      `Name the tools: mcp approve ${name} <tool> --revoke; "mcp lock" and /mcp/tools list them`,
    );
  }
  const server = await readServer(name, options);
  // The approval for a server that is down can be revoked, too.
  if (textOf(server, "error") === "") checkInUse(server, names);
  const question = `Revoke the approval of ${counted(names.length)}?`;
  if (!isConfirmed(options, question)) return exitCodes.failure;
  await requestJson(options, {
    method: "POST",
    pathAndQuery: "/mcp/tools/revoke",
    extraMs: LIST_MS,
    body: { backend: textOf(server, "backend"), server: name, tools: names },
  }, "revoked");
  await print(`Revoked: ${counted(names.length)}\n`);
  return exitCodes.ok;
}

/** @throws {Failure} */
async function readServer(
  name: string,
  options: ApproveOptions,
): Promise<unknown> {
  const state = await requestJson(options, {
    pathAndQuery: "/mcp/tools",
    extraMs: LIST_MS,
  }, "servers");
  const servers = serversOf(state, options.backend);
  const server = servers.find((each) => textOf(each, "server") === name);
  if (server !== undefined) return server;
  const known = servers.map((each) => textOf(each, "server")).join(", ");
  throw new Failure(`No server "${name}"; there are: ${known}`);
}

/** @throws {Failure} For a tool that clients do not have. */
function checkInUse(server: unknown, names: readonly string[]): void {
  const inUse = new Set(
    listOf(server, "tools")
      .filter((tool) => fieldOf(tool, "held") === undefined).map(nameOf),
  );
  const unknown = names.find((each) => !inUse.has(each));
  if (unknown === undefined) return;
  throw new Failure(`Tool "${unknown}" is not approved`);
}

/** @throws {Failure} For a name that does not wait, and when the server does not list its tools. */
function waitingOf(
  server: unknown,
  names: readonly string[],
): readonly unknown[] {
  const error = textOf(server, "error");
  if (error !== "") throw new Failure(error);
  const waiting = listOf(server, "tools")
    .filter((tool) => fieldOf(tool, "held") !== undefined);
  const known = new Set(waiting.map(nameOf));
  const unknown = names.find((each) => !known.has(each));
  if (unknown !== undefined) {
    throw new Failure(`Tool "${unknown}" does not wait for approval`);
  }
  return names.length === 0
    ? waiting
    : waiting.filter((tool) => names.includes(nameOf(tool)));
}

/** @throws {Failure} When nobody can answer. */
function isConfirmed({ yes }: ApproveOptions, question: string): boolean {
  if (yes) return true;
  if (Deno.stdin.isTerminal()) return confirm(question);
  throw new Failure(
    "Nothing has changed: add --yes to do it without a question",
  );
}

function nameOf(tool: unknown): string {
  return textOf(fieldOf(tool, "definition"), "name");
}

function counted(count: number): string {
  return count === 1 ? "1 tool" : `${count} tools`;
}
