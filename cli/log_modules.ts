/** The modules that write log lines; each may have a level of its own. */
export const logModules: readonly string[] = [
  "admin",
  "gateway",
  "http",
  "identity",
  "policy",
  "process",
  "proxy",
  "ratelimit",
  "request",
];
