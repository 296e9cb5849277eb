import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import type { Clock } from "../../base/clock.ts";
import {
  describeReadError,
  readFileText,
  readFileTextSync,
} from "../../base/regular_file.ts";
import { parseYaml } from "../../config/yaml/yaml_library.ts";

/** Address and credentials of a Kubernetes API server. */
export interface ClusterAccess {
  /** Without a path: `https://10.96.0.1:443`. */
  readonly server: string;
  /** PEM. Default: the CAs of the system. */
  readonly ca?: string;
  /** Client certificate, PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Returns the bearer token; called for each request, because tokens of service accounts rotate. */
  readonly token?: () => Promise<string>;
  /** Namespace of the service account, or of the kubeconfig's context. */
  readonly namespace: string;
}

/** The access to a cluster is not configured, or incomplete; the message says what is missing, and where. */
export class ClusterAccessError extends Error {
  override readonly name = "ClusterAccessError";
}

/** Dependencies of finding a cluster. */
export interface AccessOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Path of a kubeconfig; default `$KUBECONFIG`, then the service account, then `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  /** Folder of the service account; default the one that the kubelet mounts. */
  readonly serviceAccount?: string;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The kubelet refreshes tokens long before they expire; client-go reads the file once a minute, too. */
const TOKEN_AGE_MS = 60_000;

/**
 * Finds the cluster in the order of `kubectl`: a kubeconfig that is named, the service account of the pod, the user's kubeconfig.
 * @throws {ClusterAccessError}
 */
export async function findClusterAccess(
  options: AccessOptions,
): Promise<ClusterAccess> {
  const { environment } = options;
  const named = options.kubeconfig ?? environment["KUBECONFIG"];
  if (named !== undefined && named !== "") {
    return await readKubeconfig(named, options);
  }
  if (environment["KUBERNETES_SERVICE_HOST"] !== undefined) {
    return readServiceAccount(options);
  }
  const home = environment["HOME"];
  if (home === undefined) {
    throw new ClusterAccessError(
      "Cannot find a cluster: set KUBECONFIG, or run in a pod with a service account",
    );
  }
  return await readKubeconfig(`${home}/.kube/config`, options);
}

/** Reads the access of a pod. https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/ */
function readServiceAccount(
  { environment, clock, serviceAccount = SERVICE_ACCOUNT }: AccessOptions,
): ClusterAccess {
  const host = environment["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = environment["KUBERNETES_SERVICE_PORT_HTTPS"] ??
    environment["KUBERNETES_SERVICE_PORT"] ?? "443";
  const read = (name: string) => {
    try {
      return readFileTextSync(`${serviceAccount}/${name}`).trim();
    } catch (cause) {
      const message =
        `Cannot read the service account: ${serviceAccount}/${name}; set automountServiceAccountToken: true`;
      throw new ClusterAccessError(message, { cause });
    }
  };
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: read("ca.crt"),
    token: rereadToken(`${serviceAccount}/token`, clock),
    namespace: read("namespace"),
  };
}

function rereadToken(path: string, clock: Clock): () => Promise<string> {
  let token: string | undefined;
  let readAt = 0;
  return async () => {
    if (token === undefined || clock.monotonic() - readAt > TOKEN_AGE_MS) {
      token = (await readFileText(path)).trim();
      readAt = clock.monotonic();
    }
    return token;
  };
}

/** @throws {ClusterAccessError} */
async function readKubeconfig(
  path: string,
  { clock }: AccessOptions,
): Promise<ClusterAccess> {
  const config = await parseKubeconfig(path);
  const context = entry(config, "context", config["current-context"], path);
  const cluster = entry(config, "cluster", context["cluster"], path);
  const user = context["user"] === undefined
    ? {}
    : entry(config, "user", context["user"], path);
  rejectUnsupported(cluster, user, path);
  const server = stringMember(cluster, "server");
  if (server === undefined || !URL.canParse(server)) {
    throw new ClusterAccessError(`"server" of the cluster is no URL: ${path}`);
  }
  const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
  const load = (owner: JsonObject, name: string) =>
    loadData(owner, name, folder);
  const ca = await load(cluster, "certificate-authority");
  const cert = await load(user, "client-certificate");
  const key = await load(user, "client-key");
  const token = tokenOf(user, folder, clock);
  return {
    server: server.replace(/\/+$/, ""),
    namespace: stringMember(context, "namespace") ?? "default",
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined &&
      { certificate: { cert, key } }),
    ...(token !== undefined && { token }),
  };
}

async function parseKubeconfig(path: string): Promise<JsonObject> {
  let config: unknown;
  try {
    config = parseYaml(await readFileText(path));
  } catch (cause) {
    const message = `Cannot read the kubeconfig "${path}": ${
      describeReadError(cause)
    }; name another with --kubeconfig or KUBECONFIG, or run in a pod with a service account`;
    throw new ClusterAccessError(message);
  }
  if (isJsonObject(config)) return config;
  throw new ClusterAccessError(`The kubeconfig ${path} is no mapping`);
}

/** Returns the part `kind` of the entry `name` of the list `<kind>s`. */
function entry(
  config: JsonObject,
  kind: "context" | "cluster" | "user",
  name: unknown,
  path: string,
): JsonObject {
  const list = config[`${kind}s`];
  const found = Array.isArray(list)
    ? list.find((item: unknown) => isJsonObject(item) && item["name"] === name)
    : undefined;
  const value = isJsonObject(found) ? found[kind] : undefined;
  if (isJsonObject(value)) return value;
  throw new ClusterAccessError(
    `The kubeconfig ${path} has no ${kind} "${String(name)}"`,
  );
}

function rejectUnsupported(
  cluster: JsonObject,
  user: JsonObject,
  path: string,
): void {
  const unsupported = [
    ...["insecure-skip-tls-verify", "tls-server-name", "proxy-url"]
      .filter((name) => Boolean(cluster[name])),
    ...["exec", "auth-provider", "username", "as"]
      .filter((name) => Boolean(user[name])),
  ];
  if (unsupported.length === 0) return;
  throw new ClusterAccessError(
    `The kubeconfig ${path} uses ${
      unsupported.map((name) => `"${name}"`).join(", ")
    }, which is not supported; use a token or a client certificate, or run "kubectl proxy"`,
  );
}

/** Returns `<name>-data` (base64), or the content of the file `<name>`. */
async function loadData(
  owner: JsonObject,
  name: string,
  folder: string,
): Promise<string | undefined> {
  const data = stringMember(owner, `${name}-data`);
  if (data !== undefined) {
    return new TextDecoder().decode(Uint8Array.fromBase64(data));
  }
  const file = stringMember(owner, name);
  return file === undefined
    ? undefined
    : await readFileText(resolvePath(file, folder));
}

function tokenOf(
  user: JsonObject,
  folder: string,
  clock: Clock,
): (() => Promise<string>) | undefined {
  // kubectl prefers the file, too.
  const file = stringMember(user, "tokenFile");
  if (file !== undefined) return rereadToken(resolvePath(file, folder), clock);
  const token = stringMember(user, "token");
  return token === undefined ? undefined : () => Promise.resolve(token);
}

function resolvePath(path: string, folder: string): string {
  return path.startsWith("/") || folder === "" ? path : `${folder}/${path}`;
}
