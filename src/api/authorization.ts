import { celExpression } from "./scalars.ts";
import * as s from "./schema.ts";

/** Rules over the verified token and the request. `Allow`: every rule must hold; `Deny`: none may. */
export const authorizationSchema = s.object({
  action: s.withDefault(s.oneOf(["Allow", "Deny"]), "Allow"),
  policy: s.object({
    matchExpressions: s.list(celExpression, { min: 1, max: 256 }),
  }),
});

/** Rules over the verified token and the request. */
export type Authorization = s.Infer<typeof authorizationSchema>;
