import { createHash } from "node:crypto";
import type {
  AwsIdentityResource,
  AzureIdentityResource,
  GoogleIdentityResource,
} from "../../api/resources/credentials/cloud_identity.ts";
import type { BackendCredentialsResource } from "../../api/resources/credentials/credentials_schema.ts";
import type {
  AwsIdentity,
  AzureIdentity,
  CloudCredentials,
  GoogleIdentity,
} from "../../identity/backend_tokens/backend_credentials.ts";
import {
  type BackendCompilation,
  type CredentialPlace,
  UnusableCredentials,
} from "./backend_compilation.ts";

/** Service and region of signatures of AWS, as far as a backend says them. */
type SignatureScope = Pick<CredentialPlace, "service" | "region">;

/**
 * Compiles an identity at a cloud; `undefined` if the credentials are others.
 * @throws {UnusableCredentials}
 */
export function compileIdentity(
  compilation: BackendCompilation,
  credentials: BackendCredentialsResource,
  { key = compilation.key, ...signature }: CredentialPlace,
): CloudCredentials | undefined {
  const identity = identityOf(compilation, credentials, signature);
  if (identity === undefined) return undefined;
  // A client with a secret of its own has nothing of the gateway.
  const isOwn = identity.kind === "azure" &&
    identity.clientSecret !== undefined;
  const isDenied = compilation.inputs.read((
    { isolatesErrors, clusterCloudIdentity = false },
  ) => isolatesErrors && !clusterCloudIdentity);
  // Authors of backends choose where tokens go, and could read them.
  if (isDenied && !isOwn) {
    throw new UnusableCredentials(
      [identity.kind],
      'a backend of a cluster cannot have the identity of the gateway; to allow it, set "config.clusterCloudIdentity" of the gateway',
    );
  }
  const fingerprint = createHash("sha256")
    .update(JSON.stringify([key, identity])).digest("base64url");
  return { backend: key, fingerprint, ...identity };
}

function identityOf(
  compilation: BackendCompilation,
  { aws, google, azure }: BackendCredentialsResource,
  signature: SignatureScope,
): AwsIdentity | GoogleIdentity | AzureIdentity | undefined {
  if (aws !== undefined) return awsIdentity(aws, signature);
  if (google !== undefined) return googleIdentity(google, compilation);
  return azure && azureIdentity(azure, compilation);
}

function awsIdentity(
  { profile, assumeRole, ...own }: AwsIdentityResource,
  signature: SignatureScope,
): AwsIdentity {
  const service = own.service ?? signature.service;
  const region = own.region ?? signature.region;
  if (service === undefined || region === undefined) {
    const name = service === undefined ? "service" : "region";
    throw new UnusableCredentials(["aws"], `"${name}" is required`);
  }
  return {
    kind: "aws",
    profile,
    assumeRole: assumeRole && {
      roleArn: assumeRole.roleArn,
      sessionName: assumeRole.sessionName ?? "gateway",
      externalId: assumeRole.externalId,
    },
    service,
    region,
  };
}

function googleIdentity(
  {
    file,
    impersonate,
    scopes = ["https://www.googleapis.com/auth/cloud-platform"],
  }: GoogleIdentityResource,
  compilation: BackendCompilation,
): GoogleIdentity {
  return {
    kind: "google",
    file: compilation.fileOf(["google"], file),
    impersonate,
    scopes,
  };
}

function azureIdentity(
  {
    tenantId,
    clientId,
    clientSecret,
    scope = "https://cognitiveservices.azure.com/.default",
  }: AzureIdentityResource,
  compilation: BackendCompilation,
): AzureIdentity {
  return {
    kind: "azure",
    tenantId,
    clientId,
    clientSecret: clientSecret &&
      compilation.readSecret(
        ["azure", "clientSecret"],
        "clientSecret",
        clientSecret,
      ),
    scope,
  };
}
