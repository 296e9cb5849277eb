import type { Value } from "./library.ts";

/**
 * What expressions can read. The fields of those that have any are checked when the expression is compiled; `jwt` and `apiKey`
 * have whatever the request's token and its key have, and never token or key themselves.
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
  backend: ["name"],
  env: ["podName", "namespace", "gateway"],
  llm: ["provider", "requestModel", "streaming"],
  mcp: ["methodName", "sessionId", "tool", "prompt", "resource"],
} as const;

/** Name of a variable. */
export type VariableName = keyof typeof fields;

/** A field of a variable, such as `request.body`. */
export type FieldName = `${VariableName}.${string}`;

/**
 * Values of the variables. What a request does not have is `undefined`: reading it is a failure, `has(jwt.sub)` is false. A getter
 * that throws makes the whole expression fail.
 */
export type Variables = { readonly [name in VariableName]?: Value | undefined };

/** Every variable. */
export const variableNames: readonly string[] = Object.keys(fields);

/** Whether there is a variable of that name. */
export function isVariable(name: string): name is VariableName {
  return Object.hasOwn(fields, name);
}

/** The fields of a variable; `undefined` when they depend on the request. */
export function fieldsOf(name: VariableName): readonly string[] | undefined {
  return fields[name];
}
