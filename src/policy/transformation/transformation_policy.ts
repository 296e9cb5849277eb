import type { Transformation } from "./transformation_schema.ts";
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import type { ResponseMessage } from "../../http/message.ts";
import {
  type BodyUse,
  joinBodyUses,
  readBodyVariables,
} from "../expressions/body_variables.ts";
import { noteFailedExpression } from "../expressions/expression_slots.ts";
import {
  type BodyText,
  readBodyText,
  removeContentHeaders,
  replaceBody,
} from "../expressions/message_body.ts";
import { countBeforeHeaders } from "../expressions/llm_usage.ts";
import { assertReadableContent } from "../expressions/readable_content.ts";
import type { Policy, PolicyContext } from "../contract/policy.ts";
import type { PolicyOptions } from "../contract/policy_kind.ts";
import type { PolicyServices } from "../contract/policy_services.ts";
import {
  RequestVariables,
  type TransformedMessages,
} from "../expressions/request_variables.ts";
import { checkTransformation } from "./transformation_checks.ts";
import { CompiledChanges } from "./transformation_changes.ts";
import {
  type ContentChanges,
  describeChanges,
  logFailures,
} from "./transformation_report.ts";
import {
  assertBuffered,
  hasNoContent,
  requireReadableResponse,
  setPseudoHeaders,
  takesBody,
} from "./transformed_message.ts";

/**
 * Changes requests and responses by expressions, all of which see the message before the changes.
 *
 * If an expression errors, its header is removed or its body emptied. For anything else, such as a path, the request is rejected, as
 * it is if an expression reads a body that is too long.
 */
export function createTransformation(
  { request, response }: Transformation,
  { services, hide }: TransformationOptions,
): Policy<never> {
  return new TransformationPolicy(
    request && new CompiledChanges(request, hide),
    response && new CompiledChanges(response, hide),
    services,
  );
}

type Services = Pick<PolicyServices, "log" | "maxBufferBytes">;

interface TransformationOptions extends Pick<PolicyOptions, "hide"> {
  readonly services: Services;
}

class TransformationPolicy implements Policy<never> {
  readonly #request: CompiledChanges | undefined;
  readonly #response: CompiledChanges | undefined;
  readonly #services: Services;
  readonly #bodyUse: BodyUse | undefined;
  readonly #readsRequestText: boolean;
  /** Texts of request bodies, kept for the changes of the response. */
  readonly #requestTexts = new WeakMap<PolicyContext, BodyText>();
  #hasWarned = false;

  constructor(
    request: CompiledChanges | undefined,
    response: CompiledChanges | undefined,
    services: Services,
  ) {
    this.#request = request;
    this.#response = response;
    this.#services = services;
    const both = [request, response];
    this.#bodyUse = joinBodyUses(both.map((each) => each?.bodyUse));
    this.#readsRequestText = both.some((each) => each?.readsRequestBody);
  }

