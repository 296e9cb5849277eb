import assert from "node:assert/strict";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { watchConfig } from "../../../src/config/watch.ts";

const pollMs = 10;

interface Fixture {
  readonly folder: string;
  /** Resolves at the next change, once the watch has polled and waits for the next poll. */
  readonly nextChange: () => Promise<() => Promise<IteratorResult<void>>>;
  readonly changes: AsyncGenerator<void>;
  readonly abort: AbortController;
}

async function withWatch(
  setUp: (
    folder: string,
  ) => Promise<{ spec: string; files?: readonly string[] }>,
  test: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const abort = new AbortController();
  const { spec, files = [] } = await setUp(folder);
  let waiting = Promise.withResolvers<void>();
  const clock: Clock = {
    ...systemClock,
    setTimer(callback, delayMs) {
      if (delayMs === pollMs) waiting.resolve();
      const id = setTimeout(callback, delayMs);
      return () => clearTimeout(id);
    },
  };
  const changes = await watchConfig(spec, {
    clock,
    signal: abort.signal,
    files: () => files,
    debounceMs: 5,
    pollMs,
  });
  try {
    await test({
      folder,
      changes,
      abort,
      async nextChange() {
        waiting = Promise.withResolvers<void>();
        const change = changes.next();
        await waiting.promise;
        return () => change;
      },
    });
  } finally {
    abort.abort();
    await changes.return(undefined);
    await Deno.remove(folder, { recursive: true });
  }
}

async function oneFile(folder: string) {
  const spec = join(folder, "gateway.yaml");
  await Deno.writeTextFile(spec, "a: 1");
  return { spec };
}

Deno.test("watchConfig yields when a file is written in place", () =>
  withWatch(oneFile, async ({ folder, nextChange }) => {
    const change = await nextChange();
    await Deno.writeTextFile(join(folder, "gateway.yaml"), "a: 2");

    assert.equal((await change()).done, false);
  }));

Deno.test("watchConfig yields when a file is replaced by rename", () =>
  withWatch(oneFile, async ({ folder, nextChange }) => {
    const change = await nextChange();
    await Deno.writeTextFile(join(folder, ".new"), "a: 2");
    await Deno.rename(join(folder, ".new"), join(folder, "gateway.yaml"));

    assert.equal((await change()).done, false);
  }));

Deno.test("watchConfig yields again for every later change", () =>
  withWatch(oneFile, async ({ folder, nextChange }) => {
    for (const text of ["a: 2", "a: 3", "a: 4"]) {
      const change = await nextChange();
      await Deno.writeTextFile(join(folder, "gateway.yaml"), text);
      assert.equal((await change()).done, false);
    }
  }));

Deno.test("watchConfig yields when a file is added to a directory", () =>
  withWatch(
    async (folder) => {
      await oneFile(folder);
      return { spec: folder };
    },
    async ({ folder, nextChange }) => {
      const change = await nextChange();
      await Deno.writeTextFile(join(folder, "more.yaml"), "b: 1");

      assert.equal((await change()).done, false);
    },
  ));

Deno.test("watchConfig yields when the link of a mounted ConfigMap is swapped", () =>
  withWatch(async (folder) => {
    for (const version of ["..1", "..2"]) {
      await Deno.mkdir(join(folder, version));
      await Deno.writeTextFile(
        join(folder, version, "gateway.yaml"),
        `a: "${version}"`,
      );
    }
    await Deno.symlink("..1", join(folder, "..data"));
    await Deno.symlink("..data/gateway.yaml", join(folder, "gateway.yaml"));
    return { spec: folder };
  }, async ({ folder, nextChange }) => {
    const change = await nextChange();
    await Deno.symlink("..2", join(folder, "..tmp"));
    await Deno.rename(join(folder, "..tmp"), join(folder, "..data"));

    assert.equal((await change()).done, false);
  }));

Deno.test("watchConfig yields when a certificate that the configuration refers to changes", () =>
  withWatch(async (folder) => {
    await Deno.mkdir(join(folder, "tls"));
    const file = join(folder, "tls", "cert.pem");
    await Deno.writeTextFile(file, "one");
    return { ...await oneFile(folder), files: [file] };
  }, async ({ folder, nextChange }) => {
    const change = await nextChange();
    await Deno.writeTextFile(join(folder, "tls", "cert.pem"), "two");

    assert.equal((await change()).done, false);
  }));

Deno.test("watchConfig yields when a missing file appears", () =>
  withWatch(
    (folder) => Promise.resolve({ spec: join(folder, "gateway.yaml") }),
    async ({ folder, nextChange }) => {
      const change = await nextChange();
      await Deno.writeTextFile(join(folder, "gateway.yaml"), "a: 1");

      assert.equal((await change()).done, false);
    },
  ));

Deno.test("watchConfig yields when a missing directory appears", () =>
  withWatch(
    (folder) =>
      Promise.resolve({ spec: join(folder, "not", "yet", "gateway.yaml") }),
    async ({ folder, nextChange }) => {
      const change = await nextChange();
      await Deno.mkdir(join(folder, "not", "yet"), { recursive: true });
      await Deno.writeTextFile(
        join(folder, "not", "yet", "gateway.yaml"),
        "a: 1",
      );

      assert.equal((await change()).done, false);
    },
  ));

Deno.test("watchConfig yields when a file changes but its metadata does not", () =>
  withWatch(oneFile, async ({ folder, nextChange }) => {
    const file = join(folder, "gateway.yaml");
    await Deno.utime(file, 1, 1);
    const change = await nextChange();
    await Deno.writeTextFile(file, "a: 2");
    await Deno.utime(file, 1, 1);

    assert.equal((await change()).done, false);
  }));

Deno.test({
  name: "watchConfig ends when a named pipe has replaced the file",
  ignore: Deno.build.os === "windows",
}, () =>
  withWatch(oneFile, async ({ folder, nextChange, abort, changes }) => {
    const pipe = join(folder, "pipe");
    const change = await nextChange();
    await new Deno.Command("mkfifo", { args: [pipe] }).output();
    await Deno.rename(pipe, join(folder, "gateway.yaml"));
    assert.equal((await change()).done, false);

    const next = changes.next();
    abort.abort();

    assert.equal((await next).done, true);
  }));

Deno.test("watchConfig ends when aborted", () =>
  withWatch(oneFile, async ({ nextChange, abort }) => {
    const change = await nextChange();
    abort.abort();

    assert.equal((await change()).done, true);
  }));

Deno.test("watchConfig ends immediately for standard input", () =>
  withWatch(() => Promise.resolve({ spec: "-" }), async ({ changes }) => {
    assert.equal((await changes.next()).done, true);
  }));
