import type { JsonObject } from "../../../base/json.ts";
import type {
  AnswerEvent,
  AnswerUsage,
  AnswerWriter,
  ChatRequest,
  FinishReason,
} from "../conversation/conversation.ts";
import { joinCallId } from "../conversation/fitted_names.ts";
import { responseObject, type ResponseStatus } from "./response_object.ts";
import {
  finishItem,
  firstPart,
  firstSummary,
  itemPrefixes,
  type OpenItem,
} from "./response_items.ts";

type CallStart = Extract<AnswerEvent, { type: "toolCall" }>;

/** Receives a response that is complete. */
export type OnResponse = (response: JsonObject) => void;

/** Writes answers of OpenAI's responses. */
export class ResponsesWriter implements AnswerWriter {
  readonly #request: ChatRequest;
  readonly #onResponse: OnResponse;
  readonly #createdAt: number;
  readonly #output: JsonObject[] = [];
  #id = "";
  #model = "";
  #sequence = 0;
  #open: OpenItem | undefined;
  #usage: AnswerUsage | undefined;
  #reason: FinishReason = "stop";
  #hasFailed = false;

  /** @param createdAt Milliseconds since the epoch. */
  constructor(
    request: ChatRequest,
    createdAt: number,
    onResponse: OnResponse,
  ) {
    this.#request = request;
    this.#onResponse = onResponse;
    this.#createdAt = Math.floor(createdAt / 1000);
  }

  whole(events: readonly AnswerEvent[]): JsonObject {
    for (const event of events) this.event(event);
    this.#close();
    const response = this.#response(this.#status());
    this.#onResponse(response);
    return response;
  }

  event(event: AnswerEvent): string {
    switch (event.type) {
      case "start":
        this.#id = event.id;
        this.#model = event.model;
        return ["response.created", "response.in_progress"].map((type) =>
          this.#emit(type, { response: this.#response("in_progress") })
        ).join("");
      case "text":
        return this.#text(event.text);
      case "thinking":
        return this.#thinking(event.text);
      case "signature":
        return this.#signature(event.signature, false);
      case "redacted":
        return this.#close() + this.#signature(event.data, true);
      case "image":
        return this.#image(event.url);
      case "toolCall":
        return this.#call(event);
      case "toolInput":
        return this.#input(event.json);
      case "usage":
        this.#usage = event.usage;
        return "";
      case "finish":
        this.#reason = event.reason;
        return "";
      case "error":
        this.#hasFailed = true;
        return this.#fail(event.status, event.message);
    }
  }

  end(): string {
    if (this.#hasFailed) return "";
    const left = this.#close();
    const status = this.#status();
    const response = this.#response(status);
    this.#onResponse(response);
    return left + this.#emit(`response.${status}`, { response });
  }

  #text(text: string): string {
    const start = this.#enter("message", {
      ...{ status: "in_progress", role: "assistant", content: [] },
    });
    const part = { type: "output_text", text: "", annotations: [] };
    const opened = start &&
      start + this.#emitPart("response.content_part.added", { part });
    this.#append(text);
    const delta = { delta: text, logprobs: [] };
    return opened + this.#emitPart("response.output_text.delta", delta);
  }

  #thinking(text: string): string {
    const start = this.#enter("reasoning", { summary: [] });
    const part = { type: "summary_text", text: "" };
    const opened = start &&
      start + this.#emitSummary("response.reasoning_summary_part.added", {
          part,
        });
    this.#append(text);
    return opened + this.#emitSummary("response.reasoning_summary_text.delta", {
      delta: text,
    });
  }

  #signature(signature: string, isRedacted: boolean): string {
    const start = this.#enter("reasoning", { summary: [] });
    if (this.#open !== undefined) {
      this.#open.signature = signature;
      this.#open.isRedacted = isRedacted;
    }
    return start + this.#close();
  }

  #image(url: string): string {
    const left = this.#close();
    const item = {
      ...{ id: this.#itemId("ig"), type: "image_generation_call" },
      ...{ status: "completed", result: url.replace(/^data:[^,]*,/, "") },
    };
    const index = this.#output.length;
    this.#output.push(item);
    return left + ["response.output_item.added", "response.output_item.done"]
      .map((type) => this.#emit(type, { output_index: index, item })).join("");
  }

  #call({ id, name: flat, signature }: CallStart): string {
    const left = this.#close();
    const { name = flat, namespace, isCustom = false } =
      this.#request.origins?.get(flat) ?? {};
    const call = {
      call_id: joinCallId(id, signature),
      name,
      ...(namespace !== undefined && { namespace }),
    };
    return left + this.#enter(
      isCustom ? "custom_tool_call" : "function_call",
      {
        status: "in_progress",
        ...call,
        [isCustom ? "input" : "arguments"]: "",
      },
      call,
    );
  }

  #input(json: string): string {
    this.#append(json);
    // The text of a custom tool is known when its object is complete.
    return this.#open?.type === "function_call"
      ? this.#emitItem("response.function_call_arguments.delta", {
        delta: json,
      })
      : "";
  }

  #append(text: string): void {
    if (this.#open !== undefined) this.#open.text += text;
  }

  /** Begins an item unless one of this type is open. */
  #enter(
    type: OpenItem["type"],
    start: JsonObject,
    call: JsonObject = {},
  ): string {
    if (this.#open?.type === type) return "";
    const left = this.#close();
    const id = this.#itemId(itemPrefixes[type]);
    const state = { text: "", signature: "", isRedacted: false };
    this.#open = { type, id, call, ...state };
    return left + this.#emit("response.output_item.added", {
      output_index: this.#output.length,
      item: { id, type, ...start },
    });
  }

  #close(): string {
    const open = this.#open;
    if (open === undefined) return "";
    const { item, events } = finishItem(open);
    const written = events.map(([type, fields]) =>
      this.#emitItem(type, fields)
    );
    const index = this.#output.length;
    this.#output.push(item);
    this.#open = undefined;
    return written.join("") +
      this.#emit("response.output_item.done", { output_index: index, item });
  }

  #fail(status: number, message: string): string {
    const code = status === 429 ? "rate_limit_exceeded" : "server_error";
    const response = this.#response("failed");
    return this.#close() + this.#emit("response.failed", {
      response: { ...response, error: { code, message } },
    });
  }

  #status(): "completed" | "incomplete" {
    const isCut = this.#reason === "length" || this.#reason === "contentFilter";
    return isCut ? "incomplete" : "completed";
  }

  #response(status: ResponseStatus): JsonObject {
    return responseObject({
      request: this.#request,
      id: this.#id,
      createdAt: this.#createdAt,
      model: this.#model,
      output: this.#output,
      usage: this.#usage,
      reason: this.#reason,
    }, status);
  }

  #itemId(prefix: string): string {
    return `${prefix}_${this.#id}_${this.#output.length}`;
  }

  #emitPart(type: string, fields: JsonObject): string {
    return this.#emitItem(type, { ...firstPart, ...fields });
  }

  #emitSummary(type: string, fields: JsonObject): string {
    return this.#emitItem(type, { ...firstSummary, ...fields });
  }

  #emitItem(type: string, fields: JsonObject): string {
    const item = { item_id: this.#open?.id, output_index: this.#output.length };
    return this.#emit(type, { ...item, ...fields });
  }

  #emit(type: string, fields: JsonObject): string {
    const event = { type, sequence_number: this.#sequence++, ...fields };
    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  }
}
