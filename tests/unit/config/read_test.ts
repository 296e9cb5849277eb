import assert from "node:assert/strict";
import { basename, join } from "node:path";
import {
  ConfigReadError,
  readConfigFiles,
} from "../../../src/config/config_files.ts";

async function withFolder(
  test: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("readConfigFiles reads the files of a directory by name", () =>
  withFolder(async (folder) => {
    for (
      const name of ["b.yml", "a.yaml", "c.json", ".hidden.yaml", "notes.txt"]
    ) {
      await Deno.writeTextFile(join(folder, name), name);
    }
    await Deno.mkdir(join(folder, "d.yaml"));

    const sources = await readConfigFiles(folder);

    assert.deepEqual(sources.map(({ text }) => text), [
      "a.yaml",
      "b.yml",
      "c.json",
    ]);
  }));

Deno.test("readConfigFiles reads a mounted ConfigMap once", () =>
  withFolder(async (folder) => {
    await Deno.mkdir(join(folder, "..2026"));
    await Deno.writeTextFile(join(folder, "..2026", "gateway.yaml"), "a: 1");
    await Deno.symlink("..2026", join(folder, "..data"));
    await Deno.symlink("..data/gateway.yaml", join(folder, "gateway.yaml"));

    const sources = await readConfigFiles(folder);

    assert.deepEqual(sources.map(({ name, text }) => [basename(name), text]), [
      ["gateway.yaml", "a: 1"],
    ]);
  }));

for (
  const { name, content, message } of [
    {
      name: "missing.yaml",
      content: undefined,
      message: /no such file or directory$/,
    },
    {
      name: "large.yaml",
      content: new Uint8Array(8 * 1024 * 1024 + 1),
      message: /expected at most 8388608 bytes, got 8388609$/,
    },
    {
      name: "binary.yaml",
      content: new Uint8Array([0x61, 0x0a, 0x61, 0xff, 0x00]),
      message: /expected UTF-8 text, got invalid bytes in line 2$/,
    },
    {
      name: "wide.yaml",
      content: new Uint8Array([0xff, 0xfe, 0x61, 0x00]),
      message: /expected UTF-8 text, got UTF-16; save the file as UTF-8$/,
    },
  ]
) {
  Deno.test(`readConfigFiles rejects ${name}`, () =>
    withFolder(async (folder) => {
      const path = join(folder, name);
      if (content !== undefined) await Deno.writeFile(path, content);

      await assert.rejects(readConfigFiles(path), (error) => {
        assert.ok(error instanceof ConfigReadError);
        assert.match(error.message, message);
        return true;
      });
    }));
}

Deno.test({
  name: "readConfigFiles rejects special files without opening them",
  ignore: Deno.build.os === "windows",
}, () =>
  withFolder(async (folder) => {
    const pipe = join(folder, "pipe.yaml");
    await new Deno.Command("mkfifo", { args: [pipe] }).output();
    const socket = join(folder, "socket.yaml");
    using _listener = Deno.listen({ transport: "unix", path: socket });

    const kinds = [
      [pipe, 'a named pipe; "-f -" reads standard input'],
      [socket, "a socket"],
      ["/dev/zero", "a device"],
    ] as const;
    for (const [path, kind] of kinds) {
      await assert.rejects(readConfigFiles(path), {
        name: "ConfigReadError",
        message:
          `Cannot read "${path}": expected a file or a directory, got ${kind}`,
      });
    }
  }));

Deno.test({
  name: "readConfigFiles reports a dangling link in a directory",
  ignore: Deno.build.os === "windows",
}, () =>
  withFolder(async (folder) => {
    const link = join(folder, "a.yaml");
    await Deno.symlink("nowhere", link);

    await assert.rejects(readConfigFiles(folder), {
      message: `Cannot read "${link}": no such file or directory`,
    });
  }));

Deno.test("readConfigFiles rejects a directory without configuration", () =>
  withFolder(async (folder) => {
    await assert.rejects(
      readConfigFiles(folder),
      /no \.yaml, \.yml or \.json file/,
    );
  }));
