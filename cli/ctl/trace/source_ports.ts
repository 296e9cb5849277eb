/** Several, for followed redirects and ports in use. */
export const SOURCE_PORT_COUNT = 16;

// Below ephemeral ports, so that the trace can distinguish the request from those of other clients.
const LOWEST_SOURCE_PORT = 20_000;
const HIGHEST_SOURCE_PORT = 32_000;

/** Selects the first source port. @param random In [0, 1). */
export function chooseSourcePort(random: number): number {
  const blocks = (HIGHEST_SOURCE_PORT - LOWEST_SOURCE_PORT) / SOURCE_PORT_COUNT;
  return LOWEST_SOURCE_PORT + Math.floor(random * blocks) * SOURCE_PORT_COUNT;
}

/** Returns the CEL filter for an injected request. */
export function filterFor(firstSourcePort: number): string {
  const last = firstSourcePort + SOURCE_PORT_COUNT - 1;
  return `source.port >= ${firstSourcePort} && source.port <= ${last}`;
}
