import { fileSchema } from "../src/config/file_schema.ts";
import { schemasOf } from "../src/gateway/candidate.ts";
import { print } from "./output/output.ts";
import { describeFile } from "./reference.ts";

/** Prints the JSON Schema of the configuration file, or a reference in Markdown. */
export async function printSchema(asMarkdown: boolean): Promise<void> {
  const schema = await fileSchema(schemasOf());
  await print(
    asMarkdown ? describeFile(schema) : JSON.stringify(schema, null, 2) + "\n",
  );
}
