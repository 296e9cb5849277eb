/** Writes the schema of the `config` section into that of the chart's values: `chart_schema.ts`. */
import { withReferences } from "../src/config/file_schema.ts";
import { toJsonDefinitions } from "../src/api/schema/json_schema.ts";
import { settingsSchema } from "../src/api/settings.ts";

const PATH = "deploy/helm/gateway/values.schema.json";

/** Returns the schema of the values with the current `config` section, as `deno fmt` writes it. */
export async function chartSchema(): Promise<string> {
  const schema = JSON.parse(await Deno.readTextFile(PATH));
  const { $defs = {} } = withReferences({
    $defs: await toJsonDefinitions({ Settings: settingsSchema }),
  });
  Object.assign(schema.definitions, $defs);
  // Helm before 3.18 reads draft 7.
  const text = JSON.stringify(schema, null, 2)
    .replaceAll('"#/$defs/', '"#/definitions/');
  return await format(text);
}

async function format(text: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", "json", "-"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await output;
  if (!success) throw new Error(`Cannot format ${PATH}`);
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) await Deno.writeTextFile(PATH, await chartSchema());
