/**
 * The servers of AWS, Google Cloud and Microsoft Entra from which identities get their tokens. They check what they get as the real
 * ones do: the token of the metadata session, the header that proves that a request is no redirect, the assertion of a pod.
 *
 * @module
 */
import { createAuthority } from "../login/certificates.ts";

/** Servers of clouds. */
export interface CloudServers extends AsyncDisposable {
  /** Origin of the servers that the environment names, without TLS. */
  readonly origin: string;
  /** Proxy of the servers with fixed names, such as `login.microsoftonline.com`. */
  readonly proxy: string;
  /** Certificate (PEM) of the authority of those. */
  readonly ca: string;
  /** Requests so far: method, host and path. */
  readonly requests: readonly string[];
  /** Status of all responses in place of tokens. */
  fault: number | undefined;
  /** Lifetime of tokens, in seconds. */
  lifetimeS: number;
}

/** Token of the service account of a pod. */
export const POD_TOKEN = "planted-pod-token-9b1f";
/** Secret of access keys. */
export const AWS_SECRET = "planted/aws+secret/0d41c8";
/** Secret of the client of Entra. */
export const ENTRA_SECRET = "planted/entra+secret-77aa";

const hosts = [
  "login.microsoftonline.com",
  "oauth2.googleapis.com",
  "iamcredentials.googleapis.com",
  "sts.googleapis.com",
];

/** A request as the servers see it. */
interface Seen {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly form: URLSearchParams;
  readonly text: string;
  readonly lifetimeS: number;
}

/** Starts the servers. */
export async function startCloudServers(): Promise<CloudServers> {
  const authority = await createAuthority();
  const requests: string[] = [];
  const state = { fault: undefined as number | undefined, lifetimeS: 3600 };
  const handle = async (request: Request) => {
    const { host, pathname, searchParams } = new URL(request.url);
    const text = await request.text();
    requests.push(`${request.method} ${host} ${pathname}`);
    if (state.fault !== undefined) {
      return Response.json({ error: "planted_fault" }, { status: state.fault });
    }
    const seen: Seen = {
      host,
      method: request.method,
      path: pathname,
      query: searchParams,
      headers: request.headers,
      form: new URLSearchParams(text),
      text,
      lifetimeS: state.lifetimeS,
    };
    for (const respond of [sts, instance, pod, sso, google, entra, machine]) {
      const response = respond(seen);
      if (response !== undefined) return response;
    }
    return new Response("not found", { status: 404 });
  };
  const address = { port: 0, hostname: "127.0.0.1", onListen() {} };
  const plain = Deno.serve(address, handle);
  const secure = Deno.serve(
    { ...address, ...await authority.issueServer(hosts) },
    handle,
  );
  const proxy = startProxy(secure.addr.port);
  return Object.assign(state, {
    origin: `http://127.0.0.1:${plain.addr.port}`,
    proxy: `http://127.0.0.1:${proxy.port}`,
    ca: authority.cert,
    requests,
    async [Symbol.asyncDispose]() {
      proxy.close();
      await Promise.all([plain.shutdown(), secure.shutdown()]);
    },
  });
}

/** An HTTP proxy that leads every tunnel to one port. */
function startProxy(port: number) {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const serve = async (client: Deno.Conn) => {
    const head = new Uint8Array(4096);
    await client.read(head);
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    await client.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
  };
  const accept = async () => {
    for await (const client of listener) serve(client).catch(() => {});
  };
  accept().catch(() => {});
  return { port: listener.addr.port, close: () => listener.close() };
}

function endOf({ lifetimeS }: Seen): string {
  return new Date(Date.now() + lifetimeS * 1000).toISOString();
}

/** AWS Security Token Service: a role for the token of a pod, or for a signed request. */
function sts(seen: Seen): Response | undefined {
  const { form, headers } = seen;
  const action = form.get("Action") ?? "";
  if (!action.startsWith("AssumeRole")) return undefined;
  const isProven = action === "AssumeRoleWithWebIdentity"
    ? form.get("WebIdentityToken") === POD_TOKEN
    : headers.get("authorization")?.startsWith("AWS4-HMAC-SHA256 ") &&
      form.get("ExternalId") !== "wrong";
  if (!isProven) {
    const error =
      "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>";
    return new Response(error, { status: 403 });
  }
  const role = form.get("RoleArn")?.split("/").at(-1) ?? "";
  const result = `${action}Result`;
  return new Response(
    `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${result}><Credentials>
<AccessKeyId>AKIA${role.toUpperCase()}</AccessKeyId><SecretAccessKey>${AWS_SECRET}</SecretAccessKey>
<SessionToken>session-${role}</SessionToken><Expiration>${
      endOf(seen)
    }</Expiration></Credentials></${result}></${action}Response>`,
    { headers: { "content-type": "text/xml" } },
  );
}

