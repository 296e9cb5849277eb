import { signal } from "../kit/framework.ts";

/** Ways in that the admin interface has. */
export interface Access {
  readonly hasToken: boolean;
  /** Address of the login; `undefined` without one. */
  readonly login: string | undefined;
}

/** A pending question for the admin token. */
export interface TokenPrompt {
  /** Problem with the previous token; empty at first. */
  readonly problem: string;
  /** Ways in that the dialog offers. */
  readonly access: Access;
  readonly answer: (token: string) => void;
}

/** The question that the dialog shows; `undefined` if there is none. */
export const tokenPrompt = signal<TokenPrompt | undefined>(undefined);

let pending: Promise<string> | undefined;

/** Prompts the user for the token; concurrent requests share the prompt. */
export function promptForToken(
  problem: string,
  access: Access,
): Promise<string> {
  pending ??= new Promise<string>((resolve) => {
    tokenPrompt.value = { problem, access, answer: resolve };
  }).finally(() => {
    pending = undefined;
    tokenPrompt.value = undefined;
  });
  return pending;
}
