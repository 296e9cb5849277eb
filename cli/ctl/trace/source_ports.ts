/** More than one, for redirects that are followed and ports that are taken. */
export const sourcePortCount = 16;

// Below the ports that systems give to other clients, so that the trace can tell our request from theirs.
const lowestSourcePort = 20_000;
const highestSourcePort = 32_000;

/** @param random From 0 to below 1. */
export function chooseSourcePort(random: number): number {
  const blocks = (highestSourcePort - lowestSourcePort) / sourcePortCount;
  return lowestSourcePort + Math.floor(random * blocks) * sourcePortCount;
}

/** CEL that is true for the request of an injection. */
export function filterFor(firstSourcePort: number): string {
  const last = firstSourcePort + sourcePortCount - 1;
  return `source.port >= ${firstSourcePort} && source.port <= ${last}`;
}
