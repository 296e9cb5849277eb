/** gwctl proxy profile cpu at a terminal, in a pipe, and when it cannot be done. */
import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { holdCpuProfile } from "../../harness/parsers/pprof.ts";
import {
  gatewayCommandLine,
  Terminal,
} from "../../harness/process/terminal.ts";

const isLinux = Deno.build.os === "linux";
const config = { routes: [] };

interface Run {
  readonly gateway: GatewayProcess;
  readonly folder: string;
  /** A file that there is not. */
  readonly file: string;
  /** Arguments of gwctl after `ctl proxy profile cpu`. */
  args(seconds: number, file: string): string[];
}

async function withGateway(run: (options: Run) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await using gateway = await GatewayProcess.start({ config });
    const { port } = new URL(gateway.admin);
    const command = ["ctl", "proxy", "profile", "cpu", "-p", port];
    await run({
      gateway,
      folder,
      file: `${folder}/cpu.pb.gz`,
      args: (seconds, file) => [
        ...command,
        ...["--seconds", String(seconds), "-o", file],
      ],
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function run(args: readonly string[]) {
  const { code, stdout, stderr } = await gatewayCommand({ args }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

/** Status of a profile that is asked for now. */
async function profileStatus({ admin }: GatewayProcess): Promise<number> {
  const url = `${admin}/debug/pprof/profile?seconds=1&frequency=1`;
  const response = await fetch(url);
  await response.bytes();
  return response.status;
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.map(({ name }) => name);
}

Deno.test({
  name: "gwctl proxy profile cpu shows a bar on the terminal and takes it away",
  ignore: !isLinux,
  async fn() {
    await withGateway(async ({ args, file }) => {
      await using terminal = await Terminal.open(80, 24);

      await terminal.run(`clear; ${gatewayCommandLine(args(5, file))}`);
      await terminal.waitFor(/^\[#*\.+\] [1-5] s left *$/m);
      const screen = await terminal.waitFor(/^Wrote cpu profile to /m);

      assert.doesNotMatch(screen, /s left|\[#/);
      assert.equal(await terminal.state("cursor_flag"), "1");
    });
  },
});

Deno.test({
  name: "gwctl proxy profile cpu ends at the gateway with Ctrl-C",
  ignore: !isLinux,
  async fn() {
    await withGateway(async ({ gateway, folder, args, file }) => {
      await using terminal = await Terminal.open(80, 24);

      const command = gatewayCommandLine(args(300, file));
      await terminal.run(`clear; ${command}; echo ended with $?`);
      // By then it has asked, so that it comes before the next who asks.
      await terminal.waitFor(/^\[#*\.+\] 2[0-9]{2} s left *$/m);
      assert.equal(await profileStatus(gateway), 409);
      await terminal.press("C-c");
      const screen = await terminal.waitFor(/^ended with 130$/m);
      let status: number;
      do status = await profileStatus(gateway); while (status === 409);

      assert.equal(status, 200);
      assert.doesNotMatch(screen, /s left|\[\.|Wrote|gateway: /);
      assert.deepEqual(await filesIn(folder), []);
    });
  },
});

Deno.test({
  name: "gwctl proxy profile cpu writes no bar where there is no terminal",
  ignore: !isLinux,
  async fn() {
    await withGateway(async ({ args, file }) => {
      const ran = await run(args(1, file));

      assert.deepEqual(ran, {
        code: 0,
        stdout: `Wrote cpu profile to ${file}\n`,
        stderr: "",
      });
    });
  },
});

Deno.test({
  name: "gwctl proxy profile cpu tries the file before it asks the gateway",
  ignore: !isLinux,
  async fn() {
    await withGateway(async ({ gateway, folder, args }) => {
      for (const file of [folder, `${folder}/missing/cpu.pb.gz`]) {
        const { code, stdout, stderr } = await run(args(300, file));

        assert.equal(code, 1);
        assert.equal(stdout, "");
        assert.ok(stderr.startsWith(`gateway: Cannot write "${file}": `));
        assert.equal(await profileStatus(gateway), 200);
      }
    });
  },
});

Deno.test({
  name: "gwctl proxy profile cpu keeps the file of before when it is rejected",
  ignore: !isLinux,
  async fn() {
    await withGateway(async ({ gateway, args, file }) => {
      await using _other = await holdCpuProfile(gateway.admin);
      await Deno.writeTextFile(file, "of before");

      const { code, stderr } = await run(args(1, file));

      assert.equal(code, 1);
      assert.match(stderr, /returned 409: another profile is in progress/);
      assert.equal(await Deno.readTextFile(file), "of before");
    });
  },
});
