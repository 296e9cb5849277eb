import { isConfidential } from "../../src/base/wire/host_port.ts";
import { serverMetadataUrls } from "../../src/base/wire/server_metadata_urls.ts";
import {
  type JsonObject,
  stringMember,
  stringsAt,
} from "../../src/base/json.ts";
import { lookup } from "node:dns/promises";
import { describeError } from "../../src/base/errors.ts";
import type { StepFindings } from "./finding.ts";
import {
  describeProbe,
  type Probe,
  probe,
  ProbeError,
  PROTOCOL_VERSION,
} from "./probe.ts";

/** Metadata of the MCP server (RFC 9728). */
export interface ResourceFacts {
  readonly document: JsonObject;
  readonly issuer: string;
}

/** Metadata of the authorization server (RFC 8414). */
export interface ServerFacts {
  readonly issuer: string;
  readonly document: JsonObject;
}

/** Finds and checks the metadata of the MCP server. */
export async function inspectResource(
  url: string,
  challenged: string | undefined,
  findings: StepFindings,
): Promise<ResourceFacts | undefined> {
  const { origin, pathname } = new URL(url);
  const path = pathname === "/" ? "" : pathname;
  const prefix = `${origin}/.well-known/oauth-protected-resource`;
  // Clients use only the URL of the challenge if there is one.
  const candidates = challenged === undefined
    ? [...new Set([`${prefix}${path}`, prefix])]
    : [challenged];
  const found = await findDocument(candidates, findings, {
    id: "no-resource-metadata",
    rule: "The server has resource metadata",
    source: "RFC 9728 section 3",
    fix:
      "Serve the document at this address. In the gateway, a route that matches the well-known paths must not belong to another server.",
    ...(candidates.some((each) => URL.parse(each)?.origin !== origin) && {
      whenUnreachable: { id: "resource-internal", fix: internalFix(url) },
    }),
  });
  if (found === undefined) return undefined;
  const { json: document, headers } = found;
  const resource = stringMember(document, "resource") ?? "";
  findings.check(isResourceOf(resource, url), {
    rule: "`resource` is the URL of the MCP server, or its beginning",
    source: "RFC 9728 section 3.3",
    ...await explainResource(resource, url),
  });
  const [issuer] = stringsAt(document, "authorization_servers");
  checkCors(headers, findings);
  const hasServer = findings.check(issuer !== undefined, {
    id: "no-authorization-server",
    rule: "`authorization_servers` names the authorization server",
    source: "MCP authorization, server location",
    seen: issuer ?? "missing or empty",
    fix: "List the issuer in authorization_servers.",
  });
  return hasServer && issuer !== undefined ? { document, issuer } : undefined;
}

/** Finds and checks the metadata of the authorization server. */
export async function inspectServer(
  issuer: string,
  findings: StepFindings,
): Promise<ServerFacts | undefined> {
  const parsed = URL.parse(issuer);
  if (parsed === null) {
    findings.check(false, {
      id: "issuer-is-no-url",
      rule: "The issuer is a URL",
      source: "RFC 8414 section 2",
      seen: issuer.slice(0, 100),
      fix: "Correct authorization_servers.",
    });
    return undefined;
  }
  const found = await findDocument(serverMetadataUrls(parsed), findings, {
    id: "no-server-metadata",
    rule: "The authorization server has metadata",
    source: "RFC 8414 section 3",
    fix:
      "Serve the metadata at the first of these addresses, or correct authorization_servers.",
    whenUnreachable: {
      id: "provider-unreachable",
      fix:
        "Clients have to reach the authorization server from where they are: start it, or correct authorization_servers (this gateway: issuerMode Proxied, if only the gateway reaches it).",
    },
  });
  if (found === undefined) return undefined;
  const { json: document, headers } = found;
  const own = stringMember(document, "issuer") ?? "";
  findings.check(own === issuer, {
    id: "issuer-mismatch",
    rule: "`issuer` is the issuer that the address was made from",
    source: "RFC 8414 section 3.3",
    seen: own === "" ? "missing" : `${own}, expected ${issuer}`,
    fix:
      "Make both equal, character by character. In the gateway: issuerMode Proxied.",
  });
  checkEndpoints(document, findings);
  checkAbilities(document, findings);
  checkCors(headers, findings);
  return { issuer, document };
}

function checkEndpoints(document: JsonObject, findings: StepFindings): void {
  for (const name of ["authorization_endpoint", "token_endpoint"]) {
    const endpoint = URL.parse(stringMember(document, name) ?? "");
    findings.check(endpoint !== null && isConfidential(endpoint), {
      id: `bad-${name.replace("_", "-")}`,
      rule: `\`${name}\` is an HTTPS URL`,
      source: "RFC 8414 section 2",
      seen: endpoint?.href ?? "missing",
      fix: `Serve ${name} over HTTPS.`,
    });
  }
  const endpoint = URL.parse(
    stringMember(document, "authorization_endpoint") ?? "",
  );
  findings.check((endpoint?.search ?? "") === "", {
    id: "endpoint-with-query",
    rule: "`authorization_endpoint` has no query",
    source: "RFC 6749 section 3.1 allows one, the Python SDK breaks it",
    seen: endpoint?.search === "" ? "no query" : endpoint?.search ?? "missing",
    fix: "Use an endpoint without a query. In the gateway: issuerMode Proxied.",
  }, "warning");
}

