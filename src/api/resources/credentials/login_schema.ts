import { caCertificateRefs } from "../../schema/ca_reference.ts";
import { httpUrl } from "../../schema/scalars.ts";
import * as s from "../../schema/schema.ts";
import {
  ownParametersRule,
  scopeList,
  tokenClientEntries,
} from "./token_client.ts";

const {
  clientSecret,
  authMethod,
  privateKey,
  keyId,
  signingAlgorithm,
  dpop,
} = tokenClientEntries;

/** Parameters of authorization requests that other fields decide, or that change how the gateway gets the response. */
const ownParameters: ReadonlySet<string> = new Set([
  "client_id",
  "code_challenge",
  "code_challenge_method",
  "dpop_jkt",
  "redirect_uri",
  "request",
  "request_uri",
  "resource",
  "response_mode",
  "response_type",
  "scope",
  "state",
]);

/** A login of users at the service behind a backend. */
export const userLogin = s.refine(
  s.object({
    resource: s.field(
      "URL of the service (RFC 8707, RFC 9728). Default: `url` or `sse` of an MCP server.",
      s.optional(httpUrl),
    ),
    issuer: s.field(
      "Issuer of the authorization server. Default: the first that the metadata of the service names.",
      s.optional(httpUrl),
    ),
    authorizationEndpoint: s.field(
      "Authorization endpoint of a server without metadata, together with `tokenEndpoint`.",
      s.optional(httpUrl),
    ),
    tokenEndpoint: s.field(
      "Token endpoint of a server without metadata.",
      s.optional(httpUrl),
    ),
    revocationEndpoint: s.field(
      "Revocation endpoint of a server without metadata (RFC 7009).",
      s.optional(httpUrl),
    ),
    clientId: s.field(
      "Client ID of the gateway at `issuer`, or at the endpoints. Default: the gateway identifies by the URL of a document that describes it, or registers (RFC 7591).",
      s.optional(s.text(2048)),
    ),
    clientSecret,
    authMethod,
    privateKey,
    keyId,
    signingAlgorithm,
    dpop,
    tls: s.field(
      "Verification of the certificates of the authorization server, and of the service when the gateway asks for its metadata. Default: the system's CAs.",
      s.optional(
        s.object({ caCertificateRefs }),
      ),
    ),
    scopes: s.field(
      "Scopes of a login, besides those that the service asks for. Default: those of the metadata of the service, and `offline_access` if the server has it.",
      s.optional(scopeList),
    ),
    parameters: s.field(
      "Further parameters of authorization requests, such as `access_type`, or `audience` at Auth0.",
      s.optional(s.map(s.text(128), s.text(4096))),
    ),
  }),
  s.atMostOne("clientSecret", "privateKey"),
  s.rule<
    {
      readonly clientId?: string;
      readonly clientSecret?: unknown;
      readonly privateKey?: unknown;
    }
  >(
    ({ clientId, clientSecret, privateKey }) =>
      clientId !== undefined ||
      clientSecret === undefined && privateKey === undefined,
    '"clientId" is required with "clientSecret" or "privateKey"',
  ),
  s.rule<
    {
      readonly clientId?: string;
      readonly issuer?: string;
      readonly tokenEndpoint?: string;
    }
  >(
    ({ clientId, issuer, tokenEndpoint }) =>
      clientId === undefined || issuer !== undefined ||
      tokenEndpoint !== undefined,
    '"clientId" needs "issuer": its secret must not go to a server that a service names',
  ),
  s.rule<
    {
      readonly authorizationEndpoint?: string;
      readonly tokenEndpoint?: string;
      readonly clientId?: string;
    }
  >(
    ({ authorizationEndpoint, tokenEndpoint, clientId }) =>
      authorizationEndpoint === undefined && tokenEndpoint === undefined ||
      authorizationEndpoint !== undefined && tokenEndpoint !== undefined &&
        clientId !== undefined,
    '"authorizationEndpoint", "tokenEndpoint" and "clientId" are used together',
  ),
  ownParametersRule(ownParameters),
);

/** A login of users at the service behind a backend. */
export type UserLoginResource = s.Infer<typeof userLogin>;
