import type { Clock } from "../base/clock.ts";
import type { GatewayError } from "../base/errors.ts";
import type {
  Outcome,
  Reply,
  RequestMessage,
  ResponseMessage,
} from "../http/message.ts";
import type { Policy, PolicyContext } from "../policy/policy.ts";
import type { PolicyTrace } from "../policy/policy_trace.ts";
import { Refusal } from "../policy/refusal.ts";
import { detectLlmApi, type LlmApi } from "../llm/llm_api.ts";
import { Slots } from "../policy/slot.ts";
import { usageListeners } from "../policy/usage_listeners.ts";
import { hostnameOf } from "../route/hostname.ts";
import type { RoutableRequest } from "../route/route_match.ts";
import type {
  Backend,
  Listener,
  Route,
  Snapshot,
} from "../snapshot/snapshot.ts";
import type { SnapshotStore } from "../snapshot/snapshot_store.ts";
import { requestIdOf } from "./forwarding_headers.ts";
import type { RequestTrace } from "./trace/request_trace.ts";
import { TokenMeter } from "./body/token_meter.ts";

/** Hears of every request that is over. */
export type FinishObserver = (exchange: Exchange, outcome: Outcome) => void;

/** What an exchange needs of its surroundings. */
export interface ExchangeOptions {
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
  readonly onFinish: FinishObserver;
}

/** A try that was followed by another, in monotonic milliseconds. */
export interface FailedTry {
  /** The status of the answer, or why there was none. */
  readonly outcome: number | GatewayError;
  readonly startedAt: number;
  readonly endedAt: number;
}

const noTries: readonly FailedTry[] = [];

/** One request and what became of it, from acceptance to the last byte. */
export class Exchange implements PolicyContext, RoutableRequest, Reply {
  readonly request: RequestMessage;
  /** The configuration in force when the request was accepted; it holds to the end. */
  readonly snapshot: Snapshot;
  /** Port of the configuration that it arrived on. */
  readonly port: number;
  readonly requestId: string;
  readonly acceptedAt: number;
  /** Monotonic time of acceptance, in milliseconds. */
  readonly startedAt: number;
  /** What the client asked for; policies may rewrite the request itself. */
  readonly asked: Readonly<
    Pick<RequestMessage, "method" | "authority" | "target">
  >;
  readonly slots = new Slots();

  listener: Listener | undefined;
  route: Route | undefined;
  backend: Backend | undefined;
  matchedPrefix: string | undefined;
  /** Why the gateway answered in place of the upstream. */
  error: GatewayError | undefined;
  /** Set when a policy turned the request down. */
  refusal: Refusal | undefined;
  /** Time until the upstream's response head, over all tries; `undefined` when no upstream was asked. */
  upstreamMs: number | undefined;
  /** Monotonic time at which the last try began, in milliseconds; 0 when no upstream was asked. */
  triedAt = 0;
  /** Monotonic time at which the upstream's response head was here, or it was clear that there will be none. */
  answeredAt = 0;
  /** Status of the upstream's answer, before anything of it is changed; `undefined` without one. */
  upstreamStatus: number | undefined;
  retries = 0;
  /** Tries that were followed by another. */
  failedTries: readonly FailedTry[] = noTries;
  /** Set while somebody watches this request. */
  requestTrace: RequestTrace | undefined;

  readonly #onFinish: FinishObserver;
  readonly #seen: Policy[] = [];
  #response: ResponseMessage | undefined;
  #namedAuthority: string | undefined;
  #hostname = "";
  #meter: TokenMeter | undefined;

  constructor(
    request: RequestMessage,
    port: number,
    { snapshots, clock, onFinish }: ExchangeOptions,
  ) {
    this.request = request;
    this.snapshot = snapshots.current;
    this.port = port;
    this.requestId = requestIdOf(request.headers);
    this.acceptedAt = clock.now();
    this.startedAt = clock.monotonic();
    const { method, authority, target } = request;
    this.asked = { method, authority, target };
    this.#onFinish = onFinish;
    request.handledBy = this;
  }

