import type { UiStatus } from "../../responses.ts";
import { signal } from "../kit/framework.ts";
import { getJson, messageOf } from "./api.ts";
import { repeat } from "./poll.ts";

/** The latest status; `undefined` until the gateway responds. */
export const status = signal<UiStatus | undefined>(undefined);

/** Reason for which the last request for the status failed; empty if it did not. */
export const statusError = signal("");

const INTERVAL_MS = 2000;

/** Keeps `status` up to date for as long as the page is open. */
export function watchStatus(): void {
  let shown = "";
  repeat(INTERVAL_MS, new AbortController().signal, async () => {
    try {
      const next = await getJson("status");
      const text = JSON.stringify(next);
      if (text !== shown) status.value = next;
      shown = text;
      statusError.value = "";
    } catch (error) {
      statusError.value = messageOf(error);
    }
  });
}
