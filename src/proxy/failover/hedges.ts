import { Cancellation } from "../../base/cancellation.ts";
import { type Clock, inTime } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import { BytesBody } from "../../http/body.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import type { WeightedBackend } from "../../snapshot/snapshot.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { Attempts } from "../request/attempts.ts";
import type {
  AttemptRunner,
  EndedAttempt,
  SendToBackend,
} from "./attempt_runner.ts";
import type { BackendChoice, GroupedRequest } from "./backend_choice.ts";
import {
  type DiscardedUse,
  discardUse,
  estimateLost,
} from "./discarded_use.ts";
import { responseOf } from "./outcome.ts";

/** Dependencies of hedging. */
export interface HedgeOptions extends DiscardedUse {
  readonly runner: AttemptRunner;
  readonly clock: Clock;
  /** Requests with longer bodies go to one backend at a time. */
  readonly maxBufferBytes: number;
  /** Called when a request is sent to a second backend. */
  readonly onHedge: (backend: string) => void;
  /** As `FailoverOptions.onFailover`, with the reason `hedged` for a backend that was too slow. */
  readonly onFailover: (backend: string, reason: string) => void;
}

/** A request that may go to two backends at once. */
export interface Hedge {
  readonly delayMs: number;
  /** `undefined` for a request without a body. */
  readonly body: Uint8Array | undefined;
}

/** An attempt that is under way. */
interface Run {
  readonly target: WeightedBackend;
  readonly exchange: Exchange;
  readonly cancellation: Cancellation;
  readonly body: Uint8Array;
  /** Model that the request names. */
  readonly model: string | undefined;
  readonly ended: Promise<{ readonly run: Run; readonly end: EndedAttempt }>;
}

/** The first choice of a request, and how to hedge it. */
interface HedgedChoice {
  readonly target: WeightedBackend;
  readonly choice: BackendChoice;
  readonly hedge: Hedge;
}

/** Sends requests to a second backend when the first is late, and keeps the response that begins first. */
export class Hedges {
  readonly #options: HedgeOptions;

  constructor(options: HedgeOptions) {
    this.#options = options;
  }

  /** Reads the body of a request that may go to two backends; `undefined` for one that may not. */
  async prepare(
    { exchange: { request }, route: { choice } }: GroupedRequest,
  ): Promise<Hedge | undefined> {
    const { hedgeMs: delayMs } = choice ?? {};
    if (delayMs === undefined || request.upgrade !== undefined) {
      return undefined;
    }
    if (request.body === undefined) return { delayMs, body: undefined };
    const body = await peekBody(request, this.#options.maxBufferBytes);
    return body && { delayMs, body };
  }

  /** Makes an attempt, and a second one if it is late. The exchange of the request becomes that of the attempt that is returned. */
  async run(
    grouped: GroupedRequest,
    { target, choice, hedge }: HedgedChoice,
    send: SendToBackend,
  ): Promise<EndedAttempt> {
    const { clock } = this.#options;
    const start = (to: WeightedBackend, before: Attempts | undefined) => {
      const attempts = before?.fork(clock.monotonic());
      return this.#start(
        { grouped, attempts, send },
        { target: to, choice, hedge },
      );
    };
    const first = start(target, grouped.exchange.attempts);
    const runs = [first];
    if (!await this.#isOverIn(hedge.delayMs, first)) {
      const second = choice.next();
      if (second !== undefined) {
        this.#report(grouped.exchange, target, second, hedge);
        const { attempts = new Attempts(clock.monotonic()) } = first.exchange;
        runs.push(start(second, attempts));
      }
    }
    const { run, end } = await firstGood(runs);
    const { exchange } = run;
    grouped.exchange.adopt(exchange);
    for (const other of runs) {
      if (other !== run) await this.#giveUp(other, run);
    }
    return { ...end, exchange: grouped.exchange };
  }

  #start(
    { grouped, attempts, send }: {
      readonly grouped: GroupedRequest;
      /** `undefined` for the first attempt of the request. */
      readonly attempts: Attempts | undefined;
      readonly send: SendToBackend;
    },
    { target, choice, hedge: { body } }: HedgedChoice,
  ): Run {
    const { runner } = this.#options;
    const cancellation = new Cancellation();
    grouped.exchange.request.cancellation.onCancel((reason) =>
      cancellation.cancel(reason)
    );
    const exchange = grouped.exchange.fork(
      body && new BytesBody(body),
      cancellation,
    );
    exchange.attempts = attempts;
    const run: Run = {
      target,
      exchange,
      cancellation,
      body: body ?? nothing,
      model: choice.requested.model,
      ended: runner.run({ ...grouped, exchange }, target, choice, send)
        .then((end) => ({ run, end })),
    };
    return run;
  }

  /** Waits for the end of an attempt, but not longer than the delay. */
  async #isOverIn(delayMs: number, { ended }: Run): Promise<boolean> {
    const { clock } = this.#options;
    return await inTime(clock, delayMs, ended.then(() => true)) ?? false;
  }

  /** Gives up the attempt that was slower, or has failed. */
  async #giveUp(lost: Run, kept: Run): Promise<void> {
    const { clock, onFailover } = this.#options;
    const { exchange: { attempts, trace, meter }, target: { backend } } = lost;
    const isFirst = attempts !== undefined &&
      attempts.attemptStartedAt <=
        (kept.exchange.attempts?.attemptStartedAt ?? 0);
    const slower = new GatewayError(
      "client_closed",
      "gateway",
      `Cancelled: "${kept.target.backend?.key}" responded first`,
    );
    const over = await Promise.race([lost.ended, Promise.resolve(undefined)]);
    const failure = over?.end.failure;
    lost.cancellation.cancel(slower);
    meter?.cancellation?.cancel(slower);
    if (over !== undefined) responseOf(over.end.outcome)?.body?.cancel(slower);
    void lost.ended.finally(() => lost.exchange.release());
    const name = backend?.name ?? "unknown";
    const reason = failure ?? (isFirst ? "hedged" : undefined);
    if (reason !== undefined) onFailover(name, reason);
    kept.exchange.attempts?.replace(attempts ?? kept.exchange.attempts, {
      backend: name,
      reason,
      outcome: slower,
      endedAt: clock.monotonic(),
    });
    if (failure !== undefined) return;
    const details = { lost: backend?.key ?? null, reason: slower.message };
    trace?.policies.report({ type: "policyEvent", kind: "hedging", details });
    if (attempts?.target === undefined) return;
    const used = estimateLost(lost.exchange, lost.body, lost.model);
    if (used !== undefined) discardUse(lost.exchange, used, this.#options);
  }

  #report(
    { trace }: Exchange,
    from: WeightedBackend,
    to: WeightedBackend,
    { delayMs }: Hedge,
  ): void {
    this.#options.onHedge(to.backend?.name ?? "unknown");
    const details = {
      first: from.backend?.key ?? null,
      second: to.backend?.key ?? null,
      after: `${delayMs}ms`,
    };
    trace?.policies.report({ type: "policyEvent", kind: "hedging", details });
  }
}

const nothing: Uint8Array = new Uint8Array();

/** Returns the first attempt that ends well; the last one, when all have failed. */
async function firstGood(
  runs: readonly Run[],
): Promise<{ readonly run: Run; readonly end: EndedAttempt }> {
  const pending = new Set(runs);
  for (;;) {
    const ended = await Promise.race([...pending].map(({ ended }) => ended));
    pending.delete(ended.run);
    if (ended.end.failure === undefined || pending.size === 0) return ended;
  }
}
