import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { systemClock } from "../../src/base/clock.ts";
import {
  ApiError,
  type KubernetesApi,
} from "../../src/cluster/client/kubernetes_api.ts";
import { Informer } from "../../src/cluster/client/informer.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../../src/cluster/client/kubernetes_object.ts";
import {
  createBridge,
  listOf,
  type PodOptions,
  type RunningPod,
  startPod,
} from "./pods.ts";
import { ServiceProxy } from "./service_proxy.ts";

const NODE = "node-1";
const MANAGER = "test-node";
const OWNER_LABEL = `${MANAGER}/deployment`;
const KUBELET_PORT = 10250;
const MERGE_PATCH = "application/merge-patch+json";

/** Options of a node. */
export interface NodeOptions extends PodOptions {
  readonly kubelet: { readonly cert: string; readonly key: string };
  /** Receives failures of work that is attempted again. */
  readonly onError: (message: string) => void;
}

/**
 * A node without a kubelet, with as much of the controllers as the conformance suite needs: pods of Deployments, EndpointSlices of
 * Services, logs of pods, and the end of namespaces.
 */
export class ClusterNode {
  readonly #options: NodeOptions;
  readonly #proxy: ServiceProxy;
  readonly #running = new Map<string, RunningPod>();
  readonly #busy = new Set<string>();
  readonly #again = new Set<string>();
  readonly #pods: Informer;
  readonly #deployments: Informer;
  readonly #services: Informer;
  readonly #namespaces: Informer;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.#proxy = new ServiceProxy(options.directory);
    this.#pods = this.#follow("/api/v1/pods", (pod) => this.#onPod(pod));
    this.#deployments = this.#follow(
      "/apis/apps/v1/deployments",
      (deployment) => this.#soon("deployment", objectKey(deployment)),
    );
    this.#services = this.#follow(
      "/api/v1/services",
      (service) => this.#soon("service", objectKey(service)),
    );
    this.#namespaces = this.#follow(
      "/api/v1/namespaces",
      (namespace) => this.#soon("namespace", objectKey(namespace)),
    );
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await createBridge();
    await this.#proxy.start();
    await this.#register();
    const server = this.#serveLogs();
    await Promise.all(
      [this.#namespaces, this.#services, this.#deployments, this.#pods].map(
        (informer) => informer.run(signal),
      ),
    );
    await server.shutdown();
  }

  #follow(path: string, onChange: (object: KubernetesObject) => void) {
    return new Informer({
      api: this.#options.api,
      clock: systemClock,
      random: Math.random,
      path,
      onChange: (now, before) => {
        const object = now ?? before;
        if (object !== undefined) onChange(object);
      },
    });
  }

  #onPod(pod: KubernetesObject): void {
    const { namespace, labels = {} } = pod.metadata;
    this.#soon("pod", objectKey(pod));
    const owner = labels[OWNER_LABEL];
    if (owner !== undefined) this.#soon("deployment", `${namespace}/${owner}`);
    for (const [key, service] of this.#services.items) {
      if (service.metadata.namespace === namespace && selects(service, pod)) {
        this.#soon("service", key);
      }
    }
  }

  /** Works on an object, once at a time, and again if it changed meanwhile or the work failed. */
  #soon(kind: keyof ClusterNode["work"], key: string): void {
    const id = `${kind} ${key}`;
    if (this.#busy.has(id)) return void this.#again.add(id);
    this.#busy.add(id);
    this.work[kind](key).catch(async (error: unknown) => {
      this.#options.onError(`${id}: ${error}`);
      await new Promise((resolve) => setTimeout(resolve, 250));
      this.#again.add(id);
    }).finally(() => {
      this.#busy.delete(id);
      if (this.#again.delete(id)) this.#soon(kind, key);
    });
  }

  readonly work = {
    pod: (key: string) => this.#syncPod(key),
    deployment: (key: string) => this.#syncDeployment(key),
    service: (key: string) => this.#syncService(key),
    namespace: (key: string) => this.#endNamespace(key),
  };

  async #syncPod(key: string): Promise<void> {
    const pod = this.#pods.items.get(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) {
      await this.#running.get(key)?.stop();
      this.#running.delete(key);
      if (pod !== undefined) {
        await this.#delete(`${pathOf("v1", "pods", key)}?gracePeriodSeconds=0`);
      }
      return;
    }
    const isOurs = isJsonObject(pod["spec"]) &&
      pod["spec"]["nodeName"] === NODE;
    if (!isOurs || this.#running.has(key)) return;
    const running = await startPod(pod, this.#options);
    this.#running.set(key, running);
    const probe = probeOf(pod, running.address);
    await this.#reportPod(key, pod, { running, isReady: probe === undefined });
    if (probe === undefined) return;
    while (this.#running.get(key) === running && !await isReady(probe)) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await this.#reportPod(key, pod, { running, isReady: true });
  }

  async #reportPod(
    key: string,
    pod: KubernetesObject,
    { running, isReady }: {
      readonly running: RunningPod;
      readonly isReady: boolean;
    },
  ): Promise<void> {
    const at = new Date().toISOString().replace(/\.\d+/, "");
    const conditions = [
      "Initialized",
      "PodScheduled",
      "ContainersReady",
      "Ready",
    ].map((type) => ({
      type,
      status: isReady || !type.endsWith("Ready") ? "True" : "False",
      lastTransitionTime: at,
    }));
    await this.#patch(`${pathOf("v1", "pods", key)}/status`, {
      phase: "Running",
      podIP: running.address,
      podIPs: [{ ip: running.address }],
      hostIP: "127.0.0.1",
      startTime: at,
      conditions,
      containerStatuses: listOf(pod["spec"], "containers").map((
        { name, image },
      ) => ({
        ...{ name, image, imageID: image, ready: isReady, started: true },
        restartCount: 0,
        state: { running: { startedAt: at } },
      })),
    });
  }

  async #syncDeployment(key: string): Promise<void> {
    const deployment = this.#deployments.items.get(key);
    const [namespace = "", name = ""] = key.split("/");
    const spec = deployment?.["spec"];
    const isThere = isJsonObject(spec) &&
      deployment?.metadata.deletionTimestamp === undefined;
    const replicas = isThere ? Number(spec["replicas"] ?? 1) : 0;
    // The suite derives the Deployment from the name of the pod, which has two suffixes.
    const revision = isThere ? await revisionOf(spec["template"]) : "";
    const names = Array.from(
      { length: replicas },
      (_, index) => `${name}-${revision}-${index}`,
    );
    for (const pod of names) {
      if (this.#pods.items.has(`${namespace}/${pod}`)) continue;
      await this.#createPod(pod, namespace, name, spec);
    }
    const ready = names.filter((pod) =>
      hasCondition(this.#pods.items.get(`${namespace}/${pod}`), "Ready")
    );
    if (isThere && deployment !== undefined) {
      await this.#reportReplicas(key, deployment, ready.length);
    }
    // Old pods stay until all new ones are ready.
    if (ready.length < names.length) return;
    for (const [podKey, pod] of this.#pods.items) {
      const { labels = {}, deletionTimestamp } = pod.metadata;
      const isOwned = pod.metadata.namespace === namespace &&
        labels[OWNER_LABEL] === name;
      if (!isOwned || names.includes(pod.metadata.name)) continue;
      if (deletionTimestamp !== undefined) continue;
      await this.#delete(pathOf("v1", "pods", podKey));
    }
  }

  async #createPod(
    name: string,
    namespace: string,
    owner: string,
    spec: unknown,
  ): Promise<void> {
    const template = isJsonObject(spec) ? spec["template"] : undefined;
    const { metadata, spec: podSpec } = isJsonObject(template) ? template : {};
    const { labels, annotations } = isJsonObject(metadata) ? metadata : {};
    await this.#unless([404, 409], {
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/pods`,
      body: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name,
          annotations,
          labels: {
            ...(isJsonObject(labels) && labels),
            [OWNER_LABEL]: owner,
          },
        },
        spec: {
          ...(isJsonObject(podSpec) && podSpec),
          nodeName: NODE,
          enableServiceLinks: false,
        },
      },
    });
  }

  async #reportReplicas(
    key: string,
    deployment: KubernetesObject,
    replicas: number,
  ): Promise<void> {
    const { generation } = deployment.metadata;
    const status = isJsonObject(deployment["status"])
      ? deployment["status"]
      : {};
    if (
      status["readyReplicas"] === replicas &&
      status["observedGeneration"] === generation
    ) return;
    await this.#patch(`${pathOf("apps/v1", "deployments", key)}/status`, {
      observedGeneration: generation,
      replicas,
      updatedReplicas: replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
      conditions: [{
        type: "Available",
        status: "True",
        reason: "MinimumReplicasAvailable",
      }],
    });
  }

  async #syncService(key: string): Promise<void> {
    const service = this.#services.items.get(key);
    const [namespace = "", name = ""] = key.split("/");
    const path = pathOf(
      "discovery.k8s.io/v1",
      "endpointslices",
      `${namespace}/${name}-${MANAGER}`,
    );
    const spec = service?.["spec"];
    if (
      service === undefined || service.metadata.deletionTimestamp !== undefined
    ) {
      await this.#delete(path);
      return;
    }
    // Without a selector, or of this type, its slices belong to others.
    if (
      !isJsonObject(spec) || !isJsonObject(spec["selector"]) ||
      spec["type"] === "ExternalName"
    ) return;
    const members = [...this.#pods.items.values()].filter((pod) =>
      pod.metadata.namespace === namespace && selects(service, pod) &&
      addressOf(pod) !== undefined
    );
    await this.#forward(key, spec, members);
    await this.#options.api.apply(path, MANAGER, {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name: `${name}-${MANAGER}`,
        namespace,
        labels: {
          "kubernetes.io/service-name": name,
          "endpointslice.kubernetes.io/managed-by": MANAGER,
        },
      },
      addressType: "IPv4",
      ports: listOf(spec, "ports").map((port) => ({
        name: port["name"] ?? "",
        port: targetPort(port, members[0]),
        protocol: port["protocol"] ?? "TCP",
        appProtocol: port["appProtocol"],
      })),
      endpoints: members.map((pod) => ({
        addresses: [addressOf(pod)],
        nodeName: NODE,
        conditions: {
          ready: hasCondition(pod, "Ready") &&
            pod.metadata.deletionTimestamp === undefined,
          serving: hasCondition(pod, "Ready"),
          terminating: pod.metadata.deletionTimestamp !== undefined,
        },
      })),
    });
  }

  async #forward(
    key: string,
    spec: JsonObject,
    members: readonly KubernetesObject[],
  ): Promise<void> {
    const address = String(spec["clusterIP"] ?? "None");
    if (address === "None") return;
    const ready = members.filter((pod) => hasCondition(pod, "Ready"));
    await this.#proxy.update(
      key,
      address,
      listOf(spec, "ports").map((port) => ({
        port: Number(port["port"]),
        targets: ready.map((pod) => ({
          hostname: String(addressOf(pod)),
          port: Number(targetPort(port, pod)),
        })),
      })),
    );
  }

  /** Deletes everything in a namespace that is to end, then lets it end. */
  async #endNamespace(key: string): Promise<void> {
    const namespace = this.#namespaces.items.get(key);
    if (namespace?.metadata.deletionTimestamp === undefined) return;
    const { api } = this.#options;
    const groups = listOf(await api.request({ path: "/apis" }), "groups");
    const versions = groups.map(({ preferredVersion }) =>
      isJsonObject(preferredVersion)
        ? `/apis/${preferredVersion["groupVersion"]}`
        : ""
    );
    for (const version of ["/api/v1", ...versions]) {
      const resources = listOf(
        await api.request({ path: version }),
        "resources",
      );
      for (const { name, namespaced, verbs } of resources) {
        const isDeletable = namespaced === true && Array.isArray(verbs) &&
          verbs.includes("deletecollection") && name !== "events";
        if (!isDeletable) continue;
        await this.#delete(
          `${version}/namespaces/${key}/${name}?gracePeriodSeconds=0`,
        );
      }
    }
    const spec = isJsonObject(namespace["spec"]) ? namespace["spec"] : {};
    await this.#unless([404, 409], {
      method: "PUT",
      path: `/api/v1/namespaces/${key}/finalize`,
      body: { ...namespace, spec: { ...spec, finalizers: [] } },
    });
  }

  async #register(): Promise<void> {
    await this.#unless([409], {
      method: "POST",
      path: "/api/v1/nodes",
      body: { apiVersion: "v1", kind: "Node", metadata: { name: NODE } },
    });
    await this.#patch(`/api/v1/nodes/${NODE}/status`, {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: KUBELET_PORT } },
      conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }],
    });
  }

  /** Serves the endpoints of a kubelet that the API server needs here: logs, and ports of pods. */
  #serveLogs(): Deno.HttpServer {
    return Deno.serve({
      ...this.#options.kubelet,
      hostname: "127.0.0.1",
      port: KUBELET_PORT,
      onListen() {},
    }, (request) => {
      const { pathname, searchParams } = new URL(request.url);
      const [, what, namespace, name] = pathname.split("/");
      const pod = this.#running.get(`${namespace}/${name}`);
      if (what === "portForward" && pod !== undefined) {
        return forwardPort(request, pod, searchParams.get("port") ?? "");
      }
      if (what !== "containerLogs" || pod === undefined) {
        return new Response("not found", { status: 404 });
      }
      const since = Date.parse(searchParams.get("sinceTime") ?? "1970-01-01");
      const lines = pod.lines.filter(({ at }) => at >= since);
      return new Response(lines.map(({ text }) => `${text}\n`).join(""));
    });
  }

  #patch(path: string, status: object): Promise<void> {
    return this.#unless([404], {
      method: "PATCH",
      path,
      body: { status },
      contentType: MERGE_PATCH,
    });
  }

  #delete(path: string): Promise<void> {
    return this.#unless([404, 405], { method: "DELETE", path });
  }

  /** Sends a request; the given codes are no failures. */
  async #unless(
    codes: readonly number[],
    request: Parameters<KubernetesApi["request"]>[0],
  ): Promise<void> {
    try {
      await this.#options.api.request(request);
    } catch (error) {
      if (!(error instanceof ApiError && codes.includes(error.code))) {
        throw error;
      }
    }
  }
}

/** Returns the URL of the readiness probe of the first container. */
function probeOf(
  { spec }: KubernetesObject,
  address: string,
): string | undefined {
  const [container = {}] = listOf(spec, "containers");
  const { readinessProbe } = container;
  const get = isJsonObject(readinessProbe) ? readinessProbe["httpGet"] : null;
  // Of the programs of the conformance suite, none has a named port.
  if (!isJsonObject(get) || typeof get["port"] !== "string") return undefined;
  const port = listOf(container, "ports").find(({ name }) =>
    name === get["port"]
  );
  return `http://${address}:${port?.["containerPort"]}${get["path"]}`;
}

