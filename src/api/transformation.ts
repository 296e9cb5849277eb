import { celExpression, headerName } from "./scalars.ts";
import * as s from "./schema.ts";

const assignments = s.refine(
  s.list(s.object({ name: headerName, value: celExpression }), {
    min: 1,
    max: 64,
  }),
  s.unique((item) => item.name.toLowerCase(), "header name"),
);

const changes = s.refine(
  s.object({
    set: s.optional(assignments),
    add: s.optional(assignments),
    remove: s.optional(s.list(headerName, { min: 1, max: 64 })),
    body: s.optional(celExpression),
  }),
  s.atLeastOne("set", "add", "remove", "body"),
);

/** Changes whose values are CEL expressions. */
export const transformationSchema = s.refine(
  s.object({ request: s.optional(changes), response: s.optional(changes) }),
  s.atLeastOne("request", "response"),
);

/** Changes whose values are CEL expressions. */
export type Transformation = s.Infer<typeof transformationSchema>;
