import type { JsonObject } from "../../base/json.ts";
import type { Revocation, ToolApproval } from "../servers/tool_approval.ts";

/** Reason why clients do not get a tool: it is not the one that was approved, was not approved, or is not any more. */
export type HeldReason = "changed" | "new" | "revoked";

/** The tools of a server, for those who approve them. */
export interface DescribedServerTools {
  readonly server: string;
  /** Place of its approved definitions: a lock file, or the gateway, which saw them first; not set if clients get all tools. */
  readonly approval?: ToolApproval["kind"];
  /** Set if the server does not list its tools. */
  readonly error?: string;
  readonly tools: readonly DescribedTool[];
}

/** A tool, for those who approve it. */
export interface DescribedTool {
  /** Name that clients use. */
  readonly name: string;
  readonly definition: JsonObject;
  /** Hash of the definition: an approval is for nothing else. */
  readonly digest: string;
  /** Set if clients do not get the tool. */
  readonly held?: HeldReason;
  /** Of a tool whose approval was revoked. */
  readonly revoked?: Revocation | undefined;
  /** The approved definition of a tool that has changed; not set if it was too long to keep. */
  readonly approved?: JsonObject | undefined;
  /** Set if there are some; see `suspicionsOf`. */
  readonly suspicions?: readonly string[];
}
