import * as s from "../../api/schema/schema.ts";
import { textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { Policy } from "../contract/policy.ts";
import { definePolicy, noProblems } from "../contract/define_policy.ts";

const directResponseSchema = s.object({
  status: s.field("Status of the response.", s.integer(200, 599)),
  body: s.field(
    "Body of the response, plain text.",
    s.optional(s.withPrivacy("content", s.text(65536, 0))),
  ),
});

/** A fixed response without a backend. */
export const directResponse = definePolicy("directResponse", {
  description: "Responds with a status and a plain text, without a backend.",
  schema: directResponseSchema,
  phases: ["route"],
  merge: "replace",
  access: "open",
  rejections: {},
  respondsAlways: true,
}, {
  check: noProblems,
  create: createDirectResponse,
});

/** Responds without a backend. */
function createDirectResponse(
  { status, body }: s.Infer<typeof directResponseSchema>,
): Policy<never> {
  return {
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
