/**
 * Above the ports that browsers refuse, below those that systems choose themselves for port 0 and for connections that go out: from
 * 32768 on Linux, from 49152 elsewhere, from 16000 in some sandboxes.
 */
const FIRST = 10_100;
const BLOCKS = 70;
const BLOCK_SIZE = 70;

/** Files of tests run at the same time: each takes its ports from a block of its own. */
const block = takeBlock();
let next = 0;

/**
 * A TCP port of 127.0.0.1 for what must be told one. It stays free until it is used, and while it is given up for a moment: nothing
 * takes it unasked, and it is not answered again before all others of the block were.
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

/** Who listens on the first port of a block has it, until the file of tests ends. */
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
