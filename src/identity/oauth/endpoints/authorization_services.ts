import type { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import type { GrantStore } from "../grants/grant_store.ts";
import type { ClientRules } from "../clients/client_rules.ts";
import type { OAuthClient } from "../clients/oauth_client.ts";
import type { ProviderClient } from "../provider/provider_client.ts";
import type { Seal } from "../protocol/seal.ts";

/** Addresses of the authorization server as the client sees it. */
export interface ServerUrls {
  /** Such as `https://gw.example.com`. */
  readonly origin: string;
  /** Issuer and resource: the URL of the MCP server, such as `https://gw.example.com/mcp`. */
  readonly issuer: string;
  /** Prefix of the endpoints, such as `https://gw.example.com/.well-known/oauth-authorization-server/mcp`. */
  readonly base: string;
}

/** Dependencies of the endpoints. */
export interface AuthorizationServices {
  readonly seal: Seal;
  readonly provider: ProviderClient;
  readonly grants: GrantStore;
  /** Rules of the administrator for clients. */
  readonly rules: ClientRules;
  readonly clock: Clock;
  /** @throws {OAuthError} `invalid_client` */
  findClient(id: string, cancellation: Cancellation): Promise<OAuthClient>;
}
