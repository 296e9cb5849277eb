import { fileSchema } from "../src/config/file_schema.ts";
import { print } from "./output.ts";

/** Prints the JSON Schema of the configuration file. */
export async function printSchema(): Promise<void> {
  await print(JSON.stringify(await fileSchema(), null, 2) + "\n");
}
