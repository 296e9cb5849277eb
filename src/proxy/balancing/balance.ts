import type { Balancing } from "../../snapshot/backend.ts";
import type { BalancedEndpoint } from "./balanced_endpoint.ts";
import { mix } from "./hash.ts";

/** Chooses one of at least one endpoint. @param key Hash of the request; `undefined` when it has none. */
export type Balance = (
  endpoints: readonly BalancedEndpoint[],
  key: number | undefined,
) => BalancedEndpoint | undefined;

/** Creates the function that chooses endpoints. @param random Uniform in [0, 1). */
export function createBalance(
  policy: Balancing["policy"],
  random: () => number,
): Balance {
  switch (policy) {
    case "LeastRequest":
      return leastRequest(random);
    case "Random":
      return pickWarm(random, (endpoints) => pickAny(endpoints, random));
    case "RoundRobin":
      return pickWarm(random, roundRobin(random));
    case "ConsistentHash":
      return consistentHash(random);
  }
}

function pickAny(
  endpoints: readonly BalancedEndpoint[],
  random: () => number,
): BalancedEndpoint | undefined {
  return endpoints[Math.floor(random() * endpoints.length)];
}

/**
 * Takes two endpoints at random and chooses the one with fewer requests: nearly as good as comparing all, and no endpoint gets all
 * requests of many threads at once.
 */
function leastRequest(random: () => number): Balance {
  return (endpoints) => {
    const { length } = endpoints;
    if (length === 1) return endpoints[0];
    const first = Math.floor(random() * length);
    const other = Math.floor(random() * (length - 1));
    const one = endpoints[first];
    const two = endpoints[other < first ? other : other + 1];
    if (one === undefined || two === undefined) return one;
    return loadOf(one) <= loadOf(two) ? one : two;
  };
}

function loadOf({ upstream, share }: BalancedEndpoint): number {
  return (upstream.load + 1) / share;
}

function roundRobin(random: () => number): Balance {
  let turn = Math.floor(random() * 1024);
  return (endpoints) => {
    turn = (turn + 1) % Number.MAX_SAFE_INTEGER;
    return endpoints[turn % endpoints.length];
  };
}

/** Passes an endpoint that warms up over, with the probability that its share leaves. */
function pickWarm(random: () => number, balance: Balance): Balance {
  return (endpoints, key) => {
    const first = balance(endpoints, key);
    if (first === undefined || first.share === 1) return first;
    return random() < first.share ? first : balance(endpoints, key);
  };
}

/**
 * Chooses the endpoint with the highest hash of key and address (rendezvous hashing): when an endpoint comes or goes, only its own
 * keys move.
 */
function consistentHash(random: () => number): Balance {
  return (endpoints, key) => {
    if (key === undefined) return pickAny(endpoints, random);
    let best: BalancedEndpoint | undefined;
    let highest = -1;
    for (const endpoint of endpoints) {
      const score = mix(key ^ endpoint.hash);
      if (score <= highest) continue;
      highest = score;
      best = endpoint;
    }
    return best;
  };
}
