/** Configurations that the documentation of earlier versions had: users have copied them, so they must go on to work. */
import assert from "node:assert/strict";
import { fileSource, validateConfiguration } from "../../../mod.ts";
import {
  environmentOf,
  writeFilesOf,
} from "../../harness/process/named_files.ts";

const fixtures = new URL("../../fixtures/config/", import.meta.url);

for (const version of ["version_0_1"]) {
  for (const { name } of Deno.readDirSync(new URL(version, fixtures))) {
    Deno.test(`${version}/${name} is still valid`, async () => {
      const text = await Deno.readTextFile(
        new URL(`${version}/${name}`, fixtures),
      );
      const directory = await Deno.makeTempDir();
      const path = `${directory}/gateway.yaml`;
      await Deno.writeTextFile(path, text);
      await writeFilesOf(text, directory);

      const { diagnostics, text: shown } = await validateConfiguration(
        fileSource(path),
        environmentOf(text),
      );

      const errors = diagnostics.filter(({ severity }) => severity === "error");
      assert.deepEqual(errors, [], shown);
      await Deno.remove(directory, { recursive: true });
    });
  }
}
