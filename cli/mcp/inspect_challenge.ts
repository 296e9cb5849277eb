import type { StepFindings } from "./finding.ts";
import {
  describeProbe,
  initializeRequest,
  type Probe,
  probe,
} from "./probe.ts";

/** Login facts in the first response of the server. */
export interface Challenge {
  /** `false` when the server lets everybody in, or is no MCP server. */
  readonly asksForLogin: boolean;
  /** URL of the resource metadata, if the challenge names one. */
  readonly resourceMetadata: string | undefined;
  readonly scope: string | undefined;
}

/** Sends the first request of an MCP client, without a token. */
export async function inspectChallenge(
  url: string,
  findings: StepFindings,
): Promise<Challenge> {
  const none = {
    asksForLogin: false,
    resourceMetadata: undefined,
    scope: undefined,
  };
  const response = await findings.reach(
    () => probe(url, initializeRequest()),
    (message) => ({
      rule: "The server can be reached",
      source: "",
      ...(/certificate/i.test(message)
        ? {
          id: "unknown-certificate",
          fix:
            "No authority that this machine trusts has issued the certificate, or it is for another name. Run the command with `DENO_CERT=ca.pem` to trust yours; clients need it, too, such as with NODE_EXTRA_CA_CERTS.",
        }
        : {
          id: "unreachable",
          fix:
            "Check host, port, scheme and certificate; the address is that of the MCP endpoint, such as https://mcp.example.com/mcp.",
        }),
    }),
  );
  if (response === undefined) return none;
  if (!checkStatus(response, findings)) return none;
  const header = response.headers.get("www-authenticate") ?? "";
  const hasBearer = findings.check(/\bbearer\b/i.test(header), {
    id: "no-challenge",
    rule: "A 401 has a Bearer challenge",
    source: "RFC 6750 section 3",
    seen: header === "" ? "no WWW-Authenticate header" : header.slice(0, 120),
    fix:
      'Send `WWW-Authenticate: Bearer resource_metadata="…"` with each 401. Behind a proxy, check that it does not remove the header.',
  });
  if (!hasBearer) return { ...none, asksForLogin: true };
  return checkParameters(header, findings);
}

function checkParameters(header: string, findings: StepFindings): Challenge {
  const resourceMetadata = parameterOf(header, "resource_metadata");
  findings.check(resourceMetadata !== undefined, {
    id: "challenge-without-metadata",
    rule: "The challenge names the resource metadata",
    source: "RFC 9728 section 5.1",
    seen: resourceMetadata ?? "no parameter resource_metadata",
    fix:
      "Add resource_metadata to the challenge; until then clients guess the well-known paths.",
  }, "warning");
  findings.check(parameterOf(header, "error") === undefined, {
    id: "error-without-token",
    rule: "A challenge to a request without a token has no error code",
    source: "RFC 6750 section 3.1",
    seen: parameterOf(header, "error") ?? "no error",
    fix:
      "Leave `error` out where no token was sent; some clients discard their login when they see it.",
  }, "warning");
  return {
    asksForLogin: true,
    resourceMetadata,
    scope: parameterOf(header, "scope"),
  };
}

function checkStatus(response: Probe, findings: StepFindings): boolean {
  const { status, headers } = response;
  const seen = describeProbe(response);
  const common = {
    rule: "A request without a token gets 401",
    source: "MCP authorization, error handling",
  };
  if (status === 401) {
    return findings.check(true, { ...common, id: "asks-for-login", seen });
  }
  const [id, fix] = status < 300
    ? [
      "not-protected",
      "The server lets everybody in: protect the route with jwtAuthentication.",
    ]
    : status < 400
    ? [
      "redirected",
      `Use the address that it redirects to, ${
        headers.get("location")
      }: clients do not follow redirects to another origin.`,
    ]
    : status === 403
    ? [
      "forbidden-not-challenged",
      "Respond with 401, not 403, where no token was sent: clients start a login on 401 only.",
    ]
    : status >= 500
    ? [
      "server-error",
      "The server fails before it asks for a login; look into its log.",
    ]
    : [
      "no-mcp-endpoint",
      "There is no MCP endpoint at this address; it often ends with /mcp.",
    ];
  return findings.check(false, { ...common, id, seen, fix });
}

/** A parameter of a challenge, quoted or not (RFC 9110 section 11.2). */
function parameterOf(header: string, name: string): string | undefined {
  const match = new RegExp(
    String.raw`(?:^|[\s,])${name}\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))`,
    "i",
  ).exec(header);
  return match?.[1]?.replace(/\\(.)/g, "$1") ?? match?.[2];
}
