/**
 * The gateway as a library: start it from a configuration, ask where it listens, stop it.
 *
 * @example
 * ```ts
 * import { Gateway, textSource } from "./mod.ts";
 *
 * await using gateway = await Gateway.start({
 *   config: textSource(`
 *     gateways: { default: { port: 8080, address: localhost } }
 *     routes: [{ name: all, backends: [{ host: "127.0.0.1:9000" }] }]
 *   `),
 * });
 * console.log(await gateway.addresses());
 * ```
 * @module
 */
export {
  ConfigurationError,
  validateConfiguration,
} from "./src/gateway/candidate.ts";
export {
  type ConfigurationSource,
  fileSource,
  textSource,
} from "./src/config/configuration_source.ts";
export type {
  ConfigText,
  Diagnostic,
} from "./src/config/diagnostics/located_diagnostic.ts";
export { ConfigReadError } from "./src/config/read.ts";
export type { Environment } from "./src/config/yaml/substitute.ts";
export type { WatchOptions } from "./src/config/watch.ts";
export type { PortAddress } from "./src/dataplane/data_plane.ts";
export { Gateway, type GatewayOptions } from "./src/gateway/gateway.ts";
export type {
  GatewayStatus,
  Readiness,
  RejectedConfiguration,
} from "./src/gateway/gateway_status.ts";
