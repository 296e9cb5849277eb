import { GatewayError } from "../../../base/errors.ts";
import type { HeaderList } from "../../header_list.ts";

/**
 * Reports whether the client waits for a 100 response before it sends the body (RFC 9110 section 10.1.1).
 * @throws {GatewayError} `expectation_failed` for other expectations.
 */
export function expectsContinue(headers: HeaderList): boolean {
  const expectation = headers.getJoined("expect");
  if (expectation === undefined) return false;
  if (expectation.toLowerCase() === "100-continue") return true;
  throw new GatewayError(
    "expectation_failed",
    "downstream",
    'Cannot meet the expectation: expected "100-continue"',
  );
}
