import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { ConfigReadError, readConfigFiles } from "../../../src/config/read.ts";

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

Deno.test("readConfigFiles reads the files of a folder by name", () =>
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
      message: /larger than/,
    },
    {
      name: "binary.yaml",
      content: new Uint8Array([0xff, 0xfe, 0x00]),
      message: /not UTF-8 text$/,
    },
  ]
) {
  Deno.test(`readConfigFiles refuses ${name}`, () =>
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

Deno.test("readConfigFiles refuses a folder without configuration", () =>
  withFolder(async (folder) => {
    await assert.rejects(
      readConfigFiles(folder),
      /no \.yaml, \.yml or \.json file/,
    );
  }));