async function isReady(probe: string): Promise<boolean> {
  try {
    const response = await fetch(probe);
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

async function revisionOf(template: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(template));
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return new Uint8Array(hash).toHex().slice(0, 8);
}

function hasCondition(pod: KubernetesObject | undefined, type: string) {
  return listOf(pod?.["status"], "conditions").some((each) =>
    each["type"] === type && each["status"] === "True"
  );
}

/** Forwards a connection to a port of a pod, as the kubelet does for clients with WebSockets. */
function forwardPort(
  request: Request,
  { pid }: RunningPod,
  port: string,
): Response {
  const { socket, response } = Deno.upgradeWebSocket(request, {
    protocol: "v4.channel.k8s.io",
  });
  socket.binaryType = "arraybuffer";
  socket.onopen = async () => {
    for (const channel of [0, 1]) {
      socket.send(
        new Uint8Array([channel, Number(port) & 255, Number(port) >> 8]),
      );
    }
    const script =
      `exec 3<>/dev/tcp/127.0.0.1/${port}; cat <&3 & cat >&3; kill %1`;
    const process = new Deno.Command("nsenter", {
      args: ["-t", String(pid), "-n", "bash", "-c", script],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const writer = process.stdin.getWriter();
    let writing: Promise<unknown> = Promise.resolve();
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      writing = writing.then(() =>
        writer.write(new Uint8Array(data).subarray(1))
      );
    };
    socket.onclose = () => process.kill("SIGKILL");
    for await (const chunk of process.stdout) {
      const frame = new Uint8Array(chunk.length + 1);
      frame.set(chunk, 1);
      if (socket.readyState === WebSocket.OPEN) socket.send(frame);
    }
    socket.close();
  };
  return response;
}

function pathOf(version: string, plural: string, key: string): string {
  const root = version.includes("/") ? "/apis" : "/api";
  const [namespace, name] = key.split("/");
  return `${root}/${version}/namespaces/${namespace}/${plural}/${name}`;
}

function selects(
  { spec }: KubernetesObject,
  { metadata: { labels = {} } }: KubernetesObject,
): boolean {
  const selector = isJsonObject(spec) ? spec["selector"] : undefined;
  return isJsonObject(selector) &&
    Object.entries(selector).every(([name, value]) => labels[name] === value);
}

function addressOf({ status }: KubernetesObject): unknown {
  return isJsonObject(status) ? status["podIP"] : undefined;
}

/** Returns the port of the pods that a service's port stands for; its name is that of a container's port. */
function targetPort(
  { targetPort, port }: { readonly [name: string]: unknown },
  pod: KubernetesObject | undefined,
): unknown {
  if (typeof targetPort !== "string") return targetPort ?? port;
  return listOf(pod?.["spec"], "containers")
    .flatMap((container) => listOf(container, "ports"))
    .find(({ name }) => name === targetPort)?.["containerPort"];
}
