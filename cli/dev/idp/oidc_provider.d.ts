/**
 * Types of the npm package `oidc-provider` as far as this folder uses it; it has none. `@types/oidc-provider` depends on a
 * version of Node's types that conflicts with Deno's.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

export interface Context {
  readonly path: string;
  /** Returns a header of the request; an empty string when there is none. */
  get(header: string): string;
  status: number;
  /** Set while a request is for one of the endpoints. */
  readonly oidc: {
    readonly route: string;
    readonly params?: Record<string, unknown>;
    readonly body?: Readonly<Record<string, unknown>>;
    readonly client?: { readonly clientId: string };
  };
  body: unknown;
  readonly response: {
    /** An empty string when there is no such header. */
    get(header: string): string;
    set(header: string, value: string): void;
  };
}

export interface AdapterPayload {
  uid?: string;
  userCode?: string;
  grantId?: string;
  consumed?: unknown;
}

export interface Adapter {
  upsert(id: string, payload: AdapterPayload): Promise<void>;
  find(id: string): Promise<AdapterPayload | undefined>;
  findByUserCode(userCode: string): Promise<AdapterPayload | undefined>;
  findByUid(uid: string): Promise<AdapterPayload | undefined>;
  consume(id: string): Promise<void>;
  destroy(id: string): Promise<void>;
  revokeByGrantId(grantId: string): Promise<void>;
}

export interface Account {
  readonly accountId: string;
  claims(): { readonly sub: string };
}

export interface ResourceServer {
  readonly audience: string;
  readonly scope: string;
  readonly accessTokenFormat: "jwt" | "opaque";
}

export interface Features {
  readonly introspection?: { readonly enabled: boolean };
  readonly backchannelLogout?: { readonly enabled: boolean };
  readonly clientCredentials?: { readonly enabled: boolean };
  /** `ack` is the draft version, as the package requires. */
  readonly clientIdMetadataDocument?: {
    readonly enabled: boolean;
    readonly ack: "draft-02";
  };
  readonly dPoP?: {
    readonly enabled: boolean;
    /** 32 bytes. */
    readonly nonceSecret: Uint8Array;
    requireNonce(): boolean;
  };
  readonly devInteractions?: { readonly enabled: boolean };
  readonly registration?: {
    readonly enabled: boolean;
    readonly initialAccessToken?: string;
  };
  readonly revocation?: {
    readonly enabled: boolean;
    allowedPolicy(context: Context, client: unknown, token: unknown): boolean;
  };
  readonly resourceIndicators?: {
    readonly enabled: boolean;
    defaultResource?(
      context: Context,
      client: unknown,
      oneOf?: readonly string[],
    ): string | undefined;
    getResourceServerInfo(context: Context, resource: string): ResourceServer;
    useGrantedResource(): boolean;
  };
}

export interface Configuration {
  readonly adapter?: (model: string) => Adapter;
  readonly clientBasedCORS?: () => boolean;
  readonly clients?: readonly Readonly<Record<string, unknown>>[];
  readonly cookies?: { readonly keys: readonly string[] };
  readonly extraParams?: readonly string[];
  readonly extraTokenClaims?: (
    context: Context,
    token: {
      readonly kind: string;
      readonly accountId?: string;
      readonly extra?: Readonly<Record<string, unknown>>;
    },
  ) => Readonly<Record<string, unknown>>;
  readonly features?: Features;
  /** Fetches documents whose URL is a client ID, and notifies clients of logouts. */
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
  readonly findAccount?: (context: Context, sub: string) => Account;
  readonly interactions?: {
    url(context: Context, interaction: { readonly uid: string }): string;
  };
  readonly jwks?: { readonly keys: readonly JsonWebKey[] };
  readonly renderError?: (
    context: Context,
    error: { readonly error: string; readonly error_description?: string },
  ) => void;
  readonly routes?: Readonly<Record<string, string>>;
  readonly scopes?: readonly string[];
  readonly ttl?: Readonly<Record<string, number>>;
}

export interface Grant {
  readonly accountId: string;
  addOIDCScope(scope: string): void;
  addResourceScope(resource: string, scope: string): void;
  save(): Promise<string>;
}

export class Provider {
  constructor(issuer: string, configuration: Configuration);
  readonly issuer: string;
  readonly Grant: {
    new (owner: { accountId: string; clientId: string }): Grant;
    find(id: string): Promise<Grant | undefined>;
  };
  readonly AccessToken: new (
    owner: {
      readonly accountId: string;
      readonly client: unknown;
      readonly extra?: Readonly<Record<string, unknown>>;
    },
  ) => {
    resourceServer: unknown;
    /** Thumbprint of the key that it is bound to (RFC 9449). */
    jkt?: string;
    save(): Promise<string>;
  };
  /** Adds a grant; the handler sets the body of the response. */
  registerGrantType(
    name: string,
    handler: (context: Context) => Promise<void>,
    parameters: readonly string[],
  ): void;
  use(
    middleware: (context: Context, next: () => Promise<void>) => Promise<void>,
  ): void;
  callback(): (request: IncomingMessage, response: ServerResponse) => unknown;
  interactionDetails(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{
    readonly params: Readonly<Record<string, unknown>>;
    readonly grantId?: string;
  }>;
  interactionFinished(
    request: IncomingMessage,
    response: ServerResponse,
    result: Readonly<Record<string, unknown>>,
  ): Promise<void>;
}
