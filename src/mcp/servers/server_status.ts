import type { Era } from "../protocol/revisions.ts";
import type { McpServerSettings } from "./mcp_settings.ts";

/** State of one server, for humans; it has no credentials, and no path or query of the URL. */
export interface McpServerStatus {
  readonly name: string;
  /** Host, with its port unless that is implied; for a process, `stdio:` and its command. */
  readonly address: string;
  /** `unused`: no request has needed the server yet. */
  readonly state: "up" | "failed" | "unused";
  /** `null` while it is not known. */
  readonly era: Era | null;
  /** Number of tools in the latest list that clients may see; `null` if there is none. */
  readonly tools: number | null;
  /** Those of all its tools that clients do not get before they are approved; `null` if there is no list yet. */
  readonly held: number | null;
  /** Those that look as if they wanted to mislead people or models. */
  readonly suspicious: number | null;
  /** Begin of the state, RFC 3339; `null` while it is not known. */
  readonly since: string | null;
  /** The latest failure with its causes, also of a server that is back. */
  readonly lastError: string | null;
  /** RFC 3339. */
  readonly lastErrorAt: string | null;
}

/** Numbers of tools of a server, as far as they are known. */
export interface ServerToolCounts {
  readonly listed: number | undefined;
  readonly held?: number | undefined;
  readonly suspicious?: number | undefined;
}

/** Returns the status of a server that nobody has used. */
export function unusedServer(
  { settings, address }: {
    readonly settings: McpServerSettings;
    readonly address: string;
  },
): McpServerStatus {
  return {
    name: settings.name,
    address,
    state: "unused",
    era: null,
    tools: null,
    held: null,
    suspicious: null,
    since: null,
    lastError: null,
    lastErrorAt: null,
  };
}
