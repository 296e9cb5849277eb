/** More than one, for redirects that are followed and ports that are taken. */
export const SOURCE_PORT_COUNT = 16;

// Below the ports that systems give to other clients, so that the trace can tell our request from theirs.
const LOWEST_SOURCE_PORT = 20_000;
const HIGHEST_SOURCE_PORT = 32_000;

/** @param random From 0 to below 1. */
export function chooseSourcePort(random: number): number {
  const blocks = (HIGHEST_SOURCE_PORT - LOWEST_SOURCE_PORT) / SOURCE_PORT_COUNT;
  return LOWEST_SOURCE_PORT + Math.floor(random * blocks) * SOURCE_PORT_COUNT;
}

/** CEL that is true for the request of an injection. */
export function filterFor(firstSourcePort: number): string {
  const last = firstSourcePort + SOURCE_PORT_COUNT - 1;
  return `source.port >= ${firstSourcePort} && source.port <= ${last}`;
}
