import {
  importApiKeys,
  importAuthorizer,
  importBasicUsers,
  importBrowserLogin,
  importMcpLogin,
  importRules,
  importTokens,
  importToolRules,
} from "./imported_access.ts";
import { importRateLimits } from "./imported_limits.ts";
import {
  importCors,
  importHeaders,
  importRedirect,
  importRewrite,
  importTransformations,
} from "./imported_changes.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** Policies of a route, by our names. */
export type ImportedPolicies = Readonly<Record<string, unknown>>;

/** Imported policies of a route. */
export interface PolicyImport {
  readonly policies: ImportedPolicies;
  readonly timeouts?: unknown;
  readonly retry?: unknown;
  /** Policies that restrict access and have no counterpart: without them, the route must not be open. */
  readonly missing: readonly string[];
}

type Importer = (source: SourceNode) => ImportedPolicies | undefined;

/** Importers by their name in the file; `undefined` means that there is no counterpart. */
const importers: Readonly<Record<string, Importer>> = {
  cors: (source) => ({ cors: importCors(source) }),
  jwtAuth: (source) => wrap("jwtAuthentication", importTokens(source)),
  mcpAuthentication: (source) =>
    wrap("jwtAuthentication", importMcpLogin(source)),
  oidc: (source) => wrap("oidc", importBrowserLogin(source)),
  basicAuth: (source) => wrap("basicAuthentication", importBasicUsers(source)),
  apiKey: (source) => wrap("apiKeyAuthentication", importApiKeys(source)),
  extAuthz: (source) => wrap("extAuthz", importAuthorizer(source)),
  authorization: (source) => wrap("authorization", importRules(source)),
  mcpAuthorization: (source) => wrap("authorization", importToolRules(source)),
  localRateLimit: (source) => wrap("rateLimit", importRateLimits(source)),
  transformations: (source) => ({
    transformation: importTransformations(source),
  }),
  requestHeaderModifier: (source) => ({
    requestHeaderModifier: importHeaders(source),
  }),
  responseHeaderModifier: (source) => ({
    responseHeaderModifier: importHeaders(source),
  }),
  urlRewrite: (source) => wrap("urlRewrite", importRewrite(source)),
  requestRedirect: (source) => ({ requestRedirect: importRedirect(source) }),
  directResponse: (source) => ({
    directResponse: {
      status: source.get("status")?.number() ?? 200,
      body: source.get("body")?.text(),
    },
  }),
};

/** Policies without which a route would let in more than it should. */
const restricting = new Set([
  "jwtAuth",
  "mcpAuthentication",
  "basicAuth",
  "apiKey",
  "authorization",
  "mcpAuthorization",
  "oidc",
  "extAuthz",
  "extProc",
  "csrf",
  "mcpGuardrails",
  "guardrails",
  "promptGuard",
]);

/** Imports the policies of a route and its listener; those of the route win. */
export function importPolicies(
  sources: readonly (SourceNode | undefined)[],
): PolicyImport {
  const policies: Record<string, unknown> = {};
  const missing: string[] = [];
  const others: { timeouts?: unknown; retry?: unknown } = {};
  for (const source of sources) {
    if (source === undefined) continue;
    source.get("remoteRateLimit")?.reject(
      "remoteRateLimit: write rateLimit.global with store.service and the numbers, which the gateway sends to the service",
    );
    const timeout = source.get("timeout");
    if (timeout !== undefined) others.timeouts = importTimeouts(timeout);
    const retry = source.get("retry");
    if (retry !== undefined) others.retry = retry.plain();
    for (const [name, importer] of Object.entries(importers)) {
      const found = source.get(name);
      if (found === undefined) continue;
      const imported = importer(found);
      // A member without a counterpart may restrict access further.
      const isLacking = imported === undefined || found.hasUnread();
      if (isLacking && restricting.has(name)) missing.push(name);
      else if (imported !== undefined) add(policies, imported);
    }
    missing.push(...rejectRestrictions(source, Object.keys(importers)));
  }
  const passes = sources.some((each) =>
    each?.get("backendAuth")?.has("passthrough") === true
  );
  const tokens = Object(policies["jwtAuthentication"]);
  // Tokens stay at the gateway only with the login of MCP clients.
  if (passes && tokens.mcp !== undefined) {
    const mcp = { ...tokens.mcp, forwardToken: true };
    policies["jwtAuthentication"] = { ...tokens, mcp };
  }
  return { policies, missing, ...others };
}

/** Reports policies that restrict access, except those of these names; returns their names. */
export function rejectRestrictions(
  source: SourceNode | undefined,
  known: readonly string[] = [],
): readonly string[] {
  return [...restricting].filter((name) => {
    if (source?.has(name) !== true || known.includes(name)) return false;
    source.get(name)?.reject(`${name}: no counterpart`);
    return true;
  });
}

/** Adds policies; rules are added to those that are there. */
function add(policies: Record<string, unknown>, added: ImportedPolicies): void {
  for (const [name, value] of Object.entries(added)) {
    const known = policies[name];
    policies[name] = name === "authorization" && known !== undefined
      ? joinRules([known, value])
      : value;
  }
}

function joinRules(all: readonly unknown[]) {
  const matchExpressions = all.flatMap((each) => {
    const policy = Reflect.get(Object(each), "policy");
    const rules: unknown = Reflect.get(Object(policy), "matchExpressions");
    return Array.isArray(rules) ? rules : [];
  });
  return { policy: { matchExpressions } };
}

function wrap(name: string, value: unknown): ImportedPolicies | undefined {
  return value === undefined ? undefined : { [name]: value };
}

function importTimeouts(source: SourceNode) {
  return {
    request: source.get("requestTimeout")?.text(),
    backendRequest: source.get("backendRequestTimeout")?.text(),
  };
}
