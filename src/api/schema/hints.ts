import { isJsonObject } from "../../base/json.ts";

/** Suggests a fix for a value of the wrong type; `path` leads to the value. */
export function hintFor(
  expected: string,
  input: unknown,
  path: readonly (string | number)[],
): { readonly remedy?: string } {
  const remedy = remedyFor(expected, input, path);
  return remedy === undefined ? {} : { remedy };
}

function remedyFor(
  expected: string,
  input: unknown,
  path: readonly (string | number)[],
): string | undefined {
  switch (expected) {
    case "a mapping":
      return typeof input === "string" && isPrintable(input)
        ? mappingFor(input, path)
        : input === null
        ? "indent its fields"
        : Array.isArray(input) && path.length === 1 && path[0] === "gateways"
        ? "use a mapping of names, as in default: { port: 3000 }"
        : undefined;
    case "a list":
      if (typeof input === "string" && isPrintable(input)) {
        return `write [${JSON.stringify(input)}]`;
      }
      return isJsonObject(input) ? 'begin each item with "- "' : undefined;
    case "a string":
      return typeof input === "number" ? `quote it: "${input}"` : undefined;
    case "a number":
      return typeof input === "string" && /^-?[0-9]+$/.test(input)
        ? "remove the quotes"
        : undefined;
    default:
      return undefined;
  }
}

/** Suggests the mapping for a string: `{ host: "127.0.0.1:9000" }` for a backend. */
function mappingFor(
  text: string,
  path: readonly (string | number)[],
): string | undefined {
  const quoted = JSON.stringify(text);
  if (path.at(-1) === "path" && text.startsWith("/")) {
    return `write { type: PathPrefix, value: ${text} }`;
  }
  if (path.at(-1) === "jwks") return `write { url: ${quoted} }`;
  if (path.at(-2) === "backends" && /:[0-9]+$/.test(text)) {
    return `write { host: ${quoted} }`;
  }
  return /^[A-Za-z]+:\S/.test(text) && !text.includes("://")
    ? 'add a space after the ":"'
    : undefined;
}

/** Fixes for misplaced fields, by `parent.field`. */
const misplacedFields: Readonly<Record<string, string>> = {
  "traffic.phase": 'move it one level up, beside "traffic"',
  "policies.phase":
    'write it beside "traffic" in a policy whose target is a gateway',
  "providers.mcp": 'move it one level up, beside "providers"',
  "providers.mode": 'move it one level up, beside "providers"',
  "traffic.mcp": 'move it into "jwtAuthentication"',
  "policies.mcp": 'move it into "jwtAuthentication"',
  "jwtAuthentication.authorization":
    'move it one level up, beside "jwtAuthentication"',
  "mcp.authorization": 'move it two levels up, beside "jwtAuthentication"',
  "authorization.matchExpressions": "write policy: { matchExpressions: […] }",
};

/**
 * Suggests a fix for the unknown field at the end of `path`, which has these `siblings`: a field that belongs elsewhere,
 * `a.b` instead of `a: { b }`, or `{ host, port }` where `host` includes the port.
 */
export function hintForKey(
  path: readonly (string | number)[],
  siblings: unknown,
  known: readonly string[],
  isFieldOf: IsFieldOf,
): string | undefined {
  const key = String(path.at(-1));
  const [first = "", ...rest] = key.split(".");
  if (rest.length > 0 && known.includes(first)) {
    return `write ${first}: { ${rest.join(": { ")}: …${
      " }".repeat(rest.length)
    }`;
  }
  const isSplit = key === "port" && known.includes("host") &&
    isJsonObject(siblings) && typeof siblings["host"] === "string";
  if (isSplit) {
    return 'write host and port together, as in host: "127.0.0.1:9000"';
  }
  const parent = path.slice(0, -1).findLast((step) => typeof step === "string");
  return misplacedFields[`${parent}.${key}`] ??
    hintForSibling(key, known, isFieldOf);
}

function hintForSibling(
  key: string,
  known: readonly string[],
  isFieldOf: IsFieldOf,
): string | undefined {
  if (known.includes("matches") && isFieldOf("matches", 0)) {
    return `write matches: [{ ${key}: … }]`;
  }
  const parent = parents.find(({ name, sibling }) =>
    known.includes(name) && known.includes(sibling) && isFieldOf(name)
  );
  return parent && `move it into "${parent.name}"`;
}

/** Fixes for missing fields, by `parent.field`. */
const missingFields: Readonly<Record<string, string>> = {
  "openapi.baseUrl":
    "write the URL that the paths of the document follow: its `servers` are not used, since whoever changes the document could send credentials elsewhere with them",
};

/** Suggests what to write for the missing field at the end of `path`. */
export function hintForMissing(
  path: readonly (string | number)[],
): { readonly remedy?: string } {
  const remedy = missingFields[path.slice(-2).join(".")];
  return remedy === undefined ? {} : { remedy };
}

const providerFields = ["issuer", "audiences", "jwks"];

/**
 * Suggests a fix for provider fields that are written beside `providers`; `undefined` for other fields. The first such field
 * gets the message, the others an empty string, so that the mistake is reported once.
 */
export function hintForProviderField(
  key: unknown,
  siblings: unknown,
  known: readonly string[],
): string | undefined {
  if (!known.includes("providers")) return undefined;
  const misplaced = misplacedIn(siblings);
  const index = misplaced.findIndex((name) => name === key);
  if (index < 0) return undefined;
  const fields = misplaced.map((name) => `${name}: …`).join(", ");
  return index === 0 ? `write providers: [{ ${fields} }]` : "";
}

/** Reports whether `providers` is missing only because its fields are written in its place. */
export function isReplacedByProviderFields(
  key: unknown,
  siblings: unknown,
): boolean {
  return key === "providers" && misplacedIn(siblings).length > 0;
}

function misplacedIn(siblings: unknown): readonly string[] {
  return isJsonObject(siblings)
    ? providerFields.filter((name) => Object.hasOwn(siblings, name))
    : [];
}

function isPrintable(text: string): boolean {
  return text.length <= 60;
}

/** Reports whether the unknown field belongs to a sibling, such as `("matches", 0)`. */
type IsFieldOf = (...path: readonly (string | number)[]) => boolean;

/** Fields with nested fields, each with a sibling that identifies the mapping. */
const parents = [
  { name: "policies", sibling: "hostnames" },
  { name: "traffic", sibling: "targetRefs" },
];
