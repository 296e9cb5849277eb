import { Cancellation } from "../../base/cancellation.ts";
import type { JsonRpcId } from "../../base/errors.ts";

/** A request that is under way. */
export interface RunningRequest {
  readonly id: JsonRpcId;
  /** Cancelled when the client does not want the result any more. */
  readonly cancellation: Cancellation;
}

/** The requests of a session that are under way. They are few, and no map for the reason that `TimerWheel` has no set. */
export class RunningRequests {
  readonly #running: RunningRequest[] = [];

  get size(): number {
    return this.#running.length;
  }

  has(id: JsonRpcId): boolean {
    return this.#find(id) !== undefined;
  }

  add(id: JsonRpcId): RunningRequest {
    const request = { id, cancellation: new Cancellation() };
    this.#running.push(request);
    return request;
  }

  delete(request: RunningRequest): void {
    const place = this.#running.indexOf(request);
    const last = this.#running.at(-1);
    if (place < 0 || last === undefined) return;
    this.#running[place] = last;
    this.#running.pop();
  }

  cancel(id: JsonRpcId, reason: unknown): void {
    this.#find(id)?.cancellation.cancel(reason);
  }

  cancelAll(reason: unknown): void {
    for (const { cancellation } of [...this.#running]) {
      cancellation.cancel(reason);
    }
  }

  #find(id: JsonRpcId): RunningRequest | undefined {
    return this.#running.find((each) => each.id === id);
  }
}
