/** The only file that imports @azure/identity: access tokens of Microsoft Entra. */
import {
  ClientSecretCredential,
  ManagedIdentityCredential,
  type TokenCredential,
  WorkloadIdentityCredential,
} from "@azure/identity";
import type { AzureIdentity, CloudToken } from "../backend_credentials.ts";

/** Gets an access token. */
export async function fetchAzureToken(
  identity: AzureIdentity,
): Promise<CloudToken> {
  const issued = await credentialOf(identity).getToken(identity.scope);
  if (issued === null) throw new Error("there is no token");
  return { token: issued.token, expiresAt: issued.expiresOnTimestamp };
}

function credentialOf(
  { tenantId, clientId, clientSecret }: AzureIdentity,
): TokenCredential {
  const id = clientId === undefined ? {} : { clientId };
  if (clientSecret !== undefined) {
    return new ClientSecretCredential(
      tenantId ?? "",
      clientId ?? "",
      clientSecret,
    );
  }
  // Set by the webhook of Azure Workload Identity.
  return Deno.env.has("AZURE_FEDERATED_TOKEN_FILE")
    ? new WorkloadIdentityCredential({
      ...id,
      ...(tenantId !== undefined && { tenantId }),
    })
    : new ManagedIdentityCredential(id);
}
