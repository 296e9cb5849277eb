import { celExpression } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";

/** Schema of rules over the verified token and the request. */
export const authorizationSchema = s.object({
  action: s.field(
    "`Allow`: every rule must be true. `Deny`: no rule may be true. A rule that cannot be evaluated denies the request in both.",
    s.withDefault(s.oneOf(["Allow", "Deny"]), "Allow"),
  ),
  denial: s.field(
    "Response to a denied MCP request. `Http403`: 403. `JsonRpc`: 200 with a JSON-RPC error for the ID of the request. Other requests, and those for which a token with more scopes would help, get 403 in both.",
    s.withDefault(s.oneOf(["Http403", "JsonRpc"]), "Http403"),
  ),
  hidden: s.field(
    "Hides what the rules deny from lists of tools, prompts and resources. With `false`, lists keep what a token with more scopes may open, so that clients can ask for them.",
    s.optional(s.boolean()),
    true,
  ),
  policy: s.field(
    "The rules.",
    s.object({
      matchExpressions: s.field(
        "Rules over `request`, `source`, `jwt`, `apiKey`, `basicAuth`, `mcp`, `llm` and `env`, such as `'admin' in jwt.roles`.",
        s.list(celExpression, { min: 1, max: 256 }),
      ),
    }),
  ),
});

/** Rules over the verified token and the request. */
export type Authorization = s.Infer<typeof authorizationSchema>;
