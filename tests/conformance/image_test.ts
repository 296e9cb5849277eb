import assert from "node:assert/strict";
import { until } from "./test_cluster.ts";

const USER = 65532;
/** Libraries of the C library that a distroless base has. */
const libraries = ["dl", "rt", "pthread", "m", "c", "resolv"].map((name) =>
  `lib${name}.so`
).concat("libgcc_s.so");

/** Makes the root filesystem of `deploy/Dockerfile`: libraries, Deno and the bundled programs, and nothing else. */
async function createImage(): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "image." });
  const build = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", ".ci/build.ts"],
    env: { BUILD_KIND: "bundle" },
  });
  assert((await build.output()).success);
  const linked = await output("ldd", Deno.execPath());
  const paths = [...linked.matchAll(/(\/lib\S+)/g)].map(([path]) => path);
  const isNeeded = (path: string) =>
    path.includes("ld-linux") || libraries.some((name) => path.includes(name));
  for (const path of paths.filter(isNeeded)) {
    await copy(await Deno.realPath(path), `${root}${path}`);
  }
  await copy(Deno.execPath(), `${root}/bin/deno`);
  for await (const { name } of Deno.readDir("dist/program")) {
    await copy(`dist/program/${name}`, `${root}/app/${name}`);
  }
  for (const folder of ["tmp", "proc", "dev", "etc/gateway"]) {
    await Deno.mkdir(`${root}/${folder}`, { recursive: true });
  }
  for (const device of ["null", "urandom"]) {
    await Deno.writeTextFile(`${root}/dev/${device}`, "");
  }
  return root;
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
  await Deno.copyFile(from, to);
}

async function output(program: string, ...args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command(program, { args }).output();
  return new TextDecoder().decode(stdout);
}

const mounts = `mount --bind "$1" "$1" && mount -t proc proc "$1/proc" &&
for device in null urandom; do mount --bind /dev/$device "$1/dev/$device"; done
`;

/** Runs a program with the root filesystem, as root while it can be written. */
function inImage(root: string, isReadOnly: boolean, args: readonly string[]) {
  const script = mounts +
    (isReadOnly
      ? `mount -o remount,bind,ro "$1" && mount -t tmpfs tmpfs "$1/tmp" &&
exec chroot --userspec=${USER}:${USER} "$@"`
      : 'exec chroot "$@"');
  return new Deno.Command("unshare", {
    args: ["--mount", "sh", "-c", script, "sh", root, ...args],
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      DENO_DIR: "/app/deno",
      DENO_NO_UPDATE_CHECK: "1",
    },
    stdout: "piped",
    stderr: "piped",
  });
}

Deno.test("the image serves without a shell, not as root, with a root filesystem that is read-only", async () => {
  const root = await createImage();
  const dockerfile = await Deno.readTextFile("deploy/Dockerfile");
  const [, entry = "[]"] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
  const command: string[] = JSON.parse(entry);
  for (
    const args of [["/app/main.js", "validate", "-"], [
      "/app/worker.js",
    ]]
  ) {
    await inImage(root, false, [...command.slice(0, -1), ...args]).output();
  }
  await output("chmod", "-R", "a+rX", root);
  await Deno.writeTextFile(
    `${root}/etc/gateway/gateway.yaml`,
    JSON.stringify({
      config: { adminAddr: "off", statsAddr: "0.0.0.0:15920", workers: 2 },
      gateways: { default: { port: 3999 } },
      routes: [{
        name: "all",
        policies: { directResponse: { status: 200, body: "ok" } },
      }],
    }),
  );
  const gateway = inImage(root, true, [...command, "-f", "/etc/gateway"])
    .spawn();
  const ended = gateway.output();
  const failed = ended.then(({ stderr }) => {
    throw new Error(new TextDecoder().decode(stderr));
  });
  const body = await Promise.race([
    failed,
    until("an answer", async () => {
      const response = await fetch("http://127.0.0.1:3999/");
      return await response.text();
    }),
  ]);
  assert.equal(body, "ok");
  const status = await Deno.readTextFile(`/proc/${gateway.pid}/status`);
  assert.match(status, new RegExp(`^Uid:\\s+${USER}\\s+${USER}`, "m"));
  gateway.kill("SIGTERM");
  assert.equal((await ended).code, 0);
  await assert.rejects(failed);
  await Deno.remove(root, { recursive: true });
});
