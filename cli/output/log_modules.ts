/** Modules with their own log level. */
export const logModules: readonly string[] = [
  "admin",
  "cluster",
  "gateway",
  "http",
  "identity",
  "policy",
  "process",
  "proxy",
  "ratelimit",
  "request",
];
