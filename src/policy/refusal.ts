import type { ResponseMessage } from "../http/message.ts";
import type { RefusalReason } from "../telemetry/log/finished_request.ts";
import type {
  AuthorizationResult,
  RateLimitResult,
} from "../telemetry/trace/trace_event.ts";

/** A request turned down by a policy: what the client is answered, and why, which log, metrics and trace tell. */
export class Refusal {
  /**
   * @param message One sentence, such as `Rule "'a' in jwt.roles" is false`; never a secret. It may have names from a token
   * (`iss`, `aud`, `kid`), cut and escaped.
   */
  constructor(
    readonly reason: RefusalReason,
    readonly message: string,
    readonly response: ResponseMessage,
    /** The rules or budgets that decided. */
    readonly verdict?: AuthorizationResult | RateLimitResult,
  ) {}
}
