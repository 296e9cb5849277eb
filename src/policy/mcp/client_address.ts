import { isIpAddress } from "../../api/schema/scalars.ts";
import type { RequestMessage } from "../../http/message.ts";
import type { PolicyServices } from "../policy_services.ts";

/** Returns the IP address of the client: the last in `X-Forwarded-For` that is no trusted proxy, if the peer is one. */
export function clientAddress(
  { headers, source }: Pick<RequestMessage, "headers" | "source">,
  trustsPeer: PolicyServices["trustsPeer"],
): string {
  let client = source;
  const forwarded = headers.getAll("x-forwarded-for").join(",").split(",");
  while (trustsPeer(client)) {
    const address = forwarded.pop()?.trim() ?? "";
    if (!isIpAddress(address)) break;
    client = { address, port: 0 };
  }
  return client.address;
}
