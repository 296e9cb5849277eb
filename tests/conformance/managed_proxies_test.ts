import assert from "node:assert/strict";
import { render } from "../../.ci/render_chart.ts";
import { isJsonObject } from "../../src/base/json.ts";
import { proxyName } from "../../src/cluster/infrastructure/proxy_objects.ts";
import { BRIDGE_ADDRESS, SERVERS_ADDRESS } from "./api_server.ts";
import { createUsers, writeKubeconfig } from "./cluster_users.ts";
import { install } from "./install.ts";
import { listOf } from "./pods.ts";
import {
  condition,
  gatewayCommand,
  get,
  helm,
  installChart,
  print,
  readyEndpoints,
  startTestCluster,
  until,
} from "./test_cluster.ts";

const SYSTEM = "gateway-system";
const GATEWAYS = "/apis/gateway.networking.k8s.io/v1/namespaces/team/gateways";
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${SYSTEM}/deployments`;

const cluster = await startTestCluster();

function nameOf(gateway: string): string {
  return proxyName({ metadata: { namespace: "team", name: gateway } });
}

async function apply(...objects: readonly object[]): Promise<void> {
  await install(cluster.api, objects.map((each) => JSON.stringify(each)));
}

function configMap(data: Readonly<Record<string, string>>) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "parameters", namespace: "team" },
    data,
  };
}

function gateway(name: string, port: number, infrastructure: object) {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { name, namespace: "team" },
    spec: {
      gatewayClassName: "gateway",
      infrastructure,
      listeners: [{ name: "http", protocol: "HTTP", port }],
    },
  };
}

function route(name: string) {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name, namespace: "team" },
    spec: {
      parentRefs: [{ name }],
      rules: [{
        filters: [{
          type: "RequestRedirect",
          requestRedirect: { hostname: `${name}.example.com` },
        }],
      }],
    },
  };
}

const parameters = {
  parametersRef: { group: "", kind: "ConfigMap", name: "parameters" },
};

/** Waits for a condition of a gateway. */
async function untilCondition(
  name: string,
  type: string,
  expected: RegExp,
): Promise<void> {
  let seen: string | undefined;
  await until(`${type} of ${name} is ${expected}`, async () => {
    seen = condition(await get(cluster, `${GATEWAYS}/${name}`), type);
    return seen !== undefined && expected.test(seen) ? seen : undefined;
  }).catch(async (error) => {
    await print(`${type} is ${seen}`);
    throw error;
  });
}

/** Waits until this many proxies of a gateway are ready; returns their addresses. */
function untilReady(name: string, count: number): Promise<readonly string[]> {
  return until(`${count} proxies of ${name}`, async () => {
    const found = await readyEndpoints(cluster, SYSTEM, nameOf(name));
    return found.length === count ? found : undefined;
  });
}

async function requestFrom(address: string, port: number): Promise<string> {
  const response = await fetch(`http://${address}:${port}/`, {
    redirect: "manual",
  });
  await response.body?.cancel();
  return response.headers.get("location") ?? String(response.status);
}

Deno.test("the rendered manifests are current, and the API server accepts them", async () => {
  await apply(namespace(SYSTEM), namespace("team"));
  const programs = `${cluster.programs}/helm`;
  for (const mode of ["managed", "shared"] as const) {
    const text = await render(programs, mode);
    assert.equal(await Deno.readTextFile(`deploy/${mode}.yaml`), text);
    await install(cluster.api, [text], { dryRun: true });
  }
});

const variants = [
  ["mode=shared", "autoscaling.enabled=true", "networkPolicy.enabled=true"],
  ["watchNamespaces={team}", "networkPolicy.enabled=true"],
  ["mode=shared", "watchNamespaces={team}", "serviceAccount.create=false"],
  ["valkey.enabled=true", "snapshot.enabled=true"],
  ["networkPolicy.enabled=true", "imagePullSecrets[0].name=registry"],
  ["mode=shared", "snapshot.enabled=true"],
];
for (const values of variants) {
  Deno.test(`the API server accepts the chart with ${values.join(", ")}`, async () => {
    const sets = values.flatMap((each) => ["--set", each]);
    const chart = "deploy/helm/gateway";
    const text = await helm(
      cluster,
      "template",
      "gateway",
      chart,
      "-n",
      SYSTEM,
      ...sets,
    );
    await install(cluster.api, [text], { dryRun: true });
  });
}

