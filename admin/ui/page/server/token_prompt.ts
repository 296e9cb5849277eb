import { signal } from "../kit/framework.ts";

/** A pending question for the admin token. */
export interface TokenPrompt {
  /** Problem with the previous token; empty at first. */
  readonly problem: string;
  readonly answer: (token: string) => void;
}

/** The question that the dialog shows; `undefined` if there is none. */
export const tokenPrompt = signal<TokenPrompt | undefined>(undefined);

let pending: Promise<string> | undefined;

/** Prompts the user for the token; concurrent requests share the prompt. */
export function promptForToken(problem: string): Promise<string> {
  pending ??= new Promise<string>((resolve) => {
    tokenPrompt.value = { problem, answer: resolve };
  }).finally(() => {
    pending = undefined;
    tokenPrompt.value = undefined;
  });
  return pending;
}
