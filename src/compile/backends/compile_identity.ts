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
import type { BackendContext } from "./backend_context.ts";
import {
  type CredentialValues,
  UnusableCredentials,
} from "./credential_values.ts";

/** Service and region of signatures of AWS, as far as a backend says them. */
export interface SignatureScope {
  readonly service?: string | undefined;
  readonly region?: string | undefined;
}

/**
 * Compiles an identity at a cloud; `undefined` if the credentials are others.
 * @throws {UnusableCredentials}
 */
export function compileIdentity(
  backend: string,
  credentials: BackendCredentialsResource,
  values: CredentialValues,
  { inputs }: BackendContext,
  signature: SignatureScope,
): CloudCredentials | undefined {
  const own = identityOf(credentials, values, signature);
  if (own === undefined) return undefined;
  // A client with a secret of its own has nothing of the gateway.
  const isOwn = own.kind === "azure" && own.clientSecret !== undefined;
  const denial = inputs.read(({ cloudDenial }) => cloudDenial);
  if (denial !== undefined && !isOwn) {
    throw new UnusableCredentials([own.kind], denial);
  }
  const fingerprint = createHash("sha256")
    .update(JSON.stringify([backend, own])).digest("base64url");
  return { backend, fingerprint, ...own };
}

function identityOf(
  { aws, google, azure }: BackendCredentialsResource,
  values: CredentialValues,
  signature: SignatureScope,
): AwsIdentity | GoogleIdentity | AzureIdentity | undefined {
  if (aws !== undefined) return awsIdentity(aws, signature);
  if (google !== undefined) return googleIdentity(google, values);
  return azure && azureIdentity(azure, values);
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
  values: CredentialValues,
): GoogleIdentity {
  return {
    kind: "google",
    file: values.fileOf(["google"], file),
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
  values: CredentialValues,
): AzureIdentity {
  return {
    kind: "azure",
    tenantId,
    clientId,
    clientSecret: clientSecret &&
      values.read(["azure", "clientSecret"], "clientSecret", clientSecret),
    scope,
  };
}
