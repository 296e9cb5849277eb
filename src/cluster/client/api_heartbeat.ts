import { type Clock, pause } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import type { KubernetesApi } from "./kubernetes_api.ts";

/** Pause between two beats, and the time that a response may take. */
const BEAT_MS = 5_000;
/** Pause while there are no responses. */
const AWAY_MS = 1_000;

/** Dependencies of a heartbeat. */
export interface HeartbeatOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when there is a response again. */
  readonly onReturn: () => void;
  /** Default 5 s. */
  readonly beatMs?: number;
}

/**
 * Notices within ten seconds when nothing comes over the connection to the API server any more, such as after a failover of the
 * network, and opens another. Watches would wait for a minute and more. Notices also when the API server is back.
 */
export class ApiHeartbeat {
  readonly #options: HeartbeatOptions;
  #isAway = false;
  #early = new AbortController();

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Beats now: a request had no response. */
  beatNow(): void {
    if (!this.#isAway) this.#early.abort();
  }

  /** Beats until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, beatMs = BEAT_MS } = this.#options;
    while (!signal.aborted) {
      await pause(
        clock,
        this.#isAway ? Math.min(AWAY_MS, beatMs) : beatMs,
        AbortSignal.any([signal, this.#early.signal]),
      );
      this.#early = new AbortController();
      if (!signal.aborted) await this.#beat(beatMs, signal);
    }
  }

  async #beat(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { api, log, onReturn } = this.#options;
    try {
      await api.request({ path: "/version", timeoutMs, signal });
      if (this.#isAway) onReturn();
      this.#isAway = false;
    } catch (error) {
      if (signal.aborted) return;
      this.#isAway = true;
      const isSilent = error instanceof DOMException &&
        error.name === "TimeoutError";
      log.debug("No heartbeat of the API server", { error });
      if (isSilent) api.reconnect("the API server has been silent");
    }
  }
}
