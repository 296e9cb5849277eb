import { signal } from "../kit/framework.ts";
import { getJson, messageOf } from "./api.ts";
import { repeat } from "./poll.ts";

/** Response of `status`: the gateway and the access of this page. */
export interface Status {
  readonly version: Readonly<Record<string, string>>;
  readonly readiness: "starting" | "ready" | "stuck" | "draining";
  /** Hash of the configuration in force. */
  readonly hash: string;
  /** RFC 3339; empty before the first configuration. */
  readonly appliedAt: string;
  readonly lastRejected: RejectedConfiguration | null;
  /** Server of the page: on a gateway, traces include its own requests. */
  readonly server: "admin" | "gateway";
  /** The page cannot change anything. */
  readonly readOnly: boolean;
  /** Names of the profiles that can be taken. */
  readonly profiles: readonly string[];
  /** The source of the configuration can be shown. */
  readonly hasSource: boolean;
}

/** A configuration that was not applied. */
export interface RejectedConfiguration {
  readonly hash: string;
  readonly at: string;
  readonly diagnostics: readonly string[];
}

/** The latest status; `undefined` until the gateway responds. */
export const status = signal<Status | undefined>(undefined);

/** Reason for which the last request for the status failed; empty if it did not. */
export const statusError = signal("");

const INTERVAL_MS = 2000;

/** Keeps `status` up to date for as long as the page is open. */
export function watchStatus(): void {
  let shown = "";
  repeat(INTERVAL_MS, new AbortController().signal, async () => {
    try {
      const next = await getJson<Status>("status");
      const text = JSON.stringify(next);
      if (text !== shown) status.value = next;
      shown = text;
      statusError.value = "";
    } catch (error) {
      statusError.value = messageOf(error);
    }
  });
}
