import { celExpression, headerName } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";

/** Parts of messages besides headers, named as in HTTP/2 (RFC 9113 section 8.3). */
const pseudoHeaders = {
  request: [":method", ":path", ":authority", ":scheme"],
  response: [":status"],
} as const;

/** Name of a pseudo header. */
export type PseudoHeader = typeof pseudoHeaders["request" | "response"][number];

const MAX_CHANGES = 64;

function settable(side: "request" | "response") {
  const names = pseudoHeaders[side];
  const example = names.map((name) => `"${name}"`).join(", ");
  return s.named(
    "header name",
    s.pattern(
      new RegExp(`^(?:${names.join("|")}|[A-Za-z0-9!#$%&'*+\\-.^_\`|~]+)$`),
      `an HTTP header name such as "x-request-id", or ${example}`,
      256,
    ),
  );
}

function assignments(name: ReturnType<typeof settable>) {
  return s.refine(
    s.list(
      s.object({
        name: s.field("Name of the header.", name),
        value: s.field(
          "Expression of its value.",
          s.withPrivacy("headerValue", celExpression),
        ),
      }),
      { min: 1, max: MAX_CHANGES },
    ),
    s.unique((item) => item.name.toLowerCase(), "header name"),
  );
}

function changes(side: "request" | "response") {
  const pseudo = pseudoHeaders[side].map((name) => `\`${name}\``).join(", ");
  return s.refine(
    s.object({
      set: s.field(
        `Headers that get one value, in place of those they have; also ${pseudo}.`,
        s.optional(assignments(settable(side))),
      ),
      add: s.field(
        "Headers that get a further value.",
        s.optional(assignments(headerName)),
      ),
      remove: s.field(
        "Headers that are removed.",
        s.optional(s.list(headerName, { min: 1, max: MAX_CHANGES })),
      ),
      body: s.field(
        "Expression of the body.",
        s.optional(s.withPrivacy("content", celExpression)),
      ),
    }),
    s.atLeastOne("set", "add", "remove", "body"),
  );
}

/** Changes whose values are CEL expressions. */
export const transformationSchema = s.refine(
  s.object({
    request: s.field(
      "Changes on the way to the backend.",
      s.optional(changes("request")),
    ),
    response: s.field(
      "Changes on the way to the client.",
      s.optional(changes("response")),
    ),
  }),
  s.atLeastOne("request", "response"),
);

/** Changes whose values are CEL expressions. */
export type Transformation = s.Infer<typeof transformationSchema>;
/** Changes to a request or to a response. */
export type MessageChanges = NonNullable<
  Transformation["request" | "response"]
>;

/** Returns whether a pseudo header has this name. */
export function isPseudoHeader(name: string): name is PseudoHeader {
  return name.startsWith(":");
}
