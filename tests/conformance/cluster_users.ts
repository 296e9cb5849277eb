import { isJsonObject } from "../../src/base/json.ts";
import { install } from "./install.ts";
import type { TestCluster } from "./test_cluster.ts";

const USER = "jane";

/** Credentials of kubeconfigs, each for a user with all rights, by what they are called in tests. */
export async function createUsers(
  { api, directory, issueClient }: TestCluster,
): Promise<Readonly<Record<string, object>>> {
  await install(api, [
    JSON.stringify({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "robot", namespace: "default" },
    }),
    JSON.stringify({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "test-users" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [
        { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: USER },
        { kind: "ServiceAccount", name: "robot", namespace: "default" },
      ],
    }),
  ]);
  const { cert, key } = await issueClient(USER);
  const issued = await api.request({
    method: "POST",
    path: "/api/v1/namespaces/default/serviceaccounts/robot/token",
    body: { spec: { expirationSeconds: 3600 } },
  });
  const status = isJsonObject(issued) ? issued["status"] : undefined;
  const token = isJsonObject(status) ? String(status["token"]) : "";
  await Deno.writeTextFile(`${directory}/jane.crt`, cert);
  await Deno.writeTextFile(`${directory}/jane.key`, key);
  await Deno.writeTextFile(`${directory}/robot.token`, token);
  const certificate = { clientCertificateData: cert, clientKeyData: key };
  return {
    "a client certificate": {
      "client-certificate": "jane.crt",
      "client-key": "jane.key",
    },
    "a token file": { tokenFile: "robot.token" },
    "a program that prints a token": {
      exec: await plugin(directory, "token", { token }),
    },
    "a program that prints a client certificate": {
      exec: await plugin(directory, "certificate", certificate),
    },
  };
}

/** Writes a program that prints credentials; returns its entry of a kubeconfig. */
async function plugin(
  directory: string,
  name: string,
  status: object,
): Promise<object> {
  const apiVersion = "client.authentication.k8s.io/v1";
  const credential = { apiVersion, kind: "ExecCredential", status };
  await Deno.writeTextFile(
    `${directory}/${name}.json`,
    JSON.stringify(credential),
  );
  await Deno.writeTextFile(
    `${directory}/${name}.sh`,
    '#!/bin/sh\ncat "${0%.sh}.json"\n',
    { mode: 0o755 },
  );
  return {
    apiVersion,
    command: `./${name}.sh`,
    interactiveMode: "IfAvailable",
  };
}

/** Writes a kubeconfig for a user, beside that of the cluster; returns its path. */
export async function writeKubeconfig(
  { api: { access: { server, ca } }, directory }: TestCluster,
  user: object,
): Promise<string> {
  const path = `${directory}/${crypto.randomUUID()}.kubeconfig`;
  await Deno.writeTextFile(
    path,
    JSON.stringify({
      clusters: [{
        name: "c",
        cluster: { server, "certificate-authority-data": btoa(ca ?? "") },
      }],
      users: [{ name: "u", user }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  return path;
}
