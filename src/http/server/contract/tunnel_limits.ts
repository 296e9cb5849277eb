import { GatewayError } from "../../../base/errors.ts";
import type { Deadline } from "../../timer_wheel.ts";
import type { ServerContext } from "./server_options.ts";

type TunnelContext = Pick<ServerContext, "clock" | "limits" | "wheel">;

/** Ends a tunnel, such as a WebSocket, that carries no byte for too long, or that one side has ended for too long. */
export class TunnelLimits implements Deadline, Disposable {
  dueAt = Infinity;
  readonly #context: TunnelContext;
  readonly #cut: (reason: GatewayError) => void;
  #stopTimer: (() => void) | undefined;

  /** @param cut Ends the tunnel. */
  constructor(context: TunnelContext, cut: (reason: GatewayError) => void) {
    this.#context = context;
    this.#cut = cut;
    context.wheel.add(this);
    this.moved();
  }

  /** Called when bytes moved in one of the directions. */
  moved(): void {
    const { wheel, limits } = this.#context;
    wheel.set(this, limits.tunnelIdleTimeoutMs);
  }

  /** Called when one side has ended. */
  halfOpened(): void {
    const { clock, limits } = this.#context;
    const message = "Cannot keep the tunnel: one side has ended";
    this.#stopTimer ??= clock.setTimer(
      () => this.#cut(new GatewayError("client_closed", "downstream", message)),
      limits.halfOpenTunnelMs,
    );
  }

  onDue(): void {
    const message =
      `Closed the tunnel: no data for ${this.#context.limits.tunnelIdleTimeoutMs} ms`;
    this.#cut(new GatewayError("tunnel_idle", "gateway", message));
  }

  [Symbol.dispose](): void {
    this.#stopTimer?.();
    this.#context.wheel.delete(this);
  }
}
