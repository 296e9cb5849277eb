import { Buffer } from "node:buffer";
import { describeError } from "../../../src/base/errors.ts";
import { VERSION } from "../../../src/base/version.ts";
import { Failure, UsageError } from "../../process/exit.ts";

/** A complete request. */
export interface PlainRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
  /** Certificates are not verified. */
  readonly insecure: boolean;
}

/** State of the arguments parsed so far. */
interface Draft {
  method: string | undefined;
  readonly custom: string[];
  /** Headers that are sent unless `-H` sets them. */
  readonly defaults: Map<string, string>;
  readonly body: Uint8Array[];
  insecure: boolean;
  head: boolean;
  get: boolean;
}

type Apply = (draft: Draft, value: string) => void | Promise<void>;

/** Supported arguments without a value, by long name. */
const switches: Readonly<Record<string, Apply>> = {
  insecure: (draft) => void (draft.insecure = true),
  head: (draft) => void (draft.head = true),
  get: (draft) => void (draft.get = true),
};

/** Supported arguments with a value, by long name. */
const settings: Readonly<Record<string, Apply>> = {
  request: (draft, value) => {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value)) {
      throw new UsageError(
        `Cannot send a request: expected a method after -X, got "${value}"`,
      );
    }
    draft.method = value;
  },
  header: (draft, value) => void draft.custom.push(value),
  data: async (draft, value) =>
    addForm(draft, withoutLineEnds(await readData(value))),
  "data-raw": (draft, value) => addForm(draft, encode(value)),
  "data-binary": async (draft, value) => addForm(draft, await readData(value)),
  json: async (draft, value) => {
    draft.body.push(await readData(value));
    draft.defaults.set("Content-Type", "application/json");
    draft.defaults.set("Accept", "application/json");
  },
  user: (draft, value) => {
    draft.defaults.set("Authorization", basic(value));
  },
  "user-agent": (draft, value) => void draft.defaults.set("User-Agent", value),
  cookie: (draft, value) => {
    if (!value.includes("=")) rejectArgument("-b with a file");
    draft.defaults.set("Cookie", value);
  },
  referer: (draft, value) => void draft.defaults.set("Referer", value),
};

const longNames: Readonly<Record<string, string>> = {
  X: "request",
  H: "header",
  d: "data",
  u: "user",
  A: "user-agent",
  b: "cookie",
  e: "referer",
  k: "insecure",
  I: "head",
  G: "get",
};

/**
 * Creates the request that curl would send for supported arguments.
 * @throws {UsageError} For an unsupported argument.
 */
export async function parseCurlArgs(
  text: string,
  args: readonly string[],
): Promise<PlainRequest> {
  const url = new URL(text);
  const draft = newDraft(url);
  const words = [...args];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const { name, rest } = splitArgument(word);
    const onSwitch = own(switches, name);
    const onSetting = own(settings, name);
    if (onSwitch !== undefined) {
      await onSwitch(draft, "");
      // `-kI` is `-k -I`.
      if (rest !== "") words.unshift(`-${rest}`);
    } else if (onSetting !== undefined) {
      const value = rest === "" ? words.shift() : rest;
      if (value === undefined) {
        throw new UsageError(`Cannot send a request: ${word} requires a value`);
      }
      await onSetting(draft, value);
    } else rejectArgument(word);
  }
  return finish(url, draft);
}

function newDraft(url: URL): Draft {
  const { username, password } = url;
  const credentials = [username, password].map(decodeURIComponent).join(":");
  return {
    method: undefined,
    custom: [],
    defaults: new Map([
      ["Host", url.host],
      ...(username === ""
        ? []
        : [["Authorization", basic(credentials)]] as const),
      ["User-Agent", `gwctl/${VERSION}`],
      ["Accept", "*/*"],
    ]),
    body: [],
    insecure: false,
    head: false,
    get: false,
  };
}

/** Splits an argument: `-XPOST` is `request` with the rest `POST`. */
function splitArgument(word: string): { name: string; rest: string } {
  if (word.startsWith("--")) return { name: word.slice(2), rest: "" };
  if (!/^-./.test(word)) rejectArgument(word);
  const letter = word.slice(1, 2);
  return { name: own(longNames, letter) ?? letter, rest: word.slice(2) };
}

function own<T>(table: Readonly<Record<string, T>>, name: string) {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function rejectArgument(word: string): never {
  throw new UsageError(
    `Cannot send a request: without curl, ${word} is not supported; supported are ${
      Object.keys(longNames).map((letter) => `-${letter}`).join(" ")
    } --data-raw --data-binary --json`,
  );
}

function finish(url: URL, draft: Draft): PlainRequest {
  const joined = draft.body.length === 0
    ? undefined
    : new Uint8Array(Buffer.concat(draft.body));
  const isInQuery = draft.get && joined !== undefined;
  if (isInQuery) {
    const added = new TextDecoder().decode(joined);
    url.search = url.search === "" ? added : `${url.search}&${added}`;
    draft.defaults.delete("Content-Type");
  }
  const body = isInQuery ? undefined : joined;
  if (body !== undefined) {
    draft.defaults.set("Content-Length", String(body.byteLength));
  }
  const usual = draft.head ? "HEAD" : body === undefined ? "GET" : "POST";
  return {
    url,
    method: draft.method ?? usual,
    headers: mergeHeaders(draft),
    body,
    insecure: draft.insecure,
  };
}

/** Merges headers: `Name: value` replaces the default field, `Name:` removes it, `Name;` sets an empty one. */
function mergeHeaders({ custom, defaults }: Draft) {
  const parts = custom.map((text) => {
    const [, name, mark, value = ""] =
      /^([^:;\s]+)\s*([:;])(.*)$/s.exec(text) ??
        [];
    if (name === undefined || /[\r\n]/.test(text)) {
      throw new UsageError(
        `Cannot send a request: expected "Name: value" after -H, got "${text}"`,
      );
    }
    return { name, value: value.trim(), isEmpty: mark === ";" };
  });
  const replaced = new Set(parts.map(({ name }) => name.toLowerCase()));
  return [
    ...[...defaults].filter(([name]) => !replaced.has(name.toLowerCase())),
    ...parts.filter(({ value, isEmpty }) => value !== "" || isEmpty)
      .map(({ name, value }) => [name, value] as const),
  ];
}

function basic(credentials: string): string {
  if (!credentials.includes(":")) rejectArgument("-u without a password");
  return `Basic ${encode(credentials).toBase64()}`;
}

function addForm(draft: Draft, bytes: Uint8Array): void {
  if (draft.body.length > 0) draft.body.push(encode("&"));
  draft.body.push(bytes);
  draft.defaults.set("Content-Type", "application/x-www-form-urlencoded");
}

/** Reads data; `@file` and `@-` refer to a file and standard input. */
async function readData(value: string): Promise<Uint8Array> {
  if (!value.startsWith("@")) return encode(value);
  const file = value.slice(1);
  try {
    if (file !== "-") return await Deno.readFile(file);
    return await new Response(Deno.stdin.readable).bytes();
  } catch (error) {
    throw new Failure(`Cannot read "${file}": ${describeError(error)}`);
  }
}

function withoutLineEnds(bytes: Uint8Array): Uint8Array {
  return bytes.filter((byte) => byte !== 10 && byte !== 13);
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
