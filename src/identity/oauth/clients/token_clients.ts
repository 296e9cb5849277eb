import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import type { Cancellation } from "../../../base/cancellation.ts";
import { type JsonObject, stringMember } from "../../../base/json.ts";
import type { KeySource } from "../../keys/key_set.ts";
import { readClaims } from "../../keys/jose.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import type { OAuthParameters } from "../protocol/oauth_parameters.ts";
import type { OAuthClient } from "./oauth_client.ts";
import { type AssertionServices, verifyAssertion } from "./signed_assertion.ts";

/** A client of the configuration, such as a program without a user. */
export interface ConfiguredClient {
  readonly id: string;
  readonly authentication:
    | { readonly method: "secret"; readonly secret: string }
    | { readonly method: "private_key_jwt"; readonly keys: KeySource };
  /** Scopes that it may have. */
  readonly scopes: readonly string[];
  /** It may get tokens for itself. */
  readonly actsForItself: boolean;
}

/** A client that has proven who it is. */
export interface AuthenticatedClient {
  readonly id: string;
  /** `undefined` for one that a document describes. */
  readonly configured: ConfiguredClient | undefined;
}

/** A request of a client at the token endpoint. */
export interface ClientRequest {
  readonly form: OAuthParameters;
  /** Header `Authorization`. */
  readonly authorization: string | undefined;
  /** Addresses of the authorization server that an assertion may be for. */
  readonly audiences: readonly string[];
  readonly cancellation: Cancellation;
}

/** Dependencies of the clients. */
export interface TokenClientsOptions extends AssertionServices {
  readonly configured: readonly ConfiguredClient[];
  /** @throws {OAuthError} `invalid_client` */
  findClient(id: string, cancellation: Cancellation): Promise<OAuthClient>;
  /** Returns the keys of a client that a document describes. */
  keysOf(client: OAuthClient): KeySource | undefined;
}

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Clients that authenticate at the token endpoint: with a secret (RFC 6749 section 2.3.1) or an assertion (RFC 7523 section 2.2). */
export class TokenClients {
  readonly #options: TokenClientsOptions;
  readonly #configured: ReadonlyMap<string, ConfiguredClient>;

  constructor(options: TokenClientsOptions) {
    const { configured } = options;
    this.#options = options;
    this.#configured = new Map(configured.map((client) => [client.id, client]));
  }

  /** Methods for the metadata (RFC 8414). */
  get methods(): readonly string[] {
    const hasSecrets = this.#options.configured.some(({ authentication }) =>
      authentication.method === "secret"
    );
    return [
      "none",
      "private_key_jwt",
      ...(hasSecrets ? ["client_secret_basic", "client_secret_post"] : []),
    ];
  }

  /** Authenticates the client of a request. @throws {OAuthError} `invalid_client` */
  async authenticate(request: ClientRequest): Promise<AuthenticatedClient> {
    const { form, authorization } = request;
    const basic = readBasic(authorization);
    const assertion = form.get("client_assertion");
    const posted = form.get("client_secret");
    if (
      [basic, assertion, posted].filter((way) => way !== undefined).length > 1
    ) {
      throw new OAuthError(
        "invalid_request",
        "the client authenticates in two ways",
      );
    }
    const named = form.get("client_id");
    const id = basic?.ids.find((each) => this.#configured.has(each)) ?? named ??
      await subjectOf(assertion);
    if (id === undefined || (named ?? id) !== id) throw unknownClient();
    const configured = this.#configured.get(id);
    if (assertion !== undefined) {
      await this.#verify(id, configured, assertion, request);
      return { id, configured };
    }
    const secrets = basic?.secrets ?? (posted === undefined ? [] : [posted]);
    const authentication = configured?.authentication;
    if (authentication?.method !== "secret") throw unknownClient();
    const { secret } = authentication;
    if (!secrets.some((each) => isEqual(each, secret))) throw unknownClient();
    return { id, configured };
  }

  async #verify(
    id: string,
    configured: ConfiguredClient | undefined,
    assertion: string,
    { form, audiences, cancellation }: ClientRequest,
  ): Promise<void> {
    if (form.get("client_assertion_type") !== ASSERTION_TYPE) {
      throw new OAuthError(
        "invalid_request",
        `client_assertion_type: expected ${ASSERTION_TYPE}`,
      );
    }
    const keys = await this.#keysOf(id, configured, cancellation);
    const claims = await verifyAssertion(assertion, {
      name: "client_assertion",
      code: "invalid_client",
      isType: isAssertionType,
      issuer: id,
      keys,
      audiences,
    }, this.#options);
    if (claims["sub"] !== id) {
      throw new OAuthError(
        "invalid_client",
        "client_assertion is rejected: sub is another one",
      );
    }
  }

  async #keysOf(
    id: string,
    configured: ConfiguredClient | undefined,
    cancellation: Cancellation,
  ): Promise<KeySource> {
    if (configured !== undefined) {
      const { authentication } = configured;
      if (authentication.method === "private_key_jwt") {
        return authentication.keys;
      }
      throw unknownClient();
    }
    const { findClient, keysOf } = this.#options;
    const keys = keysOf(await findClient(id, cancellation));
    if (keys !== undefined) return keys;
    throw unknownClient();
  }
}

/** Accepts the types of RFC 7523 and of its successor. Tokens for other purposes have types of their own. */
function isAssertionType(typ: unknown): boolean {
  return typ === undefined ||
    typeof typ === "string" &&
      /^(?:application\/)?(?:client-authentication\+)?jwt$/i.test(typ);
}

async function subjectOf(
  assertion: string | undefined,
): Promise<string | undefined> {
  if (assertion === undefined) return undefined;
  const claims: JsonObject = { ...await readClaims(assertion) };
  return stringMember(claims, "sub");
}

/** Reads ID and secret as RFC 6749 section 2.3.1 encodes them, and as many clients send them: without that encoding. */
function readBasic(authorization: string | undefined) {
  const encoded = /^basic +([\w+/]+=*)$/i.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  const at = pair.indexOf(":");
  if (at < 0) return undefined;
  const [id, secret] = [pair.slice(0, at), pair.slice(at + 1)];
  return {
    ids: [id, formDecode(id)],
    secrets: [secret, formDecode(secret)],
  };
}

function formDecode(text: string): string {
  return new URLSearchParams(`_=${text.replaceAll("&", "%26")}`).get("_") ?? "";
}

/** Compares in a time that says nothing about the values. */
function isEqual(some: string, other: string): boolean {
  const [one, two] = [some, other].map((text) =>
    createHash("sha256").update(text).digest()
  );
  return one !== undefined && two !== undefined && timingSafeEqual(one, two);
}

function unknownClient(): OAuthError {
  return new OAuthError(
    "invalid_client",
    "the client is unknown, or has not proven who it is",
  );
}
