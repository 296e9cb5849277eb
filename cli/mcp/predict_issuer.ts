import { stringMember } from "../../src/base/json.ts";
import type { StepFindings } from "./finding.ts";
import type { ServerFacts } from "./inspect_metadata.ts";
import { probe, ProbeError } from "./probe.ts";

const MAX_PARENTS = 4;

/**
 * Predicts whether clients that compare issuers get in where the metadata are those of a gateway, and users log in at the endpoint of a
 * provider: its own metadata say whether it sends `iss` with the code (RFC 9207), which is another issuer then.
 */
export async function predictIssuer(
  { issuer, document }: ServerFacts,
  findings: StepFindings,
): Promise<void> {
  const endpoint = URL.parse(
    stringMember(document, "authorization_endpoint") ?? "",
  );
  if (endpoint === null || endpoint.origin === new URL(issuer).origin) return;
  const own = await findProvider(endpoint);
  if (own === undefined) return;
  const sent = stringMember(own, "issuer");
  const sendsIssuer =
    own["authorization_response_iss_parameter_supported"] === true;
  if (!sendsIssuer || sent === undefined || sent === issuer) return;
  findings.check(false, {
    id: "iss-mismatch",
    rule: "Callbacks have `iss` of the issuer of the metadata",
    source: "RFC 9207 section 2.4",
    seen: `the provider at ${endpoint.origin} sends iss ${sent}`,
    fix: "Strict clients reject it: use issuerMode Proxied or Upstream.",
    isProbable: true,
  });
}

/** Finds the metadata of the provider that has an authorization endpoint, in its folder and those above. */
async function findProvider(endpoint: URL) {
  const parts = endpoint.pathname.split("/").slice(0, -1);
  const first = Math.max(1, parts.length - MAX_PARENTS);
  for (let length = parts.length; length >= first; length--) {
    const folder = parts.slice(0, length).join("/");
    const url = `${endpoint.origin}${folder}/.well-known/openid-configuration`;
    try {
      const { json } = await probe(url);
      const named = URL.parse(
        stringMember(json ?? {}, "authorization_endpoint") ?? "",
      );
      if (
        named?.origin === endpoint.origin &&
        named.pathname === endpoint.pathname
      ) return json;
    } catch (error) {
      // There are none at this address; the next one may have them.
      if (!(error instanceof ProbeError)) throw error;
    }
  }
  return undefined;
}
