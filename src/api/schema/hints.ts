import { hintForMisplaced } from "./misplaced.ts";

/** What was probably meant, for the mistakes of those who are new to the file or to YAML. */

/** The remedy for a value of the wrong type; `path` is the way to it. */
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
        ? "indent what belongs to it"
        : Array.isArray(input) && path.length === 1 && path[0] === "gateways"
        ? "write each under its name, as in default: { port: 3000 }"
        : undefined;
    case "a list":
      if (typeof input === "string" && isPrintable(input)) {
        return `write [${JSON.stringify(input)}]`;
      }
      return isMapping(input) ? 'begin each of its items with "- "' : undefined;
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

/** The mapping that stands for a text: `{ host: "127.0.0.1:9000" }` for a backend. */
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
    ? 'write a blank after the ":"'
    : undefined;
}

/** Where a field belongs that is unknown where it stands: by the field that it stands in, and its name. */
const belongings: Readonly<Record<string, string>> = {
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
 * The remedy for the unknown field at the end of `path`, beside `siblings`: for one that belongs elsewhere, for `a.b` in place of
 * `a: { b }`, and for `{ host, port }` where `host` holds both.
 */
export function hintForKey(
  path: readonly (string | number)[],
  siblings: unknown,
  known: readonly string[],
): string | undefined {
  const key = String(path.at(-1));
  const [first = "", ...rest] = key.split(".");
  if (rest.length > 0 && known.includes(first)) {
    return `write ${first}: { ${rest.join(": { ")}: …${
      " }".repeat(rest.length)
    }`;
  }
  const isApart = key === "port" && known.includes("host") &&
    isMapping(siblings) && typeof siblings["host"] === "string";
  if (isApart) return 'write both as one, as in host: "127.0.0.1:9000"';
  const holder = path.slice(0, -1).findLast((step) => typeof step === "string");
  return belongings[`${holder}.${key}`] ?? hintForMisplaced(key, known);
}

const providerFields = ["issuer", "audiences", "jwks"];

/**
 * The remedy for the fields of a provider that stand beside `providers`; empty for all but the first of them, for which it is said
 * already. `undefined` for other fields.
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

/** Whether `providers` is missing only because its fields stand in its place. */
export function standsInItsPlace(key: unknown, siblings: unknown): boolean {
  return key === "providers" && misplacedIn(siblings).length > 0;
}

function misplacedIn(siblings: unknown): readonly string[] {
  return isMapping(siblings)
    ? providerFields.filter((name) => Object.hasOwn(siblings, name))
    : [];
}

function isPrintable(text: string): boolean {
  return text.length <= 60;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
