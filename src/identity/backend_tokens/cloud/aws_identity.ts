/** The only file that imports @aws-sdk/credential-providers: access keys of AWS. */
import {
  fromIni,
  fromNodeProviderChain,
  fromTemporaryCredentials,
} from "@aws-sdk/credential-providers";
import type { AwsIdentity, CloudToken } from "../backend_credentials.ts";

const CONNECT_MS = 3000;
const REQUEST_MS = 5000;

/** Gets an access key: that of the identity, or that of the role that it assumes. */
export async function fetchAwsKey(
  { profile, assumeRole, region }: AwsIdentity,
): Promise<CloudToken> {
  const clientConfig = {
    region,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: REQUEST_MS,
      throwOnRequestTimeout: true,
    },
  };
  // A changed file applies at once.
  const settings = { clientConfig, ignoreCache: true };
  // The chain would go on to the identity of the machine where there is no such profile.
  const own = profile === undefined
    ? fromNodeProviderChain(settings)
    : fromIni({ ...settings, profile });
  const provider = assumeRole === undefined ? own : fromTemporaryCredentials({
    clientConfig,
    masterCredentials: own,
    params: {
      RoleArn: assumeRole.roleArn,
      RoleSessionName: assumeRole.sessionName,
      ...(assumeRole.externalId !== undefined && {
        ExternalId: assumeRole.externalId,
      }),
    },
  });
  const { accessKeyId, secretAccessKey, sessionToken, expiration } =
    await provider();
  return {
    token: JSON.stringify({
      AccessKeyId: accessKeyId,
      SecretAccessKey: secretAccessKey,
      SessionToken: sessionToken,
    }),
    expiresAt: expiration?.getTime(),
  };
}
