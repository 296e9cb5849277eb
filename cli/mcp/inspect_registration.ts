import { type JsonObject, stringMember } from "../../src/base/json.ts";
import type { StepFindings } from "./finding.ts";
import { describeProbe, probe } from "./probe.ts";

/** Redirect URI of the examination; nothing listens there. */
export const REDIRECT_URI = "http://127.0.0.1:33418/callback";

/** Registers a client as MCP clients do, unless `clientId` is given; returns its ID. */
export async function inspectRegistration(
  document: JsonObject,
  clientId: string | undefined,
  findings: StepFindings,
  redirectUri = REDIRECT_URI,
): Promise<string | undefined> {
  if (clientId !== undefined) return clientId;
  const takesDocuments =
    document["client_id_metadata_document_supported"] === true;
  const endpoint = stringMember(document, "registration_endpoint");
  findings.check(endpoint !== undefined || takesDocuments, {
    id: "no-registration",
    rule: "Clients can register, or identify themselves with a document",
    source: "MCP authorization, client registration",
    seen: endpoint ?? (takesDocuments ? "documents" : "neither"),
    fix:
      "Give each client a client ID in its settings, or let the gateway register clients: issuerMode Proxied.",
  });
  return endpoint === undefined
    ? undefined
    : await register(endpoint, redirectUri, findings);
}

/** Registers a client; returns its ID. */
async function register(
  endpoint: string,
  redirectUri: string,
  findings: StepFindings,
): Promise<string | undefined> {
  const response = await findings.reach(() =>
    probe(endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_name: "gwctl mcp doctor",
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      }),
    }), {
    id: "registration-unreachable",
    rule: "The registration endpoint can be reached",
    source: "RFC 7591 section 3",
    fix: "Correct registration_endpoint.",
  }, `${endpoint}: `);
  if (response === undefined) return undefined;
  const { status, json = {} } = response;
  const id = stringMember(json, "client_id");
  const isClosed = [401, 403, 404, 405].includes(status);
  const isRegistered = findings.check(
    [200, 201].includes(status) && id !== undefined,
    {
      id: isClosed ? "registration-closed" : "registration-refused",
      rule: "A registration gets 201 and a client ID",
      source: "RFC 7591 section 3.2.1",
      seen: describeProbe(response),
      fix: isClosed
        ? "The provider does not let clients register: allow it there (this gateway: mcp.clients.registration), give each client an ID (`--client-id` here), or use issuerMode Proxied."
        : "See the log of the provider: it may not accept the redirect URI, which has an ephemeral port of this machine.",
    },
  );
  if (!isRegistered) return undefined;
  const echoed = json["redirect_uris"];
  findings.check(Array.isArray(echoed) && echoed.includes(redirectUri), {
    id: "registration-without-redirect-uris",
    rule: "The response repeats `redirect_uris`",
    source: "RFC 7591 section 3.2.1",
    seen: JSON.stringify(echoed ?? null).slice(0, 100),
    fix:
      "Return all registered metadata; the TypeScript SDK rejects a response without redirect_uris.",
  });
  return id;
}
