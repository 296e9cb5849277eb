import type { BudgetDefinition } from "../../../src/ratelimit/budget/budget.ts";

/** An event `at` so many milliseconds, or an observation of the budget. */
export type BudgetStep =
  | { readonly at: number; readonly send: number; readonly admitted: number }
  | { readonly at: number; readonly debit: number }
  | {
    readonly at: number;
    readonly remaining: number;
    readonly resetMs?: number;
  };

/** A row of the table of states. */
export interface BudgetStory {
  readonly name: string;
  readonly budget: BudgetDefinition;
  readonly steps: readonly BudgetStep[];
}

const ofRequests = {
  unit: "requests",
  burst: 0,
  windowMs: 1000,
  overshoot: "Forgive",
} as const;
const ofTokens = { ...ofRequests, unit: "tokens", base: 100 } as const;

/** Behavior of every budget, wherever it is counted; all windows last one second. */
export const budgetStories: readonly BudgetStory[] = [
  {
    name: "available: a request is added, and the last one still passes",
    budget: { ...ofRequests, base: 3 },
    steps: [
      { at: 0, send: 2, admitted: 2 },
      { at: 0, remaining: 1, resetMs: 1000 },
      { at: 0, send: 1, admitted: 1 },
      { at: 0, remaining: 0, resetMs: 1000 },
    ],
  },
  {
    name: "exhausted: rejected until the reset, and not a millisecond longer",
    budget: { ...ofRequests, base: 3 },
    steps: [
      { at: 200, send: 5, admitted: 3 },
      { at: 900, send: 5, admitted: 0 },
      { at: 1199, send: 5, admitted: 0 },
      { at: 1199, remaining: 0, resetMs: 1 },
      { at: 1200, send: 5, admitted: 3 },
    ],
  },
  {
    name: "a full budget opens its window with the next request",
    budget: { ...ofRequests, base: 3 },
    steps: [
      { at: 0, remaining: 3, resetMs: 1000 },
      { at: 500, send: 1, admitted: 1 },
      { at: 800, remaining: 2, resetMs: 700 },
      { at: 1500, remaining: 3, resetMs: 1000 },
      { at: 1700, remaining: 3, resetMs: 1000 },
      { at: 1700, send: 3, admitted: 3 },
      { at: 2699, send: 1, admitted: 0 },
      { at: 2700, send: 9, admitted: 3 },
    ],
  },
  {
    name: "a budget that is not full goes straight on to its next window",
    budget: { ...ofRequests, base: 3, burst: 2 },
    steps: [
      { at: 0, send: 9, admitted: 5 },
      { at: 1400, remaining: 3, resetMs: 600 },
      { at: 1400, send: 9, admitted: 3 },
      { at: 1400, remaining: 0, resetMs: 600 },
      { at: 1999, send: 1, admitted: 0 },
      { at: 2000, send: 9, admitted: 3 },
    ],
  },
  {
    name: "burst: later windows have what was left over",
    budget: { ...ofRequests, base: 3, burst: 2 },
    steps: [
      { at: 0, send: 9, admitted: 5 },
      { at: 1000, send: 9, admitted: 3 },
      { at: 2000, send: 2, admitted: 2 },
      { at: 3000, send: 9, admitted: 4 },
    ],
  },
  {
    name: "burst: no more than the burst is saved up",
    budget: { ...ofRequests, base: 3, burst: 2 },
    steps: [
      { at: 0, send: 1, admitted: 1 },
      { at: 1000, send: 9, admitted: 5 },
    ],
  },
  {
    name: "burst: windows without requests add up to the capacity",
    budget: { ...ofRequests, base: 3, burst: 7 },
    steps: [
      { at: 0, send: 99, admitted: 10 },
      { at: 2000, remaining: 6, resetMs: 1000 },
      { at: 3500, remaining: 9, resetMs: 500 },
      { at: 6000, remaining: 10, resetMs: 1000 },
      { at: 6500, send: 99, admitted: 10 },
    ],
  },
  {
    name: "tokens: the request that crosses the budget passes, the next waits",
    budget: { ...ofTokens },
    steps: [
      { at: 0, send: 1, admitted: 1 },
      { at: 10, debit: 99 },
      { at: 10, remaining: 1, resetMs: 990 },
      { at: 20, send: 1, admitted: 1 },
      { at: 30, debit: 500 },
      { at: 30, remaining: 0, resetMs: 970 },
      { at: 999, send: 1, admitted: 0 },
      { at: 1000, remaining: 100, resetMs: 1000 },
      { at: 1000, send: 1, admitted: 1 },
    ],
  },
  {
    name: "tokens: what is in flight when the first usage is known has passed",
    budget: { ...ofTokens },
    steps: [
      { at: 0, send: 20, admitted: 20 },
      { at: 0, remaining: 100 },
    ],
  },
  {
    name: "tokens: what was left over is saved up, what was beyond is forgiven",
    budget: { ...ofTokens, burst: 50 },
    steps: [
      { at: 0, send: 1, admitted: 1 },
      { at: 0, debit: 30 },
      { at: 1000, remaining: 150 },
      { at: 1000, send: 1, admitted: 1 },
      { at: 1000, debit: 400 },
      { at: 2000, remaining: 100, resetMs: 1000 },
      { at: 2000, send: 1, admitted: 1 },
    ],
  },
  {
    name: "tokens: debts that are forgiven do not slow the burst down",
    budget: { ...ofTokens, burst: 400 },
    steps: [
      { at: 0, send: 1, admitted: 1 },
      { at: 0, debit: 750 },
      { at: 3000, remaining: 300, resetMs: 1000 },
      { at: 3000, send: 1, admitted: 1 },
      { at: 3000, remaining: 300, resetMs: 1000 },
    ],
  },
  {
    name: "tokens: those of a response that ends after the reset count then",
    budget: { ...ofTokens },
    steps: [
      { at: 0, send: 1, admitted: 1 },
      { at: 1500, debit: 40 },
      { at: 1800, remaining: 60 },
    ],
  },
  {
    name:
      "tokens: overshoot Carry subtracts the debt from the following windows",
    budget: { ...ofTokens, overshoot: "Carry" },
    steps: [
      { at: 0, send: 1, admitted: 1 },
      { at: 0, debit: 350 },
      { at: 1000, send: 1, admitted: 0 },
      { at: 2000, send: 1, admitted: 0 },
      { at: 2999, send: 1, admitted: 0 },
      { at: 3000, send: 1, admitted: 1 },
      { at: 3000, remaining: 50, resetMs: 1000 },
      { at: 6000, remaining: 100, resetMs: 1000 },
    ],
  },
  {
    name: "tokens: a debt of whole windows is paid off one window later",
    budget: { ...ofTokens, overshoot: "Carry" },
    steps: [
      { at: 0, send: 1, admitted: 1 },
      { at: 0, debit: 200 },
      { at: 1999, send: 1, admitted: 0 },
      { at: 2000, send: 1, admitted: 1 },
    ],
  },
];
