/** Sends the requests of a login and records them without secrets, to be shown and stored. */
import type { Relayed, RelayRequest, Sender } from "../playground/relay.ts";

/** A message as the page shows it. */
export interface ShownMessage {
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text, or JSON. */
  readonly body?: unknown;
}

/** A step of the login: plain data without secrets. */
export interface Step {
  readonly title: string;
  readonly note: string;
  readonly request?: ShownMessage;
  readonly response?: ShownMessage & { readonly status: number };
  readonly error?: string;
}

/** Titles and notes by the names of requests. */
const steps: Readonly<Record<string, readonly [title: string, note: string]>> =
  {
    "resource metadata": [
      "Protected-resource metadata",
      "The resource, and the issuer of its tokens.",
    ],
    "server metadata": [
      "Authorization-server metadata",
      "Endpoints of the issuer.",
    ],
    "register client": [
      "Registration",
      "The gateway responds with the client of its configuration.",
    ],
    token: [
      "Token",
      "Exchanges the code and the secret for a token. Its claims are decoded here.",
    ],
    initialize: [
      "MCP: initialize",
      "The gateway verifies the token, then evaluates its rule.",
    ],
    "notifications/initialized": ["MCP: initialized", ""],
    "tools/call": [
      "MCP: tools/call",
      "The MCP server responds; it never sees the token.",
    ],
  };

const shownHeaders = ["content-type", "www-authenticate", "mcp-session-id"];

/** Sends requests itself, so that CORS has to allow all of them. */
export class Recorder implements Sender {
  readonly #show: (step: Step) => void;

  /** @param show Receives each step when it is over. */
  constructor(show: (step: Step) => void) {
    this.#show = show;
  }

  async send(
    name: string,
    { url, method, headers = {}, body }: RelayRequest,
  ): Promise<Relayed> {
    const { authorization, ...others } = headers;
    const [title, note] = name === "initialize" && authorization === undefined
      ? [
        "MCP without a token",
        "The 401 links to the metadata: resource_metadata.",
      ]
      : steps[name] ?? [name, ""];
    const request = {
      line: `${method} ${url}`,
      headers: authorization === undefined
        ? others
        : { authorization: "Bearer <the access token>", ...others },
      body: readBody(headers["content-type"] ?? "", body ?? ""),
    };
    try {
      const init = { method, headers, ...(body !== undefined && { body }) };
      const response = await fetch(url, init);
      const text = await response.text();
      const { status, statusText, headers: all } = response;
      const type = all.get("content-type") ?? "";
      this.#show({
        ...{ title, note, request },
        response: {
          status,
          line: `${status} ${statusText}`.trim(),
          headers: Object.fromEntries(
            [...all].filter(([header]) => shownHeaders.includes(header)),
          ),
          body: readBody(type, text),
        },
      });
      return { status, headers: all, parts: only(text) };
    } catch (error) {
      const reason =
        `no readable response (${error}): the server is down, or its CORS headers do not allow this page`;
      this.#show({ ...{ title, note, request }, error: reason });
      throw new Error(`${title}: ${reason}`);
    }
  }
}

async function* only(text: string): AsyncGenerator<string> {
  yield await Promise.resolve(text);
}

/** Parses a form, JSON, or the last event of a stream, without secrets; returns other bodies as strings. */
function readBody(contentType: string, text: string): unknown {
  if (contentType.includes("form-urlencoded")) {
    return hideSecrets(Object.fromEntries(new URLSearchParams(text)));
  }
  const json = contentType.startsWith("text/event-stream")
    ? text.split("\n").findLast((line) => /^data: ?\S/.test(line))?.slice(5)
    : text;
  try {
    return hideSecrets(JSON.parse(json ?? ""));
  } catch {
    return text || undefined;
  }
}

const isSecret = /^(?:id_token|refresh_token|code|code_verifier)$/;

/** Decodes tokens without their signatures; hides codes and verifiers. */
export function hideSecrets(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      if (name === "access_token") return [name, decode(String(value))];
      return [name, isSecret.test(name) ? "<hidden>" : value];
    }),
  );
}

function decode(token: string): unknown {
  const parts = token.split(".");
  if (parts.length !== 3) return "<opaque>";
  const [header, claims] = parts.slice(0, 2).map((part) => {
    const text = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (each) => each.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  });
  return { header, claims, signature: "<hidden>" };
}
