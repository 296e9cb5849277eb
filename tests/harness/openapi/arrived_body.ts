import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import {
  type RawPair,
  rawPairs,
  takePairs,
  textsOf,
} from "./arrived_values.ts";
import { objectOf } from "./documented_operations.ts";
import type { ArrivedRequest } from "./echo_api.ts";
import { isFile } from "./sample_arguments.ts";

/**
 * Checks that a body has arrived as its media type says.
 * @param value The argument.
 * @param media Media Type Object of the document.
 */
export async function checkBody(
  { headers, body }: ArrivedRequest,
  value: unknown,
  mediaType: string,
  media: JsonObject,
): Promise<void> {
  const [arrivedType = ""] = (headers["content-type"] ?? "").split(";");
  const [type = ""] = mediaType.split(";");
  if (!type.includes("*")) assert.equal(arrivedType, type.trim());
  const text = () => new TextDecoder("utf-8", { fatal: true }).decode(body);
  if (/\bjson$/i.test(arrivedType)) {
    assert.deepEqual(JSON.parse(text()), value);
  } else if (/urlencoded$/i.test(arrivedType)) {
    checkForm(rawPairs(text(), "&"), objectOf(value), media);
  } else if (/^multipart\/form-data$/i.test(arrivedType)) {
    const response = new Response(body, {
      headers: { "content-type": headers["content-type"] ?? "" },
    });
    await checkParts(await response.formData(), objectOf(value));
  } else if (!/^text\/|xml$|yaml$|graphql$/i.test(arrivedType)) {
    assert.equal(text(), atob(String(value)), "bytes arrive as they are");
  } else {
    assert.equal(
      text(),
      typeof value === "string" ? value : JSON.stringify(value),
    );
  }
}

/** OpenAPI 3.1.1 section 4.8.15: properties have a style if one of its fields is set, and otherwise the content type of their value. */
function checkForm(
  pairs: RawPair[],
  value: JsonObject,
  { encoding }: JsonObject,
): void {
  for (const [name, item] of Object.entries(value)) {
    if (item === null) continue;
    const { style, explode, contentType } = objectOf(objectOf(encoding)[name]);
    const hasStyle = style !== undefined || explode !== undefined;
    const isJson = !hasStyle &&
      (isJsonObject(item) || String(contentType).includes("json"));
    const known = isJson ? "json" : String(style ?? "form");
    const arrived = takePairs(
      {
        name,
        style: known,
        explode: typeof explode === "boolean" ? explode : known === "form",
      },
      item,
      pairs,
    );
    assert.deepEqual(arrived, textsOf(item, known), `property "${name}"`);
  }
  assert.deepEqual(pairs, [], "only the properties arrive");
}

async function checkParts(form: FormData, value: JsonObject): Promise<void> {
  for (const [name, item] of Object.entries(value)) {
    const items = [item].flat().filter((each) => each !== null);
    const arrived = await Promise.all(
      form.getAll(name).map((each) =>
        typeof each === "string" ? each : each.text()
      ),
    );
    const expected = items.map((each) =>
      isFile(each)
        ? atob(String(each))
        : typeof each === "string"
        ? each
        : JSON.stringify(each)
    );
    assert.deepEqual(arrived, expected, `part "${name}"`);
    form.delete(name);
  }
  assert.deepEqual([...form.keys()], [], "only the properties arrive");
}
