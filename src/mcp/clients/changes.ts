import type { Clock } from "../../base/clock.ts";
import type { McpServer } from "../servers/federated_server.ts";

/** A change at a server, of which other workers have to hear: their lists are their own. */
export interface ServerChange {
  /** Name of the server. */
  readonly server: string;
  /** True if the server has failed before, and is well again. */
  readonly isBack: boolean;
}

/** Changes that come together are one message; clients are notified later than that. */
const GATHER_MS = 5;

/** Reports changes of the lists of servers to the clients of this worker, and to the other workers. */
export class Changes {
  readonly #clock: Clock;
  readonly #announce: ((change: ServerChange) => void) | undefined;
  readonly #watchers = new Set<(server: McpServer) => void>();
  readonly #due = new Map<string, ServerChange>();
  #isGathering = false;

  /** @param announce Tells other workers; `undefined` if there are none. */
  constructor(clock: Clock, announce?: (change: ServerChange) => void) {
    this.#clock = clock;
    this.#announce = announce;
  }

  /** The returned function ends the watch. */
  watch(watcher: (server: McpServer) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Reports to the clients of this worker that the lists of a server have changed. */
  report(server: McpServer): void {
    for (const watcher of this.#watchers) watcher(server);
  }

  /** Tells the other workers, which may have lists from before. */
  announce(change: ServerChange): void {
    const announce = this.#announce;
    if (announce === undefined) return;
    const { server, isBack } = change;
    const isKnown = this.#due.get(server)?.isBack === true && !isBack;
    if (!isKnown) this.#due.set(server, change);
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#clock.setTimer(() => {
      this.#isGathering = false;
      for (const each of this.#due.values()) announce(each);
      this.#due.clear();
    }, GATHER_MS);
  }
}
