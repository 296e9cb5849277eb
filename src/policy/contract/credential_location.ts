import { headerName } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";

/** Place of a credential in a request. */
export const credentialLocationSchema = s.refine(
  s.object({
    header: s.field(
      "In a header.",
      s.optional(s.object({
        name: s.field("Name of the header.", headerName),
        prefix: s.field(
          "Prefix of the credential, such as `Bearer` and a space; case-insensitive.",
          s.optional(s.string()),
        ),
      })),
    ),
    queryParameter: s.field(
      "In a parameter of the query.",
      s.optional(
        s.object({ name: s.field("Name of the parameter.", s.text(256)) }),
      ),
    ),
    cookie: s.field(
      "In a cookie.",
      s.optional(
        s.object({ name: s.field("Name of the cookie.", headerName) }),
      ),
    ),
  }),
  s.exactlyOne("header", "queryParameter", "cookie"),
);

/** Place of a credential in a request. */
export type CredentialLocation = s.Infer<typeof credentialLocationSchema>;
