import type { Value } from "./library.ts";

/**
 * Variables and their fields, which are checked when an expression is compiled. The fields of `jwt` and `apiKey` depend on the token
 * and the key of the request; they never contain token or key themselves.
 */
const fields = {
  request: [
    "method",
    "uri",
    "host",
    "scheme",
    "path",
    "pathAndQuery",
    "version",
    "headers",
    "body",
    "startTime",
  ],
  response: ["code", "headers", "body"],
  source: ["address", "port"],
  jwt: undefined,
  apiKey: undefined,
  basicAuth: ["username"],
  extAuthz: undefined,
  backend: ["name"],
  env: ["podName", "namespace", "gateway"],
  llm: [
    "provider",
    "requestModel",
    "streaming",
    "responseModel",
    "inputTokens",
    "outputTokens",
    "cost",
  ],
  mcp: ["methodName", "sessionId", "server", "tool", "prompt", "resource"],
} as const;

/** Name of a variable. */
export type VariableName = keyof typeof fields;

/** A field of a variable, such as `request.body`. */
export type FieldName = `${VariableName}.${string}`;

/**
 * Values of the variables; `undefined` for those that the request does not have: reading one is an error, and `has(jwt.sub)` is
 * false. If a getter throws, the whole expression errors.
 */
export type Variables = { readonly [name in VariableName]?: Value | undefined };

/** Names of all variables. */
export const variableNames: readonly string[] = Object.keys(fields);

/** Returns whether a variable has this name. */
export function isVariable(name: string): name is VariableName {
  return Object.hasOwn(fields, name);
}

/** Returns the fields of a variable; `undefined` when they depend on the request. */
export function fieldsOf(name: VariableName): readonly string[] | undefined {
  return fields[name];
}
