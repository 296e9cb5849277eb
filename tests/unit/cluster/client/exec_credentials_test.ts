import assert from "node:assert/strict";
import { ClusterAccessError } from "../../../../src/cluster/client/api_access.ts";
import { findClusterAccess } from "../../../../src/cluster/client/cluster_access.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const V1 = "client.authentication.k8s.io/v1";

/** A folder with a kubeconfig, and a program `login` that it names. */
class ExecFolder implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly path = Deno.makeTempDirSync();

  /** Finds the cluster, with `script` as the program. */
  async find(script: string, exec: object = {}) {
    await Deno.writeTextFile(`${this.path}/login`, `#!/bin/sh\n${script}`, {
      mode: 0o755,
    });
    const user = { exec: { apiVersion: V1, command: "./login", ...exec } };
    const cluster = {
      server: "https://kube.example:6443",
      "certificate-authority-data": btoa("CA"),
    };
    await Deno.writeTextFile(
      `${this.path}/config`,
      JSON.stringify({
        "current-context": "c",
        contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
        clusters: [{ name: "k", cluster }],
        users: [{ name: "u", user }],
      }),
    );
    return await findClusterAccess({
      environment: {},
      clock: this.clock,
      kubeconfig: `${this.path}/config`,
      startsPrograms: true,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

function prints(status: object): string {
  return `echo '${JSON.stringify({ kind: "ExecCredential", status })}'`;
}

Deno.test("a token is kept until it is about to expire, then the program runs again", async () => {
  await using folder = new ExecFolder();
  const access = await folder.find(
    `cd "$(dirname "$0")"; echo run >> runs
printf '{"status":{"token":"t%s","expirationTimestamp":"2026-01-01T00:10:00Z"}}' "$(wc -l < runs | tr -d ' ')"`,
  );
  assert.equal(await access.token?.(), "t1");
  folder.clock.advance(9 * 60_000);
  assert.equal(await access.token?.(), "t1");
  folder.clock.advance(55_000);
  assert.equal(await access.token?.(), "t2");
});

Deno.test("a client certificate of a program is that of the connection", async () => {
  await using folder = new ExecFolder();
  const access = await folder.find(
    prints({ clientCertificateData: "CERT", clientKeyData: "KEY" }),
  );
  assert.deepEqual(access.certificate, { cert: "CERT", key: "KEY" });
  assert.equal(access.token, undefined);
});

Deno.test("a program has its arguments, its variables and the cluster", async () => {
  await using folder = new ExecFolder();
  const access = await folder.find(
    'cat > "$(dirname "$0")/info" <<EOF\n$KUBERNETES_EXEC_INFO\nEOF\n' +
      `printf '{"status":{"token":"%s-%s"}}' "$1" "$NAME"`,
    {
      args: ["login"],
      env: [{ name: "NAME", value: "value" }],
      provideClusterInfo: true,
    },
  );
  assert.equal(await access.token?.(), "login-value");
  const info: unknown = JSON.parse(
    await Deno.readTextFile(`${folder.path}/info`),
  );
  assert.deepEqual(info, {
    apiVersion: V1,
    kind: "ExecCredential",
    spec: {
      interactive: Deno.stdin.isTerminal(),
      cluster: {
        server: "https://kube.example:6443",
        "certificate-authority-data": btoa("CA"),
      },
    },
  });
});

const failures: readonly (readonly [string, object, RegExp])[] = [
  ["exit 3", {}, /"\.\/login" ended with exit code 3/],
  ["echo secret-text", {}, /printed no ExecCredential with a status/],
  [prints({}), {}, /printed neither a token nor a client certificate/],
  ["", { apiVersion: "v0" }, /"exec\.apiVersion": expected client\./],
  ["", { command: "" }, /"exec\.command" is not set/],
  [
    "",
    { command: "no-such-login", installHint: "install it" },
    /Cannot start "no-such-login": .*: install it/,
  ],
];
for (const [script, exec, message] of failures) {
  Deno.test(`a program without credentials is an error: ${message.source}`, async () => {
    await using folder = new ExecFolder();
    await assert.rejects(folder.find(script, exec), (error) => {
      assert(error instanceof ClusterAccessError);
      assert.match(error.message, message);
      assert.match(error.message, /of the kubeconfig/);
      assert.doesNotMatch(error.message, /secret-text/);
      return true;
    });
  });
}
