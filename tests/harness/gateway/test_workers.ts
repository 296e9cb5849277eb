/**
 * Workers of gateways whose test does not say: `GATEWAY_TEST_WORKERS=2` runs any test with workers.
 *
 * A file of its own, as tests that import `gateway_process.ts` run against the executable.
 */
export const testWorkers = Number(Deno.env.get("GATEWAY_TEST_WORKERS") ?? 1);
