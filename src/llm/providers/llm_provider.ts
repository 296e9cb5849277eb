import type { HeaderList } from "../../http/header_list.ts";
import type { LlmFamily, LlmOperation } from "./operation.ts";

/** Place of a provider's API. */
export interface ProviderPlace {
  /** Path of the API, in place of the provider's own. */
  readonly basePath: string | undefined;
  readonly region: string | undefined;
  readonly project: string | undefined;
}

/** A request that goes to a provider. */
export interface ProviderRequest {
  readonly method: string;
  readonly scheme: "http" | "https";
  /** `host` or `host:port`. */
  readonly authority: string;
  readonly target: string;
  readonly headers: HeaderList;
  /** The whole body; empty unless the authorization `coversBody`. */
  readonly body: Uint8Array;
}

/** Adds the provider's key to a request. */
export interface Authorization {
  /** A signature covers the body, so that it must be in memory. */
  readonly coversBody?: true;
  /** @param now Milliseconds since the epoch. */
  apply(request: ProviderRequest, now: number): void | Promise<void>;
}

/** One call of an operation of a provider. */
export interface ProviderCall extends ProviderPlace {
  readonly operation: LlmOperation;
  /** Name of the model at the provider; `undefined` when it is only in the body. */
  readonly model: string | undefined;
  readonly streaming: boolean;
}

/** A family of operations as a provider serves it. */
export interface ProviderApi {
  /** Names of the operations; all of the family unless given. */
  readonly operations?: readonly string[];
  /** Returns the path of a call. */
  path(call: ProviderCall): string;
  /** The path has the model, which other providers have in the body. */
  readonly hasModelInPath?: true;
  /** A request to count tokens has the request that it is about as a member. */
  readonly wrapsCount?: true;
  /** Reports whether the provider serves a model with this API; all of them unless given. */
  serves?(model: string): boolean;
  /** `false` if it takes images and files as bytes only, although others with the API take URLs. */
  readonly takesUrls?: false;
  /** Fields that the body has in place of `model`. */
  readonly replacesModel?: Readonly<Record<string, string>>;
}

/** Everything that differs between LLM providers; a provider is one entry of `llmProviders`. */
export interface LlmProvider {
  /** Settings without which it has no address. */
  readonly requires: readonly ("host" | "region" | "project")[];
  /** Host of its API; `undefined` when each account has its own. */
  readonly host: ((place: ProviderPlace) => string) | undefined;
  readonly apis: Readonly<Partial<Record<LlmFamily, ProviderApi>>>;
  /** Path of its list of models, and the family that the list has the form of; `undefined` without a list. */
  readonly models:
    | ((place: ProviderPlace) => { path: string; family: LlmFamily })
    | undefined;
  /**
   * Creates what adds the key to requests.
   * @param key Text of the credential.
   * @throws {TypeError} When it cannot be a key; the message does not show it.
   */
  authorization(key: string, place: ProviderPlace): Authorization;
  /** Returns the family of the API that requests of other families are translated to. */
  translatesTo(model: string | undefined): LlmFamily;
  /** Name of `max_tokens` at an API of OpenAI's family, where that is another. */
  readonly outputLimit?: string;
  /** Operations that only some of its servers have; requests for them are translated at the others. */
  readonly mayLack?: readonly string[];
  /** Values of `anthropic-beta` that it accepts, where it rejects others. */
  readonly betas?: RegExp;
  /** Header fields of all requests that do not have them. */
  readonly headers: readonly (readonly [string, string])[];
  /** Reports whether a response with status 400 rejects the key; of those that have 401 or 403 for that, there is none. */
  readonly rejectsKey?: (body: unknown) => boolean;
  /** Header field of responses with the provider's id of the request. */
  readonly requestIdHeader: string;
}

/** A key in a header field. */
export function keyHeader(
  name: string,
  prefix = "",
): LlmProvider["authorization"] {
  return (key) => {
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new TypeError("it has blanks or characters that no key has");
    }
    return { apply: ({ headers }) => headers.set(name, prefix + key) };
  };
}
