import {
  hideSignatures,
  isSecretHeader,
  REDACTION_MARKER,
} from "../../base/redaction.ts";
import { formsOf, fromUtf8, secretsOf } from "./secret_forms.ts";
import type { TraceHeaders } from "./trace_state.ts";
import type { JsonValue } from "../../base/json.ts";

/** Names of header fields and query parameters that carry secrets, and secrets that the configuration puts in bodies. */
export class SensitiveNames {
  /** Matches a parameter and its value. */
  readonly pattern: RegExp;
  /** Longest first, in all the forms that bodies quote them in. */
  readonly contents: readonly string[];

  /**
   * @param headers In lower case, as are `parameters`.
   * @param parameters Of queries.
   * @param contents Values of the environment.
   */
  constructor(
    readonly headers: ReadonlySet<string>,
    readonly parameters: ReadonlySet<string>,
    contents: ReadonlySet<string> = new Set(),
  ) {
    this.pattern = parameterPattern(parameters);
    this.contents = [...contents].flatMap((text) => [...formsOf(text)])
      .toSorted((a, b) => b.length - a.length);
  }
}

/** Header fields in order; names in any case. */
export interface Fields {
  forEach(visit: (name: string, value: string) => void): void;
}

/** Shorter secrets are redacted under their own name only: their value occurs elsewhere by chance. */
const MIN_LENGTH = 6;

/** Shorter values of metadata are names, of teams and the like, and occur elsewhere. */
const MIN_METADATA_LENGTH = 16;

/** Bounds the values that are searched for; a request with more secrets has only some of them redacted by value. */
const MAX_SECRETS = 256;

/** Fields that describe the event, not the request. */
const structure: ReadonlySet<string> = new Set([
  "type",
  "stage",
  "kind",
  "phase",
]);

/**
 * Redacts the secrets of one request.
 *
 * A secret is recognized by its place (a sensitive header, a sensitive query parameter, the user of a URL), by its form (the
 * signature of a JWT), and, once seen in such a place, by its value anywhere else: a header that a transformation copied it to,
 * the body of an echo, an error.
 */
export class TraceRedactor {
  readonly #names: SensitiveNames;
  /** Longest first, so that a secret that contains another is redacted whole. */
  #secrets: string[] = [];
  readonly #learnt = new WeakSet<object>();

  constructor(names: SensitiveNames) {
    this.#names = names;
  }

