/** Identities of AWS, Google Cloud and Microsoft Entra, from each place that the clouds have for them. */
import assert from "node:assert/strict";
import { AwsV4Signer } from "aws4fetch";
import { exportPKCS8, generateKeyPair } from "jose";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { startProvider } from "../../harness/llm/provider_server.ts";
import {
  AWS_SECRET,
  type CloudServers,
  ENTRA_SECRET,
  POD_TOKEN,
  startCloudServers,
} from "../../harness/servers/cloud_servers.ts";

const ROLES = "arn:aws:iam::123456789012:role";
const SCOPE = { service: "execute-api", region: "eu-west-1" };

type Fields = Readonly<Record<string, unknown>>;

/** A place of an identity: credentials, variables of the environment, and the token that the backend gets. */
interface Place {
  readonly credentials: Fields;
  readonly env?: Readonly<Record<string, string>>;
  readonly expected: string;
}

/** Files of an identity, in a folder of their own. */
async function writeFiles({ origin }: CloudServers): Promise<string> {
  const folder = await Deno.makeTempDir();
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const files: Record<string, string> = {
    "pod-token": POD_TOKEN,
    config: `[profile web]
role_arn = ${ROLES}/web
web_identity_token_file = ${folder}/pod-token
[profile chained]
role_arn = ${ROLES}/chained
source_profile = static
[profile single]
sso_session = site
sso_account_id = 123456789012
sso_role_name = reader
region = eu-west-1
[sso-session site]
sso_start_url = https://site.awsapps.com/start
sso_region = eu-west-1
`,
    credentials: `[static]
aws_access_key_id = AKIASTATIC
aws_secret_access_key = ${AWS_SECRET}
`,
    "federation.json": JSON.stringify({
      type: "external_account",
      audience: "//iam.googleapis.com/projects/1/locations/global/p",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `${origin}/sts/v1/token`,
      credential_source: { file: `${folder}/pod-token` },
    }),
    "account.json": JSON.stringify({
      type: "service_account",
      client_email: "account@project.iam.gserviceaccount.com",
      private_key: await exportPKCS8(privateKey),
    }),
    "user.json": JSON.stringify({
      type: "authorized_user",
      client_id: "gcloud",
      client_secret: "planted-gcloud-secret",
      refresh_token: "planted-refresh-token",
    }),
  };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  // The name is the digest of the session; AWS CLI writes it at a login.
  const cache = `${folder}/.aws/sso/cache`;
  await Deno.mkdir(cache, { recursive: true });
  const digest = await crypto.subtle.digest(
    "SHA-1",
    new TextEncoder().encode("site"),
  );
  await Deno.writeTextFile(
    `${cache}/${new Uint8Array(digest).toHex()}.json`,
    JSON.stringify({
      accessToken: "planted-sso-token",
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      region: "eu-west-1",
      startUrl: "https://site.awsapps.com/start",
    }),
  );
  return folder;
}

/** Variables that lead to the servers, and to no identity of the machine that runs the test. */
function environmentOf(
  { origin, proxy }: CloudServers,
  folder: string,
): Record<string, string> {
  const home = Deno.env.get("HOME") ?? "";
  return {
    HOME: folder,
    // Deno's own cache stays where it is.
    DENO_DIR: Deno.env.get("DENO_DIR") ?? `${home}/.cache/deno`,
    AWS_CONFIG_FILE: `${folder}/config`,
    AWS_SHARED_CREDENTIALS_FILE: `${folder}/credentials`,
    AWS_ENDPOINT_URL_STS: origin,
    AWS_ENDPOINT_URL_SSO: origin,
    AWS_EC2_METADATA_SERVICE_ENDPOINT: origin,
    GCE_METADATA_HOST: new URL(origin).host,
    AZURE_POD_IDENTITY_AUTHORITY_HOST: origin,
    HTTPS_PROXY: proxy,
    NO_PROXY: "127.0.0.1",
    DENO_CERT: `${folder}/ca.pem`,
  };
}

