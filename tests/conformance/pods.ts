import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { inCluster, SERVERS_ADDRESS } from "./api_server.ts";
import type { KubernetesApi } from "../../src/cluster/client/kubernetes_api.ts";
import type { KubernetesObject } from "../../src/cluster/client/kubernetes_object.ts";

/** A pod that runs: a process in a network namespace with an address of its own. */
export interface RunningPod {
  readonly address: string;
  readonly pid: number;
  readonly lines: { readonly at: number; readonly text: string }[];
  stop(): Promise<void>;
}

/** Options of starting pods. */
export interface PodOptions {
  readonly api: KubernetesApi;
  /** Program of the containers with the image `echo-basic`. */
  readonly echo: string;
  /** Folder of the volumes. */
  readonly directory: string;
  /** Command that runs the gateway in pods whose image is `gateway`; without it, these pods do nothing. */
  readonly gateway?: readonly string[];
  /** CA of the API server. */
  readonly ca?: string;
}

const MAX_LINES = 5000;
let lastPod = 1;

/** Runs a command and waits for it. @throws {Error} With what it printed. */
export async function run(...command: readonly string[]): Promise<void> {
  const [program = "", ...args] = command;
  const { success, stderr } = await new Deno.Command(program, {
    args,
    stdout: "null",
    stderr: "piped",
  }).output();
  if (success) return;
  const text = new TextDecoder().decode(stderr).trim();
  throw new Error(`${command.join(" ")}: ${text}`);
}

/** Creates the bridge that pods are connected to. */
export async function createBridge(): Promise<void> {
  // Else it takes the lowest address of its ports, and pods lose packets when that changes.
  const address = ["address", "02:00:00:00:00:01"];
  await run("ip", "link", "add", "cni0", ...address, "type", "bridge");
  await run("ip", "addr", "add", "10.244.0.1/16", "dev", "cni0");
  await run("ip", "addr", "add", `${SERVERS_ADDRESS}/32`, "dev", "cni0");
  await run("ip", "link", "set", "cni0", "up");
}

/** Starts a pod; its first container only, and other images than echo-basic do nothing. */
export async function startPod(
  pod: KubernetesObject,
  { api, echo, directory, gateway, ca = "" }: PodOptions,
): Promise<RunningPod> {
  const number = ++lastPod;
  const address = `10.244.${number >> 8}.${number & 255}`;
  const [container = {}] = listOf(pod["spec"], "containers");
  const folder =
    `${directory}/pods/${pod.metadata.namespace}/${pod.metadata.name}`;
  const mounts = await mountVolumes(pod, container, { api, folder });
  const env = environmentOf(pod, container, { address, mounts, folder });
  const image = String(container["image"]);
  const isGateway = /(^|\/)gateway[:@]/.test(image) && gateway !== undefined;
  const [program = "", ...args] = isGateway
    ? [...gateway, ...argumentsOf(container, mounts, folder)]
    : image.includes("echo-basic")
    ? [echo]
    : ["sleep", "infinity"];
  const account = isGateway && hasToken(pod)
    ? await writeServiceAccount(pod, { api, folder, ca })
    : "";
  await Deno.mkdir(folder, { recursive: true });
  const process = new Deno.Command("unshare", {
    args: ["--net", "--mount", "sh", "-c", START_POD, "sh"]
      .concat([`${folder}/log`, account, program, ...args]),
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      ...env,
      ...(isGateway && inCluster),
    },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  await connect(process.pid, number, address);
  const input = process.stdin.getWriter();
  await input.write(new TextEncoder().encode("\n"));
  await input.close();
  const lines: RunningPod["lines"] = [];
  const reading = collectLines(process.stdout, lines);
  return {
    address,
    pid: process.pid,
    lines,
    async stop() {
      if (isGateway) await endGracefully(process, pod);
      else process.kill("SIGKILL");
      await process.status;
      await reading;
    },
  };
}

/**
 * Waits for the network, mounts the service account where the kubelet does, and becomes the program. The mount namespace ends
 * with it.
 */
const START_POD = `read _
log=$1 account=$2; shift 2
if [ -n "$account" ]; then
  mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount &&
    mount --bind "$account" /run/secrets/kubernetes.io/serviceaccount || exit
fi
exec "$@" 2>"$log"`;

/** Reports whether a pod has a token for the API server. */
function hasToken({ spec }: KubernetesObject): boolean {
  return !isJsonObject(spec) || spec["automountServiceAccountToken"] !== false;
}

/** Issues a token for the service account of a pod. */
async function issueToken(
  { metadata: { namespace = "" }, spec }: KubernetesObject,
  api: KubernetesApi,
  audience?: unknown,
): Promise<string> {
  const name = isJsonObject(spec) ? String(spec["serviceAccountName"]) : "";
  const response = await api.request({
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: {
      spec: {
        expirationSeconds: 3600,
        ...(audience !== undefined && { audiences: [audience] }),
      },
    },
  });
  const status = isJsonObject(response) ? response["status"] : undefined;
  return isJsonObject(status) ? String(status["token"]) : "";
}

/** Writes the files of the service account of a pod; returns their folder. */
async function writeServiceAccount(
  pod: KubernetesObject,
  { api, folder, ca }: {
    readonly api: KubernetesApi;
    readonly folder: string;
    readonly ca: string;
  },
): Promise<string> {
  const { namespace = "" } = pod.metadata;
  const token = await issueToken(pod, api);
  const account = `${folder}/serviceaccount`;
  await Deno.mkdir(account, { recursive: true });
  const files = { token, namespace, "ca.crt": ca };
  for (const [file, content] of Object.entries(files)) {
    await Deno.writeTextFile(`${account}/${file}`, content);
  }
  return account;
}

/** Returns the arguments of a container, with the paths of its volumes where they are here. */
function argumentsOf(
  { args }: JsonObject,
  mounts: readonly string[],
  folder: string,
): readonly string[] {
  return (Array.isArray(args) ? args : []).map((argument) => {
    const text = String(argument);
    const mount = mounts.find((each) => text.includes(`=${each}`));
    return mount === undefined
      ? text
      : text.replace(`=${mount}`, `=${folder}${mount}`);
  });
}

/** Ends a process as the kubelet does. */
async function endGracefully(
  process: Deno.ChildProcess,
  { spec }: KubernetesObject,
): Promise<void> {
  const seconds = isJsonObject(spec)
    ? Number(spec["terminationGracePeriodSeconds"] ?? 30)
    : 30;
  process.kill("SIGTERM");
  const timer = setTimeout(() => process.kill("SIGKILL"), seconds * 1000);
  await process.status;
  clearTimeout(timer);
}

/** Gives the network namespace of a process an address, before the process goes on. */
async function connect(
  pid: number,
  number: number,
  address: string,
): Promise<void> {
  const namespaceOf = (id: number | string) =>
    Deno.readLink(`/proc/${id}/ns/net`);
  const own = await namespaceOf("self");
  while (await namespaceOf(pid) === own) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const name = `pod${number}`;
  await run(
    ...["ip", "link", "add", name, "type", "veth"],
    ...["peer", "name", "eth0", "netns", String(pid)],
  );
  await run("ip", "link", "set", name, "master", "cni0", "up");
  for (
    const args of [
      ["link", "set", "lo", "up"],
      ["link", "set", "eth0", "up"],
      ["addr", "add", `${address}/16`, "dev", "eth0"],
      ["route", "add", "default", "via", "10.244.0.1"],
    ]
  ) {
    await run("nsenter", "-t", String(pid), "-n", "ip", ...args);
  }
}

async function collectLines(
  output: ReadableStream<Uint8Array<ArrayBuffer>>,
  lines: RunningPod["lines"],
): Promise<void> {
  let rest = "";
  for await (const chunk of output.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    for (const text of parts) lines.push({ at: Date.now(), text });
    if (lines.length > MAX_LINES) lines.splice(0, lines.length - MAX_LINES);
  }
}

/** Returns the items of a list of objects. */
export function listOf(owner: unknown, name: string): readonly JsonObject[] {
  const list = isJsonObject(owner) ? owner[name] : undefined;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** Writes the volumes of a container to files; returns the folders by their paths in the pod. */
async function mountVolumes(
  pod: KubernetesObject,
  container: JsonObject,
  { api, folder }: { readonly api: KubernetesApi; readonly folder: string },
): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const { name, mountPath } of listOf(container, "volumeMounts")) {
    const volume = listOf(pod["spec"], "volumes").find((each) =>
      each["name"] === name
    ) ?? {};
    const projected = listOf(volume["projected"], "sources");
    const target = `${folder}${mountPath}`;
    await Deno.mkdir(target, { recursive: true });
    for (const source of projected.length > 0 ? projected : [volume]) {
      await writeVolume(pod, source, { api, target });
    }
    paths.push(String(mountPath));
  }
  return paths;
}

