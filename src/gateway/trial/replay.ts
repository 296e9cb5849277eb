import { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError, GatewayError } from "../../base/errors.ts";
import { yieldToEventLoop } from "../../base/slices.ts";
import { textBody } from "../../http/body.ts";
import { BodyMemory, createBodyMemory } from "../../http/body_memory.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage } from "../../http/message.ts";
import { withSharedSteps } from "../../policy/cel/counting.ts";
import { nameKey } from "../../policy/authentication/request_identity.ts";
import type { Policy, RunningPolicy } from "../../policy/contract/policy.ts";
import { Rejection } from "../../policy/contract/rejection.ts";
import {
  endListeners,
  usageListeners,
} from "../../policy/contract/request_listeners.ts";
import { Exchange } from "../../proxy/exchange/exchange.ts";
import type { ReplayableRequest } from "../../proxy/exchange/replayable_request.ts";
import { type Snapshot, SnapshotStore } from "../../snapshot/snapshot.ts";
import { MAX_BODY_BYTES, type ReplayServices } from "./replay_services.ts";
import { isUndecided } from "./undecided.ts";

/** Outcome of a request in a replay. */
export interface ReplayOutcome {
  readonly verdict: "passes" | "denied" | "undecided";
  /** Key of the route; `undefined` if none matches. */
  readonly route?: string | undefined;
  /** Reason why it is denied or undecided, one sentence. */
  readonly because?: string;
  /** Identities that policies on its way verify, and that it was recorded without. */
  readonly missing: readonly string[];
}

/** A rule or limit that is tried beside those of the configuration. */
export interface ExtraPolicy {
  readonly policy: Policy;
  /** `before`: ahead of the policies of the route, as rules are. `after`: as limits are, which count what passes. */
  readonly place: "before" | "after";
  /** Only for routes of this name, or namespace and name. */
  readonly route?: string | undefined;
}

/** Kinds whose decisions a replay repeats; others need credentials, or decide nothing. */
const replayedKinds: ReadonlySet<string> = new Set([
  "authorization",
  "rateLimit",
]);

const SLICE_MS = 5;
/** Time of all slices. */
const MAX_WORK_MS = 10_000;

/** A replay takes too long; the message says what to do. */
export class ReplayTimeError extends Error {
  /** Always `ReplayTimeError`. */
  override readonly name = "ReplayTimeError";
}

/** Options of a replay. */
export interface ReplayOptions {
  readonly snapshot: Snapshot;
  /** Those that the policies of the snapshot have. */
  readonly services: ReplayServices;
  readonly extra?: ExtraPolicy | undefined;
  /** Measures the slices of the work. */
  readonly clock: Clock;
}

