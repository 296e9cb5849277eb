import { type Clock, pause } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { KubernetesApi } from "./kubernetes_api.ts";

/** Pause between two beats, and the time that a response may take. */
const BEAT_MS = 5_000;

/**
 * Notices within ten seconds when nothing comes over the connection to the API server any more, such as after a failover of the
 * network, and opens another. Watches would wait for a minute and more.
 */
export async function keepConnectionAlive(
  { api, clock, log, beatMs = BEAT_MS }: {
    readonly api: KubernetesApi;
    readonly clock: Clock;
    readonly log: Log;
    /** Default 5 s. */
    readonly beatMs?: number;
  },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await pause(clock, beatMs, signal);
    if (signal.aborted) return;
    try {
      await api.request({ path: "/version", timeoutMs: beatMs, signal });
    } catch (error) {
      if (signal.aborted) return;
      const isSilent = error instanceof DOMException &&
        error.name === "TimeoutError";
      log.debug("No heartbeat of the API server", { error });
      if (isSilent) api.reconnect("the API server has been silent");
    }
  }
}
