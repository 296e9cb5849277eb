import type { Cancellation } from "../../../base/cancellation.ts";
import type { GatewayError } from "../../../base/errors.ts";
import type { Connection } from "../connection.ts";
import type { Deadline } from "../../timer_wheel.ts";
import { cancellationError } from "../upstream_errors.ts";

/** The queue of a waiter. */
export interface Queue {
  /** Called once, when the wait ends for any reason. */
  leave(): void;
  /** Returns the error for a wait that takes too long. */
  timeout(): GatewayError;
}

/** A request waiting for a connection. */
export class Waiter implements Deadline {
  dueAt = Infinity;
  readonly owners: readonly string[];
  readonly #queue: Queue;
  readonly #result = Promise.withResolvers<Connection>();
  readonly #unsubscribe: () => void;
  #gaveUp = false;

  /**
   * @param owners Names of the client that waits.
   * @param cancellation Must not be cancelled yet.
   */
  constructor(
    owners: readonly string[],
    cancellation: Cancellation,
    queue: Queue,
  ) {
    this.owners = owners;
    this.#queue = queue;
    this.#unsubscribe = cancellation.onCancel((reason) =>
      this.fail(cancellationError(reason))
    );
  }

  get connection(): Promise<Connection> {
    return this.#result.promise;
  }

  /** The wait ended without a connection. */
  get gaveUp(): boolean {
    return this.#gaveUp;
  }

  onDue(): void {
    this.fail(this.#queue.timeout());
  }

  succeed(connection: Connection): void {
    this.#leave();
    this.#result.resolve(connection);
  }

  fail(error: GatewayError): void {
    this.#gaveUp = true;
    this.#leave();
    this.#result.reject(error);
  }

  #leave(): void {
    this.#unsubscribe();
    this.#queue.leave();
  }
}
