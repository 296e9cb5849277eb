import { Document } from "../../src/base/yaml_library.ts";
import { fileSchema, withReferences } from "../../src/config/file_schema.ts";
import {
  clusterKeySchemas,
  schemasOf,
} from "../../src/gateway/candidate/candidate.ts";
import { print } from "../output/output.ts";
import { describeFile } from "./reference.ts";

/** Returns the CustomResourceDefinitions of the gateway's own kinds as YAML. */
export async function describeResourceDefinitions(): Promise<string> {
  const { createResourceDefinitions } = await import(
    "../../src/cluster/manifests/resource_definitions.ts"
  );
  const definitions = await createResourceDefinitions({
    ...schemasOf().kinds,
    ...clusterKeySchemas,
  });
  return definitions.map((definition) =>
    new Document(definition, { aliasDuplicateObjects: false }).toString()
  ).join("---\n");
}

/** Prints the CustomResourceDefinitions. */
export async function printResourceDefinitions(): Promise<void> {
  await print(await describeResourceDefinitions());
}

/** Prints the JSON Schema of the configuration file, or a reference in Markdown. */
export async function printSchema(asMarkdown: boolean): Promise<void> {
  const schema = await fileSchema(schemasOf());
  await print(
    asMarkdown
      ? describeFile(schema)
      : JSON.stringify(withReferences(schema), null, 2) + "\n",
  );
}
