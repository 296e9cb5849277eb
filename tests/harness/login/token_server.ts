// @ts-types="../../../cli/dev/idp/oidc_provider.d.ts"
import type { Context, Provider } from "oidc-provider";
import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  jwtVerify,
} from "jose";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { startGenericIdp } from "./generic_idp.ts";
import { createTokenIssuer, type TokenIssuer } from "./tokens.ts";

/** Secret of the client `gateway`. */
export const CLIENT_SECRET = "planted/client+secret-41c8";

/** A request for a token, with the client that was authenticated. */
interface TokenRequest {
  readonly client: string | undefined;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** An authorization server that issues tokens for services, bound to the key of a proof if there is one, to `gateway` with a secret and to `signer` with a key. */
export interface TokenServer extends AsyncDisposable {
  readonly idp: Idp;
  /** Issuer of the tokens of users, which the server trusts. */
  readonly users: TokenIssuer;
  /** Private key of `signer`, PEM. */
  readonly privateKey: string;
  /** Requests for tokens so far. */
  readonly requests: readonly TokenRequest[];
  /** Response to all requests for tokens, in place of tokens. */
  fault: { readonly status: number; readonly body: unknown } | undefined;
  /** Users that get no tokens. */
  readonly blocked: Set<string>;
  /** The server issues tokens without `act`, whatever it is asked for. */
  ignoresActor: boolean;
}

const GRANT = "urn:ietf:params:oauth:grant-type:";

/** Starts `oidc-provider` with client credentials, and grants for token exchange (RFC 8693) and assertions (RFC 7523). */
export async function startTokenServer(): Promise<TokenServer> {
  const users = await createTokenIssuer({ issuer: "https://users.example/" });
  const { publicKey, privateKey } = await generateKeyPair("ES256", {
    extractable: true,
  });
  const requests: TokenRequest[] = [];
  const state = {
    fault: undefined as TokenServer["fault"],
    blocked: new Set<string>(),
    ignoresActor: false,
  };
  const common = {
    grant_types: [
      "client_credentials",
      `${GRANT}token-exchange`,
      `${GRANT}jwt-bearer`,
    ],
    redirect_uris: [],
    response_types: [],
  };
  const idp = await startGenericIdp({
    sendsIssuer: true,
    clients: [
      { ...common, client_id: "gateway", client_secret: CLIENT_SECRET },
      {
        ...common,
        client_id: "signer",
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_signing_alg: "ES256",
        jwks: {
          keys: [{ ...await exportJWK(publicKey), kid: "k", use: "sig" }],
        },
      },
    ],
    prepare(provider) {
      provider.use(async (context, next) => {
        if (context.path !== "/token") return await next();
        if (state.fault === undefined) await next();
        else {
          context.status = state.fault.status;
          context.body = state.fault.body;
        }
        const { client, params = {} } = context.oidc ?? {};
        requests.push({ client: client?.clientId, parameters: { ...params } });
      });
      addGrants(provider, users, state);
    },
  });
  return Object.assign(state, {
    idp,
    users,
    privateKey: await exportPKCS8(privateKey),
    requests,
    [Symbol.asyncDispose]: () => idp[Symbol.asyncDispose](),
  });
}

function addGrants(
  provider: Provider,
  users: TokenIssuer,
  state: Pick<TokenServer, "blocked" | "ignoresActor">,
): void {
  const keys = createLocalJWKSet({ keys: [users.jwk] });
  const issue = async (
    context: Context,
    subjectToken: string,
    actorToken: string | undefined,
  ) => {
    const subject = await jwtVerify(subjectToken, keys).then(
      ({ payload: { sub } }) => sub,
      () => undefined,
    );
    if (subject === undefined || state.blocked.has(subject)) {
      context.status = 400;
      context.body = {
        error: "invalid_grant",
        error_description: subjectToken,
      };
      return;
    }
    const { client } = context.oidc;
    const act = actorToken !== undefined && !state.ignoresActor
      ? { act: { sub: subjectOf(actorToken) ?? client?.clientId } }
      : {};
    const token = new provider.AccessToken({
      accountId: subject,
      client,
      extra: act,
    });
    const proof = context.get("dpop");
    if (proof !== "") token.jkt = await thumbprintOf(proof);
    const resource = String(context.oidc.params?.["resource"] ?? "urn:any");
    token.resourceServer = {
      audience: resource,
      scope: "",
      accessTokenFormat: "jwt",
      identifier: () => resource,
    };
    context.body = {
      access_token: await token.save(),
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
      token_type: proof === "" ? "Bearer" : "DPoP",
      expires_in: 3600,
    };
  };
  const text = (value: unknown) =>
    typeof value === "string" ? value : undefined;
  provider.registerGrantType(`${GRANT}token-exchange`, async (context) => {
    const { subject_token, actor_token } = context.oidc.params ?? {};
    await issue(context, text(subject_token) ?? "", text(actor_token));
  }, [
    "subject_token",
    "subject_token_type",
    "requested_token_type",
    "actor_token",
    "actor_token_type",
    "resource",
    "audience",
    "scope",
  ]);
  provider.registerGrantType(`${GRANT}jwt-bearer`, async (context) => {
    await issue(
      context,
      text(context.oidc.params?.["assertion"]) ?? "",
      undefined,
    );
  }, ["assertion", "resource", "audience", "scope"]);
}

/** Returns the thumbprint of the key of a proof (RFC 9449). */
async function thumbprintOf(proof: string): Promise<string> {
  const { jwk } = decodeProtectedHeader(proof);
  if (jwk === undefined) throw new TypeError("The proof has no key");
  return await calculateJwkThumbprint(jwk);
}

/** Tokens of the server itself are opaque, unless they are for a service. */
function subjectOf(token: string): string | undefined {
  return token.includes(".") ? decodeJwt(token).sub : undefined;
}
