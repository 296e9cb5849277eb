import {
  objectSchema,
  type Offer,
  readNumber,
  readText,
  text,
} from "./offer.ts";

const MAX_NOTES = 100;

const nothingElse: Omit<Offer, "tools"> = {
  prompts: {},
  resources: [],
  resourceTemplates: [],
  readResource: () => undefined,
  completeArgument: () => [],
};

/** Returns tools that keep notes in memory; all clients share them. */
export function createNotesOffer(): Offer {
  const notes: string[] = [];
  return {
    ...nothingElse,
    tools: {
      add_note: {
        description: "Keeps a note",
        inputSchema: objectSchema({ note: { type: "string" } }),
        call(input) {
          notes.push(readText(input, "note"));
          if (notes.length > MAX_NOTES) notes.shift();
          return [text(`Kept note ${notes.length}`)];
        },
      },
      list_notes: {
        description: "Lists the notes",
        inputSchema: objectSchema(),
        call: () => [text(notes.join("\n") || "No notes yet")],
      },
    },
  };
}

/** Returns a tool that converts temperatures. */
export function createUnitsOffer(): Offer {
  return {
    ...nothingElse,
    tools: {
      to_fahrenheit: {
        description: "Converts a temperature from Celsius to Fahrenheit",
        inputSchema: objectSchema({ celsius: { type: "number" } }),
        call: (input) => [
          text(`${readNumber(input, "celsius") * 9 / 5 + 32} °F`),
        ],
      },
    },
  };
}
