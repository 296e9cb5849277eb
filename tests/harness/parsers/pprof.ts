import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";

/** A function of a profile with its self value. */
export interface HotFunction {
  readonly name: string;
  readonly file: string;
  /** Its first line. */
  readonly startLine: number;
  /** Lines with samples. */
  readonly lines: readonly number[];
  readonly value: number;
}

/** Takes a CPU profile until disposed; other requests for one are rejected. */
export async function holdCpuProfile(admin: string): Promise<AsyncDisposable> {
  const url = `${admin}/debug/pprof/profile`;
  const client = new AbortController();
  const { signal } = client;
  const statusOf = async (query: string, init?: RequestInit) => {
    const response = await fetch(`${url}?${query}`, init);
    await response.bytes();
    return response.status;
  };
  const held = (async () => {
    // The first request gets it, which may be the one below.
    while (await statusOf("seconds=300", { signal }) === 409);
  })();
  held.catch(() => {});
  while (await statusOf("seconds=1&frequency=1") !== 409);
  return {
    async [Symbol.asyncDispose]() {
      client.abort();
      await assert.rejects(held);
    },
  };
}

/** Returns the functions of a gzipped profile by their last value, descending. */
export function hotFunctions(bytes: Uint8Array): readonly HotFunction[] {
  const profile = Profile.decode(gunzipSync(bytes));
  const text = (index: number | bigint) =>
    profile.stringTable.strings[Number(index)] ?? "";
  const found = new Map<string, HotFunction>();
  for (const { locationId, value } of profile.sample) {
    const location = profile.location.find(({ id }) => id === locationId[0]);
    const [line] = location?.line ?? [];
    const owner = profile.function.find(({ id }) => id === line?.functionId);
    if (line === undefined || owner === undefined) continue;
    const name = text(owner.name);
    const file = text(owner.filename);
    const known = found.get(`${name} ${file}`);
    found.set(`${name} ${file}`, {
      name,
      file,
      startLine: Number(owner.startLine),
      lines: [...known?.lines ?? [], Number(line.line)],
      value: (known?.value ?? 0) + Number(value.at(-1)),
    });
  }
  return [...found.values()].toSorted((a, b) => b.value - a.value);
}

/** Returns the names of all value types, such as `["samples/count", "cpu/nanoseconds"]`. */
export function valueTypes(bytes: Uint8Array): readonly string[] {
  const { sampleType, stringTable } = Profile.decode(gunzipSync(bytes));
  return sampleType.map(({ type, unit }) =>
    `${stringTable.strings[Number(type)]}/${stringTable.strings[Number(unit)]}`
  );
}

/** Returns the output of `go tool pprof -top -filefunctions`; `undefined` on a machine whose Go cannot run it. */
export async function goTop(file: string): Promise<string | undefined> {
  const go = ["/usr/local/go/bin/go", "/usr/bin/go"].find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
  if (go === undefined) return undefined;
  // It requires a home directory for its build cache.
  const env = {
    HOME: Deno.env.get("HOME") ?? "/tmp",
    PPROF_TMPDIR: "/tmp",
  };
  const tool = new Deno.Command(go, { args: ["tool", "-n", "pprof"], env });
  if (!(await tool.output()).success) return undefined;
  const { success, stdout, stderr } = await new Deno.Command(go, {
    args: ["tool", "pprof", "-top", "-filefunctions", file],
    env,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Returns the distinct values of the label `thread`, sorted. */
export function threadLabels(bytes: Uint8Array): readonly string[] {
  const { sample, stringTable } = Profile.decode(gunzipSync(bytes));
  const text = (index: number | bigint) =>
    stringTable.strings[Number(index)] ?? "";
  const values = sample.flatMap(({ label }) =>
    label.filter(({ key }) => text(key) === "thread")
      .map(({ str }) => text(str))
  );
  return [...new Set(values)].toSorted();
}
