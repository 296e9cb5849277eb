/** A replica of the model: the code of the gateway from a request to the store, over a clock and a store that a schedule steps. */
import type { Cancellation } from "../../../src/base/cancellation.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { UserLogin } from "../../../src/identity/backend_tokens/backend_credentials.ts";
import { BackendTokens } from "../../../src/identity/backend_tokens/backend_tokens.ts";
import { ConnectionIndex } from "../../../src/identity/connections/connection_index.ts";
import type { Connection } from "../../../src/identity/connections/granted_connection.ts";
import { Connections } from "../../../src/identity/connections/user_connections.ts";
import { EndedError, Vault } from "../../../src/identity/vault/vault.ts";
import type { VaultKeys } from "../../../src/identity/vault/vault_seal.ts";
import { KvStore } from "../../../src/kv/kv_store.ts";
import { discardLog } from "../telemetry/recorded_log.ts";
import type { FakeClock } from "../time/fake_clock.ts";
import { type RotatingServer, unavailable } from "./rotating_server.ts";
import {
  ModelSeal,
  type SteppedProcess,
  type SteppedStore,
  type Steps,
} from "./stepped_store.ts";

/** Lifetime of access tokens. */
export const TOKEN_MS = 600_000;
const MAX_AGE_MS = 90 * 86_400_000;

/** Parts that the replicas of a schedule share. */
export interface ModelWorld {
  readonly time: FakeClock;
  readonly steps: Steps;
  readonly store: SteppedStore;
  readonly server: RotatingServer;
  random(): number;
  /** Returns a name that nobody else has. */
  uniqueName(): string;
  onRenewed(): void;
  /** Called when a replica has removed the connection of a grant from the vault. */
  onRevoked(grant: number, by: ModelReplica): void;
}

/** Tokens of a grant, as the server of the model issues them. */
export function tokenOf(owner: string, grant: number, refresh: number) {
  return { token: `${owner}|${grant}|${refresh}`, refreshToken: `${refresh}` };
}

/** Reads a token. */
export function readToken(token: string) {
  const [owner = "", grant, refresh] = token.split("|");
  return { owner, grant: Number(grant), refresh: Number(refresh) };
}

/** A replica, which loses all that it has in memory when it crashes. */
export class ModelReplica {
  /** Difference of its clock to the time. */
  skewMs = 0;
  keys: VaultKeys;
  readonly #world: ModelWorld;
  #parts: ReturnType<ModelReplica["start"]>;

  constructor(world: ModelWorld, keys: VaultKeys) {
    this.#world = world;
    this.keys = keys;
    this.#parts = this.start();
  }

  /** Its parts since it was started last. */
  get parts() {
    return this.#parts;
  }

  /** Ends the process, and starts another one. */
  crash(): void {
    this.#parts.process.isRunning = false;
    this.#parts = this.start();
  }

  /** Milliseconds since the epoch, as it believes. */
  now(): number {
    return this.#world.time.now() + this.skewMs;
  }

  /** Starts a process with nothing in memory. */
  start() {
    const { store: shared, uniqueName, random } = this.#world;
    const process: SteppedProcess = { isRunning: true };
    const clock = this.#clockOf(process);
    const seal = new ModelSeal(() => this.keys);
    const store = new KvStore({
      store: "model",
      open: () => Promise.resolve(shared.open(process)),
      clock,
      random,
    });
    const maxAgeMs = MAX_AGE_MS;
    const index = new ConnectionIndex({ store, seal, maxAgeMs });
    const vault = new Vault({
      store,
      seal,
      clock,
      randomId: uniqueName,
      maxAgeMs,
    });
    const connections = new Connections({
      vault,
      index,
      links: { urlFor: () => "https://gateway.example/connections" },
      grants: {
        renew: (_, before, cancellation) =>
          this.#renew(process, before, cancellation),
        revoke: (_, { token }) => this.#revoke(process, token),
      },
      clock,
      log: discardLog,
      onEnded: (login, user) => tokens.forget(login, user),
    });
    const tokens = new BackendTokens({
      clock,
      source: { fetch: () => Promise.reject(new Error("not used")) },
      connections,
      onRequested: () => {},
    });
    return { process, store, index, connections, tokens };
  }

  async #renew(
    process: SteppedProcess,
    before: Connection,
    cancellation: Cancellation,
  ): Promise<Connection> {
    const { steps, server, random, onRenewed } = this.#world;
    await steps.turn(process);
    if (cancellation.cancelled) throw cancellation.reason;
    const { owner, grant } = readToken(before.token);
    const next = server.refresh(grant, Number(before.refreshToken));
    await steps.turn(process);
    if (next === undefined) throw new EndedError("invalid_grant");
    onRenewed();
    // The response is lost on its way.
    if (random() < LOST_RESPONSES) throw unavailable();
    const endsAt = this.now() + TOKEN_MS;
    return { ...before, ...tokenOf(owner, grant, next), endsAt };
  }

  async #revoke(process: SteppedProcess, token: string): Promise<boolean> {
    const { steps, server, onRevoked } = this.#world;
    const { grant } = readToken(token);
    onRevoked(grant, this);
    await steps.turn(process);
    server.revoke(grant);
    return true;
  }

  #clockOf(process: SteppedProcess): Clock {
    const { time } = this.#world;
    return {
      now: () => this.now(),
      monotonic: () => time.monotonic(),
      setTimer: (callback, delayMs) =>
        time.setTimer(() => {
          if (process.isRunning) callback();
        }, delayMs),
    };
  }
}

const LOST_RESPONSES = 0.01;

/** Returns the login of a server of the model. */
export function loginOf(backend: string): UserLogin {
  return {
    kind: "oauth",
    fingerprint: "fingerprint",
    backend,
    resource: "https://api.example/",
    issuer: "https://as.example/",
    endpoints: undefined,
    client: undefined,
    caCertificates: undefined,
    scopes: undefined,
    parameters: {},
  };
}
