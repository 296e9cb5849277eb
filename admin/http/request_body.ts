import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { MAX_FILE_BYTES } from "../../src/base/regular_file.ts";
import { InvalidParameter } from "./query_parameters.ts";

/** A configuration, and its quotation as JSON. */
const MAX_BODY_BYTES = 2 * MAX_FILE_BYTES;

/** Reads the body of a request as a JSON object. @throws {InvalidParameter} When it is too long or anything else. */
export async function readJsonBody(
  request: Request,
  maxBytes = MAX_BODY_BYTES,
): Promise<JsonObject> {
  const value = parse(await readText(request, maxBytes));
  if (isJsonObject(value)) return value;
  throw new InvalidParameter("invalid body: expected a JSON object");
}

/** Reads the body of a request as a form. @throws {InvalidParameter} When it is too long. */
export async function readForm(
  request: Request,
  maxBytes: number,
): Promise<URLSearchParams> {
  return new URLSearchParams(await readText(request, maxBytes));
}

async function readText(
  { body }: Request,
  maxBytes: number,
): Promise<string> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) {
      throw new InvalidParameter(
        `invalid body: expected at most ${maxBytes} bytes`,
      );
    }
    chunks.push(chunk);
  }
  return await new Blob(chunks).text();
}

/**
 * Reads the body of a request of type `application/json`: a page of another site cannot send it without a preflight request.
 * @throws {InvalidParameter}
 */
export async function readTypedJson(
  request: Request,
  maxBytes = MAX_BODY_BYTES,
): Promise<JsonObject> {
  const [type = ""] = request.headers.get("content-type")?.split(";") ?? [];
  if (type.trim().toLowerCase() !== "application/json") {
    throw new InvalidParameter(
      "invalid content-type: expected application/json",
    );
  }
  return await readJsonBody(request, maxBytes);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidParameter("invalid body: expected JSON");
  }
}

/** Returns a member that must be a string. @throws {InvalidParameter} */
export function textMember(object: JsonObject, name: string): string {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  if (typeof value === "string") return value;
  throw new InvalidParameter(`invalid body: expected a string "${name}"`);
}