  /** Those of the port. */
  get listeners(): readonly Listener[] {
    const { snapshot: { ports }, port } = this;
    return ports.find((each) => each.port === port)?.listeners ?? [];
  }

  get trace(): PolicyTrace | undefined {
    return this.requestTrace?.policies;
  }

  get gateway(): string | undefined {
    return this.listener?.gateway;
  }

  get resourcePath(): string | undefined {
    return this.route?.resourcePath;
  }

  /** Counts the tokens; `undefined` before the request goes upstream, and when nobody needs them. */
  get meter(): TokenMeter | undefined {
    return this.#meter;
  }

  /** Starts to count the tokens of a request to an LLM, also when no policy needs them. */
  startMeter(): TokenMeter | undefined {
    // Reading an answer again, as `GET /v1/responses/{id}` does, uses no tokens.
    if (this.asked.method !== "POST") return undefined;
    const listeners = this.slots.get(usageListeners);
    const api = this.#llmApi ?? listeners?.api;
    if (listeners !== undefined || api !== undefined) {
      this.#meter = new TokenMeter(api, listeners);
    }
    return this.#meter;
  }

  /** Policies may have rewritten the path to the one that the provider knows. */
  get #llmApi(): LlmApi | undefined {
    const { asked, request: { method, target } } = this;
    return detectLlmApi(asked.method, asked.target) ??
      detectLlmApi(method, target);
  }

  get method(): string {
    return this.request.method;
  }

  get target(): string {
    return this.request.target;
  }

  get hostname(): string {
    const { authority } = this.request;
    // Asked once for the listener and once for the route, and rarely changed in between.
    if (authority !== this.#namedAuthority) {
      this.#namedAuthority = authority;
      this.#hostname = hostnameOf(authority);
    }
    return this.#hostname;
  }

  header(name: string): string | undefined {
    return this.request.headers.getJoined(name);
  }

  get response(): ResponseMessage {
    if (this.#response === undefined) {
      throw new TypeError("Cannot read the response: none yet");
    }
    return this.#response;
  }

  set response(response: ResponseMessage) {
    this.#response = response;
  }

  /** Whether the response is on its way to the client. */
  get responds(): boolean {
    return this.#response !== undefined;
  }

  /** Whether response hooks have to run. */
  get seenByPolicies(): boolean {
    return this.#seen.length > 0;
  }

  /** Runs the request hooks in order; the first answer ends the request phase. */
  async runRequestHooks(
    policies: readonly Policy[],
  ): Promise<ResponseMessage | undefined> {
    const trace = this.requestTrace?.policies;
    for (const policy of policies) {
      this.#seen.push(policy);
      trace?.starts(policy);
      const verdict = policy.onRequest?.(this);
      if (verdict instanceof Promise) trace?.waits();
      const answer = verdict instanceof Promise ? await verdict : verdict;
      trace?.ends(policy, answer);
      if (answer === undefined) continue;
      if (!(answer instanceof Refusal)) return answer;
      this.refusal = answer;
      return answer.response;
    }
    return undefined;
  }

  /**
   * Runs the response hooks of every policy that saw the request, last one first.
   * @param reject Answers in place of a response whose hook failed; the hooks that are left decorate that.
   */
  async runResponseHooks(
    response: ResponseMessage,
    reject: (error: unknown) => ResponseMessage,
  ): Promise<ResponseMessage> {
    this.requestTrace?.responds(response);
    let current = response;
    for (let i = this.#seen.length - 1; i >= 0; i--) {
      const policy = this.#seen[i];
      if (policy === undefined) continue;
      try {
        const done = policy.onResponse?.(this, current);
        if (done instanceof Promise) await done;
      } catch (error) {
        current.body?.cancel(error);
        current = reject(error);
      }
      this.requestTrace?.policies.decorated(policy, current);
    }
    return current;
  }

  finished(outcome: Outcome): void {
    const wasAnswered = this.error?.code !== "client_closed" ||
      this.upstreamMs === undefined;
    if (!wasAnswered) this.#meter?.abandon();
    this.#onFinish(this, outcome);
  }
}
