/**
 * Above the ports that browsers refuse, below those that systems choose themselves for port 0 and for connections that go out: from
 * 32768 on Linux, from 49152 elsewhere, from 16000 in some sandboxes.
 */
const FIRST = 10_100;
const COUNT = 4_900;

/** Tests of other processes begin elsewhere. */
let next = Math.floor(Math.random() * COUNT);

/**
 * A TCP port of 127.0.0.1 for what must be told one. It stays free until it is used, and while it is given up for a moment: nothing
 * takes it unasked, and it is answered once.
 */
export function freePort(): number {
  for (let tries = 0; tries < COUNT; tries++) {
    const port = FIRST + next++ % COUNT;
    if (isFree(port)) return port;
  }
  throw new Error(`No port from ${FIRST} is free`);
}

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw error;
  }
}
