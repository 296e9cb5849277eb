import {
  type AdminOptions,
  startAdminServer,
  startStatsServer,
} from "./admin_server.ts";
import { text } from "./admin_responses.ts";
import { createGatewayUi, type UiAccess } from "./ui/ui.ts";

/** The admin and stats servers, beside the data plane. */
export class SideServers implements AsyncDisposable {
  /** Such as `http://127.0.0.1:15000`; empty when it is off. */
  admin: readonly string[] = [];
  stats: readonly string[] = [];
  #webUi: ReturnType<typeof createGatewayUi> | undefined;
  readonly #running = new AsyncDisposableStack();

  /** @throws {ListenError} When an address is taken or not ours. */
  async start(options: AdminOptions): Promise<void> {
    this.#webUi = createGatewayUi(options);
    const admin = await startAdminServer(options);
    this.#running.defer(() => admin.close());
    const stats = await startStatsServer(options);
    this.#running.defer(() => stats.close());
    this.admin = admin.addresses;
    this.stats = stats.addresses;
  }

  /** Answers what a gateway is asked of the web UI. */
  async webUi(request: Request, access: UiAccess): Promise<Response> {
    return await this.#webUi?.(request, access) ??
      text(503, "the gateway is starting");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.disposeAsync();
  }
}
