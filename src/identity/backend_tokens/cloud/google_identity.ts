/** The only file that imports google-auth-library: access tokens of Google Cloud. */
import { GoogleAuth, Impersonated } from "google-auth-library";
import { readFileText } from "../../../base/regular_file.ts";
import type { CloudToken, GoogleIdentity } from "../backend_credentials.ts";

const CLOUD_SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const LIFETIME_S = 3600;

/** Gets an access token: of the identity, or of the service account that it acts as. */
export async function fetchGoogleToken(
  { file, impersonate, scopes }: GoogleIdentity,
): Promise<CloudToken> {
  const auth = new GoogleAuth({
    scopes: impersonate === undefined ? [...scopes] : [CLOUD_SCOPE],
  });
  // The option for files writes a warning to standard error: it is meant for files of others, and this one is the operator's.
  if (file !== undefined) {
    auth.jsonContent = JSON.parse(await readFileText(file));
  }
  const own = await auth.getClient();
  const client = impersonate === undefined ? own : new Impersonated({
    sourceClient: own,
    targetPrincipal: impersonate,
    targetScopes: [...scopes],
    lifetime: LIFETIME_S,
  });
  const { token } = await client.getAccessToken();
  if (!token) throw new Error("the response has no access token");
  return { token, expiresAt: client.credentials.expiry_date ?? undefined };
}
