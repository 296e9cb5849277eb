import {
  askModel,
  askUser,
  type FormSchema,
  modelText,
} from "../../../cli/dev/mcp/input.ts";
import {
  type Caller,
  objectSchema,
  text,
  type Tool,
} from "../../../cli/dev/mcp/offer.ts";
import { acceptedForm, askRoots } from "./conformance_input.ts";

/** Tools of the scenarios for MCP 2026-07-28: input in several rounds, notifications, headers. */
export const conformanceRounds: Readonly<Record<string, Tool>> = {
  test_input_required_result_elicitation: {
    description: "Asks for a name",
    inputSchema: objectSchema(),
    call(_input, caller) {
      const name = nameOf(caller);
      return name === undefined
        ? { requests: { user_name: askName } }
        : [text(`Hello, ${name}!`)];
    },
  },
  test_input_required_result_sampling: {
    description: "Asks the model a question",
    inputSchema: objectSchema(),
    call(_input, caller) {
      const answer = modelText(caller.response("capital_question"));
      const question = askModel("What is the capital of France?");
      return answer === undefined
        ? { requests: { capital_question: question } }
        : [text(`Sampling response: ${answer}`)];
    },
  },
  test_input_required_result_list_roots: {
    description: "Asks for the folders of the client",
    inputSchema: objectSchema(),
    call(_input, caller) {
      const roots = caller.response("client_roots");
      return roots === undefined
        ? { requests: { client_roots: askRoots } }
        : [text(`Roots: ${JSON.stringify(roots)}`)];
    },
  },
  test_input_required_result_request_state: {
    description: "Asks for a confirmation, with state",
    inputSchema: objectSchema(),
    call: (_input, caller) =>
      confirm(caller, "request_state", "state-ok: the state is intact"),
  },
  test_input_required_result_tampered_state: {
    description: "Asks for a confirmation, with state that must not change",
    inputSchema: objectSchema(),
    call: (_input, caller) =>
      confirm(caller, "tampered_state", "integrity-ok: the state is intact"),
  },
  test_input_required_result_multiple_inputs: {
    description: "Asks for several things at once",
    inputSchema: objectSchema(),
    call(_input, caller) {
      const name = nameOf(caller);
      const greeting = modelText(caller.response("greeting"));
      const roots = caller.response("client_roots");
      return name === undefined || greeting === undefined || roots === undefined
        ? {
          requests: {
            user_name: askName,
            greeting: askModel("Generate a greeting"),
            client_roots: askRoots,
          },
          state: { tool: "multiple_inputs" },
        }
        : [text(`${greeting} ${name}: ${JSON.stringify(roots)}`)];
    },
  },
  test_input_required_result_multi_round: {
    description: "Asks twice, with state that changes",
    inputSchema: objectSchema(),
    call(_input, caller) {
      const { round, name } = caller.state ?? {};
      if (round === undefined) {
        return { requests: { step1: askName }, state: { round: 1 } };
      }
      if (round === 1) {
        return {
          requests: { step2: askUser("Your favorite color?", form("color")) },
          state: {
            round: 2,
            name: acceptedForm(caller.response("step1"))?.name,
          },
        };
      }
      const color = acceptedForm(caller.response("step2"))?.color;
      return [text(`${name} likes ${color}`)];
    },
  },
  test_input_required_result_capabilities: {
    description: "Asks only for what the client can do",
    inputSchema: objectSchema(),
    call(_input, caller) {
      const { elicitation, sampling, roots } = caller.capabilities;
      const requests = {
        ...elicitation !== undefined && { user_name: askName },
        ...sampling !== undefined && { greeting: askModel("Greet") },
        ...roots !== undefined && { client_roots: askRoots },
      };
      const isAnswered = Object.keys(requests).every((name) =>
        caller.response(name) !== undefined
      );
      return isAnswered ? [text("Asked for what you can do")] : { requests };
    },
  },
  test_missing_capability: {
    description: "Asks the model, even if there is none",
    inputSchema: objectSchema(),
    call: (_input, caller) =>
      caller.response("answer") === undefined
        ? { requests: { answer: askModel("Reply with: pong") } }
        : [text("The model responded")],
  },
  test_streaming_elicitation: {
    description: "Sends no requests to the client",
    inputSchema: objectSchema(),
    call: () => [text("No request was sent")],
  },
  test_logging_tool: {
    description: "Logs, if the client wants to read it",
    inputSchema: objectSchema(),
    async call(_input, caller) {
      await caller.log("test_logging_tool ran");
      return [text("Logged")];
    },
  },
  test_trigger_tool_change: {
    description: "Notifies you that the list of tools changed",
    inputSchema: objectSchema(),
    async call(_input, caller) {
      await caller.notify.toolsChanged();
      return [text("Notified")];
    },
  },
  test_trigger_prompt_change: {
    description: "Notifies you that the list of prompts changed",
    inputSchema: objectSchema(),
    async call(_input, caller) {
      await caller.notify.promptsChanged();
      return [text("Notified")];
    },
  },
  test_x_mcp_header: {
    description: "Has an argument that clients repeat in a header",
    inputSchema: {
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        level: { type: "integer" },
      },
    },
    call: (input) => [text(`region=${input.region ?? "none"}`)],
  },
};

/** Asks for the context of a prompt. */
export const askContext = askUser(
  "What context should the prompt use?",
  form("context"),
);

const askName = askUser("What is your name?", form("name"));

function nameOf(caller: Caller): unknown {
  return acceptedForm(caller.response("user_name"))?.name;
}

function form(field: string): FormSchema {
  return {
    type: "object",
    properties: { [field]: { type: "string" } },
    required: [field],
  };
}

function confirm(caller: Caller, tool: string, success: string) {
  const form: FormSchema = {
    type: "object",
    properties: { ok: { type: "boolean" } },
    required: ["ok"],
  };
  const isConfirmed = caller.state !== undefined &&
    acceptedForm(caller.response("confirm")) !== undefined;
  return isConfirmed ? [text(success)] : {
    requests: { confirm: askUser("Please confirm", form) },
    state: { tool },
  };
}
