import { type Prompt, text } from "../../../cli/dev/mcp/offer.ts";
import { acceptedForm } from "./conformance_input.ts";
import { askContext } from "./conformance_rounds.ts";
import { embed, image, RED_PIXEL } from "./conformance_content.ts";

/** Prompts that the conformance scenarios get by name. */
export const prompts: Readonly<Record<string, Prompt>> = {
  test_simple_prompt: {
    description: "A prompt without arguments",
    arguments: [],
    render: () => [text("This is a simple prompt for testing.")],
  },
  test_prompt_with_arguments: {
    description: "A prompt with two arguments",
    arguments: ["arg1", "arg2"],
    render: (argument) => [
      text(
        `Prompt with arguments: arg1='${argument("arg1")}', arg2='${
          argument("arg2")
        }'`,
      ),
    ],
  },
  test_prompt_with_embedded_resource: {
    description: "A prompt that embeds the resource you name",
    arguments: ["resourceUri"],
    render: (argument) => [
      embed(argument("resourceUri"), "Embedded resource content for testing."),
      text("Please process the embedded resource above."),
    ],
  },
  test_prompt_with_image: {
    description: "A prompt with an image",
    arguments: [],
    render: () => [image(RED_PIXEL), text("Please analyze the image above.")],
  },
  test_input_required_result_prompt: {
    description: "A prompt that asks for its context",
    arguments: [],
    render(_argument, caller) {
      const context = acceptedForm(caller.response("user_context"))?.context;
      return context === undefined
        ? { requests: { user_context: askContext } }
        : [text(`Use the following context: ${context}`)];
    },
  },
};

const suggestions = ["apple", "banana", "cherry"];

/** Returns values for any prompt argument that begin with `typed`. */
export function completeArgument(typed: string): string[] {
  return suggestions.filter((value) => value.startsWith(typed));
}
