import { importClientKey, importSecret } from "../parts/imported_secrets.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** Names of providers that the gateway adapts to, by those of the file. */
const providers: Readonly<Record<string, string>> = {
  auth0: "Auth0",
  keycloak: "Keycloak",
  okta: "Okta",
  descope: "Descope",
  authentik: "Authentik",
  entra: "Entra",
};

/** Imports the verification of tokens; `undefined` if it has no counterpart. */
export function importTokens(source: SourceNode) {
  const several = source.get("providers");
  const sources = several === undefined ? [source] : several.items();
  const imported = sources.map(importProvider);
  if (imported.some((provider) => provider === undefined)) return undefined;
  const location = source.get("location") ??
    source.get("authorizationLocation");
  if (location?.has("expression")) {
    location.reject("tokens are not found by expressions");
    return undefined;
  }
  return {
    mode: modeOf(source, "Optional"),
    providers: imported,
    location: location?.plain(),
  };
}

/** Imports the login of MCP clients. */
export function importMcpLogin(source: SourceNode) {
  const tokens = importTokens(source);
  if (tokens === undefined) return undefined;
  const [name] = source.get("provider")?.members().map(([name]) => name) ?? [];
  if (name !== undefined && !Object.hasOwn(providers, name)) {
    source.get("provider")?.reject(`provider ${name}: no counterpart`);
    return undefined;
  }
  return {
    ...tokens,
    mode: modeOf(source, "Strict"),
    mcp: {
      provider: name === undefined ? undefined : providers[name],
      clientId: source.get("clientId")?.text(),
      clientSecret: importSecret(source.get("clientSecret"), "mcp client"),
      resourceMetadata: importMetadata(source.get("resourceMetadata")),
    },
  };
}

/** Members are those of RFC 9728 in snake case, but for the three that this gateway knows in camel case. */
function importMetadata(source: SourceNode | undefined) {
  const known = ["resource", "scopesSupported", "bearerMethodsSupported"];
  return source && Object.fromEntries(
    source.members().map(([name, member]) => [
      known.includes(name)
        ? name
        : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      member.plain(),
    ]),
  );
}

function importProvider(source: SourceNode) {
  const jwks = source.get("jwks");
  const issuer = source.get("issuer")?.text();
  if (issuer === undefined || jwks === undefined) {
    source.reject("expected an issuer and its keys: jwks with url or file");
    return undefined;
  }
  const inline = jwks.text();
  const { url, file } = {
    url: jwks.get("url")?.text(),
    file: jwks.get("file")?.text(),
  };
  return {
    issuer,
    audiences: source.get("audiences")?.texts(),
    jwks: inline === undefined ? { url, file } : { inline },
  };
}

function modeOf(source: SourceNode, fallback: string): string {
  const mode = source.get("mode")?.text() ?? fallback;
  return mode.charAt(0).toUpperCase() + mode.slice(1);
}

/** Imports the login of users of browsers; `undefined` if it is incomplete. */
export function importBrowserLogin(source: SourceNode) {
  const issuer = source.get("issuer")?.text();
  const clientId = source.get("clientId")?.text();
  if (issuer === undefined || clientId === undefined) {
    source.reject("expected an issuer and a clientId");
    return undefined;
  }
  return {
    issuer,
    clientId,
    clientSecret: importSecret(source.get("clientSecret"), "oidc client"),
    redirectUrl: source.get("redirectURI")?.text(),
    scopes: source.get("scopes")?.texts().filter((scope) => scope !== "openid"),
  };
}

/** Imports an external authorizer; `undefined` if it is asked in a way without a counterpart. */
export function importAuthorizer(source: SourceNode) {
  const host = source.get("host")?.text();
  const protocol = source.get("protocol");
  const isHttp = protocol?.has("http") === true;
  const settings = protocol?.get(isHttp ? "http" : "grpc");
  const body = source.get("includeRequestBody");
  if (host === undefined) {
    source.reject("expected a host");
    return undefined;
  }
  return {
    [isHttp ? "http" : "grpc"]: { host },
    headersToExtAuth: source.get("includeRequestHeaders")?.texts(),
    headersToBackend: settings?.get("includeResponseHeaders")?.texts(),
    bodyToExtAuth: body && {
      maxRequestBytes: body.get("maxRequestBytes")?.number() ?? 8192,
    },
    failureMode: source.get("failureMode")?.text() === "allow"
      ? "Open"
      : undefined,
  };
}

/** Imports users with passwords. */
export function importBasicUsers(source: SourceNode) {
  const htpasswd = source.get("htpasswd");
  const lines = htpasswd?.text();
  return {
    mode: modeOf(source, "Optional"),
    realm: source.get("realm")?.text(),
    users: lines?.split("\n").filter((line) => line.trim() !== ""),
    file: htpasswd?.get("file")?.text(),
  };
}

/** Imports API keys; `undefined` if one of them has restrictions without a counterpart. */
export function importApiKeys(source: SourceNode) {
  const keys = source.get("keys")?.items() ?? [];
  const restricted = keys.filter((key) => key.has("allowedModels"));
  for (const key of restricted) {
    key.get("allowedModels")?.reject(
      "allowedModels: write a rule about llm.requestModel in authorization",
    );
  }
  if (restricted.length > 0) return undefined;
  return {
    mode: modeOf(source, "Optional"),
    keys: keys.map((key) => ({
      ...importClientKey(key.get("key")?.text()),
      ...key.has("keyHash") && { keyHash: key.get("keyHash")?.text() },
      metadata: key.get("metadata")?.plain(),
    })),
    location: source.get("location")?.plain(),
  };
}

/** Imports rules: one of those that allow must hold, all that require, and none that denies. */
export function importRules(source: SourceNode) {
  return rulesFrom(source, (allowed) => allowed);
}

/** Imports rules about tools, prompts and resources: other requests pass. */
export function importToolRules(source: SourceNode) {
  const others = "!has(mcp.tool) && !has(mcp.prompt) && !has(mcp.resource)";
  return rulesFrom(source, (rule) => `(${others}) || (${rule})`);
}

function rulesFrom(source: SourceNode, limit: (rule: string) => string) {
  const rules = source.get("rules")?.items() ?? [];
  const allow: string[] = [];
  const others: string[] = [];
  for (const rule of rules) {
    const text = rule.text() ?? rule.get("allow")?.text();
    const deny = rule.get("deny")?.text();
    const require = rule.get("require")?.text();
    if (text !== undefined) allow.push(text);
    else if (deny !== undefined) others.push(`!(${deny})`);
    else if (require !== undefined) others.push(require);
    else {
      rule.reject("expected a rule: a string, allow, deny or require");
      return undefined;
    }
  }
  const anyOf = allow.length === 1
    ? allow
    : allow.length === 0
    ? []
    : [allow.map((rule) => `(${rule})`).join(" || ")];
  const matchExpressions = [...anyOf, ...others].map(limit);
  if (matchExpressions.length === 0) {
    source.reject("expected at least one rule");
    return undefined;
  }
  return { policy: { matchExpressions } };
}
