import {
  isPseudoHeader,
  type MessageChanges,
  type Transformation,
} from "./transformation_schema.ts";
import { protectedHeaders } from "../../base/wire/protected_headers.ts";
import type { Hide } from "../../base/redaction.ts";
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import { Expression } from "../cel/expression.ts";
import {
  type CompiledExpression,
  compileOnce,
  faultProblem,
} from "../expressions/expression_checks.ts";
import { usageFields } from "../expressions/llm_usage.ts";
import type { CheckOptions, PolicyProblem } from "../contract/policy_kind.ts";
import { compileBody, compileHeader } from "./transformation_expression.ts";

type Side = keyof Transformation;

/** Finds invalid expressions, changes of headers that the gateway writes itself, and headers that are changed twice. */
export function checkTransformation(
  { request, response }: Transformation,
  { hide }: Pick<CheckOptions, "hide">,
): readonly PolicyProblem[] {
  return [
    ...problemsOf("request", request, hide),
    ...problemsOf("response", response, hide),
  ];
}

function problemsOf(
  side: Side,
  changes: MessageChanges | undefined,
  hide: Hide,
): readonly PolicyProblem[] {
  const compile = (text: string) => compileOnce(text, hide);
  if (changes === undefined) return [];
  const { set = [], add = [], body } = changes;
  const problems = [
    ...nameProblems(side, changes),
    ...set.flatMap(({ name, value }, index) =>
      valueProblems(side, compile(value), ["set", index, "value"], name)
    ),
    ...add.flatMap(({ name, value }, index) =>
      valueProblems(side, compile(value), ["add", index, "value"], name)
    ),
    ...(body === undefined ? [] : valueProblems(side, compile(body), ["body"])),
  ];
  return problems.map((each) => ({ ...each, path: [side, ...each.path] }));
}

function nameProblems(
  side: Side,
  { set = [], add = [], remove = [] }: MessageChanges,
): readonly PolicyProblem[] {
  const problems: PolicyProblem[] = [];
  const seen = new Set<string>();
  const check = (action: string, name: string, path: PolicyProblem["path"]) => {
    const key = name.toLowerCase();
    const problem = protectedHeaders.has(key)
      ? ownHeaderProblem(side, key, action)
      : seen.has(key)
      ? "a transformation can have only one change for each header"
      : undefined;
    if (problem !== undefined) {
      problems.push({
        path,
        message: `Cannot ${action} header "${name}": ${problem}`,
      });
    }
    seen.add(key);
  };
  for (const [index, { name }] of set.entries()) {
    check("set", name, ["set", index, "name"]);
  }
  for (const [index, { name }] of add.entries()) {
    check("add", name, ["add", index, "name"]);
  }
  for (const [index, name] of remove.entries()) {
    check("remove", name, ["remove", index]);
  }
  return problems;
}

function ownHeaderProblem(side: Side, key: string, action: string): string {
  return key === "host" && side === "request" && action === "set"
    ? 'set ":authority" instead'
    : "the gateway writes it itself";
}

/** @param name Name of the header; `undefined` for the body. */
function valueProblems(
  side: Side,
  compiled: CompiledExpression,
  path: PolicyProblem["path"],
  name?: string,
): readonly PolicyProblem[] {
  if (!(compiled instanceof Expression)) return [faultProblem(compiled, path)];
  const unavailable = unavailableIn(side, compiled);
  if (unavailable !== undefined) return [{ path, message: unavailable }];
  const { constant } = name === undefined
    ? compileBody(compiled)
    : compileHeader(name, compiled);
  if (!(constant instanceof EvaluationFailure)) return [];
  const what = name === undefined
    ? "the body"
    : `${isPseudoHeader(name) ? "" : "header "}"${name}"`;
  const message = `Cannot set ${what}: ${constant.message}`;
  return [{ path, message }];
}

function unavailableIn(
  side: Side,
  expression: Expression,
): string | undefined {
  const { variables } = expression;
  if (variables.has("backend")) {
    return 'Cannot use "backend" in a transformation: it may run before a backend is chosen';
  }
  if (side === "response") return undefined;
  const name = variables.has("response")
    ? "response"
    : usageFields.find((field) => expression.reads(field));
  return name === undefined
    ? undefined
    : `Cannot use "${name}" in a change of the request: there is no response yet`;
}
