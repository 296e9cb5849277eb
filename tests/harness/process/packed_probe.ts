import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { dirname } from "node:path";
import { pack } from "../../../.ci/pack.ts";

/** A program for the packed file that prints its environment. */
export const PROBE = `
switch (Deno.args[0]) {
  case "exit":
    Deno.exit(Number(Deno.args[1]));
  case "wait":
    console.log("waiting");
    setInterval(() => {}, 1000);
    break;
  default: {
    const ask = async (name, command) => (await Deno.permissions.query({ name, command })).state === "granted";
    console.log(JSON.stringify({
      args: Deno.args,
      pid: Deno.pid,
      env: Deno.env.toObject(),
      permissions: { net: await ask("net"), ffi: await ask("ffi"), sh: await ask("run", "/bin/sh") },
    }));
  }
}`;

/** The output of the probe by default. */
export interface Report {
  readonly args: string[];
  readonly pid: number;
  readonly env: Record<string, string>;
  readonly permissions: Record<string, boolean>;
}

/** Options to start the packed file; the environment contains `env` only. */
export interface Start {
  readonly args?: string[];
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly file?: string;
}

/** A copy of Deno that every user can start. */
const deno = `${Deno.makeTempDirSync()}/deno`;
Deno.chmodSync(dirname(deno), 0o755);
Deno.copyFileSync(Deno.execPath(), deno);
Deno.chmodSync(deno, 0o755);
addEventListener(
  "unload",
  () => Deno.removeSync(dirname(deno), { recursive: true }),
);

/** Becomes Deno: the launcher unpacks it in no time, where Deno itself takes two seconds of processor time. */
const smallRuntime = new TextEncoder().encode(
  `#!/bin/sh\nexec '${deno}' "$@"\n`,
);

/** Returns a runtime that takes a while to unpack. The shell reads no further than its first lines. */
export function largeRuntime(): Uint8Array {
  const noise = new Uint8Array(16 * 2 ** 20);
  for (let start = 0; start < noise.length; start += 65536) {
    crypto.getRandomValues(noise.subarray(start, start + 65536));
  }
  return Buffer.concat([smallRuntime, noise]);
}

/** Root can write anywhere, so as root the tests run the packed file as another user. */
export const unprivilegedUser = Deno.uid() === 0
  ? { uid: 65534, gid: 65534 }
  : {};

/** A directory with a packed probe, `gateway`, and further directories of a test, owned by the user that starts it. */
export class Sandbox {
  readonly path = Deno.makeTempDirSync();
  readonly executable = `${this.path}/gateway`;

  static async create(
    program = PROBE,
    runtime: Uint8Array = smallRuntime,
  ): Promise<Sandbox> {
    const sandbox = new Sandbox();
    Deno.chmodSync(sandbox.path, 0o755);
    await pack(sandbox.executable, {
      program: { "main.js": program, "worker.js": "postMessage('worker')" },
      runtime,
      help: { gateway: "it's gateway", gwctl: "gwctl" },
    });
    return sandbox;
  }

  directory(name: string, mode = 0o700): string {
    const path = `${this.path}/${name}`;
    Deno.mkdirSync(path);
    Deno.chmodSync(path, mode);
    if (unprivilegedUser.uid !== undefined) {
      Deno.chownSync(path, unprivilegedUser.uid, unprivilegedUser.gid);
    }
    return path;
  }

  spawn(
    { args = [], env = {}, cwd = this.path, file = this.executable }: Start,
  ): Deno.ChildProcess {
    return new Deno.Command(file, {
      ...unprivilegedUser,
      args,
      cwd,
      env,
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  }

  async run(
    start: Start,
  ): Promise<{ code: number; stderr: string; report: () => Report }> {
    const { code, stdout, stderr } = await this.spawn(start).output();
    const text = new TextDecoder().decode(stderr);
    return {
      code,
      stderr: text,
      report() {
        assert.equal(code, 0, text);
        return JSON.parse(new TextDecoder().decode(stdout)) as Report;
      },
    };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

/** Returns the names below a cache directory without Deno's own files: `["deno-…/gateway", "gateway-…/main.js"]`. */
export function entriesOf(cache: string): string[] {
  return [...Deno.readDirSync(cache)]
    .flatMap(({ name }) =>
      [...Deno.readDirSync(`${cache}/${name}`)].map((file) =>
        `${name}/${file.name}`
      )
    )
    .filter((name) => !name.endsWith("/deno"))
    .sort();
}

/** Returns the path of the only `file` below a cache directory. */
export function pathOf(cache: string, file: string): string {
  const entry = entriesOf(cache).find((name) => name.endsWith(`/${file}`));
  assert(entry, `no ${file} in ${cache}`);
  return `${cache}/${entry}`;
}
