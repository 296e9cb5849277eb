import { lookup } from "node:dns/promises";

/** Returns the IP addresses of a name, the preferred ones first (RFC 6724); rejects when there are none. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** Each occupies a thread of the process until the operating system gives up. */
const MAX_LOOKUPS = 32;

/** Asks the operating system: `/etc/hosts`, then DNS. */
export const systemLookup: Lookup = limitLookups(async (host) => {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
}, MAX_LOOKUPS);

/** Returns a function that looks up no more than `max` names at a time; others wait. */
export function limitLookups(lookup: Lookup, max: number): Lookup {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  return async (host) => {
    if (underWay === max) {
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else underWay++;
    try {
      return await lookup(host);
    } finally {
      const next = waiting.shift();
      // The next one takes the place over.
      if (next === undefined) underWay--;
      else next();
    }
  };
}
