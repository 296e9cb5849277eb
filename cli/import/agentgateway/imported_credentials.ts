import { importBackendKey } from "../parts/imported_secrets.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** Credentials of the gateway at a backend, or their name if they have no counterpart. */
export type CredentialsImport =
  | { readonly credentials?: object }
  | { readonly missing: "backendAuth" };

/** Advice for credentials without a counterpart. */
const advice: ReadonlyMap<string, string> = new Map(Object.entries({
  crossAppAccess:
    "write credentials.identityAssertion with the issuers of both servers",
  jwtSign:
    "the gateway signs no tokens for backends; write credentials.jwtBearer, which gets one for a signed assertion in a file",
  oauthTokenExchange:
    "write credentials.tokenExchange or jwtBearer, with a clientId, one audience and one resource",
  copilot: "write the token as credentials.key",
  credentials: "write one key as credentials.key",
  azure: "write credentials.azure",
  gcp: "write credentials.google",
}));

/** Imports the credentials of a backend. @param owner Names it in variables. */
export function importCredentials(
  source: SourceNode | undefined,
  owner: string,
): CredentialsImport {
  const [entry, ...others] = source?.members() ?? [];
  if (source === undefined || entry === undefined) return {};
  const [kind, settings] = others.length === 0 ? entry : others[0] ?? entry;
  // Policies of the route have a counterpart of it.
  if (kind === "passthrough" && others.length === 0) return {};
  const credentials = others.length > 0
    ? undefined
    : kind === "key"
    ? importKey(settings, owner)
    : kind === "oauthTokenExchange"
    ? importExchange(settings, owner)
    : kind === "aws"
    ? importAws(settings)
    : undefined;
  if (credentials !== undefined && !settings.hasUnread()) {
    return { credentials };
  }
  const remedy = advice.get(kind);
  settings.reject(
    `backendAuth: ${kind} has no counterpart${
      credentials === undefined ? "" : " with all of its fields"
    }${remedy === undefined ? "" : `; ${remedy}`}`,
  );
  return { missing: "backendAuth" };
}

function importKey(settings: SourceNode, owner: string) {
  const place = settings.get("value") ?? settings;
  const text = place.text();
  const file = place.get("file")?.text();
  if (file !== undefined) return { file };
  return text === undefined ? undefined : importBackendKey(text, owner, place);
}

const grants: readonly string[] = ["tokenExchange", "jwtBearer"];

/** Imports tokens that the gateway gets in exchange for that of the caller. */
function importExchange(settings: SourceNode, owner: string) {
  const kind = settings.get("grantType")?.text() ?? "tokenExchange";
  const [audience, ...audiences] = settings.get("audiences")?.texts() ?? [];
  const [resource, ...resources] = settings.get("resources")?.texts() ?? [];
  const isSimple = grants.includes(kind) &&
    audiences.length + resources.length === 0;
  const client = isSimple ? importClient(settings, owner) : undefined;
  // The gateway keeps tokens as long as they are valid.
  settings.get("cache")?.plain();
  return client && {
    [kind]: {
      ...client,
      scopes: settings.get("scopes")?.texts(),
      audience,
      resource,
      parameters: importParameters(settings.get("additionalParams")),
    },
  };
}

function importClient(settings: SourceNode, owner: string) {
  const host = settings.get("host")?.text();
  const path = settings.get("path")?.text() ?? "/";
  const client = settings.get("clientAuth");
  const clientId = client?.get("clientId")?.text();
  const secret = client?.get("clientSecret");
  const method = client?.get("method")?.text();
  if (host === undefined || clientId === undefined) return undefined;
  const scheme = host.endsWith(":443") ? "https" : "http";
  const origin = /^https?:/.test(host) ? host : `${scheme}://${host}`;
  const text = secret?.text();
  const file = secret?.get("file")?.text();
  return {
    tokenEndpoint: URL.parse(path, origin)?.href,
    clientId,
    ...text !== undefined && secret !== undefined && {
      clientSecret: importBackendKey(text, `${owner} client`, secret, "secret"),
    },
    ...file !== undefined && { clientSecret: { file } },
    authMethod: method === "clientSecretPost" ? "Post" : undefined,
  };
}

/** Only parameters that are the same for all requests have counterparts: CEL strings such as `'"on_behalf_of"'`. */
function importParameters(source: SourceNode | undefined) {
  return source && Object.fromEntries(
    source.members().flatMap(([name, value]) => {
      const [, , text] = /^(["'])([^"'\\]*)\1$/.exec(value.text() ?? "") ?? [];
      if (text === undefined) {
        value.reject(
          `additionalParams.${name}: only a fixed string has a counterpart`,
        );
      }
      return text === undefined ? [] : [[name, text] as const];
    }),
  );
}

function importAws(settings: SourceNode) {
  const role = settings.get("assumeRole");
  return {
    aws: {
      service: settings.get("serviceName")?.text(),
      region: settings.get("region")?.text(),
      ...role !== undefined && {
        assumeRole: {
          roleArn: role.get("roleArn")?.text(),
          externalId: role.get("externalId")?.text(),
          sessionName: role.get("sessionName")?.text(),
        },
      },
    },
  };
}