function namespace(name: string) {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

Deno.test("helm install, then a Gateway has proxies with an address", async () => {
  await installChart(cluster, [
    ...["--set", "proxies.serviceType=ClusterIP"],
    ...["--set", "config.lameDuck=1s"],
    ...["--set", "proxies.podAnnotations=example.com/*"],
    ...["--set", "imagePullSecrets[0].name=registry"],
    ...["--set", "nodeSelector.pool=edge"],
    ...["--set", "proxies.tolerations[0].operator=Exists"],
    ...["--set", "proxies.topologySpreadConstraints[0].maxSkew=1"],
    ...["--set", "proxies.topologySpreadConstraints[0].topologyKey=zone"],
    ...[
      "--set",
      "proxies.topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
    ],
  ]);
  await apply(
    configMap({ replicas: "2" }),
    gateway("one", 80, { ...parameters, labels: { team: "a" } }),
    gateway("two", 8080, {}),
    route("one"),
    route("two"),
  );
  await untilCondition("one", "Programmed", /^True/);
  await untilCondition("two", "Programmed", /^True/);
  const service = await get(
    cluster,
    `/api/v1/namespaces/${SYSTEM}/services/${nameOf("one")}`,
  );
  const status = (await get(cluster, `${GATEWAYS}/one`))?.["status"];
  const spec = isJsonObject(service?.["spec"]) ? service["spec"] : {};
  assert.deepEqual(
    listOf(status, "addresses"),
    [{ type: "IPAddress", value: spec["clusterIP"] }],
  );
});

Deno.test("pods of proxies have what the values of the chart say", async () => {
  const deployment = await until(
    "a Deployment",
    () => get(cluster, `${DEPLOYMENTS}/${nameOf("one")}`),
  );
  const text = JSON.stringify(deployment["spec"]);
  assert.match(text, /"imagePullSecrets":\[\{"name":"registry"\}\]/);
  assert.match(text, /"nodeSelector":\{"pool":"edge"\}/);
  assert.match(text, /"tolerations":\[\{"operator":"Exists"\}\]/);
  assert.match(text, /"imagePullPolicy":"IfNotPresent"/);
  assert.match(
    text,
    /"topologySpreadConstraints":\[\{[^\]]*gateway-name":"one"/,
  );
});

Deno.test("a proxy serves its Gateway, and no other", async () => {
  const [one = ""] = await untilReady("one", 2);
  const [two = ""] = await untilReady("two", 2);
  assert.equal(await requestFrom(one, 80), "http://one.example.com/");
  assert.equal(await requestFrom(two, 8080), "http://two.example.com:8080/");
  for (const [hostname, port] of [[one, 8080], [two, 80]] as const) {
    await assert.rejects(Deno.connect({ hostname, port }), /refused/);
  }
});

const rights = [
  ["gateway", "create", "apps", "deployments", SYSTEM, true],
  ["gateway", "create", "apps", "deployments", "team", false],
  ["gateway", "create", "", "services", "team", false],
  ["gateway", "create", "", "pods", SYSTEM, false],
  ["gateway", "update", "gateway.networking.k8s.io", "gateways", "team", false],
  ["gateway", "create", "rbac.authorization.k8s.io", "clusterroles", "", false],
  [
    "gateway",
    "create",
    "rbac.authorization.k8s.io",
    "rolebindings",
    SYSTEM,
    false,
  ],
  ["gateway", "update", "", "secrets", SYSTEM, false],
  ["gateway", "create", "", "secrets", "team", false],
  ["proxy", "list", "", "secrets", "team", false],
  ["proxy", "get", "", "configmaps", SYSTEM, false],
  ["proxy", "list", "gateway.networking.k8s.io", "gateways", "team", false],
  ["proxy", "list", "", "namespaces", "", false],
] as const;
for (const [who, verb, group, resource, namespace, expected] of rights) {
  Deno.test(`the ${who} may ${expected ? "" : "not "}${verb} ${resource} in "${namespace}"`, async () => {
    const account = who === "proxy" ? nameOf("one") : "gateway";
    const review = await cluster.api.request({
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      body: {
        spec: {
          user: `system:serviceaccount:${SYSTEM}:${account}`,
          resourceAttributes: { verb, group, resource, namespace },
        },
      },
    });
    const status = isJsonObject(review) ? review["status"] : undefined;
    assert(isJsonObject(status));
    assert.equal(status["allowed"], expected, JSON.stringify(status));
  });
}

Deno.test("what someone deletes or changes is restored", async () => {
  const path = `/apis/policy/v1/namespaces/${SYSTEM}/poddisruptionbudgets/${
    nameOf("one")
  }`;
  await cluster.api.request({ method: "DELETE", path });
  await until("the budget is back", () => get(cluster, path));
  const deployment = `${DEPLOYMENTS}/${nameOf("two")}`;
  await cluster.api.request({
    method: "PATCH",
    path: deployment,
    body: { spec: { replicas: 5 } },
    contentType: "application/merge-patch+json",
  });
  await until("two replicas again", async () => {
    const spec = (await get(cluster, deployment))?.["spec"];
    return isJsonObject(spec) && spec["replicas"] === 2 ? true : undefined;
  });
});

Deno.test("a status that someone wipes is written again", async () => {
  const places = [
    [`${GATEWAYS}/one`, "conditions"],
    [
      "/apis/gateway.networking.k8s.io/v1/namespaces/team/httproutes/one",
      "parents",
    ],
  ] as const;
  for (const [path, member] of places) {
    const object = await get(cluster, path);
    const before = listOf(object?.["status"], member);
    assert.notDeepEqual(before, []);
    await cluster.api.request({
      method: "PUT",
      path: `${path}/status`,
      body: { ...object, status: { [member]: [] } },
    });
    await until("the status is back", async () => {
      const status = (await get(cluster, path))?.["status"];
      return listOf(status, member).length === before.length ? true : undefined;
    });
  }
});

Deno.test("gateways of two namespaces with one port and hostname are independent", async () => {
  const namespace = "other-team";
  const ofOther = <T extends { metadata: object }>(object: T) => ({
    ...object,
    metadata: { ...object.metadata, namespace },
  });
  const policy = {
    apiVersion: "policy.gateway.internal/v1alpha1",
    kind: "GatewayPolicy",
    metadata: { name: "limit", namespace },
    spec: {
      targetRefs: [{
        group: "gateway.networking.k8s.io",
        kind: "Gateway",
        name: "one",
      }],
      traffic: { rateLimit: { local: [{ requests: 1000, unit: "Minutes" }] } },
    },
  };
  await apply(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ofOther(gateway("one", 80, {})),
    ofOther(route("one")),
    policy,
  );

  const statusOf = async (kind: string, name: string) =>
    JSON.stringify(
      (await get(
        cluster,
        `/apis/${
          kind === "gatewaypolicies"
            ? "policy.gateway.internal/v1alpha1"
            : "gateway.networking.k8s.io/v1"
        }/namespaces/${namespace}/${kind}/${name}`,
      ))?.["status"],
    );
  await until("the other gateway is programmed", async () => {
    const text = await statusOf("gateways", "one");
    return /"status":"True"[^{]*"type":"Programmed"|"type":"Programmed"[^{]*"status":"True"/
        .test(text) && !text.includes("HostnameConflict")
      ? true
      : undefined;
  });
  await until("its route is accepted", async () => {
    const text = await statusOf("httproutes", "one");
    return text?.includes('"Accepted"') && !text.includes("NoMatchingParent")
      ? true
      : undefined;
  });
  await until("its policy has a status", async () => {
    const text = await statusOf("gatewaypolicies", "limit");
    return text?.includes('"Attached"') ? true : undefined;
  });
  await untilCondition("one", "Programmed", /^True/);
  await until("all proxies of the other gateway", async () => {
    const metadata = { namespace, name: "one" };
    const own = await readyEndpoints(cluster, SYSTEM, proxyName({ metadata }));
    return own.length === 2 ? true : undefined;
  });
  await cluster.api.request({
    method: "DELETE",
    path: GATEWAYS.replace("/team/", `/${namespace}/`) + "/one",
  });
  await until(
    "only the proxies of the first are left",
    async () => (await podsOf("one")).length === 2 ? true : undefined,
  );
});

Deno.test("a gateway that claims labels of the controller, or that is invalid, gets no proxies", async () => {
  await apply(
    gateway("greedy", 80, {
      labels: { "app.kubernetes.io/managed-by": "gateway.internal-controller" },
    }),
    {
      ...gateway("unsupported", 80, {}),
      spec: {
        ...gateway("unsupported", 80, {}).spec,
        addresses: [{ type: "Hostname", value: "a.example.com" }],
      },
    },
  );

  await untilCondition(
    "greedy",
    "Accepted",
    /^False\/InvalidParameters: infrastructure\.labels: "app\.kubernetes\.io/,
  );
  await untilCondition("unsupported", "Accepted", /^False/);
  for (const name of ["greedy", "unsupported"]) {
    assert.equal(
      await get(cluster, `${DEPLOYMENTS}/${nameOf(name)}`),
      undefined,
      name,
    );
  }
});

Deno.test("invalid parameters are said in the status, and the proxies stay", async () => {
  await untilReady("one", 2);
  await apply(configMap({ replicas: "many" }));
  await untilCondition(
    "one",
    "Accepted",
    /^False\/InvalidParameters: replicas/,
  );
  const ready = await readyEndpoints(cluster, SYSTEM, nameOf("one"));
  assert.equal(ready.length, 2);
  await apply(configMap({ replicas: "2" }));
  await untilCondition("one", "Accepted", /^True/);
});

Deno.test("a rolling update loses no request", async () => {
  const before = await readyEndpoints(cluster, SYSTEM, nameOf("one"));
  const results = new Map<string, number>();
  const stop = new AbortController();
  let ready = before;
  const follow = async () => {
    while (!stop.signal.aborted) {
      const found = await readyEndpoints(cluster, SYSTEM, nameOf("one"));
      if (found.length > 0) ready = found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  let next = 0;
  const send = async () => {
    while (!stop.signal.aborted) {
      const address = ready[next++ % ready.length] ?? "";
      const result = await requestFrom(address, 80).catch(String);
      results.set(result, (results.get(result) ?? 0) + 1);
    }
  };
  const work = [follow(), send(), send(), send(), send()];
  await apply(
    gateway("one", 80, {
      ...parameters,
      labels: { team: "a" },
      annotations: { "example.com/revision": "2" },
    }),
  );
  await until("other proxies", async () => {
    const now = await readyEndpoints(cluster, SYSTEM, nameOf("one"));
    const isDone = now.length === 2 &&
      now.every((each) => !before.includes(each)) &&
      (await podsOf("one")).length === 2;
    return isDone ? true : undefined;
  });
  stop.abort();
  await Promise.all(work);
  assert.deepEqual([...results.keys()], ["http://one.example.com/"]);
  await print(`${[...results.values()]} requests`);
});

async function podsOf(gateway: string) {
  const selector = encodeURIComponent(
    `gateway.networking.k8s.io/gateway-name=${gateway}`,
  );
  return listOf(
    await get(
      cluster,
      `/api/v1/namespaces/${SYSTEM}/pods?labelSelector=${selector}`,
    ),
    "items",
  );
}

/** Starts `gwctl` with the kubeconfig of the cluster. */
function startControl(
  args: readonly string[],
  kubeconfig = cluster.kubeconfig,
): Deno.ChildProcess {
  const [program = "", ...first] = gatewayCommand();
  return new Deno.Command(program, {
    args: [...first, "ctl", ...args, "-n", "team"],
    env: { KUBECONFIG: kubeconfig, NO_COLOR: "1", TERM: "dumb" },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

function control(...args: readonly string[]) {
  return controlAs(cluster.kubeconfig, ...args);
}

async function controlAs(kubeconfig: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await startControl(args, kubeconfig)
    .output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, text: decode(stdout), error: decode(stderr) };
}

Deno.test("gwctl reaches the proxies of a gateway by port-forward", async () => {
  const config = await control("proxy", "config", "all", "gateway/one");
  assert.equal(config.error, "");
  assert.match(config.text, /one\.example\.com/);
  for (
    const command of [
      ...["limits", "usage", "keys", "tasks", "memory", "log"],
      "backends",
    ]
  ) {
    const { code, text, error } = await control(
      "proxy",
      command,
      "gateway/one",
    );
    assert.equal(code, 0, error);
    assert.equal(text.match(/^# team-one-/gm)?.length, 2, text);
  }
  const output = `${cluster.directory}/heap.pb.gz`;
  const heap = await control(
    "proxy",
    "profile",
    "heap",
    "gateway/one",
    "-o",
    output,
  );
  assert.equal(heap.code, 0, heap.error);
  assert((await Deno.stat(output)).size > 100);
});

Deno.test("gwctl explains a request that any of the proxies remembers", async () => {
  const [first = "", second = ""] = await untilReady("two", 2);
  const ids: string[] = [];
  await apply({
    ...route("two"),
    spec: {
      parentRefs: [{ name: "two" }],
      rules: [{ backendRefs: [{ name: "missing", port: 80 }] }],
    },
  });
  for (const address of [first, second]) {
    ids.push(
      await until("a failure", async () => {
        const response = await fetch(`http://${address}:8080/`, {
          redirect: "manual",
        });
        await response.body?.cancel();
        return response.status === 500
          ? response.headers.get("x-request-id") ?? ""
          : undefined;
      }),
    );
  }
  for (const id of ids) {
    const { text, error } = await control("explain", id, "gateway/two");
    assert.equal(error, "");
    assert.match(text, /missing/);
  }
  const { code, error } = await control("explain", "unknown", "gateway/two");
  assert.equal(code, 1);
  assert.match(error, /none of the 2 proxies of gateway\/two/);
});

Deno.test("gwctl traces the first request that any of the proxies sees", async () => {
  const tracing = startControl(["proxy", "trace", "gateway/one"]);
  const ended = tracing.output();
  const addresses = await untilReady("one", 2);
  let isOver = false;
  void ended.finally(() => isOver = true);
  await until("the end of the trace", async () => {
    await requestFrom(addresses[1] ?? "", 80);
    return isOver ? true : undefined;
  });
  const { code, stdout, stderr } = await ended;
  const text = new TextDecoder().decode(stdout);
  assert.equal(code, 0, new TextDecoder().decode(stderr) + text);
  assert.match(text, /HTTPRoute|one/);
});

Deno.test("gwctl follows the requests of all proxies", async () => {
  const [first = "", second = ""] = await untilReady("one", 2);
  const tracing = startControl([
    ...["proxy", "trace", "gateway/one", "--follow", "--raw"],
  ]);
  const errors = new Response(tracing.stderr).text();
  let text = "";
  const reading = (async () => {
    for await (
      const part of tracing.stdout.pipeThrough(new TextDecoderStream())
    ) {
      text += part;
    }
  })();
  let count = 0;
  // Each proxy is followed from some time after the start.
  await until("traces of both proxies", async () => {
    count++;
    for (const [name, address] of [["a", first], ["b", second]]) {
      const response = await fetch(`http://${address}/${name}-${count}`, {
        redirect: "manual",
      });
      await response.body?.cancel();
    }
    return text.includes("/a-") && text.includes("/b-") ? true : undefined;
  });
  // It goes on after the first of them.
  const seen = text.length;
  await until("further traces", async () => {
    await requestFrom(first, 80);
    return text.length > seen ? true : undefined;
  });
  tracing.kill("SIGINT");
  await reading;
  await tracing.status;
  assert.equal((await errors).includes("Error"), false, await errors);
  for (const line of text.trimEnd().split("\n")) JSON.parse(line);
});

/** A server that pods reach. */
function serveFor(pods: string, name: string) {
  const server = Deno.serve(
    { hostname: pods, port: 0, onListen() {} },
    () => new Response(name),
  );
  return { server, name, port: server.addr.port };
}

function serviceOf(name: string) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "team" },
    spec: { clusterIP: "None", ports: [{ name: "http", port: 80 }] },
  };
}

/** Endpoints of a service at a port; none with `isReady: false`. */
function sliceOf(
  service: string,
  port: number,
  isReady = true,
  address = SERVERS_ADDRESS,
) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${service}-${port}`,
      namespace: "team",
      labels: { "kubernetes.io/service-name": service },
    },
    addressType: "IPv4",
    ports: [{ name: "http", port }],
    endpoints: [{
      addresses: [address],
      conditions: { ready: isReady },
    }],
  };
}

Deno.test("requests go to the endpoints of the first priority that has some", async () => {
  const [address = ""] = await untilReady("one", 2);
  const [main, more, reserve] = ["main", "main too", "reserve"].map((name) =>
    serveFor(SERVERS_ADDRESS, name)
  );
  assert(main !== undefined && more !== undefined && reserve !== undefined);
  await apply(
    serviceOf("main"),
    serviceOf("reserve"),
    sliceOf("main", main.port),
    sliceOf("reserve", reserve.port),
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: {
        name: "priorities",
        namespace: "team",
        annotations: {
          "policy.gateway.internal/priorities": "main=0, reserve=1",
        },
      },
      spec: {
        parentRefs: [{ name: "one" }],
        rules: [{
          matches: [{ path: { value: "/priorities" } }],
          backendRefs: ["main", "reserve"].map((name) => ({ name, port: 80 })),
        }],
      },
    },
  );
  const ask = async () => {
    const response = await fetch(`http://${address}/priorities`);
    return await response.text();
  };
  const untilAnswer = (expected: string) =>
    until(
      `${expected} responds`,
      async () => await ask() === expected ? true : undefined,
    );

  await untilAnswer("main");
  await apply(sliceOf("main", more.port));
  await untilAnswer("main too");
  await apply(sliceOf("main", main.port, false));
  await apply(sliceOf("main", more.port, false));
  await untilAnswer("reserve");
  await apply(sliceOf("main", main.port));
  await untilAnswer("main");
  for (let i = 0; i < 20; i++) assert.equal(await ask(), "main");
  await Promise.all(
    [main, more, reserve].map(({ server }) => server.shutdown()),
  );
});

/** A route of the gateway "one" to a backend or service of its name. */
function routeTo(name: string, ref: object) {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name, namespace: "team" },
    spec: {
      parentRefs: [{ name: "one" }],
      rules: [{
        matches: [{ path: { value: `/${name}` } }],
        backendRefs: [{ name, ...ref }],
      }],
    },
  };
}

const metadataServices = [
  "169.254.169.254",
  "169.254.170.2",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
  "64:ff9b::169.254.169.254",
  "2002:a9fe:a9fe::1",
  "fe80::1",
  "fd00:ec2::254",
  "fd20:ce::254",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "metadata.google.internal",
  "metadata.goog",
  "instance-data.ec2.internal",
];

function routePath(name: string): string {
  return `/apis/gateway.networking.k8s.io/v1/namespaces/team/httproutes/${name}`;
}

Deno.test("routes of a tenant do not reach what surrounds the gateway, and their status says so", async () => {
  const [address = "", other = ""] = await untilReady("one", 2);
  let requests = 0;
  // In place of the API server: it has the same address.
  await using server = Deno.serve(
    { hostname: BRIDGE_ADDRESS, port: 0, onListen() {} },
    () => {
      requests++;
      return new Response("reached");
    },
  );
  const { port } = server.addr;
  const stats = await get(
    cluster,
    `/api/v1/namespaces/${SYSTEM}/services/gateway-stats`,
  );
  const statsSpec = isJsonObject(stats?.["spec"]) ? stats["spec"] : {};
  const hosts: readonly (readonly [string, number])[] = [
    ...metadataServices.map((host) => [host, 80] as const),
    ["127.0.0.1", 15000],
    ["127.0.0.2", 15000],
    ["::1", 15000],
    ["::ffff:127.0.0.1", 15000],
    ["0.0.0.0", 15000],
    ["::", 15000],
    ["localhost", 15020],
    ["a.localhost", 15020],
    [BRIDGE_ADDRESS, port],
    [`::ffff:${BRIDGE_ADDRESS}`, port],
    [`64:ff9b::${BRIDGE_ADDRESS}`, port],
    ["224.0.0.1", 80],
    [address, 15020],
    [other, 15020],
    [String(statsSpec["clusterIP"]), 15020],
    ["kubernetes.default.svc", 443],
    ["kubernetes.default.svc.cluster.local", 443],
  ];
  const before = await get(cluster, routePath("one"));
  const backendRef = {
    group: "policy.gateway.internal",
    kind: "GatewayBackend",
  };
  await apply(
    ...hosts.flatMap(([host, port], index) => [
      {
        apiVersion: "policy.gateway.internal/v1alpha1",
        kind: "GatewayBackend",
        metadata: { name: `fence-${index}`, namespace: "team" },
        spec: { static: { host, port } },
      },
      routeTo(`fence-${index}`, backendRef),
    ]),
    serviceOf("fence-slice"),
    sliceOf("fence-slice", port, true, BRIDGE_ADDRESS),
    routeTo("fence-slice", { port: 80 }),
    serviceOf("fence-pod"),
    // The metrics of another proxy.
    sliceOf("fence-pod", 15020, true, other),
    routeTo("fence-pod", { port: 80 }),
  );

  for (const [index, [host]] of hosts.entries()) {
    const found = await until(`status of ${host}`, async () => {
      const route = await get(cluster, routePath(`fence-${index}`));
      const status = isJsonObject(route?.["status"]) ? route["status"] : {};
      const [parent = {}] = listOf(status, "parents");
      return listOf(parent, "conditions").find(({ type }) =>
        type === "ResolvedRefs"
      );
    });
    assert.equal(found["status"], "False", host);
    assert.equal(found["reason"], "AddressDenied", host);
    const path = `http://${address}/fence-${index}`;
    await until(`${path} is denied`, async () => {
      const response = await fetch(path);
      await response.body?.cancel();
      return response.status === 500 ? true : undefined;
    });
  }
  for (const name of ["fence-slice", "fence-pod"]) {
    const error = await until(`${name} is denied`, async () => {
      const response = await fetch(`http://${address}/${name}`, {
        redirect: "manual",
      });
      await response.body?.cancel();
      return response.status === 302
        ? undefined
        : response.headers.get("x-gateway-error") ?? String(response.status);
    });
    assert.equal(error, "egress_denied", name);
  }
  // The name is denied by what it resolves to, and keys are fetched from nowhere.
  const policies =
    "/apis/policy.gateway.internal/v1alpha1/namespaces/team/gatewaypolicies";
  const issuer = `http://${BRIDGE_ADDRESS}:${port}`;
  await apply({
    apiVersion: "policy.gateway.internal/v1alpha1",
    kind: "GatewayPolicy",
    metadata: { name: "fence", namespace: "team" },
    spec: {
      targetRefs: [{
        group: "gateway.networking.k8s.io",
        kind: "HTTPRoute",
        name: "fence-slice",
      }],
      traffic: {
        jwtAuthentication: {
          providers: [{
            issuer,
            audiences: ["a"],
            jwks: { url: `${issuer}/jwks` },
          }],
        },
      },
    },
  });
  await until("the keys are denied", async () => {
    const policy = await get(cluster, `${policies}/fence`);
    return /Cannot connect to .*denied/.test(JSON.stringify(policy?.["status"]))
      ? true
      : undefined;
  });
  assert.equal(requests, 0);
  assert.deepEqual(
    (await get(cluster, routePath("one")))?.["status"],
    before?.["status"],
  );
});

Deno.test("gwctl has the credentials that its kubeconfig names", async (t) => {
  for (const [name, user] of Object.entries(await createUsers(cluster))) {
    const kubeconfig = await writeKubeconfig(cluster, user);
    await t.step(name, async () => {
      const get = await controlAs(kubeconfig, "get", "gateways");
      assert.equal(get.error, "");
      assert.match(get.text, /Gateway\/one/);
      const limits = await controlAs(
        ...[kubeconfig, "proxy", "limits", "gateway/one"] as const,
      );
      assert.equal(limits.code, 0, limits.error);
    });
  }
});

Deno.test("gwctl shows resources with their conditions, and what is wrong", async () => {
  const all = await control("get");
  assert.match(
    all.text,
    /team +Gateway\/one +10\.96\.\S+ +Accepted, Programmed/,
  );
  assert.match(
    all.text,
    /team +HTTPRoute\/one +Gateway\/one +Accepted, ResolvedRefs/,
  );
  const status = await control("status");
  assert.equal(status.code, 1);
  assert.match(
    status.text,
    /HTTPRoute\/two +Gateway\/two +ResolvedRefs=False \(BackendNotFound\)/,
  );
  assert.doesNotMatch(status.text, /HTTPRoute\/one/);
});

Deno.test("gwctl says which gateway it cannot find", async () => {
  const { code, error } = await control("proxy", "limits", "gateway/none");
  assert.equal(code, 1);
  assert.match(error, /Cannot find gateway\/none in namespace "team"/);
});

Deno.test("the proxies go with their Gateway", async () => {
  await cluster.api.request({ method: "DELETE", path: `${GATEWAYS}/two` });
  const paths = [
    `${DEPLOYMENTS}/${nameOf("two")}`,
    `/api/v1/namespaces/${SYSTEM}/services/${nameOf("two")}`,
    `/api/v1/namespaces/${SYSTEM}/serviceaccounts/${nameOf("two")}`,
    `/api/v1/namespaces/${SYSTEM}/configmaps/${nameOf("two")}`,
    `/apis/policy/v1/namespaces/${SYSTEM}/poddisruptionbudgets/${
      nameOf("two")
    }`,
  ];
  for (const path of paths) {
    await until(
      `${path} is gone`,
      async () => await get(cluster, path) === undefined ? true : undefined,
    );
  }
  assert.equal((await podsOf("one")).length, 2);
});
