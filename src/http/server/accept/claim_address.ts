import { type ListenAddress, openAll } from "./acceptor.ts";

/**
 * Checks that nobody listens on an address, and returns its port: a free one in place of 0.
 *
 * Sockets with `reusePort` share a port with those of any process of the same user. Threads that share one claim it first, so
 * that a second gateway is still an error.
 * @throws What `Deno.listen` throws, such as `AddrInUse`, also when the other sockets have `reusePort`.
 */
export async function claimAddress(address: ListenAddress): Promise<number> {
  const claims = await openAll({ ...address, reusePort: false }, claim);
  for (const { close } of claims) await close();
  return claims[0]?.address.port ?? address.port;
}

function claim(address: Required<ListenAddress>) {
  const listener = Deno.listen(address);
  return {
    address: listener.addr,
    close: () => Promise.resolve(listener.close()),
  };
}
