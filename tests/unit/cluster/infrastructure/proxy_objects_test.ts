import assert from "node:assert/strict";
import type { KubernetesObject } from "../../../../src/cluster/client/kubernetes_object.ts";
import {
  proxyName,
  proxyObjects,
  reservedLabelsOf,
} from "../../../../src/cluster/infrastructure/proxy_objects.ts";
import { readParameters } from "../../../../src/cluster/infrastructure/proxy_parameters.ts";
import { serviceAddresses } from "../../../../src/cluster/status/service_addresses.ts";

const gatewayClass = {
  metadata: { name: "class", uid: "class-uid" },
  spec: {
    parametersRef: {
      group: "",
      kind: "ConfigMap",
      name: "defaults",
      namespace: "system",
    },
  },
};

function configMap(
  namespace: string,
  name: string,
  data: Readonly<Record<string, string>>,
): KubernetesObject {
  return { metadata: { name, namespace }, data };
}

function gateway(name: string, infrastructure: object = {}): KubernetesObject {
  return {
    metadata: { name, namespace: "team", uid: "gateway-uid" },
    spec: {
      gatewayClassName: "class",
      infrastructure,
      addresses: [{ type: "IPAddress", value: "192.0.2.7" }],
      listeners: [
        { name: "https", port: 443, protocol: "HTTPS" },
        { name: "a", port: 80, protocol: "HTTP", hostname: "a.example.com" },
        { name: "b", port: 80, protocol: "HTTP", hostname: "b.example.com" },
      ],
    },
  };
}

const template = {
  image: "gateway:1",
  controllerName: "example.com/gateway",
  managedBy: "example.com-gateway",
  files: { "gateway.yaml": "config: {}" },
  statsPort: 15020,
  terminationSeconds: 35,
  controller: "controller.system.svc:15030",
  namespace: "system",
};

const defaults = configMap("system", "defaults", {
  replicas: "2",
  image: "mirror/gateway:2",
  env: "[{ name: LEVEL, value: info }]",
});
const own = {
  parametersRef: { group: "", kind: "ConfigMap", name: "own" },
};

/** The objects of a gateway by kind. */
function objectsOf(
  object: KubernetesObject,
  ports: readonly number[] = [],
): Record<string, KubernetesObject> {
  const parameters = readParameters(object, gatewayClass, [defaults]);
  const objects = proxyObjects(object, {
    ...{ gatewayClass, parameters, template, ports, certificate: "PEM" },
  });
  return Object.fromEntries(objects.map((each) => [each.kind ?? "", each]));
}

Deno.test("a gateway has a Deployment, a Service, a ServiceAccount, a ConfigMap and a PodDisruptionBudget", () => {
  const objects = objectsOf(gateway("gw", { labels: { team: "a" } }));
  assert.deepEqual(Object.keys(objects), [
    "ServiceAccount",
    "ConfigMap",
    "Service",
    "Deployment",
    "PodDisruptionBudget",
  ]);
  const name = proxyName(gateway("gw"));
  for (const { metadata } of Object.values(objects)) {
    assert.equal(metadata.name, name);
    assert.equal(metadata.namespace, "system");
    assert.equal(metadata.labels?.["team"], "a");
    assert.equal(
      metadata.labels?.["gateway.networking.k8s.io/gateway-name"],
      "gw",
    );
    assert.equal(metadata.ownerReferences?.[0]?.uid, "class-uid");
  }
});

Deno.test("the Service has each port of the listeners once, those of listener sets too, and the address of the gateway", () => {
  const { Service } = objectsOf(gateway("gw"), [8443, 80]);
  assert.deepEqual(Service?.["spec"], {
    type: "LoadBalancer",
    loadBalancerIP: "192.0.2.7",
    selector: {
      "gateway.networking.k8s.io/gateway-name": "gw",
      "gateway.internal/gateway-namespace": "team",
      "app.kubernetes.io/managed-by": "example.com-gateway",
    },
    ports: [80, 443, 8443].map((port) => ({
      name: `port-${port}`,
      protocol: "TCP",
      port,
      targetPort: port,
    })),
  });
});

Deno.test("labels of a gateway do not replace those that select its pods", () => {
  const { Deployment } = objectsOf(gateway("gw", {
    labels: { "gateway.networking.k8s.io/gateway-name": "other" },
  }));
  const text = JSON.stringify(Deployment);
  assert(!text.includes('"other"'), text);
});

Deno.test("names that are too long or alike stay distinct", () => {
  const at = (namespace: string, name: string) =>
    proxyName({ metadata: { namespace, name } });
  assert.notEqual(at("a", "b-c"), at("a-b", "c"));
  const long = "x".repeat(253);
  const { Service } = objectsOf(gateway(long));
  assert(at("team", long).length <= 63);
  for (const value of Object.values(Service?.metadata.labels ?? {})) {
    assert(value.length <= 63, value);
  }
});