/** Starts a gateway with a backend, and a route, for each identity. */
async function startWith(
  host: string,
  identities: Readonly<Record<string, Fields>>,
  env: Readonly<Record<string, string>>,
  workers = 1,
): Promise<GatewayProcess> {
  const [hostname = "", port] = host.split(":");
  return await GatewayProcess.start({
    env,
    config: {
      config: { workers, logging: { level: "trace" } },
      backends: Object.entries(identities).map(([name, credentials]) => ({
        name,
        static: { host: hostname, port: Number(port) },
        credentials,
      })),
      routes: Object.keys(identities).map((name) => ({
        name,
        matches: [{ path: { value: `/${name}` } }],
        backends: [{ backend: name }],
      })),
    },
  });
}

/** Sends a request to the backend of an identity; returns the token, or the id of the key of a signature that is right. */
async function tokenAt(
  gateway: GatewayProcess,
  name: string,
): Promise<string> {
  const response = await fetch(`${gateway.origin}/${name}?b=2&a=1`, {
    method: "POST",
    body: "signed as well",
    headers: { "content-type": "text/plain" },
  });
  const text = await response.text();
  if (response.status !== 200) return `${response.status} ${text}`;
  const seen: Record<string, string> = JSON.parse(text);
  const { authorization = "" } = seen;
  const id = /Credential=([^/]+)/.exec(authorization)?.[1];
  if (id === undefined) return authorization.replace("Bearer ", "");
  const signer = new AwsV4Signer({
    ...SCOPE,
    method: "POST",
    url: `${gateway.origin}/${name}?b=2&a=1`,
    headers: { "content-type": "text/plain" },
    body: new TextEncoder().encode("signed as well"),
    accessKeyId: id,
    secretAccessKey: AWS_SECRET,
    ...(seen["x-amz-security-token"] && {
      sessionToken: seen["x-amz-security-token"],
    }),
    datetime: seen["x-amz-date"] ?? "",
  });
  const expected = (await signer.sign()).headers.get("authorization");
  assert.equal(authorization, expected, name);
  return id;
}

function startBackend() {
  return startProvider(({ headers }) =>
    Response.json(Object.fromEntries(headers))
  );
}

