import { type Clock, pause } from "../../base/clock.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Log } from "../../base/log/log.ts";
import type { KubernetesApi } from "../client/kubernetes_api.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import { WakeUp } from "../client/wake_up.ts";
import { ApiFeed } from "../source/api_feed.ts";
import { StatusEvents } from "../status/status_events.ts";
import { StatusWriter } from "../status/status_writer.ts";
import type { DesiredStatus } from "../status/status_sources.ts";
import { contextOf, storeConditions } from "../status/stored_conditions.ts";
import {
  createKeyCollections,
  type KeyKind,
  storeKinds,
} from "./key_collections.ts";
import {
  KeySecrets,
  type MissingKey,
  readKey,
  type SecretKey,
  secretNameOf,
} from "./key_secrets.ts";

/** A key, a user or a team as an object of the cluster declares it. */
export interface DeclaredKey {
  readonly kind: KeyKind;
  readonly namespace: string;
  readonly name: string;
  readonly spec: JsonObject;
  readonly secret?: SecretKey;
  readonly isForAllRoutes: boolean;
}

/** Commands to the store of keys. */
export type KeyStoreCommand =
  & { readonly kind: "key" | "user" | "team" }
  & (
    | { readonly do: "declare"; readonly object: DeclaredKey }
    | { readonly do: "prune"; readonly keep: readonly string[] }
  );

/** Runs a command; `problem` says why it was not possible. */
export type RunKeyCommand = (
  command: KeyStoreCommand,
) => Promise<{
  readonly result: string;
  readonly problem?: string;
  readonly object?: { readonly id: string };
}>;

/** Dependencies of keys in a cluster. */
export interface KeyControllerOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly policyApiGroup: string;
  readonly controllerName: string;
  readonly identity: string;
  /** Namespaces to watch; empty for all. */
  readonly namespaces: readonly string[];
  /** Namespace of the administrator, whose keys are for routes of all namespaces. */
  readonly namespace: string;
}

/** Result of declaring an object. */
interface Outcome {
  /** ID in the store; not set for an object that was rejected. */
  readonly id?: string;
  readonly reason: string;
  readonly message: string;
}

/** An outcome, and what it depends on. */
interface KnownOutcome {
  readonly version: string;
  readonly outcome: Outcome;
  /** Until then, an object that was rejected is not attempted again, unless it, its Secret or an owner changes. */
  readonly retryAt: number;
  readonly owners: number;
}

/** Everything is compared with the store after this time, in which it may have been restored from a copy. */
const FULL_MS = 60_000;
const RETRY_MS = 1000;
/** Time after which an object that was rejected is attempted again. */
const REJECTED_MS = 10_000;

/** Makes keys, users and teams of the cluster objects of the store, while this process leads. */
export class KeyController {
  readonly #options: KeyControllerOptions;
  readonly #secrets: KeySecrets;
  readonly #feed: ApiFeed;
  readonly #writer: StatusWriter;
  readonly #wakeUp = new WakeUp();
  /** Outcomes by the versions of an object and its Secret that they are of. */
  readonly #outcomes = new Map<string, KnownOutcome>();
  #version = 0;
  /** Increases with each change of a team or a user. */
  #owners = 0;

