import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { createRestRequest } from "../../../src/mcp/openapi/calls/rest_request.ts";
import type { RestTool } from "../../../src/mcp/openapi/document/rest_tool.ts";
import { checkBody } from "./arrived_body.ts";
import {
  headerValue,
  pathValue,
  rawPairs,
  type Style,
  takePairs,
  textsOf,
} from "./arrived_values.ts";
import { type DocumentedOperation, objectOf } from "./documented_operations.ts";
import type { ArrivedRequest, EchoApi } from "./echo_api.ts";
import { randomOf, SampleArguments } from "./sample_arguments.ts";

const bareStyles: ReadonlySet<string> = new Set([
  "spaceDelimited",
  "pipeDelimited",
  "label",
]);
const BASE = "/base";

/** Header fields that OpenAPI or the gateway keep to themselves. */
const keptFields = new Set(["accept", "authorization", "content-type"]);
const defaultStyles: Readonly<Record<string, string>> = {
  path: "simple",
  query: "form",
  header: "simple",
  cookie: "form",
};

/** Calls one tool, and looks for each argument where the document wants it. */
export class CallCheck {
  readonly #tool: RestTool;
  readonly #operation: DocumentedOperation;
  readonly #expected: readonly JsonObject[];
  readonly #args: JsonObject;

  constructor(
    tool: RestTool,
    operation: DocumentedOperation,
    credentials: ReadonlySet<string>,
    seed: number,
  ) {
    this.#tool = tool;
    this.#operation = operation;
    this.#expected = operation.parameters.filter(({ in: place, name }) => {
      const field = String(name).toLowerCase();
      return !(place === "header" && keptFields.has(field)) &&
        !credentials.has(`${place} ${field}`);
    });
    this.#args = this.#createArguments(seed);
  }

  /** Returns how many values have been found. */
  async run(api: EchoApi): Promise<number> {
    const { call } = this.#tool;
    const request = createRestRequest(
      call,
      this.#args,
      BASE,
      undefined,
      () => "boundary-of-parts",
    );
    const arrived = await api.send(request);
    assert.equal(arrived.method, this.#operation.method);
    this.#checkParameters(arrived);
    const { body } = call;
    const value = body === undefined ? undefined : this.#args[body.argument];
    if (body === undefined || value === undefined) {
      assert.equal(arrived.body.length, 0, "there is no body");
      assert.deepEqual(this.#operation.content, {}, "the tool has no body");
    } else {
      const media = Object.entries(this.#operation.content).find(([type]) =>
        type === body.mediaType || type.includes("*")
      );
      assert(media, `"${body.mediaType}" is not a type of the body`);
      await checkBody(arrived, value, media[0], objectOf(media[1]));
    }
    return Object.keys(this.#args).length;
  }

  #createArguments(seed: number): JsonObject {
    const { call, definition } = this.#tool;
    const input = objectOf(definition["inputSchema"]);
    const properties = objectOf(input["properties"]);
    const random = randomOf(seed);
    return Object.fromEntries(
      Object.entries(properties).map(([argument, schema]) => {
        const parameter = call.parameters.find((each) =>
          each.argument === argument
        );
        const isBare = parameter?.in === "header" ||
          bareStyles.has(parameter?.style ?? "form");
        const samples = new SampleArguments(random, input, isBare);
        return [argument, samples.create(schema)];
      }),
    );
  }

  #checkParameters({ target, headers }: ArrivedRequest): void {
    const { call } = this.#tool;
    const [rawPath = "", query = ""] = target.split("?");
    const segments = pathSegments(call.path, rawPath);
    const pairs = rawPairs(query, "&");
    const cookies = rawPairs(headers["cookie"] ?? "", "; ");
    const fixed = rawPairs(call.query, "&");
    for (const parameter of this.#expected) {
      const { in: place, name } = parameter;
      const request = call.parameters.find((each) =>
        each.name === name && each.in === place
      );
      assert(request, `${place} parameter "${name}" is not an argument`);
      const value = this.#args[request.argument];
      if (value === null) continue;
      const style = styleOf(parameter);
      const arrived = place === "path"
        ? pathValue(style, value, segments.get(style.name) ?? "")
        : place === "header"
        ? headerValue(style, value, headers[style.name.toLowerCase()] ?? "")
        : takePairs(style, value, place === "query" ? pairs : cookies);
      const where = `${place} parameter "${name}"`;
      assert.deepEqual(arrived, textsOf(value, style.style), where);
    }
    assert.equal(call.parameters.length, this.#expected.length);
    assert.deepEqual(pairs, fixed, "nothing else is in the query");
    assert.deepEqual(cookies, [], "nothing else is in the cookies");
  }
}

function styleOf(parameter: JsonObject): Style {
  const { in: place, name, content, explode } = parameter;
  const style = isJsonObject(content)
    ? "json"
    : String(parameter["style"] ?? defaultStyles[String(place)]);
  return {
    name: String(name),
    style,
    explode: typeof explode === "boolean" ? explode : style === "form",
  };
}

/** Returns the encoded values of a path, by name. */
function pathSegments(
  template: string,
  path: string,
): ReadonlyMap<string, string> {
  const names: string[] = [];
  const pattern = template.split(/(\{[^{}]*\})/).map((part, at) => {
    if (at % 2 === 0) return RegExp.escape(encodeURI(part));
    names.push(part.slice(1, -1));
    return "(.+?)";
  }).join("");
  const match = new RegExp(`^${BASE}${pattern}$`).exec(path);
  assert(match, `"${path}" does not have the form of "${template}"`);
  return new Map(names.map((name, at) => [name, match[at + 1] ?? ""]));
}