  onRequest(context: PolicyContext): void | Promise<void> {
    if (this.#bodyUse === undefined && !this.#readsRequestText) {
      return this.#changeRequest(context, undefined);
    }
    return this.#readRequest(context).then((text) => {
      if (text !== undefined) this.#requestTexts.set(context, text);
      this.#changeRequest(context, text);
    });
  }

  onResponse(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void> {
    const changes = this.#response;
    if (changes === undefined) return;
    if (!changes.readsResponseBody && !changes.readsUsage) {
      return this.#changeResponse(changes, context, response, undefined);
    }
    return this.#readResponse(changes, context, response).then((text) =>
      this.#changeResponse(changes, context, response, text)
    );
  }

  async #readResponse(
    { readsResponseBody, readsUsage }: CompiledChanges,
    context: PolicyContext,
    response: ResponseMessage,
  ): Promise<BodyText | undefined> {
    const { maxBufferBytes } = this.#services;
    if (readsUsage) await countBeforeHeaders(context, response, maxBufferBytes);
    if (!readsResponseBody) return undefined;
    return await readBodyText(response, maxBufferBytes);
  }

  async #readRequest(context: PolicyContext): Promise<BodyText | undefined> {
    const { request } = context;
    if (this.#bodyUse) await readBodyVariables(context, this.#bodyUse);
    if (!this.#readsRequestText) return undefined;
    if (request.body !== undefined) assertReadableContent(request.headers);
    return await readBodyText(request, this.#services.maxBufferBytes);
  }

  #changeRequest(
    context: PolicyContext,
    requestText: BodyText | undefined,
  ): void {
    if (this.#request === undefined) {
      context.trace?.skip("it changes responses only");
    } else this.#applyToRequest(this.#request, context, requestText);
    if (this.#response === undefined) return;
    requireReadableResponse(context.request, this.#response);
  }

  #applyToRequest(
    changes: CompiledChanges,
    context: PolicyContext,
    requestText: BodyText | undefined,
  ): void {
    const { request, trace } = context;
    const messages = { requestText };
    const variables = new RequestVariables(context, messages);
    const pseudo = changes.evaluatePseudo(variables, context);
    const headers = changes.evaluateHeaders(variables, context);
    const bytes = takesBody(request, pseudo.get(":method"))
      ? this.#evaluateBody(changes, context, variables, messages)
      : undefined;
    if (bytes !== undefined) replaceBody(request, bytes);
    setPseudoHeaders(request, pseudo);
    changes.apply(request.headers, headers);
    // The client's Content-Type describes its own body: the backend would decode the new one with that charset.
    const isTyped = headers.some(({ change }) => change.key === "content-type");
    if (bytes !== undefined && !isTyped) assertReadableContent(request.headers);
    logFailures(this.#services.log, context.requestId, headers);
    trace?.apply(
      describeChanges(
        { pseudo: [...pseudo.keys()], body: bytes !== undefined },
        headers,
      ),
    );
  }

  #changeResponse(
    changes: CompiledChanges,
    context: PolicyContext,
    response: ResponseMessage,
    responseText: BodyText | undefined,
  ): void {
    const requestText = this.#requestTexts.get(context);
    const messages = { requestText, response, responseText };
    const variables = new RequestVariables(context, messages);
    const headers = changes.evaluateHeaders(variables, context);
    const content = response.tunnel === undefined
      ? this.#changeContent(changes, context, variables, messages)
      : { pseudo: [], body: false };
    changes.apply(response.headers, headers);
    logFailures(this.#services.log, context.requestId, headers);
    context.trace?.report({
      type: "policyEvent",
      kind: "transformation",
      details: { response: describeChanges(content, headers) },
    });
  }

  /** Changes status and body. */
  #changeContent(
    changes: CompiledChanges,
    context: PolicyContext,
    variables: RequestVariables,
    messages: TransformedMessages & { readonly response: ResponseMessage },
  ): ContentChanges {
    const { response } = messages;
    const pseudo = changes.evaluatePseudo(variables, context);
    const status = Number(pseudo.get(":status") ?? response.status);
    const bytes = hasNoContent(context.request.method, status)
      ? undefined
      : this.#evaluateBody(changes, context, variables, messages);
    if (bytes !== undefined) {
      response.body?.cancel("the body is replaced by a transformation");
      replaceBody(response, bytes);
    } else if (changes.body !== undefined) {
      removeContentHeaders(response.headers);
    }
    response.status = status;
    return { pseudo: [...pseudo.keys()], body: bytes !== undefined };
  }

  /**
   * Returns the new body; `undefined` when it stays.
   * @throws {GatewayError} If a body that the expression reads is too long.
   */
  #evaluateBody(
    { body }: CompiledChanges,
    context: PolicyContext,
    variables: RequestVariables,
    { requestText, responseText }: TransformedMessages,
  ): Uint8Array | undefined {
    if (body === undefined) return undefined;
    if (body.readsResponseBody) assertBuffered(responseText, "response");
    if (body.readsRequestBody) assertBuffered(requestText, "request");
    const value = body.read(variables);
    if (!(value instanceof EvaluationFailure)) return value;
    this.#noteEmptied(context, body.shown, value.withoutValues(body.shown));
    return new Uint8Array();
  }

  #noteEmptied(context: PolicyContext, shown: string, error: string): void {
    noteFailedExpression(context, "transformation");
    context.trace?.evaluated(shown, { error });
    // One warning per policy is enough for the author of the expression.
    const level = this.#hasWarned ? "debug" : "warn";
    this.#hasWarned = true;
    this.#services.log[level](
      "A body was emptied: its expression has no value",
      { "request.id": context.requestId, error },
    );
  }
}

/** The code of the kind. */
export const code = {
  check: checkTransformation,
  create: createTransformation,
};
