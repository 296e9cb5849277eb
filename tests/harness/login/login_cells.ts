/** Issuer modes of the gateway. */
export const issuerModes = ["Proxied", "Upstream", "Gateway"] as const;
/** Kinds of providers. */
export const providerKinds = ["Auth0", "Descope", "generic"] as const;
/** Sources of a client's ID, in the order of the columns in the documentation. */
export const identities = [
  "registers",
  "registers at the gateway",
  "client ID",
  "metadata document",
] as const;

export type IssuerMode = (typeof issuerModes)[number];
export type ProviderKind = (typeof providerKinds)[number];
export type Identity = (typeof identities)[number];

/** Configuration of gateway and provider, and the source of client IDs. */
export interface LoginSetting {
  readonly issuerMode: IssuerMode;
  readonly provider: ProviderKind;
  /** True if the provider sends `iss` (RFC 9207). */
  readonly sendsIssuer: boolean;
  readonly identity: Identity;
}

/** Differences between clients that decide who logs in. */
export interface ClientTraits {
  /** True if the client compares `iss` with the issuer in the metadata. */
  readonly isStrict: boolean;
  readonly language: "TypeScript" | "Python";
}

/** Groups of clients, as the cells of the documentation name them. */
const groups: Readonly<Record<string, (client: ClientTraits) => boolean>> = {
  "all": () => true,
  "none": () => false,
  "all but strict": ({ isStrict }) => !isStrict,
  "all but Python": ({ language }) => language !== "Python",
  "version 1 of the TypeScript SDK": ({ isStrict, language }) =>
    !isStrict && language === "TypeScript",
};

/** A setting, and which clients log in there. */
export interface LoginCell extends LoginSetting {
  logsIn(client: ClientTraits): boolean;
}

/**
 * Reads the table of logins in `docs/mcp_login_reference.md`: it has one row or more for each mode, provider and `iss`, and one column for
 * each identity. A cell names the clients that log in.
 * @throws {Error} If the table does not have every setting exactly once, or a cell names no known group.
 */
export async function readLoginCells(): Promise<readonly LoginCell[]> {
  const page = await Deno.readTextFile(
    new URL("../../../docs/mcp_login_reference.md", import.meta.url),
  );
  const rows = page.split("\n").filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()))
    .filter(({ length }) => length === 3 + identities.length);
  return issuerModes.flatMap((issuerMode) =>
    providerKinds.flatMap((provider) =>
      [false, true].flatMap((sendsIssuer) => {
        const matching = rows.filter(([mode, kind, iss]) =>
          mode === `\`${issuerMode}\`` &&
          (kind === "any" || kind === provider) &&
          (iss === "any" || iss === (sendsIssuer ? "yes" : "no"))
        );
        const [row] = matching;
        const setting = { issuerMode, provider, sendsIssuer };
        if (row === undefined || matching.length > 1) {
          throw new Error(
            `docs/mcp_login_reference.md: expected one row for ${
              JSON.stringify(setting)
            }, got ${matching.length}`,
          );
        }
        return identities.map((identity, index) => ({
          ...setting,
          identity,
          logsIn: groupOf(row[3 + index] ?? ""),
        }));
      })
    )
  );
}

function groupOf(name: string): LoginCell["logsIn"] {
  const group = Object.hasOwn(groups, name) ? groups[name] : undefined;
  if (group !== undefined) return group;
  throw new Error(
    `docs/mcp_login_reference.md: unknown group "${name}", expected one of ${
      Object.keys(groups).join(", ")
    }`,
  );
}

/** Formats a setting: `Gateway, Auth0 with iss, metadata document`. */
export function describeSetting(
  { issuerMode, provider, sendsIssuer, identity }: LoginSetting,
): string {
  return `${issuerMode}, ${provider}${
    sendsIssuer ? " with iss" : ""
  }, ${identity}`;
}

/** The error of a client that cannot log in. */
export function failureOf(
  { issuerMode, provider, identity }: LoginSetting,
  { language }: ClientTraits,
): RegExp {
  if (provider === "Auth0" && issuerMode === "Upstream") {
    // The provider issues opaque tokens, which the gateway rejects with 401.
    return /unauthorized|401|log in again|returned an error response/i;
  }
  if (provider === "Auth0" && language === "Python") {
    // They append "?…" to an endpoint that has a query.
    return /missing required parameter 'response_type'/;
  }
  const registersAtProvider = identity === "registers" ||
    identity === "registers at the gateway" && issuerMode === "Upstream";
  return provider === "Descope" && registersAtProvider
    ? /initial access token|no access token|registration failed/i
    : /issuer|iss mismatch/i;
}
