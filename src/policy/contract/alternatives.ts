import type { ResponseMessage } from "../../http/message.ts";
import type {
  PolicyContext,
  ReadableBy,
  RequestVerdict,
  RunningKind,
  RunningPolicy,
} from "./policy.ts";
import { Rejection } from "./rejection.ts";
import { defineSlot } from "./slot.ts";

/** True while a policy of mode `AnyOf` runs that needs no credential: another one of its group has authenticated the client. */
export const isAuthenticated = defineSlot<boolean>("isAuthenticated");

/** The group that has authenticated the client. Those of gateway and route are independent. */
const authenticatedBy = defineSlot<object>("authenticatedBy");

/** The rejection of a credential that another policy may still make up for. */
const firstRejection = defineSlot<Rejection>("firstRejection");

/** A policy of mode `AnyOf`, and the reason for which it rejects credentials. */
export interface Alternative {
  readonly policy: RunningPolicy;
  readonly reason: string;
}

/**
 * Makes one decision of several policies of mode `AnyOf`, of which one has to authenticate the client.
 * @param alternatives In the order in which they run; the last one responds to requests that none accepts.
 */
export function anyOf(
  alternatives: readonly Alternative[],
): readonly RunningPolicy[] {
  const last = alternatives.at(-1);
  return alternatives.map((each) =>
    new AnyOfPolicy(each, alternatives, each === last)
  );
}

class AnyOfPolicy implements RunningPolicy {
  readonly kind: RunningKind;
  readonly requiredScopes: readonly string[];
  readonly #policy: RunningPolicy;
  readonly #reason: string;
  readonly #group: object;
  readonly #isLast: boolean;

  constructor({ policy, reason }: Alternative, group: object, isLast: boolean) {
    this.kind = policy.kind;
    this.requiredScopes = policy.requiredScopes ?? [];
    this.#policy = policy;
    this.#reason = reason;
    this.#group = group;
    this.#isLast = isLast;
  }

  onRequest(
    context: PolicyContext,
  ): RequestVerdict | Promise<RequestVerdict> {
    const { slots } = context;
    const isDone = slots.get(authenticatedBy) === this.#group;
    // The last one may respond for the OAuth endpoints.
    if (isDone && !this.#isLast) return;
    slots.set(isAuthenticated, isDone);
    const verdict = this.#policy.onRequest?.(context);
    return verdict instanceof Promise
      ? verdict.then((each) => this.#conclude(context, each))
      : this.#conclude(context, verdict);
  }

  onResponse(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void> {
    return this.#policy.onResponse?.(context, response);
  }

  readableBy(context: PolicyContext): ReadableBy | undefined {
    return this.#policy.readableBy?.(context);
  }

  #conclude(
    { slots, trace }: PolicyContext,
    verdict: RequestVerdict,
  ): RequestVerdict {
    if (verdict === undefined) {
      slots.set(authenticatedBy, this.#group);
      slots.set(firstRejection, undefined);
      return;
    }
    if (!(verdict instanceof Rejection) || verdict.reason !== this.#reason) {
      return verdict;
    }
    const first = slots.get(firstRejection);
    if (!this.#isLast) {
      slots.set(firstRejection, first ?? verdict);
      trace?.skip(verdict.message);
      return;
    }
    if (first === undefined) return verdict;
    // A credential that could not be checked may be valid: the client should send it again, and not log in.
    if (first.response.status === UNAVAILABLE) return first;
    const message = `${first.message}; ${verdict.message}`;
    return new Rejection(verdict.reason, message, verdict.response);
  }
}

const UNAVAILABLE = 503;
