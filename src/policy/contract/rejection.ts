import type { ResponseMessage } from "../../http/message.ts";
import type { PolicyVerdict } from "../../telemetry/trace/trace_event.ts";

/** A request that a policy rejects: the response to the client, and the reason for log, metrics and trace. */
export class Rejection<Reason extends string = string> {
  /**
   * @param reason Declared in `rejections` of the policy's kind, such as `jwt_auth`.
   * @param message One sentence, such as `Rule "'a' in jwt.roles" is false`; never a secret. It may have `iss`, `aud` or `kid`
   * of a token, cut and escaped.
   */
  constructor(
    readonly reason: Reason,
    readonly message: string,
    readonly response: ResponseMessage,
    /** Results of the rules or budgets that decided. */
    readonly verdict?: PolicyVerdict,
  ) {}
}
