/** What is known of a request once its last byte is out: one record for the access log and for the metrics. */
export interface FinishedRequest {
  /** When it was accepted, in milliseconds since the epoch. */
  readonly time: number;
  /** From acceptance to the last byte; `undefined` for what was refused before it was a request. */
  readonly durationMs: number | undefined;
  /** Port of the configuration that it arrived on. */
  readonly port: number;
  /** Names or keys of what served it; `undefined` when it did not get that far. */
  readonly gateway: string | undefined;
  readonly listener: string | undefined;
  readonly route: string | undefined;
  readonly backend: string | undefined;
  /** Address of the upstream that was asked, such as `127.0.0.1:9000`. */
  readonly endpoint: string | undefined;
  /** Address of the client, such as `127.0.0.1:51000`. */
  readonly source: string;
  /** This and the other texts of the request are empty when it was refused before they were read. */
  readonly method: string;
  /** As the client sent it. */
  readonly host: string;
  /** Without the query, which may hold secrets. */
  readonly path: string;
  /** Such as `1.1`. */
  readonly version: string;
  readonly status: number;
  /** Bytes of the response body. */
  readonly bytesSent: number;
  readonly requestId: string;
  /** `x-request-id` of the answer where it is another: LLM providers give their own. */
  readonly answerId: string | undefined;
  /** Time until the upstream's response head; `undefined` when none was asked. */
  readonly upstreamDurationMs: number | undefined;
  /** Who answered: `upstream`, `direct_response` when a policy did, why a policy refused, or the code of the failure. */
  readonly reason: string;
  /** What went wrong, for the log only. */
  readonly error: string | undefined;
  /** Tries after the first. */
  readonly retries: number;
  /** Tokens, when an LLM answered. */
  readonly usage: FinishedUsage | undefined;
  /** Kinds of policies, one for each of their expressions that had no value for the request; `undefined` when all had one. */
  readonly failedExpressions: readonly string[] | undefined;
}

/** The tokens that a request used, whatever provider said so. */
export interface FinishedUsage {
  /** With what was read from and written to the prompt cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of `inputTokens`. */
  readonly cachedInputTokens: number | undefined;
  /** Some of it is a guess: the provider had not said it yet, or never does. */
  readonly estimated: boolean;
  /** As the answer names it. */
  readonly responseModel: string | undefined;
}