  constructor(options: KeyControllerOptions) {
    this.#options = options;
    const collections = createKeyCollections(options.policyApiGroup);
    this.#feed = new ApiFeed({ ...options, collections }, {
      onChange: () => this.#onChange(),
      onSync: () => this.#onChange(),
      onError: (path, error) => {
        if (error !== undefined) {
          options.log.debug("Cannot read keys of the cluster", { path, error });
        }
      },
      onAbsent: () => {},
    });
    this.#secrets = new KeySecrets(options);
    this.#writer = new StatusWriter({
      ...options,
      collections,
      stored: new WeakMap(),
      events: new StatusEvents(options),
    });
  }

  /** Follows the objects until `signal` aborts. @param run Runs commands of the store. */
  async run(run: RunKeyCommand, signal: AbortSignal): Promise<void> {
    const feeding = this.#feed.run(signal);
    const { clock } = this.#options;
    let fullAt = 0;
    while (!signal.aborted) {
      const version = this.#version;
      const isFull = clock.monotonic() >= fullAt;
      const failures = this.#hasSynced
        ? await this.#reconcile(run, isFull, signal)
        : 0;
      if (this.#hasSynced && isFull && failures === 0) {
        fullAt = clock.monotonic() + FULL_MS;
      }
      if (failures > 0) await pause(clock, RETRY_MS, signal);
      else if (this.#version === version) await this.#next(signal);
    }
    await feeding;
  }

  get #hasSynced(): boolean {
    return this.#feed.copies.every(({ hasSynced }) => hasSynced);
  }

  #onChange(): void {
    this.#version++;
    this.#wakeUp.wake();
  }

  async #next(signal: AbortSignal): Promise<void> {
    const cancel = this.#options.clock.setTimer(
      () => this.#wakeUp.wake(),
      REJECTED_MS,
    );
    await this.#wakeUp.wait(signal);
    cancel();
  }

  /** Declares what has changed and revokes what went; returns how many have to be attempted again soon. */
  async #reconcile(
    run: RunKeyCommand,
    isFull: boolean,
    signal: AbortSignal,
  ): Promise<number> {
    const statuses: DesiredStatus[] = [];
    const secrets = new Map(
      this.#objects("Secret").map((secret) => [objectKey(secret), secret]),
    );
    const seen = new Set<string>();
    let failures = 0;
    // Owners first: a key needs its team.
    for (const kind of ["GatewayTeam", "GatewayUser", "GatewayKey"] as const) {
      const keep: string[] = [];
      for (const object of this.#objects(kind)) {
        if (signal.aborted) return 0;
        const look = { isFull, secrets };
        const outcome = await this.#declare(run, kind, object, look);
        const key = `${kind}/${object.metadata.uid}`;
        seen.add(key);
        if (outcome.id !== undefined) keep.push(outcome.id);
        if (outcome.reason === "Unavailable") failures++;
        statuses.push(this.#statusOf(object, outcome));
      }
      if (failures > 0) continue;
      const prune = { kind: storeKinds[kind], do: "prune", keep } as const;
      const { result } = await run(prune);
      if (result !== "found") failures++;
    }
    for (const key of this.#outcomes.keys()) {
      if (!seen.has(key)) this.#outcomes.delete(key);
    }
    return failures + await this.#writer.write(statuses, signal);
  }

  async #declare(
    run: RunKeyCommand,
    kind: KeyKind,
    object: KubernetesObject,
    { isFull, secrets }: {
      readonly isFull: boolean;
      readonly secrets: ReadonlyMap<string, KubernetesObject>;
    },
  ): Promise<Outcome> {
    const { uid, generation, namespace } = object.metadata;
    const key = `${kind}/${uid}`;
    const stored = kind === "GatewayKey"
      ? secrets.get(`${namespace}/${secretNameOf(object)}`)
      : undefined;
    const written = stored && readKey(stored);
    const known = this.#outcomes.get(key);
    const isKnown = known?.version === versionOf(generation, written) &&
      (known.outcome.id !== undefined || this.#isWaiting(known));
    if (isKnown && !isFull) return known.outcome;
    const secret = kind === "GatewayKey" && written === undefined
      ? await this.#secrets.create(object)
      : written;
    const outcome = secret !== undefined && "problem" in secret
      ? { reason: secret.reason, message: secret.problem }
      : await this.#declareInStore(run, kind, object, secret);
    if (kind !== "GatewayKey") this.#owners++;
    const version = versionOf(
      generation,
      outcome.id === undefined ? written : secret,
    );
    const retryAt = this.#options.clock.monotonic() + REJECTED_MS;
    this.#outcomes.set(key, {
      version,
      outcome,
      retryAt,
      owners: this.#owners,
    });
    return outcome;
  }

  #isWaiting({ retryAt, owners, outcome }: KnownOutcome): boolean {
    return outcome.reason !== "Unavailable" && owners === this.#owners &&
      this.#options.clock.monotonic() < retryAt;
  }

  async #declareInStore(
    run: RunKeyCommand,
    kind: KeyKind,
    { metadata: { name, namespace = "default" }, spec }: KubernetesObject,
    secret: SecretKey | undefined,
  ): Promise<Outcome> {
    const declared: DeclaredKey = {
      ...{ kind, namespace, name, spec: isJsonObject(spec) ? spec : {} },
      ...secret && { secret },
      isForAllRoutes: namespace === this.#options.namespace,
    };
    const { result, problem = "", object } = await run({
      kind: storeKinds[kind],
      do: "declare",
      object: declared,
    });
    if (object !== undefined) {
      return { id: object.id, reason: "Accepted", message: "" };
    }
    const reason = result === "rejected"
      ? "Invalid"
      : result === "no store"
      ? "NoStore"
      : "Unavailable";
    return { reason, message: problem };
  }

  #statusOf(
    object: KubernetesObject,
    { id, reason, message }: Outcome,
  ): DesiredStatus {
    const isAccepted = id !== undefined;
    const conditions = storeConditions(
      [{ type: "Accepted", status: isAccepted, reason, message }],
      contextOf(object, object, this.#options.clock.now()),
    );
    return { object, status: { conditions, ...isAccepted && { id } } };
  }

  *#objects(kind: KeyKind | "Secret"): Generator<KubernetesObject> {
    for (const { collection, items } of this.#feed.copies) {
      if (collection.kind === kind) yield* items.values();
    }
  }
}

function versionOf(
  generation: number | undefined,
  secret: SecretKey | MissingKey | undefined,
): string {
  return `${generation} ${JSON.stringify(secret)}`;
}
