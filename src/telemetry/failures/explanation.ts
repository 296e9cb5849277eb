import type { RecordedRequest } from "./recorded_request.ts";

/** Explanation of a failed request, for people. */
export interface Explanation {
  /** One sentence. */
  readonly cause: string;
  /** Deciding part, if it has a name: the text of a rule, a header, a budget, a route, a backend. */
  readonly failing: FailingPart | undefined;
  /** Advice to fix it, in one or two sentences. */
  readonly advice: string;
}

/** Explains why a request failed. */
export type Explain = (failed: RecordedRequest) => Explanation;

/** Deciding part of the configuration or of the request. */
export interface FailingPart {
  readonly kind: "rule" | "header" | "budget" | "route" | "backend";
  readonly name: string;
}

/** Returns the error of a failed request, without its full stop. */
export function errorOf(
  { finished: { error, reason } }: RecordedRequest,
): string {
  return (error ?? reason).replace(/\.$/, "");
}

/** Returns the part with this name; `undefined` without a name. */
export function namedPart(
  kind: FailingPart["kind"],
  name: string | undefined,
): FailingPart | undefined {
  return name === undefined ? undefined : { kind, name };
}