/** Writes a Secret, a ConfigMap or a token to files; other volumes are empty. */
async function writeVolume(
  pod: KubernetesObject,
  { secret, configMap, serviceAccountToken: token }: JsonObject,
  { api, target }: { readonly api: KubernetesApi; readonly target: string },
): Promise<void> {
  if (isJsonObject(token)) {
    const text = await issueToken(pod, api, token["audience"]);
    return await Deno.writeTextFile(`${target}/${token["path"]}`, text);
  }
  const source = isJsonObject(secret) ? secret : configMap;
  if (!isJsonObject(source)) return;
  const plural = isJsonObject(secret) ? "secrets" : "configmaps";
  const found = await api.request({
    path: `/api/v1/namespaces/${pod.metadata.namespace}/${plural}/${
      source["secretName"] ?? source["name"]
    }`,
  });
  const data = isJsonObject(found) && isJsonObject(found["data"])
    ? found["data"]
    : {};
  const items = listOf(source, "items");
  const files = items.length > 0
    ? items.map(({ key, path }) => [String(key), String(path)] as const)
    : Object.keys(data).map((key) => [key, key] as const);
  for (const [key, path] of files) {
    const value = String(data[key]);
    await Deno.writeFile(
      `${target}/${path}`,
      plural === "secrets"
        ? Uint8Array.fromBase64(value)
        : new TextEncoder().encode(value),
    );
  }
}

function environmentOf(
  pod: KubernetesObject,
  container: JsonObject,
  { address, mounts, folder }: {
    readonly address: string;
    readonly mounts: readonly string[];
    readonly folder: string;
  },
): Record<string, string> {
  const fields: Readonly<Record<string, string | undefined>> = {
    "metadata.name": pod.metadata.name,
    "metadata.namespace": pod.metadata.namespace,
    "status.podIP": address,
    "status.podIPs": address,
    "status.hostIP": "127.0.0.1",
  };
  return Object.fromEntries(
    listOf(container, "env").map(({ name, value, valueFrom }) => {
      const source = isJsonObject(valueFrom)
        ? valueFrom["fieldRef"]
        : undefined;
      const path = isJsonObject(source) ? String(source["fieldPath"]) : "";
      const text = typeof value === "string" ? value : fields[path] ?? "";
      const isMounted = mounts.some((mount) => text.startsWith(mount));
      return [String(name), isMounted ? `${folder}${text}` : text];
    }),
  );
}