Deno.test("the gateway finds its identity where the clouds put it, and each backend gets its own", async () => {
  await using clouds = await startCloudServers();
  await using backend = startBackend();
  const folder = await writeFiles(clouds);
  await Deno.writeTextFile(`${folder}/ca.pem`, clouds.ca);
  const aws = (more: Fields = {}) => ({ aws: { ...SCOPE, ...more } });
  const role = (name: string) => ({ roleArn: `${ROLES}/${name}` });
  const places: Readonly<Record<string, Place>> = {
    "aws-web": { credentials: aws({ profile: "web" }), expected: "AKIAWEB" },
    "aws-chained": {
      credentials: aws({ profile: "chained" }),
      expected: "AKIACHAINED",
    },
    "aws-file": {
      credentials: aws({ profile: "static" }),
      expected: "AKIASTATIC",
    },
    "aws-sso": {
      credentials: aws({ profile: "single" }),
      expected: "AKIASSOREADER",
    },
    "aws-instance": { credentials: aws(), expected: "AKIAINSTANCE" },
    "aws-assumed": {
      credentials: aws({ assumeRole: { ...role("other"), externalId: "e" } }),
      expected: "AKIAOTHER",
    },
    "aws-irsa": {
      credentials: aws(),
      env: {
        AWS_ROLE_ARN: `${ROLES}/irsa`,
        AWS_WEB_IDENTITY_TOKEN_FILE: `${folder}/pod-token`,
      },
      expected: "AKIAIRSA",
    },
    "aws-pod": {
      credentials: aws(),
      env: {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${clouds.origin}/v1/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: `${folder}/pod-token`,
      },
      expected: "AKIAPOD",
    },
    "aws-env": {
      credentials: aws(),
      env: {
        AWS_ACCESS_KEY_ID: "AKIAENVIRONMENT",
        AWS_SECRET_ACCESS_KEY: AWS_SECRET,
      },
      expected: "AKIAENVIRONMENT",
    },
    "google-metadata": {
      credentials: { google: {} },
      expected: "google-metadata-token",
    },
    "google-federation": {
      credentials: { google: { file: `${folder}/federation.json` } },
      expected: "google-federated-token",
    },
    "google-account": {
      credentials: { google: { file: `${folder}/account.json` } },
      expected: "google-account-token",
    },
    "google-impersonated": {
      credentials: {
        google: { impersonate: "robot@project.iam.gserviceaccount.com" },
      },
      expected: "google-robot-by-metadata-token",
    },
    "google-user": {
      credentials: { google: {} },
      env: { GOOGLE_APPLICATION_CREDENTIALS: `${folder}/user.json` },
      expected: "google-user-token",
    },
    "azure-machine": {
      credentials: { azure: {} },
      expected: "azure-machine-system",
    },
    "azure-assigned": {
      credentials: { azure: { clientId: "own" } },
      expected: "azure-machine-own",
    },
    "azure-client": {
      credentials: {
        azure: {
          tenantId: "tenant",
          clientId: "client",
          clientSecret: { key: ENTRA_SECRET },
        },
      },
      expected: "azure-client-token",
    },
    "azure-workload": {
      credentials: { azure: {} },
      env: {
        AZURE_TENANT_ID: "tenant",
        AZURE_CLIENT_ID: "client",
        AZURE_FEDERATED_TOKEN_FILE: `${folder}/pod-token`,
      },
      expected: "azure-workload-token",
    },
    "azure-service": {
      credentials: { azure: {} },
      env: {
        IDENTITY_ENDPOINT: `${clouds.origin}/msi/token`,
        IDENTITY_HEADER: "planted-identity-header",
      },
      expected: "azure-service-system",
    },
  };
  const found: Record<string, string> = {};
  const logs: string[] = [];
  // Identities with variables of their own are those of different gateways.
  const groups = [
    Object.keys(places).filter((name) => places[name]?.env === undefined),
    ["aws-irsa", "google-user", "azure-workload"],
    ["aws-pod", "azure-service"],
    ["aws-env"],
  ];
  for (const names of groups) {
    const of = (name: string) => places[name] ?? { credentials: {} };
    const env = names.map((name) => places[name]?.env ?? {});
    await using gateway = await startWith(
      backend.host,
      Object.fromEntries(names.map((name) => [name, of(name).credentials])),
      Object.assign(environmentOf(clouds, folder), ...env),
    );
    for (const name of names) found[name] = await tokenAt(gateway, name);
    const dump = await fetch(`${gateway.admin}/config_dump`);
    logs.push(await dump.text(), ...gateway.log.all, ...gateway.accessLog.all);
  }
  await Deno.remove(folder, { recursive: true });

  const expected = Object.entries(places).map(([name, { expected }]) =>
    [name, expected] as const
  );
  assert.deepEqual(found, Object.fromEntries(expected));
  for (const secret of [AWS_SECRET, ENTRA_SECRET, POD_TOKEN, "google-robot"]) {
    assert.ok(!logs.some((text) => text.includes(secret)), secret);
  }
});