  /** Remembers the values in sensitive places. */
  learn(headers: Fields, target = ""): void {
    headers.forEach((name, value) => {
      if (!isSecretHeader(name.toLowerCase(), this.#names.headers)) return;
      for (const secret of secretsOf(name.toLowerCase(), value)) {
        this.#remember(secret);
      }
    });
    for (const [name, value] of pairsOf(target)) {
      if (!this.#isSecret(name)) continue;
      this.#remember(value);
      this.#remember(decode(value));
    }
  }

  /** Remembers the long strings of private claims: a transformation may copy them. */
  learnClaims(claims: Readonly<Record<string, unknown>>): void {
    if (this.#learnt.has(claims)) return;
    this.#learnt.add(claims);
    JSON.stringify(claims, (_, value) => {
      if (typeof value === "string" && value.length >= MIN_METADATA_LENGTH) {
        this.#remember(value);
      }
      return value;
    });
  }

  /** Redacts fields. */
  headers(fields: Fields): TraceHeaders {
    const shown: Record<string, string | string[]> = Object.create(null);
    fields.forEach((spelled, value) => {
      const name = spelled.toLowerCase();
      const text = this.header(name, value);
      const present = shown[name];
      if (present === undefined) shown[name] = text;
      else if (typeof present === "string") shown[name] = [present, text];
      else present.push(text);
    });
    return { ...shown };
  }

  /** Redacts the value of a field, whose name is in lower case; UTF-8 is decoded. */
  header(name: string, value: string): string {
    if (isSecretHeader(name, this.#names.headers)) return REDACTION_MARKER;
    return fromUtf8(this.text(value));
  }

  /** Redacts path and query. */
  target(target: string): string {
    const start = target.indexOf("?");
    if (start < 0) return this.text(target);
    const query = target.slice(start + 1).split("&").map((pair) => {
      const end = pair.indexOf("=");
      const isSecret = end >= 0 && this.#isSecret(pair.slice(0, end));
      return isSecret ? pair.slice(0, end + 1) + REDACTION_MARKER : pair;
    });
    return this.text(`${target.slice(0, start)}?${query.join("&")}`);
  }

  /** Redacts known secrets in a string. */
  text(text: string): string {
    let shown = text;
    for (const secret of this.#secrets) {
      if (shown.includes(secret)) {
        shown = shown.replaceAll(secret, REDACTION_MARKER);
      }
    }
    shown = hideSignatures(shown);
    if (shown.includes(REALTIME_KEY_START)) {
      shown = shown.replace(realtimeKey, `$1${REDACTION_MARKER}`);
    }
    if (shown.includes("://")) {
      shown = shown.replace(userInfo, `://${REDACTION_MARKER}@`);
    }
    return shown.includes("=")
      ? shown.replace(this.#names.pattern, `$1${REDACTION_MARKER}`)
      : shown;
  }

  /** Redacts as `text`, and also the JSON members of OAuth and APIs that hold secrets. Bytes are Latin-1, one character each. */
  body(bytes: string): string {
    const shown = this.#names.contents.reduce(
      (text, secret) => text.replaceAll(secret, REDACTION_MARKER),
      bytes,
    );
    return this.text(shown).replace(secretMember, `$1"${REDACTION_MARKER}"`);
  }

  /** Copies plain data with every string redacted. */
  json<T>(value: T): T;
  json(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (isList(value)) return value.map((item) => this.json(item));
    const entries = Object.entries(value).map(([name, item]) =>
      [name, structure.has(name) ? item : this.json(item)] as const
    );
    return Object.fromEntries(entries);
  }

  #isSecret(encodedName: string): boolean {
    return this.#names.parameters.has(decode(encodedName).toLowerCase());
  }

  #remember(secret: string): void {
    if (secret.length < MIN_LENGTH || this.#secrets.length >= MAX_SECRETS) {
      return;
    }
    for (const form of formsOf(secret)) {
      if (!this.#secrets.includes(form)) this.#secrets.push(form);
    }
    this.#secrets.sort((a, b) => b.length - a.length);
  }
}

/** Prefix of the key that browsers send as a subprotocol, because they cannot set headers of a WebSocket (OpenAI's Realtime API). */
const REALTIME_KEY_START = "openai-insecure-api-key.";
const realtimeKey = /(openai-insecure-api-key\.)[^\s,"]+/g;
const userInfo = /:\/\/[^/?#\s"'@]*@/g;
const secretMember =
  /("(?:access_token|refresh_token|id_token|client_secret|client_assertion|code_verifier|api_?key|password|secret)"\s*:\s*)"(?:[^"\\]|\\.)*"?/gi;

function parameterPattern(names: ReadonlySet<string>): RegExp {
  const words = Array.from(
    names,
    (name) => name.replace(/[^\w]/g, (character) => `\\${character}`),
  );
  return new RegExp(`((?:^|[?&#;])(?:${words.join("|")})=)[^&#\\s"'<>]+`, "gi");
}

function pairsOf(target: string): readonly (readonly [string, string])[] {
  const start = target.indexOf("?");
  if (start < 0) return [];
  return target.slice(start + 1).split("&").map((pair) => {
    const end = pair.indexOf("=");
    return end < 0 ? [pair, ""] : [pair.slice(0, end), pair.slice(end + 1)];
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

function isList(
  value: readonly JsonValue[] | Readonly<Record<string, JsonValue>>,
): value is readonly JsonValue[] {
  return Array.isArray(value);
}
