import { nearest } from "../../api/schema/suggest.ts";
import { showValues } from "../../base/log/log_text.ts";
import { adapterOf } from "../../identity/providers/adapters.ts";
import type { PolicyProblem } from "../contract/policy_kind.ts";
import type { JwtAuthentication } from "./schema/jwt_schema.ts";

type Providers = JwtAuthentication["providers"];
type Mcp = NonNullable<JwtAuthentication["mcp"]>;

/** Returns the issuers whose tokens are accepted, each once. */
export function issuersOf(providers: Providers): readonly string[] {
  return [...new Set(providers.map(({ issuer }) => issuer))];
}

/** Returns the issuer mode, which the kind of provider decides unless it is set. */
export function issuerModeOf(
  { issuerMode, provider }: Mcp,
): NonNullable<Mcp["issuerMode"]> {
  const adapter = provider === undefined ? undefined : adapterOf(provider);
  return issuerMode ?? adapter?.defaultIssuerMode ?? "Upstream";
}

/** Returns the index of the provider at which users log in: the first with `mcp.issuer`, or the first of all; -1 for an unknown issuer. */
export function loginProviderIndex(
  { providers, mcp }: JwtAuthentication,
): number {
  const named = mcp?.issuer;
  return named === undefined
    ? 0
    : providers.findIndex(({ issuer }) => issuer === named);
}

/** Finds missing or invalid settings of the providers of an MCP server, and which of them logs in users. */
export function checkLoginProvider(
  config: JwtAuthentication,
): readonly PolicyProblem[] {
  const { providers, mcp } = config;
  if (mcp === undefined) return [];
  const loginIndex = loginProviderIndex(config);
  const isListed = (index: number) =>
    index === loginIndex || issuerModeOf(mcp) === "Upstream";
  return [
    ...checkChoice(providers, mcp),
    ...providers.flatMap(({ issuer }, index) =>
      isListed(index)
        ? checkIssuer(issuer, index, index === loginIndex ? mcp : {})
        : []
    ),
  ];
}

/** Warns of providers whose tokens are accepted whatever they were issued for. */
export function checkAudiences(providers: Providers): readonly PolicyProblem[] {
  return providers.flatMap(({ audiences }, index): PolicyProblem[] =>
    audiences !== undefined ? [] : [{
      path: ["providers", index],
      message:
        "`audiences` is not set: tokens issued for other servers would be accepted",
      isWarning: true,
    }]
  );
}

/** Finds an `mcp.issuer` that is missing or unknown. */
function checkChoice(
  providers: Providers,
  mcp: Mcp,
): readonly PolicyProblem[] {
  const issuers = issuersOf(providers);
  const mode = issuerModeOf(mcp);
  const { issuer } = mcp;
  if (issuer === undefined) {
    if (issuers.length === 1 || mode === "Upstream") return [];
    const message =
      `Cannot decide at which provider users log in: with issuerMode "${mode}" and several issuers, set mcp.issuer to one of ${
        showValues(issuers)
      }`;
    return [{ path: ["mcp"], message }];
  }
  if (issuers.includes(issuer)) return [];
  const message = `Cannot log in at "${issuer}": no provider has this issuer`;
  const suggestion = nearest(issuer, issuers);
  return [{ path: ["mcp", "issuer"], message, suggestion }];
}

/** Finds an issuer without metadata, or one that does not suit the kind of provider. */
function checkIssuer(
  issuer: string,
  index: number,
  { provider }: Pick<Mcp, "provider">,
): readonly PolicyProblem[] {
  const path = ["providers", index, "issuer"];
  if (!/^https?:\/\//i.test(issuer) || !URL.canParse(issuer)) {
    const message = "Cannot get the metadata of the issuer: expected a URL";
    return [{ path, message }];
  }
  const adapter = provider === undefined ? undefined : adapterOf(provider);
  const doubt = adapter?.issuerProblem(issuer);
  if (doubt === undefined) return [];
  const message = `Cannot be an issuer of ${provider}: ${doubt}`;
  return [{ path, message, isWarning: true }];
}