/** Sends requests that have ended through the routes, rules and limits of a configuration, in their order and at their time. */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #bodyMemory = new BodyMemory(
    createBodyMemory(1, 16 * MAX_BODY_BYTES),
  );
  #sliceAt = 0;
  #workMs = 0;
  /** Ends of the requests under way. */
  #ends: { readonly at: number; readonly end: () => void }[] = [];

  constructor(options: ReplayOptions) {
    this.#options = options;
  }

  /**
   * Returns the outcomes in the order of the requests, the oldest first.
   * @throws {ReplayTimeError}
   */
  async run(
    requests: readonly ReplayableRequest[],
  ): Promise<readonly ReplayOutcome[]> {
    this.#sliceAt = this.#options.clock.monotonic();
    const outcomes: ReplayOutcome[] = [];
    for (const request of requests) {
      outcomes.push(await this.#replay(request));
      await this.#pause();
    }
    return outcomes;
  }

  /** Lets others run after a slice of work. @throws {ReplayTimeError} */
  async #pause(): Promise<void> {
    const { clock } = this.#options;
    const sliceMs = clock.monotonic() - this.#sliceAt;
    if (sliceMs < SLICE_MS) return;
    this.#workMs += sliceMs;
    if (this.#workMs > MAX_WORK_MS) {
      throw new ReplayTimeError(
        `the rules take more than ${MAX_WORK_MS / 1000} s: try fewer requests`,
      );
    }
    await yieldToEventLoop();
    this.#sliceAt = clock.monotonic();
  }

  async #replay(request: ReplayableRequest): Promise<ReplayOutcome> {
    this.#passTime(request.acceptedAt);
    const exchange = this.#exchangeOf(request);
    const decided = await this.#decide(exchange, request);
    exchange.release();
    return {
      ...decided,
      route: exchange.routed.route?.key,
      missing: missingIdentities(exchange),
    };
  }

  async #decide(
    exchange: Exchange,
    request: ReplayableRequest,
  ): Promise<Pick<ReplayOutcome, "verdict" | "because">> {
    try {
      const rejected = await this.#runPolicies(exchange);
      if (rejected === undefined) {
        this.#endLater(exchange, request);
        return { verdict: "passes" };
      }
      const { services: { sensitiveHeaders } } = this.#options.services;
      return {
        verdict: isUndecided(rejected, request, sensitiveHeaders)
          ? "undecided"
          : "denied",
        because: describeRejection(rejected),
      };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return { verdict: "denied", because: describeError(error) };
    }
  }

  #exchangeOf(request: ReplayableRequest): Exchange {
    const { snapshot, services: { clock } } = this.#options;
    const { port, identities, client } = request;
    const place = snapshot.ports.find((each) => each.port === port) ??
      { key: "", port, address: undefined };
    const exchange = new Exchange(messageOf(request), place, {
      snapshots: new SnapshotStore(snapshot),
      clock,
      bodyMemory: this.#bodyMemory,
      trustsPeer: () => false,
    });
    const { slots } = exchange.context;
    for (const identity of snapshot.identities) {
      const claims = identities[identity.name];
      if (claims === undefined) continue;
      slots.set(identity, claims);
      nameKey(claims, client);
    }
    return exchange;
  }

  async #runPolicies(
    exchange: Exchange,
  ): Promise<Rejection | undefined> {
    const { routed, listeners } = exchange;
    const { extra } = this.#options;
    const listener = routed.enterListener(listeners);
    const early = await this.#decideBy(exchange, listener.policies);
    if (early !== undefined) return early;
    if (listener.readsModel) await routed.readModel();
    const { key, policies } = routed.enterRoute(routed.findRoute());
    const isTried = extra !== undefined && isNamed(key, extra.route);
    const before = isTried && extra.place === "before"
      ? await verdictOf(extra.policy, exchange)
      : undefined;
    if (before !== undefined) return before;
    const own = await this.#decideBy(exchange, policies);
    if (own !== undefined || !isTried || extra.place === "before") return own;
    // A limit counts the requests that the route lets pass.
    return await verdictOf(extra.policy, exchange);
  }

  async #decideBy(
    exchange: Exchange,
    policies: readonly RunningPolicy[],
  ): Promise<Rejection | undefined> {
    for (const policy of policies) {
      if (!replayedKinds.has(policy.kind.name)) continue;
      const verdict = await verdictOf(policy, exchange);
      if (verdict !== undefined) return verdict;
      await this.#pause();
    }
    return undefined;
  }

  /** Ends the requests that had ended by `time`, and sets the clock. */
  #passTime(time: number): void {
    const { clock } = this.#options.services;
    const over = this.#ends.filter(({ at }) => at <= time)
      .toSorted((a, b) => a.at - b.at);
    this.#ends = this.#ends.filter(({ at }) => at > time);
    for (const { at, end } of over) {
      clock.time = Math.max(clock.time, Math.floor(at));
      end();
    }
    clock.time = Math.max(clock.time, Math.floor(time));
  }

  #endLater(
    { slots }: Exchange,
    { acceptedAt, durationMs, usage }: ReplayableRequest,
  ): void {
    const counting = slots?.get(usageListeners)?.listeners ?? [];
    const ending = slots?.get(endListeners) ?? [];
    if (counting.length + ending.length === 0) return;
    const end = () => {
      for (const listener of counting) {
        if (usage !== undefined) listener.settle(usage);
      }
      for (const listener of ending) listener();
    };
    this.#ends.push({ at: acceptedAt + durationMs, end });
  }
}

/** Returns the identities that policies verify which the request does not have. */
function missingIdentities({ slots, routed }: Exchange): readonly string[] {
  const policies = [
    ...routed.listener?.policies ?? [],
    ...routed.route?.policies ?? [],
  ];
  const identities = policies.flatMap(({ kind }) => kind.identity ?? []);
  // With several, one is enough.
  if (identities.some((each) => slots?.get(each) !== undefined)) return [];
  return identities.map(({ name }) => name);
}

async function verdictOf(
  policy: Policy,
  { context }: Exchange,
): Promise<Rejection | undefined> {
  // The rules of a policy take no longer together than one may.
  const verdict = await withSharedSteps(() => policy.onRequest?.(context));
  return verdict instanceof Rejection ? verdict : undefined;
}

/** Reports whether a key such as `default/llm/0` is that of a route by its name, or namespace and name. */
function isNamed(key: string, route: string | undefined): boolean {
  if (route === undefined) return true;
  const full = key.replace(/\/[^/]*$/, "");
  return full === route || full.slice(full.indexOf("/") + 1) === route;
}

function messageOf(request: ReplayableRequest): RequestMessage {
  const { method, scheme, authority, target, version, source, body } = request;
  const headers = HeaderList.from(request.headers);
  if (body !== undefined) headers.append("content-type", "application/json");
  const hasBody = body !== undefined && method === "POST";
  return {
    version,
    method,
    scheme,
    authority,
    target,
    headers,
    body: hasBody ? textBody(body) : undefined,
    upgrade: undefined,
    expectsContinue: false,
    source,
    serverName: undefined,
    cancellation: new Cancellation(),
    sendInformational() {},
  };
}

function describeRejection({ message, verdict }: Rejection): string {
  if (verdict?.type !== "authorizationResult") return message;
  const values = verdict.rules.flatMap(({ values = [] }) => values);
  if (values.length === 0) return message;
  const list = values.map(({ name, value }) => `${name} is ${value}`);
  return `${message}; ${list.join(", ")}`;
}
