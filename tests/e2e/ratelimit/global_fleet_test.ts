import assert, { AssertionError } from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

const BUDGET = 1000;
const REQUESTS = 4000;
const CLIENTS = 8;
/** Responses of the first gateway before what it depends on, or the gateway itself, is killed. */
const KILLED_AFTER = 100;
/** Largest lease of a process: an eighth of the budget, and one for each waiting request. */
const LARGEST_LOSS = BUDGET / 8 + CLIENTS;

/** Responses of one gateway. */
interface Tally {
  readonly statuses: Map<number, number>;
  /** Requests without an answer. */
  broken: number;
  /** Requests that were sent again: a busy machine keeps them waiting for the store until they fail. */
  failed: number;
}

/** Four gateways that share a budget over one store. */
async function startFleet(kv: object): Promise<GatewayProcess[]> {
  const config = {
    config: { kv },
    routes: [{
      name: "api",
      policies: {
        rateLimit: {
          global: {
            domain: "fleet",
            descriptors: [{
              requests: BUDGET,
              unit: "Hours",
              entries: [{ key: "all", value: "'all'" }],
            }],
          },
        },
        directResponse: { status: 200, body: "ok" },
      },
    }],
  };
  return await Promise.all(
    Array.from({ length: 4 }, () => GatewayProcess.start({ config })),
  );
}

/** Clients that send `requests` together, each one after the other, until nobody answers. */
async function sendAll(
  gateway: GatewayProcess,
  requests: number,
  onAnswer: (answers: number) => void = () => {},
): Promise<Tally> {
  const tally: Tally = { statuses: new Map(), broken: 0, failed: 0 };
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: CLIENTS });
  let sent = 0;
  let answers = 0;
  async function run(): Promise<void> {
    while (sent < requests && tally.broken === 0) {
      sent++;
      try {
        const response = await fetch(gateway.origin, { client });
        await response.text();
        const { status } = response;
        if (status === 503) {
          sent--;
          assert(++tally.failed < requests, "the store does not answer");
          continue;
        }
        tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
        onAnswer(++answers);
      } catch (error) {
        if (error instanceof AssertionError) throw error;
        tally.broken++;
      }
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, run));
  return tally;
}

function countAll(tallies: readonly Tally[], status: number): number {
  return tallies.reduce(
    (sum, { statuses }) => sum + (statuses.get(status) ?? 0),
    0,
  );
}

/** @param redis In place of a file. */
async function withFleet(
  use: (fleet: readonly GatewayProcess[]) => Promise<void>,
  redis?: RedisServer,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const fleet = await startFleet(
    redis === undefined
      ? { path: `${folder}/limits.db` }
      : { redis: redis.url },
  );
  try {
    await use(fleet);
  } finally {
    for (const gateway of fleet) await gateway[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("four gateways admit exactly a global budget", async () => {
  await withFleet(async (fleet) => {
    const share = REQUESTS / fleet.length;
    const tallies = await Promise.all(
      fleet.map((gateway) => sendAll(gateway, share)),
    );

    assert.equal(countAll(tallies, 200), BUDGET);
    assert.equal(countAll(tallies, 429), REQUESTS - BUDGET);
  });
});

Deno.test("a killed gateway loses at most its lease", async () => {
  await withFleet(async (fleet) => {
    const share = REQUESTS / fleet.length;
    const tallies = await Promise.all(
      fleet.map((gateway, index) =>
        sendAll(gateway, share, (answers) => {
          if (index === 0 && answers === KILLED_AFTER) {
            gateway.signal("SIGKILL");
          }
        })
      ),
    );

    const admitted = countAll(tallies, 200);
    assert(Number(tallies[0]?.broken) > 0);
    assert(admitted <= BUDGET, `${admitted}`);
    assert(admitted >= BUDGET - LARGEST_LOSS - CLIENTS, `${admitted}`);
  });
});

Deno.test("four gateways admit exactly a global budget over Redis", async () => {
  await using redis = await RedisServer.start();
  await withFleet(async (fleet) => {
    const share = REQUESTS / fleet.length;
    const tallies = await Promise.all(
      fleet.map((gateway) => sendAll(gateway, share)),
    );

    assert.equal(countAll(tallies, 200), BUDGET);
    assert.equal(countAll(tallies, 429), REQUESTS - BUDGET);
  }, redis);
});

Deno.test("a Redis server that is killed and restarted costs at most the leases, and admits nothing beyond the budget", async () => {
  await using redis = await RedisServer.start();
  await withFleet(async (fleet) => {
    const share = REQUESTS / fleet.length;
    let failure = Promise.resolve();
    const tallies = await Promise.all(
      fleet.map((gateway, index) =>
        sendAll(gateway, share, (answers) => {
          if (index !== 0 || answers !== KILLED_AFTER) return;
          failure = redis.kill().then(() => redis.restart());
        })
      ),
    );
    await failure;

    const admitted = countAll(tallies, 200);
    assert(tallies.every(({ broken }) => broken === 0));
    assert(admitted <= BUDGET, `${admitted}`);
    const lost = fleet.length * LARGEST_LOSS;
    assert(admitted >= BUDGET - lost, `${admitted}`);
  }, redis);
});
