/** The only file that knows @scalar/openapi-upgrader, whose rules for 2.0 and 3.0 cover cases that documents in the wild have. */
import { upgrade } from "@scalar/openapi-upgrader";
import { describeError } from "../../../base/errors.ts";
import {
  isDeeperThan,
  isJsonObject,
  type JsonObject,
} from "../../../base/json.ts";
import { parseYaml } from "../../../base/yaml_library.ts";
import type { DocumentProblem } from "./rest_tool.ts";

/** Limits of a document. */
const MAX_DEPTH = 256;
const MAX_REFERENCES = 64;

/** A document that cannot be converted; the message names the place. */
export class DocumentError extends Error {
  override readonly name = "DocumentError";
}

/** A value of a document and its place. */
export interface Located {
  readonly value: JsonObject;
  /** JSON pointer, such as `#/paths/~1pets`. */
  readonly place: string;
}

/** An OpenAPI document in the form of 3.1. */
export class OpenApiDocument {
  readonly root: JsonObject;
  readonly #problems = new Map<string, DocumentProblem>();

  private constructor(root: JsonObject) {
    this.root = root;
  }

  /** Reads JSON or YAML. @throws {DocumentError} */
  static parse(text: string): OpenApiDocument {
    const value = parseText(text);
    if (!isJsonObject(value)) {
      throw new DocumentError("the document is not an object");
    }
    const { openapi, swagger } = value;
    const version = openapi ?? swagger;
    if (typeof version !== "string" || !/^(?:2\.0|3\.[012])/.test(version)) {
      throw new DocumentError(
        '"openapi" is missing or not supported: the gateway reads 3.0, 3.1 and Swagger 2.0',
      );
    }
    if (isDeeperThan(value, MAX_DEPTH)) {
      throw new DocumentError(`it is nested more than ${MAX_DEPTH} deep`);
    }
    const upgraded: unknown = upgrade({ ...value }, "3.1");
    if (!isJsonObject(upgraded) || !isJsonObject(upgraded["paths"] ?? {})) {
      throw new DocumentError('"paths" is not an object');
    }
    return new OpenApiDocument(upgraded);
  }

  /** Shortcomings that were found so far. */
  get problems(): readonly DocumentProblem[] {
    return [...this.#problems.values()];
  }

  /** Records a shortcoming, once for each place. */
  report(place: string, message: string): void {
    const prefix = `${place}: `;
    this.#problems.set(place, {
      place,
      message: message.startsWith(prefix)
        ? message.slice(prefix.length)
        : message,
    });
  }

  /** Returns what `read` returns; nothing for a part of the document that it cannot use, whose error is recorded. */
  reporting<T>(place: string, read: () => readonly T[]): readonly T[] {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      this.report(place, error.message);
      return [];
    }
  }

  /**
   * Follows the references of an object that is no schema.
   * @throws {DocumentError} For a reference that leads nowhere, into another document, or to itself.
   */
  resolve(value: unknown, place: string): Located {
    let found = { value, place };
    for (let steps = 0; steps < MAX_REFERENCES; steps++) {
      if (!isJsonObject(found.value)) {
        throw new DocumentError(`${found.place}: not an object`);
      }
      const { $ref: reference } = found.value;
      if (typeof reference !== "string") {
        return { value: found.value, place: found.place };
      }
      found = { value: this.find(reference, found.place), place: reference };
    }
    throw new DocumentError(`${place}: the reference leads to itself`);
  }

  /** Returns the value that a local reference means. @throws {DocumentError} */
  find(reference: string, place: string): unknown {
    if (!reference.startsWith("#")) {
      throw new DocumentError(
        `${place}: "${reference}" is in another document; bundle the documents first`,
      );
    }
    let value: unknown = this.root;
    for (const segment of segmentsOf(reference)) {
      const isOwn = typeof value === "object" && value !== null &&
        Object.hasOwn(value, segment);
      value = isOwn ? Reflect.get(Object(value), segment) : undefined;
    }
    if (value !== undefined) return value;
    throw new DocumentError(`${place}: "${reference}" does not exist`);
  }
}

/** Returns the segments of a JSON pointer in a URI fragment (RFC 6901 section 6). */
export function segmentsOf(reference: string): readonly string[] {
  return reference.slice(1).split("/").slice(1).map((segment) =>
    decodeFragment(segment).replaceAll("~1", "/").replaceAll("~0", "~")
  );
}

/** Returns the place of a member. */
export function placeOf(place: string, ...names: readonly string[]): string {
  const escaped = names.map((name) =>
    name.replaceAll("~", "~0").replaceAll("/", "~1")
  );
  return [place, ...escaped].join("/");
}

function decodeFragment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A "%" that begins no escape stands for itself.
    return segment;
  }
}

function parseText(text: string): unknown {
  const isJson = /^[\s\uFEFF]*\{/.test(text);
  try {
    return isJson ? JSON.parse(text.replace(/^\uFEFF/, "")) : parseYaml(text);
  } catch (error) {
    const problem = isJson ? yamlProblem(text) ?? error : error;
    const [message = ""] = describeError(problem).split("\n");
    throw new DocumentError(
      `it is not valid ${isJson ? "JSON" : "YAML"}: ${message}`,
    );
  }
}

/** Returns what makes a text invalid as YAML too, with its line, which `JSON.parse` does not always say. */
function yamlProblem(text: string): unknown {
  try {
    parseYaml(text);
    return undefined;
  } catch (error) {
    return error;
  }
}
