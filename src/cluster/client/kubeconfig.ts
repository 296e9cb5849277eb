import type { Clock } from "../../base/clock.ts";
import {
  isJsonObject,
  type JsonObject,
  objectsAt,
  stringMember,
} from "../../base/json.ts";
import { describeReadError, readFileText } from "../../base/regular_file.ts";
import { parseYaml } from "../../base/yaml_library.ts";
import {
  type AccessOptions,
  type ClusterAccess,
  ClusterAccessError,
  type Credentials,
  rereadToken,
  type TokenSource,
} from "./api_access.ts";
import { ExecCredentials, ExecError } from "./exec_credentials.ts";

/** A kubeconfig, of which several may be merged. */
interface Kubeconfig {
  readonly path: string;
  readonly config: JsonObject;
}

/** Reads kubeconfigs as `kubectl` merges them: the first that has an entry counts. @throws {ClusterAccessError} */
export async function readKubeconfigs(
  paths: readonly string[],
  { clock, startsPrograms = false }: AccessOptions,
): Promise<ClusterAccess> {
  const configs = await parseKubeconfigs(paths);
  const current = configs.map(({ config }) => config["current-context"]).find(
    (name) => typeof name === "string" && name !== "",
  );
  const { value: context } = entry(configs, "context", current);
  const { value: cluster, path } = entry(
    configs,
    "cluster",
    context["cluster"],
  );
  const { value: user, path: userPath } = context["user"] === undefined
    ? { value: {}, path }
    : entry(configs, "user", context["user"]);
  rejectUnsupported(cluster, user, { path: userPath, startsPrograms });
  const server = stringMember(cluster, "server");
  if (server === undefined || !URL.canParse(server)) {
    throw new ClusterAccessError(`"server" of the cluster is no URL: ${path}`);
  }
  const ca = await loadData(cluster, "certificate-authority", folderOf(path));
  const folder = folderOf(userPath);
  return {
    server: server.replace(/\/+$/, ""),
    namespace: stringMember(context, "namespace") ?? "default",
    ...(ca !== undefined && { ca }),
    ...isJsonObject(user["exec"])
      ? await runProgram(user["exec"], {
        ...{ folder, cluster, ca, clock },
        path: userPath,
      })
      : await readCredentials(user, folder, clock),
  };
}

/** Files are relative to the kubeconfig that names them. */
function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

async function readCredentials(
  user: JsonObject,
  folder: string,
  clock: Clock,
): Promise<Credentials> {
  const cert = await loadData(user, "client-certificate", folder);
  const key = await loadData(user, "client-key", folder);
  return {
    ...tokenOf(user, folder, clock),
    ...(cert !== undefined && key !== undefined &&
      { certificate: { cert, key } }),
  };
}

/** Gets credentials from a program, now and when they expire; a certificate is that of the first run. @throws {ClusterAccessError} */
async function runProgram(
  exec: JsonObject,
  { path, folder, cluster, ca, clock }: {
    readonly path: string;
    readonly folder: string;
    readonly cluster: JsonObject;
    readonly ca: string | undefined;
    readonly clock: Clock;
  },
): Promise<Credentials> {
  try {
    const credentials = new ExecCredentials(exec, {
      ...{ clock, folder },
      isInteractive: Deno.stdin.isTerminal(),
      cluster: {
        server: cluster["server"],
        ...(ca !== undefined && {
          "certificate-authority-data": new TextEncoder().encode(ca).toBase64(),
        }),
      },
    });
    const { token, certificate } = await credentials.get();
    return {
      ...(certificate !== undefined && { certificate }),
      ...(token !== undefined && {
        token: async () => (await credentials.get()).token ?? "",
        forgetToken: () => credentials.forget(),
      }),
    };
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    throw new ClusterAccessError(
      `Cannot get credentials for the cluster of the kubeconfig ${path}: ${error.message}`,
    );
  }
}

/** Of several, those that do not exist are left out. */
async function parseKubeconfigs(
  paths: readonly string[],
): Promise<readonly Kubeconfig[]> {
  const existing: string[] = [];
  for (const path of paths) {
    if (paths.length === 1 || await fileExists(path)) existing.push(path);
  }
  const [first = ""] = paths;
  return await Promise.all(
    (existing.length === 0 ? [first] : existing).map(async (path) => ({
      path,
      config: await parseKubeconfig(path),
    })),
  );
}

async function fileExists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
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

/** Returns the part `kind` of the first entry `name` of the lists `<kind>s`, and the path of its kubeconfig. */
function entry(
  configs: readonly Kubeconfig[],
  kind: "context" | "cluster" | "user",
  name: unknown,
): { readonly value: JsonObject; readonly path: string } {
  for (const { path, config } of configs) {
    const list = objectsAt(config, `${kind}s`);
    const value = list.find((item) => item["name"] === name)?.[kind];
    if (isJsonObject(value)) return { value, path };
  }
  const paths = configs.map(({ path }) => path).join(", ");
  throw new ClusterAccessError(
    `The kubeconfig ${paths} has no ${kind} "${String(name)}"`,
  );
}

function rejectUnsupported(
  cluster: JsonObject,
  user: JsonObject,
  { path, startsPrograms }: {
    readonly path: string;
    readonly startsPrograms: boolean;
  },
): void {
  if (Boolean(user["exec"]) && !startsPrograms) {
    throw new ClusterAccessError(
      `The kubeconfig ${path} uses "exec", and a gateway starts no programs; use a service account, a token or a client certificate`,
    );
  }
  const unsupported = [
    ...["insecure-skip-tls-verify", "tls-server-name", "proxy-url"]
      .filter((name) => Boolean(cluster[name])),
    ...["auth-provider", "username", "as"]
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
): TokenSource {
  // kubectl prefers the file, too.
  const file = stringMember(user, "tokenFile");
  if (file !== undefined) return rereadToken(resolvePath(file, folder), clock);
  const token = stringMember(user, "token");
  return token === undefined ? {} : { token: () => Promise.resolve(token) };
}

function resolvePath(path: string, folder: string): string {
  return path.startsWith("/") || folder === "" ? path : `${folder}/${path}`;
}
