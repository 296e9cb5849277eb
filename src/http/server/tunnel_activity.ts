import { GatewayError } from "../../base/errors.ts";
import type { Deadline } from "../timer_wheel.ts";
import type { ServerContext } from "./server_options.ts";

/** Ends a tunnel, such as a WebSocket, that carries no byte for too long in either direction. */
export class TunnelActivity implements Deadline, Disposable {
  dueAt = Infinity;
  readonly #context: Pick<ServerContext, "limits" | "wheel">;
  readonly #onIdle: (error: GatewayError) => void;

  constructor(
    context: Pick<ServerContext, "limits" | "wheel">,
    onIdle: (error: GatewayError) => void,
  ) {
    this.#context = context;
    this.#onIdle = onIdle;
    context.wheel.add(this);
    this.moved();
  }

  /** Bytes moved in one of the directions. */
  moved(): void {
    const { wheel, limits } = this.#context;
    wheel.set(this, limits.tunnelIdleTimeoutMs);
  }

  onDue(): void {
    const message =
      `Closed the tunnel: no data for ${this.#context.limits.tunnelIdleTimeoutMs} ms`;
    this.#onIdle(new GatewayError("tunnel_idle", "gateway", message));
  }

  [Symbol.dispose](): void {
    this.#context.wheel.delete(this);
  }
}