function checkAbilities(document: JsonObject, findings: StepFindings): void {
  const methods = stringsAt(document, "code_challenge_methods_supported");
  findings.check(methods.includes("S256"), {
    id: "no-pkce",
    rule: "`code_challenge_methods_supported` has S256",
    source: "MCP authorization, PKCE",
    seen: methods.length === 0 ? "missing" : methods.join(", "),
    fix: "List S256 there; clients reject a server that does not.",
  });
  const types = stringsAt(document, "response_types_supported");
  findings.check(types.includes("code"), {
    id: "no-code-flow",
    rule: "`response_types_supported` has code",
    source: "RFC 8414 section 2",
    seen: types.length === 0 ? "missing" : types.join(", "),
    fix: "Support the authorization code flow, and list code.",
  });
  const auth = stringsAt(document, "token_endpoint_auth_methods_supported");
  findings.check(auth.length === 0 || auth.includes("none"), {
    id: "no-public-clients",
    rule: "`token_endpoint_auth_methods_supported` has none",
    source: "OAuth 2.1 section 2.4",
    seen: auth.length === 0 ? "missing" : auth.join(", "),
    fix:
      "Allow public clients with PKCE; programs on a user's machine cannot keep a secret.",
  }, "warning");
}

/** Checks CORS, without which pages and browser-based tools of other origins cannot read the documents. */
function checkCors(headers: Headers, findings: StepFindings): void {
  const allowed = headers.get("access-control-allow-origin");
  findings.check(allowed === "*", {
    id: "no-cors",
    rule: "Every page may read the metadata",
    source: "Fetch standard, CORS protocol",
    seen: allowed ?? "no Access-Control-Allow-Origin",
    fix:
      "Send `Access-Control-Allow-Origin: *` with the metadata; clients in a browser need it.",
  }, "warning");
}

interface Expectation {
  readonly id: string;
  readonly rule: string;
  readonly source: string;
  readonly fix: string;
  /** Replaces these when no address can be reached. */
  readonly whenUnreachable?: { readonly id: string; readonly fix: string };
}

/** Returns the first JSON document among the addresses. */
async function findDocument(
  urls: readonly string[],
  findings: StepFindings,
  { whenUnreachable, ...expectation }: Expectation,
): Promise<(Probe & { readonly json: JsonObject }) | undefined> {
  const seen: string[] = [];
  let responses = 0;
  for (const url of urls) {
    try {
      const response = await probe(url, {
        headers: {
          accept: "application/json",
          "mcp-protocol-version": PROTOCOL_VERSION,
          origin: "https://client.example.com",
        },
      });
      responses++;
      const { json } = response;
      if (response.status === 200 && json !== undefined) {
        findings.check(true, { ...expectation, seen: url });
        return { ...response, json };
      }
      const isHtml = response.status === 200;
      seen.push(
        `${url}: ${describeProbe(response)}${isHtml ? ", not JSON" : ""}`,
      );
    } catch (error) {
      if (!(error instanceof ProbeError)) throw error;
      seen.push(`${url}: ${error.message}`);
    }
  }
  findings.check(false, {
    ...expectation,
    ...(responses === 0 && whenUnreachable),
    seen: seen.join("; "),
  });
  return undefined;
}

/** Explains a `resource` that is not that of the URL. */
async function explainResource(resource: string, url: string) {
  const own = new URL(url);
  const named = URL.parse(resource);
  const seen = resource === "" ? "missing" : resource;
  if (named?.host === own.host && named.protocol !== own.protocol) {
    return {
      id: "resource-scheme",
      seen,
      fix: `${internalFix(url)} Have it send X-Forwarded-Proto, too.`,
    };
  }
  const problem = named === null || named.hostname === own.hostname
    ? undefined
    : await resolutionProblem(named.hostname);
  if (named !== null && (problem !== undefined || isInternal(named, own))) {
    return {
      id: "resource-internal",
      seen: problem === undefined ? seen : `${seen}: ${problem}`,
      fix: internalFix(url),
    };
  }
  return {
    id: "resource-mismatch",
    seen,
    fix:
      `Set resource to ${url}, in the gateway resourceMetadata.resource; behind a proxy, list it in config.trustedProxies.`,
  };
}

function internalFix(url: string): string {
  return `It is the address inside: set resource to ${url} (this gateway: resourceMetadata.resource), or list the proxy in front in config.trustedProxies.`;
}

/** Says why a hostname has no address; `undefined` if it has one. */
async function resolutionProblem(
  hostname: string,
): Promise<string | undefined> {
  try {
    await lookup(hostname.replace(/^\[|\]$/g, ""));
    return undefined;
  } catch (error) {
    return `the host "${hostname}" cannot be resolved: ${describeError(error)}`;
  }
}

/** Reports whether a URL is of this machine or of a private network, other than the one that clients use. */
function isInternal({ hostname }: URL, own: URL): boolean {
  return hostname !== own.hostname &&
    /^(?:localhost|\[|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)|^[^.]+$|\.(?:internal|local|svc|cluster\.local)$/
      .test(hostname);
}

/** Returns whether clients accept a `resource` for their URL: the same URL, or a parent path of the same origin. */
function isResourceOf(resource: string, url: string): boolean {
  const parent = URL.parse(resource);
  const { origin, pathname } = new URL(url);
  if (parent === null || parent.origin !== origin) return false;
  const base = parent.pathname.replace(/\/$/, "");
  return pathname === base || pathname.startsWith(`${base}/`);
}
