import type { JsonObject } from "../../base/json.ts";

/** Approved definitions of the tools of one server, by its own names. */
export type ToolLock = ReadonlyMap<string, LockedTool>;

/** An approved definition. */
export interface LockedTool {
  /** Empty for a tool whose approval was revoked. */
  readonly digest: string;
  /** `undefined` if it was too long to keep. */
  readonly definition?: JsonObject | undefined;
  /** Set for a tool whose approval was revoked. */
  readonly revoked?: Revocation | undefined;
}

/** When, and by whom, an approval was revoked. */
export interface Revocation {
  /** ISO 8601. */
  readonly at: string;
  /** Not set where the admin interface knows no users. */
  readonly by?: string | undefined;
}

/** Approval of the tools of a server: all in a lock file, or those that are seen first. */
export type ToolApproval =
  | { readonly kind: "file"; readonly lock: ToolLock }
  | {
    readonly kind: "firstUse";
    /** `Trust` approves also tools that the server adds later. */
    readonly newTools: "Hold" | "Trust";
  };
