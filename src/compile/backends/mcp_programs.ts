import type { StdioResource } from "../../api/resources/mcp_backend.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { McpTransport } from "../../snapshot/backend.ts";
import type { CompileInputs } from "../resolve/references.ts";

const DEFAULT_MEMORY = 1 << 30;
const DEFAULT_PROCESSES = 32;
const DEFAULT_IDLE = "10m";
/** Shorter values are no secrets, and would blot out half of a log. */
const MIN_SECRET_LENGTH = 6;

/** A transport, and its address for humans; see `McpServerStatus`. */
export interface CompiledTransport {
  readonly address: string;
  readonly transport: McpTransport;
}

/** Returns why the gateway runs no programs of backends; `undefined` if it does. */
export function programDenial(
  { isolatesErrors, clusterStdio = false, lacksPrograms = false }:
    CompileInputs,
): string | undefined {
  if (isolatesErrors && !clusterStdio) {
    return 'a backend of a cluster cannot run programs; to allow it, set "config.clusterStdio" of the gateway';
  }
  return lacksPrograms
    ? "the gateway has given up the permission to run programs, because no server needed it at its start: restart it"
    : undefined;
}

/** Compiles a program that speaks over stdio. */
export function compileProgram(
  {
    command,
    args = [],
    env = {},
    cwd,
    share,
    maxProcesses = DEFAULT_PROCESSES,
    maxMemoryBytes = DEFAULT_MEMORY,
    idleTimeout = DEFAULT_IDLE,
  }: StdioResource,
): CompiledTransport {
  const secrets = [...Object.values(env), ...args].filter(({ length }) =>
    length >= MIN_SECRET_LENGTH
  );
  return {
    address: `stdio:${command.slice(command.lastIndexOf("/") + 1)}`,
    transport: {
      kind: "stdio",
      command: {
        command,
        args,
        env,
        cwd,
        // A secret may contain another one.
        secrets: secrets.toSorted((a, b) => b.length - a.length),
        isShared: share === "All",
        maxProcesses,
        maxMemoryBytes,
        idleMs: parseDuration(idleTimeout),
      },
    },
  };
}