Deno.test("parameters of the gateway replace those of its class, key by key", () => {
  const parameters = readParameters(gateway("gw", own), gatewayClass, [
    defaults,
    configMap("team", "own", {
      replicas: "",
      serviceType: "ClusterIP",
      resources: "limits: { memory: 2Gi }",
    }),
  ]);
  assert.deepEqual(parameters, {
    serviceType: "ClusterIP",
    image: "mirror/gateway:2",
    resources: { limits: { memory: "2Gi" } },
    env: [{ name: "LEVEL", value: "info" }],
    pod: {},
    podAnnotations: [],
  });
});

Deno.test("proxies run where the class says, with the secrets that pull its image", () => {
  const pod = {
    imagePullSecrets: [{ name: "registry" }],
    nodeSelector: { pool: "edge" },
    tolerations: [{ key: "edge", operator: "Exists" }],
    affinity: { podAntiAffinity: {} },
    priorityClassName: "high",
  };
  const spread = [
    { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" },
    { maxSkew: 1, topologyKey: "host", labelSelector: {} },
  ];
  const parameters = readParameters(gateway("gw"), gatewayClass, [
    configMap("system", "defaults", {
      imagePullPolicy: "Always",
      pod: JSON.stringify({ ...pod, topologySpreadConstraints: spread }),
    }),
  ]);
  const [, , , deployment] = proxyObjects(gateway("gw"), {
    ...{ gatewayClass, parameters, template, ports: [], certificate: "PEM" },
  });
  const text = JSON.stringify(deployment);
  for (const [name, value] of Object.entries(pod)) {
    assert(text.includes(`"${name}":${JSON.stringify(value)}`), name);
  }
  assert.match(text, /"imagePullPolicy":"Always"/);
  // A constraint without a selector is for the proxies of the gateway.
  assert.match(
    text,
    /"topologySpreadConstraints":\[\{"labelSelector":\{"matchLabels":\{"gateway.networking.k8s.io\/gateway-name":"gw"/,
  );
  assert.match(text, /"topologyKey":"host"\}\]/);
});

for (
  const [data, message] of [
    [{ imagePullPolicy: "Sometimes" }, /imagePullPolicy: expected Always/],
    [{ pod: "hostNetwork: true" }, /pod: expected YAML such as/],
    [{ pod: "tolerations: {}" }, /pod: expected YAML such as/],
    [{ pod: "nodeSelector: []" }, /pod: expected YAML such as/],
  ] as const
) {
  Deno.test(`parameters of a class cannot be ${JSON.stringify(data)}`, () => {
    assert.throws(
      () =>
        readParameters(gateway("gw"), gatewayClass, [
          configMap("system", "defaults", data),
        ]),
      message,
    );
  });
}

const invalid = [
  [{ image: "evil" }, /"image": only the parameters of the GatewayClass/],
  [{ env: "[]" }, /"env": only the parameters of the GatewayClass/],
  [{ pod: "{}" }, /"pod": only the parameters of the GatewayClass/],
  [
    { imagePullPolicy: "Never" },
    /"imagePullPolicy": only the parameters of the GatewayClass/,
  ],
  [{ replica: "1" }, /"replica": expected replicas, serviceType, resources/],
  [{ replicas: "-1" }, /replicas: expected 0 to 1000/],
  [{ replicas: "1e3x" }, /replicas: expected 0 to 1000/],
  [{ replicas: "21" }, /21 are more than 20, the "maxReplicas"/],
  [{ resources: "requests: { cpu: 9 }" }, /"cpu" of 9 is more than 8/],
  [{ resources: "limits: { memory: 17Gi }" }, /"memory" of 17Gi is more/],
  [{ resources: "limits: { memory: much }" }, /"memory" of much is more/],
  [{ resources: "limits: { gpu: 1 }" }, /"gpu" is not in "maxResources"/],
  [{ serviceType: "ExternalName" }, /serviceType: expected LoadBalancer/],
  [{ resources: "}{" }, /resources: expected YAML such as/],
  [{ resources: "claims: []" }, /resources: expected YAML such as/],
] as const;
for (const [data, message] of invalid) {
  Deno.test(`parameters of a gateway can not be ${JSON.stringify(data)}`, () => {
    assert.throws(
      () =>
        readParameters(gateway("gw", own), gatewayClass, [
          defaults,
          configMap("team", "own", data),
        ]),
      message,
    );
  });
}

Deno.test("a gateway cannot use parameters of another namespace", () => {
  const other = { parametersRef: { ...own.parametersRef, namespace: "other" } };
  assert.throws(
    () =>
      readParameters(gateway("gw", other), gatewayClass, [
        defaults,
        configMap("other", "own", {}),
      ]),
    /no ConfigMap "team\/own"/,
  );
});

Deno.test("addresses are those of the load balancer, or of the Service in the cluster", () => {
  const service = (type: string, status: object = {}): KubernetesObject => ({
    metadata: { name: "s" },
    spec: { type, clusterIPs: ["10.96.0.9"] },
    status,
  });
  const ingress = [{ ip: "192.0.2.7" }, { hostname: "lb.example.com" }, {}];
  assert.deepEqual(
    serviceAddresses(service("LoadBalancer", { loadBalancer: { ingress } })),
    [
      { type: "IPAddress", value: "192.0.2.7" },
      { type: "Hostname", value: "lb.example.com" },
    ],
  );
  assert.deepEqual(serviceAddresses(service("LoadBalancer")), []);
  assert.deepEqual(serviceAddresses(service("ClusterIP")), [
    { type: "IPAddress", value: "10.96.0.9" },
  ]);
  assert.deepEqual(serviceAddresses(undefined), []);
});

Deno.test("a proxy has a token for its controller only, and keeps what it got in the memory of the pod", () => {
  const { Deployment, ConfigMap } = objectsOf(gateway("gw"));
  const text = JSON.stringify(Deployment);
  assert.match(text, /"automountServiceAccountToken":false/);
  assert.match(
    text,
    /"serviceAccountToken":\{"audience":"example.com\/gateway","path":"token","expirationSeconds":3600\}/,
  );
  assert.match(text, /"--controller-address=controller.system.svc:15030"/);
  assert.deepEqual(ConfigMap?.["data"], {
    "gateway.yaml": "config: {}",
    "controller.crt": "PEM",
  });
  assert.match(text, /"--cluster-snapshot=\/var\/lib\/gateway\/snapshot"/);
  assert.match(
    text,
    /\{"name":"snapshot","emptyDir":\{"medium":"Memory","sizeLimit":"64Mi"\}\}/,
  );
});

Deno.test("another certificate of the controller replaces the pods", () => {
  const parameters = readParameters(gateway("gw"), gatewayClass, [defaults]);
  const [first, second] = ["a", "b"].map((certificate) =>
    JSON.stringify(
      proxyObjects(gateway("gw"), {
        ...{ gatewayClass, parameters, template, certificate, ports: [] },
      }).find(({ kind }) => kind === "Deployment"),
    )
  );
  assert.notEqual(first, second);
});

Deno.test("the operator bounds what authors of gateways ask for", () => {
  const read = (bounds: Readonly<Record<string, string>>) =>
    readParameters(gateway("gw", own), gatewayClass, [
      configMap("system", "defaults", bounds),
      configMap("team", "own", {
        replicas: "30",
        resources: "limits: { cpu: 1500m, memory: 2Gi }",
      }),
    ]);

  const bounds = { maxReplicas: "30", maxResources: "{ cpu: 2, memory: 4G }" };
  assert.equal(read(bounds).replicas, 30);
  assert.throws(
    () => read({ ...bounds, maxResources: "{ cpu: 1, memory: 4G }" }),
    /"cpu" of 1500m is more than 1/,
  );
  assert.throws(() => read({ ...bounds, maxReplicas: "29" }), /more than 29/);
});

for (
  const label of [
    "app.kubernetes.io/managed-by",
    "gateway.internal/serves",
    "gateway.networking.k8s.io/gateway-name",
    "kubernetes.io/hostname",
  ]
) {
  Deno.test(`authors of gateways cannot claim the label ${label}`, () => {
    const labels = { team: "blue", [label]: "mine" };
    assert.deepEqual(reservedLabelsOf(gateway("gw", { labels })), [label]);
  });
}

Deno.test("annotations of a gateway reach its Service, and its pods where the class allows", () => {
  const annotations = {
    "eks.amazonaws.com/role-arn": "admin",
    "example.com/team": "blue",
  };
  const parameters = readParameters(gateway("gw"), gatewayClass, [
    configMap("system", "defaults", { podAnnotations: "example.com/*, x" }),
  ]);
  const objects = proxyObjects(gateway("gw", { annotations }), {
    ...{ gatewayClass, parameters, template, ports: [], certificate: "PEM" },
  });

  const having = objects.filter((object) =>
    JSON.stringify(object).includes("role-arn")
  );
  assert.deepEqual(having.map(({ kind }) => kind), ["Service"]);
  const deployment = objects.find(({ kind }) => kind === "Deployment");
  assert.match(JSON.stringify(deployment), /"example.com\/team":"blue"/);
});
