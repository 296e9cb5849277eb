import {
  askModel,
  askUser,
  type FormSchema,
  modelText,
} from "../../../cli/dev/mcp/input.ts";
import {
  type Caller,
  objectSchema,
  readText,
  text,
  type Tool,
} from "../../../cli/dev/mcp/offer.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import {
  audio,
  embed,
  image,
  RED_PIXEL,
  SILENCE,
} from "./conformance_content.ts";
import {
  formWithChoices,
  formWithDefaults,
  responseForm,
} from "./conformance_forms.ts";

/** Tools that the scenarios of `@modelcontextprotocol/conformance` call by name. */
export const conformanceTools: Readonly<Record<string, Tool>> = {
  test_simple_text: {
    description: "Returns text",
    inputSchema: objectSchema(),
    call: () => [text("This is a simple text response for testing.")],
  },
  test_image_content: {
    description: "Returns an image",
    inputSchema: objectSchema(),
    call: () => [image(RED_PIXEL)],
  },
  test_audio_content: {
    description: "Returns audio",
    inputSchema: objectSchema(),
    call: () => [audio(SILENCE)],
  },
  test_embedded_resource: {
    description: "Returns an embedded resource",
    inputSchema: objectSchema(),
    call: () => [
      embed(
        "test://embedded-resource",
        "This is an embedded resource content.",
      ),
    ],
  },
  test_multiple_content_types: {
    description: "Returns text, an image and an embedded resource",
    inputSchema: objectSchema(),
    call: () => [
      text("Multiple content types test:"),
      image(RED_PIXEL),
      embed(
        "test://mixed-content-resource",
        '{"test":"data","value":123}',
        "application/json",
      ),
    ],
  },
  test_tool_with_logging: {
    description: "Sends three log messages, then returns",
    inputSchema: objectSchema(),
    async call(_input, caller) {
      await caller.log("Tool execution started");
      await caller.log("Tool processing data");
      await caller.log("Tool execution completed");
      return [text("Tool with logging executed successfully")];
    },
  },
  test_tool_with_progress: {
    description: "Reports progress three times, then returns",
    inputSchema: objectSchema(),
    async call(_input, caller) {
      for (const done of [0, 50, 100]) await caller.progress(done, 100);
      return [text("Tool with progress executed successfully")];
    },
  },
  test_error_handling: {
    description: "Always throws",
    inputSchema: objectSchema(),
    call() {
      throw new Error("This tool intentionally returns an error for testing");
    },
  },
  test_reconnection: {
    description:
      "Closes the event stream before the result, so that the client must resume it",
    inputSchema: objectSchema(),
    call(_input, caller) {
      caller.disconnect();
      return [text("Reconnection test completed successfully")];
    },
  },
  test_sampling: {
    description: "Asks the client's model",
    inputSchema: objectSchema({ prompt: { type: "string" } }),
    call(input, caller) {
      const response = caller.response("answer");
      return response === undefined
        ? { requests: { answer: askModel(readText(input, "prompt")) } }
        : [text(`LLM response: ${modelText(response)}`)];
    },
  },
  test_elicitation: {
    description: "Asks the client's user",
    inputSchema: objectSchema({ message: { type: "string" } }),
    call: (input, caller) =>
      elicit(caller, readText(input, "message"), responseForm),
  },
  test_elicitation_sep1034_defaults: {
    description: "Asks the client's user with a form that has defaults",
    inputSchema: objectSchema(),
    call: (_input, caller) =>
      elicit(caller, "Please review the defaults", formWithDefaults),
  },
  test_elicitation_sep1330_enums: {
    description:
      "Asks the client's user with a form that has every kind of choice",
    inputSchema: objectSchema(),
    call: (_input, caller) => elicit(caller, "Please choose", formWithChoices),
  },
  json_schema_2020_12_tool: {
    description: "Has an input schema that uses much of JSON Schema 2020-12",
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: {
        properties: { contactMethod: { const: "phone" } },
        required: ["contactMethod"],
      },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
    call: (input: JsonObject) => [text(`Called with ${JSON.stringify(input)}`)],
  },
};

function elicit(caller: Caller, message: string, form: FormSchema) {
  const response = caller.response("answer");
  if (response === undefined) {
    return { requests: { answer: askUser(message, form) } };
  }
  const { action, content = {} } = response;
  return [
    text(`User response: action=${action}, content=${JSON.stringify(content)}`),
  ];
}
