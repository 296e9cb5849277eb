import { isJsonObject, parseJson, stringMember } from "../../base/json.ts";
import {
  type Authorization,
  keyHeader,
  type ProviderPlace,
} from "./llm_provider.ts";

/** An access key of AWS. */
interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

/**
 * Signs requests to Bedrock with an access key (AWS Signature Version 4), or sends an API key of Bedrock.
 *
 * An access key is the JSON of `aws configure export-credentials`, a profile of `~/.aws/credentials`, or `<id>:<secret>[:<token>]`.
 */
export function awsAuthorization(
  text: string,
  { region = "" }: ProviderPlace,
): Authorization {
  return awsSignature(text, { service: "bedrock", region }) ??
    keyHeader("authorization", "Bearer ")(text, {
      basePath: undefined,
      project: undefined,
      region,
    });
}

/** Signs requests to a service with an access key; `undefined` if the text is none. @throws {TypeError} When a part of it is missing. */
export function awsSignature(
  text: string,
  { service, region }: { readonly service: string; readonly region: string },
): Authorization | undefined {
  const key = readAccessKey(text);
  if (key === undefined) return undefined;
  const signer = import("aws4fetch");
  // Reported by the first request.
  signer.catch(() => undefined);
  return {
    coversBody: true,
    async apply({ method, scheme, authority, target, headers, body }, now) {
      const { AwsV4Signer } = await signer;
      const contentType = headers.get("content-type");
      const signed = await new AwsV4Signer({
        method,
        url: `${scheme}://${authority}${target}`,
        headers: contentType === undefined
          ? {}
          : { "content-type": contentType },
        body: new Uint8Array(body),
        accessKeyId: key.accessKeyId,
        secretAccessKey: key.secretAccessKey,
        ...(key.sessionToken && { sessionToken: key.sessionToken }),
        service,
        region,
        datetime: new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, ""),
      }).sign();
      signed.headers.forEach((value, name) => {
        if (name !== "host") headers.set(name, value);
      });
    },
  };
}

function readAccessKey(text: string): AccessKey | undefined {
  const json = parseJson(text);
  if (isJsonObject(json)) {
    return accessKey(
      stringMember(json, "AccessKeyId"),
      stringMember(json, "SecretAccessKey"),
      stringMember(json, "SessionToken"),
    );
  }
  const setting = (name: string) =>
    new RegExp(`^\\s*${name}\\s*=\\s*(\\S+)\\s*$`, "m").exec(text)?.[1];
  const id = setting("aws_access_key_id");
  if (id !== undefined) {
    return accessKey(
      id,
      setting("aws_secret_access_key"),
      setting("aws_session_token"),
    );
  }
  const [, plainId, secret, token] =
    /^(A[KS]IA[A-Z0-9]{12,124}):([^:\s]+)(?::(\S+))?$/.exec(text) ?? [];
  return plainId === undefined ? undefined : accessKey(plainId, secret, token);
}

function accessKey(
  accessKeyId: string | undefined,
  secretAccessKey: string | undefined,
  sessionToken: string | undefined,
): AccessKey {
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new TypeError("it has no access key id and secret access key");
  }
  return { accessKeyId, secretAccessKey, sessionToken };
}
