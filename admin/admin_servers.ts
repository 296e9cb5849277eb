import {
  type AdminOptions,
  startAdminServer,
  startStatsServer,
} from "./admin_server.ts";
import { AuditLog } from "./access/audit_log.ts";
import { text } from "./http/admin_responses.ts";
import { createGatewayUi, type UiAccess } from "./ui/ui.ts";

/** The admin and stats servers. */
export class AdminServers implements AsyncDisposable {
  /** Addresses such as `http://127.0.0.1:15000`; empty when disabled. */
  admin: readonly string[] = [];
  stats: readonly string[] = [];
  #webUi: ReturnType<typeof createGatewayUi> | undefined;
  readonly #running = new AsyncDisposableStack();

  /** @throws {ListenError} When an address is in use or not local. */
  async start(dependencies: AdminOptions): Promise<void> {
    const { clock, log } = dependencies;
    const options = { audit: new AuditLog(clock, log), ...dependencies };
    this.#webUi = createGatewayUi(options);
    await using started = new AsyncDisposableStack();
    const admin = await startAdminServer(options);
    started.defer(() => admin.close());
    const stats = await startStatsServer(options);
    started.defer(() => stats.close());
    this.#running.use(started.move());
    this.admin = admin.addresses;
    this.stats = stats.addresses;
  }

  /** Handles requests to the web UI on a gateway. */
  async webUi(request: Request, access: UiAccess): Promise<Response> {
    return await this.#webUi?.(request, access) ??
      text(503, "the gateway is starting");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.disposeAsync();
  }
}
