import { policyBackendRefSchema } from "../../../api/resources/policy_references.ts";
import { httpUrl, urlPath } from "../../../api/schema/scalars.ts";
import * as s from "../../../api/schema/schema.ts";

/** A key set (RFC 7517 section 5). */
export const jwksSchema = s.refine(
  s.object({
    remote: s.field(
      "A backend that serves the keys; its TLS policy applies.",
      s.optional(
        s.object({
          backendRef: s.field("The backend.", policyBackendRefSchema),
          jwksPath: s.field("Path of the document there.", urlPath),
        }),
      ),
    ),
    url: s.field("At a URL, called directly.", s.optional(httpUrl)),
    inline: s.field("The document itself.", s.optional(s.text(1 << 20))),
    file: s.field(
      "File with the document, in configuration files; the gateway reads it again each minute.",
      s.optional(s.text(4096)),
    ),
  }),
  s.exactlyOne("remote", "url", "inline", "file"),
);
