import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../src/base/json.ts";
import { type ClientVerdict, judgeClients } from "./client_profiles.ts";
import { type Finding, Findings, type StepFindings } from "./finding.ts";
import { inspectAuthorization } from "./inspect_authorization.ts";
import { inspectChallenge } from "./inspect_challenge.ts";
import { inspectResource, inspectServer } from "./inspect_metadata.ts";
import { inspectRegistration, REDIRECT_URI } from "./inspect_registration.ts";
import {
  type CallbackListener,
  listenForCallback,
  type Login,
  logIn,
  LoginError,
  type Tokens,
} from "./log_in.ts";
import { explainRejection } from "./explain_rejection.ts";
import { McpError, McpSession } from "./mcp_session.ts";
import { predictIssuer } from "./predict_issuer.ts";
import { ProbeError } from "./probe.ts";

/** Options of an examination. */
export interface ExaminationOptions {
  /** ID of a registered client; without one, the examination registers a client. */
  readonly clientId?: string | undefined;
  /** Opens a URL in the browser; without it, nobody logs in. */
  readonly openBrowser?: ((url: string) => Promise<void>) | undefined;
}

/** Result of an examination. */
export interface Examination {
  readonly url: string;
  readonly findings: readonly Finding[];
  readonly clients: readonly ClientVerdict[];
  /** Tokens and client of a login that succeeded. */
  readonly login?: { readonly login: Login; readonly tokens: Tokens };
}

/** PKCE challenge (RFC 7636) without a known verifier: this login is never completed. */
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** Takes the steps of a login as clients do, until one fails. */
export async function examine(
  url: string,
  options: ExaminationOptions = {},
): Promise<Examination> {
  const findings = new Findings();
  const login = await takeSteps(url, options, findings);
  const clients = judgeClients(findings);
  return {
    url,
    findings: findings.all,
    clients,
    ...(login !== undefined && { login }),
  };
}

async function takeSteps(
  url: string,
  { clientId, openBrowser }: ExaminationOptions,
  findings: Findings,
): Promise<Examination["login"]> {
  const challenge = await inspectChallenge(url, findings.at("challenge"));
  if (!challenge.asksForLogin) return undefined;
  const resource = await inspectResource(
    url,
    challenge.resourceMetadata,
    findings.at("resource metadata"),
  );
  if (resource === undefined) return undefined;
  const server = await inspectServer(
    resource.issuer,
    findings.at("server metadata"),
  );
  if (server === undefined) return undefined;
  await predictIssuer(server, findings.at("server metadata"));
  await using listener = openBrowser && listenForCallback();
  const redirectUri = listener?.redirectUri ?? REDIRECT_URI;
  const registered = await inspectRegistration(
    server.document,
    clientId,
    findings.at("registration"),
    redirectUri,
  );
  if (registered === undefined) return undefined;
  const scopes = resource.document["scopes_supported"];
  const login = {
    ...server,
    clientId: registered,
    resource: stringMember(resource.document, "resource") ?? url,
    scope: challenge.scope ??
      (Array.isArray(scopes) ? scopes.join(" ") : undefined),
  };
  await inspectAuthorization(
    server.document,
    { ...login, redirectUri, challenge: CHALLENGE, state: "doctor" },
    findings.at("authorization"),
  );
  if (openBrowser === undefined || listener === undefined) return undefined;
  return await useLogin(url, login, { listener, openBrowser, findings });
}

async function useLogin(
  url: string,
  login: Login,
  { listener, openBrowser, findings }: {
    readonly listener: CallbackListener;
    readonly openBrowser: (url: string) => Promise<void>;
    readonly findings: Findings;
  },
): Promise<Examination["login"]> {
  const steps = findings.at("login");
  const rule = "A user can log in";
  try {
    const tokens = await logIn(login, listener, openBrowser);
    steps.check(true, {
      id: "logged-in",
      rule,
      source: "RFC 6749 section 4.1",
      seen: tokens.refreshToken === undefined
        ? "access token, no refresh token"
        : "access token and refresh token",
    });
    await callServer(url, tokens, findings.at("MCP"));
    return { login, tokens };
  } catch (error) {
    if (!(error instanceof LoginError || error instanceof ProbeError)) {
      throw error;
    }
    steps.check(false, {
      id: error instanceof LoginError ? error.id : "login-failed",
      rule,
      source: "RFC 6749 section 4.1, RFC 9207",
      seen: error.message,
      fix:
        "See the log of the authorization server; for another iss, use issuerMode Proxied or Upstream.",
    });
    return undefined;
  }
}

/** Lists the tools, and calls one that needs no arguments, if there is one. */
async function callServer(
  url: string,
  { accessToken }: Tokens,
  findings: StepFindings,
): Promise<void> {
  const common = {
    rule: "The server accepts the token",
    source: "MCP authorization, access token usage",
  };
  try {
    const session = await McpSession.open(url, accessToken);
    const tools = await session.listTools();
    const simple = tools.find(needsNoArguments);
    const name = simple?.["name"];
    if (typeof name === "string") {
      await session.request("tools/call", { name, arguments: {} });
    }
    await session.close();
    findings.check(session.missingServers.length === 0, {
      id: "servers-missing",
      rule: "All servers behind the endpoint respond",
      source: "",
      seen: session.missingServers.join(", ") || "all",
      fix:
        "See `gwctl mcp servers`; their tools are not listed until they respond.",
    }, "warning");
    findings.check(true, {
      ...common,
      id: "token-accepted",
      seen: `${tools.length} tools${
        typeof name === "string" ? `, called ${name}` : ""
      }`,
    });
  } catch (error) {
    if (!(error instanceof McpError || error instanceof ProbeError)) {
      throw error;
    }
    findings.check(false, { ...common, ...explainRejection(error) });
  }
}

function needsNoArguments({ inputSchema }: JsonObject): boolean {
  if (!isJsonObject(inputSchema)) return false;
  const { required = [] } = inputSchema;
  return Array.isArray(required) && required.length === 0;
}
