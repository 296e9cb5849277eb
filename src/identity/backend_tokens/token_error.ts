import { GatewayError } from "../../base/errors.ts";
import type { TokenClient } from "./backend_credentials.ts";

type Code = Extract<
  GatewayError["code"],
  "caller_rejected" | "credentials_rejected" | "credentials_unavailable"
>;

/** Creates the error of a request without a token for its backend. @param problem Completes `Cannot get a token for backend "…": …`; has no secret. */
export function tokenError(
  code: Code,
  { backend }: Pick<TokenClient, "backend">,
  problem: string,
  options?: ErrorOptions,
): GatewayError {
  return new GatewayError(
    code,
    "gateway",
    `Cannot get a token for backend "${backend}": ${problem}`,
    options,
  );
}
