import * as s from "../../schema/schema.ts";
import { secretEntries, secretValue } from "./secret_value.ts";

const roleArn = s.pattern(
  /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/,
  'the ARN of a role, such as "arn:aws:iam::123456789012:role/name"',
);

/** An identity of AWS. */
export const awsIdentity = s.object({
  profile: s.field(
    "Profile of `~/.aws/config` and `~/.aws/credentials`. Default: the first that there is of the environment, `AWS_PROFILE`, the web identity of a pod (IRSA), the agent of EKS or ECS, and the instance.",
    s.optional(s.text(256)),
  ),
  assumeRole: s.field(
    "Role that the gateway assumes with the identity.",
    s.optional(s.object({
      roleArn: s.field("ARN of the role.", roleArn),
      sessionName: s.field(
        "Name of the session, which the logs of AWS have.",
        s.optional(s.pattern(
          /^[\w+=,.@-]{2,64}$/,
          'a name of letters, digits and "+=,.@-_"',
        )),
        "gateway",
      ),
      externalId: s.field(
        "External ID that the role requires.",
        s.optional(s.text(1224)),
      ),
    })),
  ),
  service: s.field(
    "Name of the service in signatures, such as `execute-api`. Default: `bedrock` for `llm`; required elsewhere.",
    s.optional(s.pattern(/^[a-z0-9-]{1,64}$/, "the name of a service")),
  ),
  region: s.field(
    "Region in signatures, and of the requests for credentials. Default: that of `llm`; required elsewhere.",
    s.optional(s.pattern(/^[a-z0-9-]{1,64}$/, "the name of a region")),
  ),
});

/** An identity of Google Cloud. */
export const googleIdentity = s.object({
  file: s.field(
    "JSON file of a service account, of workload identity federation (`external_account`), or of a user. Default: `GOOGLE_APPLICATION_CREDENTIALS`, the file of `gcloud auth application-default login`, or the metadata server.",
    s.optional(s.text(4096)),
  ),
  impersonate: s.field(
    "Service account that the identity acts as.",
    s.optional(s.pattern(
      /^[a-z0-9._-]{1,128}@[a-z0-9.-]{1,128}$/,
      "the email address of a service account",
    )),
  ),
  scopes: s.field(
    "Scopes of the tokens. Default: `https://www.googleapis.com/auth/cloud-platform`.",
    s.optional(s.list(s.text(256), { min: 1, max: 64 })),
  ),
});

const entraId = s.pattern(
  /^[A-Za-z0-9][A-Za-z0-9.-]{0,254}$/,
  "an ID of letters, digits, dots and hyphens",
);

/** An identity of Microsoft Entra. */
export const azureIdentity = s.refine(
  s.object({
    tenantId: s.field(
      "Tenant. Default: `AZURE_TENANT_ID`.",
      s.optional(entraId),
    ),
    clientId: s.field(
      "Application, or user-assigned managed identity. Default: `AZURE_CLIENT_ID`, or the identity that the system assigns.",
      s.optional(entraId),
    ),
    clientSecret: s.field(
      "Secret of the application. Default: a federated token where `AZURE_FEDERATED_TOKEN_FILE` names its file (workload identity), else the managed identity of the machine.",
      s.optional(secretValue("secret", secretEntries.clientSecret)),
    ),
    scope: s.field(
      "Scope of the tokens.",
      s.optional(s.text(256)),
      "https://cognitiveservices.azure.com/.default",
    ),
  }),
  s.rule(
    ({ tenantId, clientId, clientSecret }) =>
      clientSecret === undefined ||
      tenantId !== undefined && clientId !== undefined,
    '"clientSecret" needs "tenantId" and "clientId"',
  ),
);

/** Identities of clouds. */
export type AwsIdentityResource = s.Infer<typeof awsIdentity>;
/** An identity of Google Cloud. */
export type GoogleIdentityResource = s.Infer<typeof googleIdentity>;
/** An identity of Microsoft Entra. */
export type AzureIdentityResource = s.Infer<typeof azureIdentity>;