Deno.test("an identity that a cloud rejects, or that no server answers for, fails requests without a secret in sight", async () => {
  await using clouds = await startCloudServers();
  await using backend = startBackend();
  const folder = await writeFiles(clouds);
  await Deno.writeTextFile(`${folder}/ca.pem`, clouds.ca);
  const wrong = "planted/wrong+secret-9d2e";
  const client = { tenantId: "tenant", clientId: "client" };
  await using gateway = await startWith(backend.host, {
    aws: {
      aws: {
        ...SCOPE,
        profile: "static",
        assumeRole: { roleArn: `${ROLES}/other`, externalId: "wrong" },
      },
    },
    profile: { aws: { ...SCOPE, profile: "missing" } },
    google: { google: { file: `${folder}/pod-token` } },
    azure: { azure: { ...client, clientSecret: { key: wrong } } },
  }, environmentOf(clouds, folder));
  const failures: Record<string, string | null> = {};
  for (const name of ["aws", "profile", "google", "azure"]) {
    const response = await fetch(`${gateway.origin}/${name}`);
    await response.text();
    failures[name] = response.headers.get("x-gateway-error");
  }
  await Deno.remove(folder, { recursive: true });

  assert.deepEqual(failures, {
    aws: "credentials_rejected",
    profile: "credentials_unavailable",
    google: "credentials_unavailable",
    azure: "credentials_rejected",
  });
  await gateway.log.next(/Cannot get a token .*azure/);
  const log = gateway.log.all.join("\n");
  assert.match(log, /backend=default\/aws .*responds with 403, AccessDenied/);
  assert.match(log, /backend=default\/profile .*profile: \[missing\]/);
  assert.match(log, /backend=default\/google .*a file is not JSON/);
  assert.match(
    log,
    /backend=default\/azure .*responds with 401, invalid_client/,
  );
  for (const secret of [wrong, POD_TOKEN, AWS_SECRET]) {
    assert.ok(!log.includes(secret), secret);
  }
  // The libraries write nothing themselves.
  assert.deepEqual(
    gateway.log.all.filter((line) => !/^\d{4}-\d\d-\d\dT/.test(line)),
    [],
  );
});

Deno.test("a Bedrock backend signs with the identity of the pod, and each worker gets one key however many requests need it", async () => {
  await using clouds = await startCloudServers();
  const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
  const statuses: number[] = [];
  await using provider = startProvider(({ headers }) =>
    Response.json({
      output: { message: { role: "assistant", content: [{ text: "hello" }] } },
      stopReason: "end_turn",
      usage,
      quoted: headers.get("authorization"),
    }, { status: statuses.shift() ?? 200 })
  );
  const folder = await writeFiles(clouds);
  await using gateway = await GatewayProcess.start({
    env: {
      ...environmentOf(clouds, folder),
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${clouds.origin}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: `${folder}/pod-token`,
      DENO_CERT: "",
    },
    config: {
      config: { workers: 2 },
      routes: [{
        backends: [{
          llm: {
            provider: "Bedrock",
            region: "eu-west-1",
            host: provider.host,
            plainText: true,
            credentials: { aws: {} },
            model: "anthropic.claude-sonnet-4-5-20250929-v1:0",
          },
        }],
      }],
    },
  });
  const chat = async () => {
    const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { connection: "close" },
      body: '{"model":"m","messages":[{"role":"user","content":"hi"}]}',
    });
    return [response.status, await response.text()] as const;
  };
  const answers = await Promise.all(Array.from({ length: 40 }, chat));
  const keys = clouds.requests.filter((line) => line.endsWith("credentials"));
  // A key that AWS has revoked is replaced, and the request sent again.
  statuses.push(403);
  const [again] = await chat();
  await Deno.remove(folder, { recursive: true });

  assert.deepEqual([...new Set(answers.map(([status]) => status))], [200]);
  assert.ok(keys.length <= 2, String(keys.length));
  assert.equal(again, 200);
  assert.equal(provider.requests.length, 42);
  const ids = provider.requests.map(({ headers }) =>
    headers.get("authorization")?.replace(/, SignedHeaders.*/, "")
  );
  assert.match(
    [...new Set(ids)].join(),
    /^AWS4-HMAC-SHA256 Credential=AKIAPOD\/\d{8}\/eu-west-1\/bedrock\/aws4_request$/,
  );
});
