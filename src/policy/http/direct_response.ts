import type { DirectResponse } from "../../api/resources/gateway_policy.ts";
import { textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { Policy } from "../policy.ts";

/** Answers at once, without a backend. */
export function createDirectResponse({ status, body }: DirectResponse): Policy {
  return {
    kind: "directResponse",
    onRequest() {
      if (body === undefined) {
        return { status, headers: new HeaderList(), body: undefined };
      }
      const headers = new HeaderList([
        "content-type",
        "text/plain; charset=utf-8",
      ]);
      return { status, headers, body: textBody(body) };
    },
  };
}
