import type { FailedRequest } from "./failed_request.ts";

/** Why a request failed, for people. */
export interface Explanation {
  /** One sentence. */
  readonly cause: string;
  /** What decided, where it has a name: the text of a rule, a header, a budget, a route, a backend. */
  readonly failing: FailingPart | undefined;
  /** What to do, in one or two sentences. */
  readonly advice: string;
}

/** Explains why a request failed. */
export type Explain = (failed: FailedRequest) => Explanation;

/** What decided over a request. */
export interface FailingPart {
  readonly kind: "rule" | "header" | "budget" | "route" | "backend";
  readonly name: string;
}

/** What went wrong, in the words of whoever found it. */
export function errorOf(
  { finished: { error, reason } }: FailedRequest,
): string {
  return (error ?? reason).replace(/\.$/, "");
}

/** The part of that name; `undefined` without one. */
export function namedPart(
  kind: FailingPart["kind"],
  name: string | undefined,
): FailingPart | undefined {
  return name === undefined ? undefined : { kind, name };
}
