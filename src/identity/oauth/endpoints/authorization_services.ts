import type { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { TokenClients } from "../clients/token_clients.ts";
import type { MachineTokens } from "./machine_tokens.ts";
import type { AccessTokens } from "../grants/access_token.ts";
import type { GrantStore } from "../grants/grant_store.ts";
import type { ClientRules } from "../clients/client_rules.ts";
import type { OAuthClient } from "../clients/oauth_client.ts";
import type { ProviderClient } from "../provider/provider_client.ts";
import type { KvRecords } from "../../../kv/kv_records.ts";
import type { VaultKeys } from "../../vault/vault_seal.ts";
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
  /** Renewed tokens, sealed with `keys`, are in records that other workers and replicas have too. */
  readonly records: KvRecords;
  readonly keys: VaultKeys;
  readonly tokens: AccessTokens;
  /** Clients that authenticate. */
  readonly clients: TokenClients;
  readonly machines: MachineTokens;
  /** Rules of the administrator for clients. */
  readonly rules: ClientRules;
  readonly clock: Clock;
  /**
   * Returns the claims of a token of the provider, as requests with it have them.
   * @throws {TokenError} When they would be rejected.
   * @throws {DocumentUnavailableError} When the provider is not available.
   */
  verify(token: string): JsonObject | Promise<JsonObject>;
  /** @throws {OAuthError} `invalid_client` */
  findClient(id: string, cancellation: Cancellation): Promise<OAuthClient>;
}
