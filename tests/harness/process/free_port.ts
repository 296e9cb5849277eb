/**
 * Above the ports that browsers block, below the ephemeral ports that systems use for port 0 and outgoing connections: from
 * 32768 on Linux, from 49152 elsewhere, from 16000 in some sandboxes.
 */
const FIRST = 10_100;
const BLOCKS = 70;
const BLOCK_SIZE = 70;

/** Test files run concurrently, so each uses its own block of ports. */
const block = takeBlock();
let next = 0;

/**
 * Returns a free TCP port of 127.0.0.1. It also stays free while its user stops for a moment: no other program
 * gets it by chance, and it is returned again only after all others of the block.
 */
export function freePort(): number {
  for (let tries = 1; tries < BLOCK_SIZE; tries++) {
    const port = block.addr.port + 1 + next++ % (BLOCK_SIZE - 1);
    const listener = listenOn(port);
    listener?.close();
    if (listener !== undefined) return port;
  }
  throw new Error(`No port after ${block.addr.port} is free`);
}

/** Reserves a block until the test file ends, by listening on its first port. */
function takeBlock(): Deno.TcpListener {
  const start = Math.floor(Math.random() * BLOCKS);
  for (let index = 0; index < BLOCKS; index++) {
    const first = FIRST + (start + index) % BLOCKS * BLOCK_SIZE;
    const listener = listenOn(first);
    if (listener !== undefined) return listener;
  }
  throw new Error(`All blocks of ports from ${FIRST} are taken`);
}

function listenOn(port: number): Deno.TcpListener | undefined {
  try {
    return Deno.listen({ hostname: "127.0.0.1", port });
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return undefined;
    throw error;
  }
}
