import {
  type AdminOptions,
  startAdminServer,
  startStatsServer,
} from "./server.ts";

/** The admin and stats servers, beside the data plane. */
export class SideServers implements AsyncDisposable {
  /** Such as `http://127.0.0.1:15000`; empty when it is off. */
  admin: readonly string[] = [];
  stats: readonly string[] = [];
  readonly #running = new AsyncDisposableStack();

  /** @throws {ListenError} When an address is taken or not ours. */
  async start(options: AdminOptions): Promise<void> {
    const admin = await startAdminServer(options);
    this.#running.defer(() => admin.close());
    const stats = await startStatsServer(options);
    this.#running.defer(() => stats.close());
    this.admin = admin.addresses;
    this.stats = stats.addresses;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.disposeAsync();
  }
}
