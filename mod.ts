/**
 * The gateway as a library: starts a gateway in this process, replaces its configuration, and reads its status, traces and metrics.
 *
 * @example
 * ```ts
 * import { startGateway } from "./mod.ts";
 *
 * await using gateway = await startGateway({
 *   config: {
 *     gateways: { default: { port: 8080, address: "localhost" } },
 *     routes: [{ name: "all", backends: [{ host: "127.0.0.1:9000" }] }],
 *   },
 * });
 * console.log(await gateway.addresses());
 * ```
 * @module
 */
export {
  type Configuration,
  type RunningGateway,
  startGateway,
  type StartOptions,
  type TraceRecord,
} from "./src/gateway/embedded_gateway.ts";
export {
  createPolicy,
  type LibraryPolicy,
  type PolicyDefinition,
  type PolicySetting,
  type PolicySettings,
  type PolicySettingTypes,
  type PolicyValues,
} from "./src/gateway/library/library_policy.ts";
export type {
  PolicyHeaders,
  PolicyHooks,
  PolicyRejection,
  PolicyRequest,
  PolicyResponse,
} from "./src/gateway/library/library_hooks.ts";
export {
  ConfigurationError,
  validateConfiguration,
  type ValidationOptions,
} from "./src/gateway/candidate/candidate.ts";
export {
  type ConfigurationSource,
  fileSource,
  textSource,
} from "./src/config/configuration_source.ts";
export type {
  ConfigText,
  Diagnostic,
  Location,
} from "./src/config/diagnostics/located_diagnostic.ts";
export { ConfigReadError } from "./src/config/config_files.ts";
export type { Environment } from "./src/config/yaml/substitute.ts";
export type { WatchOptions } from "./src/config/watch.ts";
export type { Clock } from "./src/base/clock.ts";
export type { PortAddress } from "./src/dataplane/calls/descriptions.ts";
export type { TraceQuery } from "./src/dataplane/calls/debugging.ts";
export type {
  GatewayStatus,
  Readiness,
  RejectedConfiguration,
} from "./src/gateway/gateway_status.ts";
