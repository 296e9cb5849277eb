import { leaderExecutable } from "./leader.ts";
import type { Repetition } from "../jwt.ts";

/** Describes in a sentence what was measured: versions, processor, date. */
export async function describeMachine(
  { rounds, seconds }: Repetition,
): Promise<string> {
  const info = await Deno.readTextFile("/proc/cpuinfo");
  const processor = /model name\s*: (.*)/.exec(info)?.[1] ?? Deno.build.arch;
  const versions = [
    `Deno ${Deno.version.deno}`,
    await versionOf("nginx", ["-v"]),
    leaderExecutable === undefined
      ? "no agentgateway"
      : `agentgateway ${await versionOf(leaderExecutable, ["--version"])}`,
  ];
  const gateway = Deno.env.has("GATEWAY_BIN") ? "executable" : "source";
  const date = new Date().toISOString().slice(0, 10);
  const cpus = `${navigator.hardwareConcurrency} CPUs (${processor})`;
  return `${date}, ${cpus}, Linux ${Deno.osRelease()}. ${
    versions.join(", ")
  }; the gateway from its ${gateway}. Medians of ${rounds} rounds of ${seconds} seconds.`;
}

/** Returns the first version number that a program prints. */
async function versionOf(program: string, args: string[]): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(program, { args }).output();
  const decoder = new TextDecoder();
  const text = decoder.decode(stdout) + decoder.decode(stderr);
  const version = /\d+\.\d+\.\d+[\w.-]*/.exec(text)?.[0] ?? "unknown";
  return program === "nginx" ? `nginx ${version}` : version;
}
