import { type Content, embed, image, RED_PIXEL, text } from "./content.ts";

/** A prompt of the playground; each content becomes one message of the user. */
export interface Prompt {
  readonly description: string;
  readonly arguments: readonly string[];
  /** Missing arguments are empty strings. */
  render(argument: (name: string) => string): readonly Content[];
}

/** The prompts that the conformance scenarios ask for by name. */
export const prompts: ReadonlyMap<string, Prompt> = new Map<string, Prompt>([
  ["test_simple_prompt", {
    description: "A prompt without arguments",
    arguments: [],
    render: () => [text("This is a simple prompt for testing.")],
  }],
  ["test_prompt_with_arguments", {
    description: "A prompt with two arguments",
    arguments: ["arg1", "arg2"],
    render: (argument) => [
      text(
        `Prompt with arguments: arg1='${argument("arg1")}', arg2='${
          argument("arg2")
        }'`,
      ),
    ],
  }],
  ["test_prompt_with_embedded_resource", {
    description: "A prompt that embeds the resource you name",
    arguments: ["resourceUri"],
    render: (argument) => [
      embed(argument("resourceUri"), "Embedded resource content for testing."),
      text("Please process the embedded resource above."),
    ],
  }],
  ["test_prompt_with_image", {
    description: "A prompt with an image",
    arguments: [],
    render: () => [image(RED_PIXEL), text("Please analyze the image above.")],
  }],
]);

const suggestions = ["apple", "banana", "cherry"];

/** Values for any prompt argument that begin with what has been typed. */
export function completeArgument(typed: string): string[] {
  return suggestions.filter((value) => value.startsWith(typed));
}
