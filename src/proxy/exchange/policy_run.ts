import type { ResponseMessage } from "../../http/message.ts";
import type {
  PolicyContext,
  RunningPolicy,
} from "../../policy/contract/policy.ts";
import { Rejection } from "../../policy/contract/rejection.ts";
import type { RequestSpan } from "../trace/spans/request_span.ts";
import type { RequestTrace } from "../trace/request_trace.ts";

/** Runs the policies of one request: request hooks in order, response hooks in reverse. */
export class PolicyRun {
  /** Set when a policy denied the request. */
  rejection: Rejection | undefined;
  readonly #context: PolicyContext;
  readonly #trace: RequestTrace | undefined;
  readonly #span: RequestSpan | undefined;
  readonly #seen: RunningPolicy[] = [];

  /**
   * @param trace Set while the request is traced.
   * @param span Set where requests have spans.
   */
  constructor(
    context: PolicyContext,
    trace: RequestTrace | undefined,
    span?: RequestSpan,
  ) {
    this.#context = context;
    this.#trace = trace;
    this.#span = span?.isSampled === true ? span : undefined;
  }

  /** Returns a run of the policies that have seen the request until now, for another attempt at the same time. */
  fork(context: PolicyContext): PolicyRun {
    const fork = new PolicyRun(context, this.#trace, this.#span);
    fork.#seen.push(...this.#seen);
    return fork;
  }

  /** Number of policies that have seen the request. */
  get seen(): number {
    return this.#seen.length;
  }

  /** Forgets the policies after the first `count`: the request goes to a backend that they do not belong to. */
  forgetAfter(count: number): void {
    this.#seen.length = count;
  }

  /** Runs request hooks; the first response ends the request phase. */
  async handleRequest(
    policies: readonly RunningPolicy[],
  ): Promise<ResponseMessage | undefined> {
    const trace = this.#trace?.policies;
    for (const policy of policies) {
      this.#seen.push(policy);
      trace?.starts(policy);
      const result = policy.onRequest?.(this.#context);
      if (result instanceof Promise) trace?.waits();
      const verdict = result instanceof Promise
        ? await (this.#span?.policyWaits(policy.kind.name, result) ?? result)
        : result;
      trace?.ends(policy, verdict);
      if (verdict === undefined) continue;
      if (!(verdict instanceof Rejection)) return verdict;
      this.rejection = verdict;
      return verdict.response;
    }
    return undefined;
  }

  /**
   * Runs the response hooks of every policy that saw the request, last one first.
   * @param reject Replaces a response whose hook failed; the remaining hooks run on the replacement.
   */
  async handleResponse(
    response: ResponseMessage,
    reject: (error: unknown) => ResponseMessage,
  ): Promise<ResponseMessage> {
    this.#trace?.responseHooksStart(response);
    let current = response;
    for (const policy of this.#seen.reverse()) {
      try {
        const done = policy.onResponse?.(this.#context, current);
        if (done instanceof Promise) await done;
      } catch (error) {
        current.body?.cancel(error);
        current = reject(error);
      }
      this.#trace?.policies.responseHookEnded(policy, current);
    }
    return current;
  }
}
