import { referenceName } from "./scalars.ts";
import * as s from "./schema.ts";

const caCertificateRef = s.refine(
  s.object({
    file: s.field("PEM file.", s.optional(s.text(4096))),
    inline: s.field("Inline PEM.", s.optional(s.text(1 << 20))),
    group: s.field("API group of `name`.", s.optional(s.string()), ""),
    kind: s.field("Kind of `name`.", s.optional(s.text(63)), "ConfigMap"),
    name: s.field(
      "ConfigMap with the key `ca.crt`.",
      s.optional(referenceName),
    ),
  }),
  s.exactlyOne("file", "inline", "name"),
);

/** CAs that certificates of a server are verified with, in place of the system's. */
export const caCertificateRefs = s.field(
  "Trusts only these CAs.",
  s.optional(s.list(caCertificateRef, { min: 1, max: 8 })),
);
