import { isReservedHeader } from "../../../src/api/resources/mcp_backend.ts";
import {
  closed,
  type ImportedConfiguration,
} from "../parts/imported_configuration.ts";
import {
  type Hide,
  importProgram,
  isSecretName,
  withoutSource,
} from "./imported_program.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** Values of `type` or `transport` of servers with a URL: Streamable HTTP, and HTTP with SSE. */
const types: readonly string[] = [
  "sse",
  "http",
  "streamable-http",
  "streamableHttp",
];
/** Members with the address of a server, which differ by client. */
const addressKeys = ["url", "serverUrl", "httpUrl"];

/**
 * Imports the servers of a desktop client as one endpoint at the loopback address.
 * @param key Member with the servers; VS Code has another one than most clients.
 */
export function importMcpServers(
  root: SourceNode,
  key: "mcpServers" | "servers",
): ImportedConfiguration {
  const names = new ImportedNames();
  const entries = root.get(key)?.members() ?? [];
  // They ask the user for variables, which are those of the environment here.
  root.get("inputs")?.plain();
  const servers = entries.flatMap(([name, source]) =>
    importServer(name, source, names)
  );
  const start = {
    name: "mcp",
    matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
  };
  const route = servers.length === 0
    ? closed(start, [key])
    : { ...start, backends: [{ mcp: { servers } }] };
  return {
    config: undefined,
    // Each client of the endpoint uses the credentials of all servers.
    gateways: { default: { port: 3000, address: "127.0.0.1" } },
    routes: [{ route, source: root }],
  };
}

/** Returns the server, or nothing if it has no counterpart. */
function importServer(
  given: string,
  source: SourceNode,
  names: ImportedNames,
): readonly object[] {
  const address = addressKeys.map((key) => source.get(key))
    .find((each) => each !== undefined);
  const url = address?.text() ?? "";
  const problem = problemOf(source, url);
  if (problem !== undefined) {
    source.reject(`server "${given}": ${problem}; it is left out`);
    return [];
  }
  const name = names.server(given);
  if (name !== given) {
    source.note(`server "${given}": its name is "${name}" here`);
  }
  const hide: Hide = (field, words, value, place) =>
    hideSecret(field, () => names.variable(`${name} ${words}`), value, place);
  if (address === undefined) {
    return [{ name, stdio: importProgram(source, hide) }];
  }
  const field = typeOf(source) === "sse" ? "sse" : "url";
  return [{
    name,
    [field]: importUrl(url, address, hide),
    ...importHeaders(source.get("headers"), hide),
  }];
}

function typeOf(source: SourceNode): string | undefined {
  return (source.get("type") ?? source.get("transport"))?.text();
}

/** Returns the reason why a server has no counterpart. */
function problemOf(source: SourceNode, url: string): string | undefined {
  if (source.get("disabled")?.isTrue() === true) return "it is disabled";
  const type = typeOf(source);
  if (url === "" && source.get("command")?.text() !== undefined) {
    return undefined;
  }
  if (type !== undefined && !types.includes(type)) {
    return `its transport "${type}" has no counterpart`;
  }
  return /^https?:$/.test(URL.parse(url)?.protocol ?? "")
    ? undefined
    : "expected an http or https URL";
}

/** Names in the result, each of them unique. */
class ImportedNames {
  readonly #servers = new Set<string>();
  readonly #variables = new Set<string>();

  /** Returns the name of a server with letters, digits and hyphens. */
  server(name: string): string {
    const plain = name.replaceAll(/[^A-Za-z0-9]+/g, "-")
      .replace(/^[^A-Za-z]+/, "").slice(0, 28).replace(/-+$/, "") || "server";
    return takeUnique(plain, "-", this.#servers);
  }

  /** Returns the name of the variable for one secret. */
  variable(words: string): string {
    const plain = words.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
    return takeUnique(plain, "_", this.#variables);
  }
}

function takeUnique(plain: string, joint: string, used: Set<string>): string {
  let name = plain;
  for (let count = 2; used.has(name.toLowerCase()); count++) {
    name = `${plain}${joint}${count}`;
  }
  used.add(name.toLowerCase());
  return name;
}

/** Keeps references; reports a value that the file has itself. */
function hideSecret(
  field: string,
  takeVariable: () => string,
  value: string,
  source: SourceNode,
): string {
  const [, scheme = "", secret = value] =
    /^((?:Bearer|Basic|Token) +)(.*)$/is.exec(value) ?? [];
  if (secret.replaceAll(/\$\{[A-Za-z_]\w*\}/g, "") === "") return value;
  const variable = takeVariable();
  source.reject(
    `${field}: its value is left out; set the environment variable ${variable}`,
  );
  return `${scheme}\${${variable}}`;
}

function importHeaders(source: SourceNode | undefined, hide: Hide) {
  const headers: Record<string, string> = {};
  let credentials: { readonly fromEnv: string } | undefined;
  for (const [name, value] of source?.members() ?? []) {
    const field = `headers.${name}`;
    const text = value.text();
    const reason = text === undefined
      ? "expected a string"
      : isReservedHeader(name.toLowerCase())
      ? "the gateway writes it itself"
      : name === "__proto__"
      ? "a configuration cannot have a field of this name"
      : undefined;
    if (text === undefined || reason !== undefined) {
      value.reject(`${field}: ${reason}`);
      continue;
    }
    const isToken = name.toLowerCase() === "authorization";
    const words = isToken ? "token" : name;
    const hidden = hide(field, words, withoutSource(text), value);
    const bearer = /^Bearer +\$\{(\w+)\}$/i.exec(hidden)?.[1];
    if (isToken && bearer !== undefined) credentials = { fromEnv: bearer };
    else headers[name] = hidden;
  }
  return {
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(credentials !== undefined && { credentials }),
  };
}

/** Returns a URL without user and password, and with secrets of its query as references. */
function importUrl(url: string, source: SourceNode, hide: Hide): string {
  const plain = url.replace(/^(https?:\/\/)[^/?#]*@/i, "$1");
  if (plain !== url) {
    source.reject("url: user and password are left out; write a header");
  }
  return withoutSource(plain).replace(/#.*$/s, "").replaceAll(
    /([?&])([^=&]*)=([^&]+)/g,
    (whole, start: string, name: string, value: string) =>
      isSecretName(name)
        ? `${start}${name}=${hide(`url: ${name}`, name, value, source)}`
        : whole,
  );
}
