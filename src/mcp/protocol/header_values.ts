import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** Parameter that `Mcp-Name` repeats, by method (MCP 2026-07-28, "Standard request headers"). */
const nameParameters: Readonly<Record<string, string | undefined>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** Returns the value that `Mcp-Name` must repeat; `undefined` for methods without a name. */
export function namedTarget(
  method: string,
  params: JsonObject,
): string | undefined {
  const parameter = Object.hasOwn(nameParameters, method)
    ? nameParameters[method]
    : undefined;
  const value = parameter === undefined ? undefined : params[parameter];
  return typeof value === "string" ? value : undefined;
}

/** Encodes a value for a header: as it is, or in Base64 where a header could not hold it, or where it looks encoded. */
export function encodeHeaderValue(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) &&
    !/^=\?base64\?.*\?=$/s.test(value);
  return isPlain
    ? value
    : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}

/** Decodes a value of a header; `undefined` if it is invalid. */
export function decodeHeaderValue(value: string): string | undefined {
  const trimmed = value.replace(/^[\t ]+|[\t ]+$/g, "");
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(trimmed) ?? [];
  if (encoded === undefined) return trimmed;
  if (!canonicalBase64.test(encoded)) return undefined;
  try {
    return decoder.decode(Uint8Array.fromBase64(encoded));
  } catch {
    // The caller rejects the header, whatever is wrong with it.
    return undefined;
  }
}

const canonicalBase64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** An argument of a tool that clients repeat in the header `Mcp-Param-<name>` (`x-mcp-header` in the schema). */
export interface ParameterHeader {
  /** In lower case, with the prefix. */
  readonly header: string;
  readonly path: readonly string[];
  readonly isInteger: boolean;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const headerTypes: ReadonlySet<unknown> = new Set([
  "string",
  "integer",
  "boolean",
]);
const MAX_HEADERS = 64;

/** Every call of a tool needs what its schema says. */
const headersOfSchema = new WeakMap<
  JsonObject,
  readonly ParameterHeader[] | undefined
>();

/** Returns the arguments that a tool wants in headers; `undefined` if its schema is invalid, for then the tool must not be listed. */
export function readParameterHeaders(
  inputSchema: unknown,
): readonly ParameterHeader[] | undefined {
  return isJsonObject(inputSchema)
    ? headersOfSchema.getOrInsertComputed(inputSchema, findParameterHeaders)
    : [];
}

function findParameterHeaders(
  inputSchema: JsonObject,
): readonly ParameterHeader[] | undefined {
  const found = new Map<string, ParameterHeader>();
  const isValid = visit(inputSchema, [], true, found);
  return isValid && found.size <= MAX_HEADERS ? [...found.values()] : undefined;
}

/** Only properties of properties of the root can have a header: elsewhere, an argument has no fixed place. */
function visit(
  node: unknown,
  path: readonly string[],
  isReachable: boolean,
  found: Map<string, ParameterHeader>,
): boolean {
  if (Array.isArray(node)) {
    return node.every((item) => visit(item, path, false, found));
  }
  if (!isJsonObject(node)) return true;
  if (Object.hasOwn(node, "x-mcp-header")) {
    const { "x-mcp-header": name, type } = node;
    if (
      !isReachable || path.length === 0 || typeof name !== "string" ||
      !token.test(name) || !headerTypes.has(type)
    ) return false;
    const header = `mcp-param-${name.toLowerCase()}`;
    if (found.has(header)) return false;
    found.set(header, { header, path, isInteger: type === "integer" });
  }
  return Object.entries(node).every(([key, child]) => {
    if (literals.has(key)) return true;
    if (key !== "properties" || !isJsonObject(child)) {
      return visit(child, path, false, found);
    }
    return Object.entries(child).every(([name, property]) =>
      visit(property, [...path, name], isReachable, found)
    );
  });
}

/** Keywords with values in place of schemas. */
const literals: ReadonlySet<string> = new Set([
  "const",
  "default",
  "enum",
  "examples",
]);

/** Returns the value of an argument as its header has it; `undefined` if there is none. */
export function parameterValue(
  args: unknown,
  path: readonly string[],
): string | undefined {
  const value = path.reduce<unknown>(
    (node, key) =>
      isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined,
    args,
  );
  if (typeof value === "string" || typeof value === "boolean") {
    return String(value);
  }
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

/** Returns the first header that contradicts the arguments; `undefined` if all agree. */
export function findWrongParameter(
  declared: readonly ParameterHeader[],
  args: unknown,
  header: (name: string) => string | undefined,
): string | undefined {
  return declared.find(({ header: name, path, isInteger }) => {
    const expected = parameterValue(args, path);
    if (expected === undefined) return false;
    const given = header(name);
    const decoded = given === undefined ? undefined : decodeHeaderValue(given);
    if (decoded === undefined) return true;
    return isInteger && /^-?\d+(?:\.\d+)?$/.test(decoded)
      ? Number(decoded) !== Number(expected)
      : decoded !== expected;
  })?.header;
}
