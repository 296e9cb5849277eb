import assert from "node:assert/strict";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { ClusterAccessError } from "../../../../src/cluster/client/api_access.ts";
import { findClusterAccess } from "../../../../src/cluster/client/cluster_access.ts";

/** Writes files into a new folder. */
async function folderWith(files: Readonly<Record<string, string>>) {
  const path = await Deno.makeTempDir();
  for (const [name, content] of Object.entries(files)) {
    await Deno.writeTextFile(`${path}/${name}`, content);
  }
  return {
    path,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

function find(environment: Readonly<Record<string, string>>, options = {}) {
  return findClusterAccess({ environment, clock: systemClock, ...options });
}

function kubeconfig(user: object, cluster: object = {}): string {
  return JSON.stringify({
    "current-context": "c",
    contexts: [{
      name: "c",
      context: { cluster: "k", user: "u", namespace: "team" },
    }],
    clusters: [{
      name: "k",
      cluster: { server: "https://kube.example:6443/", ...cluster },
    }],
    users: [{ name: "u", user }],
  });
}

Deno.test("a pod uses its service account, and reads its token again when it rotates", async () => {
  await using folder = await folderWith({
    "ca.crt": "CA",
    "token": "one\n",
    "namespace": "gateways",
  });
  const clock = new FakeClock();
  const access = await find(
    { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" },
    { serviceAccount: folder.path, clock },
  );
  assert.equal(access.server, "https://[fd00::1]:6443");
  assert.equal(access.ca, "CA");
  assert.equal(access.namespace, "gateways");
  assert.equal(await access.token?.(), "one");
  await Deno.writeTextFile(`${folder.path}/token`, "two\n");
  clock.advance(61_000);
  assert.equal(await access.token?.(), "two");
  await Deno.writeTextFile(`${folder.path}/token`, "three\n");
  access.forgetToken?.();
  assert.equal(await access.token?.(), "three");
});

Deno.test("a kubeconfig gives server, namespace, CA and credentials; files are relative to it", async () => {
  await using folder = await folderWith({
    "config": kubeconfig({
      "client-certificate-data": btoa("CERT"),
      "client-key": "key.pem",
      tokenFile: "token",
    }, { "certificate-authority": "ca.pem" }),
    "ca.pem": "CA",
    "key.pem": "KEY",
    "token": "secret\n",
  });
  const access = await find({ KUBECONFIG: `${folder.path}/config` });
  assert.equal(access.server, "https://kube.example:6443");
  assert.equal(access.namespace, "team");
  assert.equal(access.ca, "CA");
  assert.deepEqual(access.certificate, { cert: "CERT", key: "KEY" });
  assert.equal(await access.token?.(), "secret");
});

Deno.test("of several kubeconfigs, the first that has an entry counts, and files are relative to it", async () => {
  await using first = await folderWith({
    "config": JSON.stringify({
      "current-context": "c",
      users: [{ name: "u", user: { tokenFile: "token" } }],
    }),
    "token": "first",
  });
  await using second = await folderWith({
    "config": kubeconfig({ token: "second" }, {
      "certificate-authority": "ca.pem",
    }),
    "ca.pem": "CA",
  });
  const paths = ["missing/config", `${first.path}/config`];
  const access = await find({
    KUBECONFIG: [...paths, `${second.path}/config`].join(":"),
  });
  assert.equal(access.server, "https://kube.example:6443");
  assert.equal(access.ca, "CA");
  assert.equal(await access.token?.(), "first");
  await assert.rejects(
    find({ KUBECONFIG: "missing/a:missing/b" }),
    /missing\/a/,
  );
});

const unusable = [
  [
    kubeconfig({ exec: { command: "login" } }),
    /uses "exec", and a gateway starts no programs/,
  ],
  [kubeconfig({ "auth-provider": {} }), /uses "auth-provider", which is not/],
  [
    kubeconfig({ token: "t" }, { "insecure-skip-tls-verify": true }),
    /uses "insecure-skip-tls-verify"/,
  ],
  [kubeconfig({}, { server: "kube" }), /"server" of the cluster is no URL/],
  ["current-context: none", /has no context "none"/],
  ["[]", /is no mapping/],
] as const;
for (const [content, message] of unusable) {
  Deno.test(`an unusable kubeconfig is an error: ${message.source}`, async () => {
    await using folder = await folderWith({ config: content });
    await assert.rejects(
      find({ KUBECONFIG: `${folder.path}/config` }),
      (error) => {
        assert(error instanceof ClusterAccessError);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /"t"/);
        return true;
      },
    );
  });
}

Deno.test("without a cluster, the error says where it was looked for, and what to do", async () => {
  await using folder = await folderWith({});
  await assert.rejects(
    find({ HOME: folder.path }),
    /Cannot read the kubeconfig ".*\/\.kube\/config": no such file; name another with --kubeconfig or KUBECONFIG, or run in a pod/,
  );
  await assert.rejects(find({}), /set KUBECONFIG, or run in a pod/);
});