/** Instance metadata of EC2, version 2. */
function instance(seen: Seen): Response | undefined {
  const { method, path, headers } = seen;
  if (path === "/latest/api/token") {
    return method === "PUT" &&
        headers.has("x-aws-ec2-metadata-token-ttl-seconds")
      ? new Response("metadata-session")
      : new Response("", { status: 405 });
  }
  const roles = "/latest/meta-data/iam/security-credentials/";
  if (!path.startsWith(roles)) return undefined;
  if (headers.get("x-aws-ec2-metadata-token") !== "metadata-session") {
    return new Response("", { status: 401 });
  }
  return path === roles
    ? new Response("instance-role")
    : Response.json({ Code: "Success", ...keyOf("INSTANCE", seen) });
}

/** Agent of EKS Pod Identity. */
function pod(seen: Seen): Response | undefined {
  if (seen.path !== "/v1/credentials") return undefined;
  return seen.headers.get("authorization") === POD_TOKEN
    ? Response.json(keyOf("POD", seen))
    : new Response("", { status: 401 });
}

function keyOf(name: string, seen: Seen) {
  return {
    AccessKeyId: `AKIA${name}`,
    SecretAccessKey: AWS_SECRET,
    Token: `session-${name.toLowerCase()}`,
    Expiration: endOf(seen),
  };
}

/** Portal of AWS IAM Identity Center. */
function sso({ path, headers, query, lifetimeS }: Seen): Response | undefined {
  if (path !== "/federation/credentials") return undefined;
  if (headers.get("x-amz-sso_bearer_token") !== "planted-sso-token") {
    return Response.json({ message: "expired" }, { status: 401 });
  }
  const roleCredentials = {
    accessKeyId: `AKIASSO${query.get("role_name")?.toUpperCase()}`,
    secretAccessKey: AWS_SECRET,
    sessionToken: "session-sso",
    expiration: Date.now() + lifetimeS * 1000,
  };
  return Response.json({ roleCredentials });
}

/** Metadata server, token exchange, tokens of service accounts and users, and impersonation of Google Cloud. */
function google(seen: Seen): Response | undefined {
  const { path, headers, form, text, lifetimeS: expires_in } = seen;
  const issue = (token: string) =>
    Response.json({ access_token: token, token_type: "Bearer", expires_in });
  if (path.startsWith("/computeMetadata/")) {
    if (headers.get("metadata-flavor") !== "Google") {
      return new Response("", { status: 403 });
    }
    const response = path.endsWith("/token")
      ? issue("google-metadata-token")
      : new Response("default");
    response.headers.set("metadata-flavor", "Google");
    return response;
  }
  if (form.get("subject_token") === POD_TOKEN && path === "/sts/v1/token") {
    return issue("google-federated-token");
  }
  if (seen.host === "oauth2.googleapis.com") {
    const isUser = form.get("refresh_token") === "planted-refresh-token";
    if (isUser) return issue("google-user-token");
    const isAccount = (form.get("assertion") ?? "").split(".").length === 3;
    return isAccount ? issue("google-account-token") : undefined;
  }
  if (!path.endsWith(":generateAccessToken")) return undefined;
  const account = path.split("/").at(-1)?.split("@")[0];
  const source = headers.get("authorization")?.replace("Bearer google-", "");
  return JSON.parse(text).scope === undefined ? undefined : Response.json({
    accessToken: `google-${account}-by-${source}`,
    expireTime: endOf(seen),
  });
}

/** Microsoft Entra: a secret, or the token of a pod. */
function entra(
  { host, path, form, lifetimeS: expires_in }: Seen,
): Response | undefined {
  if (host !== "login.microsoftonline.com") return undefined;
  if (path.endsWith("/openid-configuration")) {
    const tenant = `https://${host}/tenant`;
    return Response.json({
      issuer: `${tenant}/v2.0`,
      authorization_endpoint: `${tenant}/oauth2/v2.0/authorize`,
      token_endpoint: `${tenant}/oauth2/v2.0/token`,
      jwks_uri: `${tenant}/discovery/v2.0/keys`,
    });
  }
  if (!path.endsWith("/token")) return undefined;
  const isProven = form.get("client_secret") === ENTRA_SECRET ||
    form.get("client_assertion") === POD_TOKEN;
  const name = form.has("client_secret") ? "client" : "workload";
  return isProven
    ? Response.json({
      access_token: `azure-${name}-token`,
      token_type: "Bearer",
      expires_in,
    })
    : Response.json({
      error: "invalid_client",
      error_description: `AADSTS7000215: Invalid client secret: ${
        form.get("client_secret")
      }`,
    }, { status: 401 });
}

/** Managed identities of Azure: of virtual machines, and of App Service. */
function machine(
  { path, headers, query, lifetimeS }: Seen,
): Response | undefined {
  const isMachine = path.startsWith("/metadata/identity/oauth2/token") &&
    headers.get("metadata") === "true";
  const isService = path === "/msi/token" &&
    headers.get("x-identity-header") === "planted-identity-header";
  if (!isMachine && !isService) return undefined;
  const expiresOn = Math.floor(Date.now() / 1000) + lifetimeS;
  const client = query.get("client_id") ?? "system";
  return Response.json({
    access_token: `azure-${isMachine ? "machine" : "service"}-${client}`,
    token_type: "Bearer",
    resource: query.get("resource"),
    expires_on: isMachine ? String(expiresOn) : expiresOn,
    expires_in: String(lifetimeS),
  });
}
