import type { Clock } from "../../../src/base/clock.ts";
import { askModel, askUser, type FormSchema, modelText } from "./input.ts";
import {
  objectSchema,
  type Offer,
  readNumber,
  readText,
  text,
  type Tool,
} from "./offer.ts";

const GUIDE = "playground://guide";

/** Returns the playground's tools, prompt and resource, small enough to use by hand. */
export function createDemoOffer(clock: Clock): Offer {
  return {
    tools: { ...createTools(clock), ...interactiveTools },
    prompts: {
      summarize: {
        description: "Asks for a summary of a text",
        arguments: ["text"],
        render: (argument) => [
          text(`Summarize in one sentence: ${argument("text")}`),
        ],
      },
    },
    resources: [{
      uri: GUIDE,
      name: "guide",
      description:
        "What to try first; subscribe to it and call touch_resource to be notified",
      mimeType: "text/plain",
    }],
    resourceTemplates: [],
    readResource: (uri) =>
      uri === GUIDE
        ? {
          uri,
          mimeType: "text/plain",
          text:
            'Call "echo" with a message, then look at the trace of the request.',
        }
        : undefined,
    completeArgument: () => [],
  };
}

function createTools(clock: Clock): Record<string, Tool> {
  return {
    echo: {
      description: "Returns the message",
      inputSchema: objectSchema({ message: { type: "string" } }),
      call: (input) => [text(readText(input, "message"))],
    },
    add: {
      description: "Adds two numbers",
      inputSchema: objectSchema({
        a: { type: "number" },
        b: { type: "number" },
      }),
      call: (
        input,
      ) => [text(String(readNumber(input, "a") + readNumber(input, "b")))],
    },
    current_time: {
      description: "Returns the time in UTC",
      inputSchema: objectSchema(),
      call: () => [text(new Date(clock.now()).toISOString())],
    },
  };
}

/** Tools that send requests or notifications to the client. */
const interactiveTools: Readonly<Record<string, Tool>> = {
  touch_resource: {
    description: "Notifies you that a resource changed, if you subscribed",
    inputSchema: objectSchema({ uri: { type: "string" } }),
    async call(input, caller) {
      const uri = readText(input, "uri");
      await caller.notify.resourceUpdated(uri);
      return [text(`Touched ${uri}`)];
    },
  },
  count: {
    description: "Counts to a number, with a log message and progress for each",
    inputSchema: objectSchema({ to: { type: "integer" } }),
    async call(input, caller) {
      const to = Math.min(readNumber(input, "to"), 100);
      for (let number = 1; number <= to; number++) {
        await caller.log(`Counted ${number}`);
        await caller.progress(number, to);
      }
      return [text(`Counted to ${to}`)];
    },
  },
  ask_user: {
    description: "Asks the client's user a question",
    inputSchema: objectSchema({ question: { type: "string" } }),
    call(input, caller) {
      const response = caller.response("answer");
      if (response === undefined) {
        const question = askUser(readText(input, "question"), answerForm);
        return { requests: { answer: question } };
      }
      const { action, content = {} } = response;
      return [text(`${action}: ${JSON.stringify(content)}`)];
    },
  },
  ask_model: {
    description: "Asks the client's model",
    inputSchema: objectSchema({ prompt: { type: "string" } }),
    call(input, caller) {
      const response = caller.response("answer");
      return response === undefined
        ? { requests: { answer: askModel(readText(input, "prompt")) } }
        : [text(modelText(response) ?? JSON.stringify(response))];
    },
  },
};

const answerForm: FormSchema = {
  type: "object",
  properties: { answer: { type: "string", description: "Answer" } },
  required: ["answer"],
};
