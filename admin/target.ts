import type { Settings } from "../src/api/settings.ts";
import type { BoundedStore, DataPlane } from "../src/dataplane/data_plane.ts";
import type {
  GatewayStatus,
  Readiness,
} from "../src/gateway/gateway_status.ts";
import type { SystemMemory } from "./endpoints/linux_memory.ts";

/** What the admin and stats servers need of a gateway. */
export interface AdminTarget {
  readonly dataPlane: DataPlane;
  /** The `config` section in force. */
  readonly settings: Settings;
  /** Facts about the build, such as `{ version: "0.1.0" }`. */
  readonly version: Readonly<Record<string, string>>;
  /** What Linux says about the memory of the process. */
  systemMemory(): SystemMemory;
  /** What the process keeps in memory beside the data plane. */
  stores(): readonly BoundedStore[];
  status(): GatewayStatus;
  /** The log filter in force, as `formatLogFilter` prints it. */
  logFilter(): string;
  /** @param filter Complete and valid. */
  setLogFilter(filter: string): Promise<void>;
  /** Starts a graceful shutdown and returns at once. */
  shutdown(): void;
  readiness(): Readiness;
}
