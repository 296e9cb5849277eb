/** Gateways that share a store of keys, clients that use all of them, and an administrator who changes the keys meanwhile. */
import assert from "node:assert/strict";
import { freePort } from "../process/free_port.ts";
import { GatewayProcess } from "../gateway/gateway_process.ts";
import { StoreProbe } from "./store_probe.ts";
import { keyedPolicies, statusOf } from "./stored_keys.ts";

/** Sizes of a run. */
export interface FleetRun {
  readonly gateways: number;
  /** Keys that are created; each is rotated, and two of three are revoked. */
  readonly keys: number;
  readonly clients: number;
  /** Requests that the budget of a team allows. */
  readonly budget: number;
  /** Kills a gateway when half of the keys are made, and starts it again. */
  readonly kills: boolean;
}

/** Results of a run; times are in milliseconds. */
export interface FleetReport {
  readonly requests: number;
  readonly changes: number;
  readonly longestChangeMs: number;
  /** Requests that began so long after a change was reported as done and found the state before it. */
  readonly late: number;
  readonly longestLateMs: number;
  readonly lateByMoreThanASecond: number;
  /** Statuses other than those of a valid and of an invalid key. */
  readonly unexpected: readonly string[];
  /** Keys that were wrong at one of the gateways in the end, five seconds after their last change. */
  readonly wrongAtTheEnd: number;
  /** Requests that the budget admitted. */
  readonly admitted: number;
  /** Requests with a budget without a response, because their gateway was killed. */
  readonly lost: number;
  /** Requests that got 503, because the store took too long or could not be reached. */
  readonly undecided: number;
  /** Times that a gateway logged that the store could not be reached. */
  readonly outages: number;
  /** Longest write of a connection of the test's own to the store: gateways cannot be faster. */
  readonly longestStoreMs: number;
}

/** A key, and the status that it has had since a time; `undefined` while it changes. */
interface KnownKey {
  readonly secret: string;
  status: 200 | 401 | undefined;
  since: number;
}

/** `config.kv` of the gateways. */
export type FleetStore =
  | { readonly path: string }
  | { readonly redis: string };

interface Change {
  readonly object: { readonly id: string };
  readonly secret?: string;
}

/** Most requests of clients concern one of the keys that changed last. */
const RECENT = 48;
const PAID_KEYS = 6;

