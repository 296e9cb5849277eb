import type { Settings } from "../../src/api/settings.ts";
import type { BoundedStore } from "../../src/dataplane/calls/descriptions.ts";
import type { DataPlane } from "../../src/dataplane/data_plane.ts";
import type { ConfigurationEditor } from "../../src/gateway/editing/configuration_editor.ts";
import type { Trials } from "../../src/gateway/trials.ts";
import type {
  GatewayStatus,
  Readiness,
} from "../../src/gateway/gateway_status.ts";
import type { AdminLogin } from "../../src/gateway/admin_login/admin_login.ts";
import type { SystemMemory } from "./linux_memory.ts";

/** The gateway as seen by the admin and stats servers. */
export interface AdminTarget {
  readonly dataPlane: DataPlane;
  /** The active `config` section. */
  readonly settings: Settings;
  /** The same without secrets. */
  readonly shownSettings: unknown;
  /** Build information such as `{ version: "0.1.0" }`. */
  readonly version: Readonly<Record<string, string>>;
  /** Memory of the process as reported by Linux. */
  systemMemory(): SystemMemory;
  /** Bounded stores outside of the data plane. */
  stores(): readonly BoundedStore[];
  status(): GatewayStatus;
  /** The active log filter, formatted by `formatLogFilter`. */
  logFilter(): string;
  /** @param filter Complete and valid. */
  setLogFilter(filter: string): Promise<void>;
  /** Shows, checks and replaces the source of the configuration; omitted where there is none. */
  readonly editor?: ConfigurationEditor;
  /** Tries changes on requests that have ended; omitted where there is no source. */
  readonly trials?: Trials;
  /** Logs users in; omitted where the token is the only access. */
  readonly login?: Pick<AdminLogin, "find" | "host" | "serve">;
  /** Counts a request that the admin interface rejected for its token. */
  countRejection(reason: string): void;
  /** Starts a graceful shutdown and returns immediately. */
  shutdown(): void;
  readiness(): Readiness;
  /** Returns why what the gateway serves may be out of date. */
  problem(): string | undefined;
}