/** Changes keys at all gateways of a fleet while clients use them at all gateways. */
export class KeyFleet implements AsyncDisposable {
  readonly #config: Readonly<Record<string, unknown>>;
  readonly #store: string;
  readonly #run: FleetRun;
  readonly #gateways: GatewayProcess[] = [];
  readonly #down = new Set<number>();
  readonly #keys: KnownKey[] = [];
  readonly #paid: string[] = [];
  readonly #unexpected: string[] = [];
  readonly #counts = {
    requests: 0,
    changes: 0,
    longestChangeMs: 0,
    late: 0,
    longestLateMs: 0,
    lateByMoreThanASecond: 0,
    admitted: 0,
    lost: 0,
    undecided: 0,
  };
  /** Share of the keys that are made. */
  #progress = 0;
  #isDone = false;

  private constructor(kv: FleetStore, run: FleetRun) {
    this.#run = run;
    this.#store = "redis" in kv ? kv.redis : kv.path;
    this.#config = {
      config: { kv },
      routes: [{ name: "r", policies: keyedPolicies }],
    };
  }

  /** Starts the gateways. */
  static async start(kv: FleetStore, run: FleetRun): Promise<KeyFleet> {
    const fleet = new KeyFleet(kv, run);
    const starts = Array.from({ length: run.gateways }, () => fleet.#start());
    fleet.#gateways.push(...await Promise.all(starts));
    return fleet;
  }

  async run(): Promise<FleetReport> {
    await this.#createPaidKeys();
    const clients = Array.from(
      { length: this.#run.clients },
      (_, client) => this.#send(client),
    );
    const paying = this.#spend();
    const probe = new StoreProbe(this.#store);
    await this.#changeAll().finally(() => this.#isDone = true);
    await Promise.all([paying, ...clients]);
    const longestStoreMs = await probe.stop();
    await this.#spendRest();
    return {
      ...this.#counts,
      unexpected: this.#unexpected,
      wrongAtTheEnd: await this.#countWrong(),
      outages: this.#countOutages(),
      longestStoreMs,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const gateway of this.#gateways) await gateway[Symbol.asyncDispose]();
  }

  #start(port = freePort()): Promise<GatewayProcess> {
    return GatewayProcess.start({ config: this.#config, port });
  }

  async #createPaidKeys(): Promise<void> {
    const budgets = [{ requests: this.#run.budget, unit: "Months" }];
    await this.#change("teams", "", { id: "paid", budgets });
    for (let index = 0; index < PAID_KEYS; index++) {
      const made = await this.#change("keys", "", { team: "paid" });
      this.#paid.push(secretOf(made));
    }
  }

  /** Makes a change at one of the gateways; at another one if the first is killed meanwhile. */
  async #change(kind: string, path: string, body: object): Promise<Change> {
    for (;;) {
      const { gateway, index } = this.#choose(this.#counts.changes);
      const startedAt = performance.now();
      let response: Response;
      let text: string;
      try {
        response = await fetch(`${gateway.admin}/access/${kind}${path}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        });
        text = await response.text();
      } catch (error) {
        if (this.#isUp(index, gateway)) throw error;
        continue;
      }
      assert.equal(response.status, 200, text);
      this.#counts.changes++;
      const elapsed = performance.now() - startedAt;
      this.#counts.longestChangeMs = Math.max(
        this.#counts.longestChangeMs,
        elapsed,
      );
      return JSON.parse(text);
    }
  }

  async #changeAll(): Promise<void> {
    let restarting: Promise<void> | undefined;
    for (let index = 0; index < this.#run.keys; index++) {
      this.#progress = index / this.#run.keys;
      if (this.#run.kills && index === Math.floor(this.#run.keys / 2)) {
        restarting = this.#killAndRestart(1);
      }
      const made = await this.#change("keys", "", {});
      const path = `/${made.object.id}`;
      const first = this.#add(secretOf(made));
      const rotated = await this.#whileUnknown(
        first,
        () => this.#change("keys", path, { action: "rotate" }),
      );
      const second = this.#add(secretOf(rotated));
      if (index % 3 === 0) continue;
      await this.#whileUnknown(
        second,
        () => this.#change("keys", path, { action: "revoke" }),
      );
    }
    await restarting;
  }

  /** Makes a change after which a key is invalid. */
  async #whileUnknown<T>(key: KnownKey, change: () => Promise<T>): Promise<T> {
    key.status = undefined;
    const result = await change();
    key.since = performance.now();
    key.status = 401;
    return result;
  }

  #add(secret: string): KnownKey {
    const key: KnownKey = { secret, status: 200, since: performance.now() };
    this.#keys.push(key);
    return key;
  }

  /** Uses keys until all changes are made. */
  async #send(client: number): Promise<void> {
    for (let turn = client; !this.#isDone; turn++) {
      const known = this.#pick(turn);
      const { gateway, index } = this.#choose(turn);
      if (known?.status === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        continue;
      }
      const { status, since } = known;
      const startedAt = performance.now();
      const found = await this.#statusAt(gateway, index, known.secret);
      if (found === undefined) continue;
      this.#counts.requests++;
      if (found === 503) this.#counts.undecided++;
      if (found === 503 || known.since !== since || known.status !== status) {
        continue;
      }
      if (found !== status) this.#noteLate(found, startedAt - since);
    }
  }

  #noteLate(found: number, lateMs: number): void {
    if (found !== 200 && found !== 401) this.#unexpected.push(String(found));
    this.#counts.late++;
    this.#counts.longestLateMs = Math.max(this.#counts.longestLateMs, lateMs);
    if (lateMs > 1000) this.#counts.lateByMoreThanASecond++;
  }

  /** Uses the budget while keys change, evenly, so that all gateways have leases when one is killed, whose requests may be lost. */
  async #spend(): Promise<void> {
    for (let turn = 0; !this.#isDone;) {
      if (this.#counts.admitted <= this.#progress * this.#run.budget) {
        await this.#pay(turn++);
      } else await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Uses what is left of the budget, until all gateways have denied requests. */
  async #spendRest(): Promise<void> {
    let denied = 0;
    for (let turn = 0; denied < 4 * this.#run.gateways; turn++) {
      denied = await this.#pay(turn) === 429 ? denied + 1 : 0;
    }
  }

  /** Returns the status of a request with a budget. */
  async #pay(turn: number): Promise<number | undefined> {
    const { gateway, index } = this.#choose(turn);
    const key = this.#paid[turn % this.#paid.length] ?? "";
    const found = await this.#statusAt(gateway, index, key);
    if (found === undefined) this.#counts.lost++;
    else if (found === 200) this.#counts.admitted++;
    else if (found === 503) this.#counts.undecided++;
    else if (found !== 429) this.#unexpected.push(`${found} of a budget`);
    return found;
  }

  /** Returns the status of a request; `undefined` if its gateway was killed. */
  async #statusAt(
    gateway: GatewayProcess,
    index: number,
    key: string,
  ): Promise<number | undefined> {
    try {
      return await statusOf(gateway.origin, key);
    } catch (error) {
      if (this.#isUp(index, gateway)) throw error;
      return undefined;
    }
  }

  async #killAndRestart(index: number): Promise<void> {
    const gateway = this.#gateways[index];
    assert(gateway !== undefined);
    this.#down.add(index);
    await gateway[Symbol.asyncDispose]();
    this.#gateways[index] = await this.#start(gateway.port);
    this.#down.delete(index);
  }

  #isUp(index: number, gateway: GatewayProcess): boolean {
    return !this.#down.has(index) && this.#gateways[index] === gateway;
  }

  #choose(
    turn: number,
  ): { readonly gateway: GatewayProcess; readonly index: number } {
    const up = this.#gateways.map((gateway, index) => ({ gateway, index }))
      .filter(({ index }) => !this.#down.has(index));
    const chosen = up[turn % up.length];
    assert(chosen !== undefined);
    return chosen;
  }

  /** Returns one of all keys in every fourth turn, otherwise one of the last. */
  #pick(turn: number): KnownKey | undefined {
    const { length } = this.#keys;
    const first = turn % 4 === 0 ? 0 : Math.max(0, length - RECENT);
    return this.#keys[first + turn * 7 % Math.max(1, length - first)];
  }

  #countOutages(): number {
    return this.#gateways.flatMap(({ log }) =>
      log.all.filter((line) => line.includes("Cannot reach the store"))
    ).length;
  }

  async #countWrong(): Promise<number> {
    let wrong = 0;
    for (const key of this.#keys) {
      for (const { origin } of this.#gateways) {
        if (await isWrong(key, origin)) wrong++;
      }
    }
    return wrong;
  }
}

/** Asks again while the last change may be under way. */
async function isWrong(
  { secret, status, since }: KnownKey,
  origin: string,
): Promise<boolean> {
  while (await statusOf(origin, secret) !== status) {
    if (performance.now() - since > 5000) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

function secretOf({ secret }: Change): string {
  assert(secret !== undefined);
  return secret;
}
