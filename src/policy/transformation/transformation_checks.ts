import {
  isPseudoHeader,
  type MessageChanges,
  type Transformation,
} from "../../api/policies/transformation_schema.ts";
import { protectedHeaders } from "../../base/protected_headers.ts";
import { EvaluationFailure } from "../../cel/evaluation_failure.ts";
import { compileExpression, Expression } from "../../cel/expression.ts";
import { faultProblem } from "../expressions/expression_checks.ts";
import type { PolicyProblem } from "../policy_kind.ts";
import { compileBody, compileHeader } from "./transformation_expression.ts";

type Side = keyof Transformation;

/** What is wrong with a transformation: expressions, headers that the gateway writes itself, more than one change of a header. */
export function checkTransformation(
  { request, response }: Transformation,
): readonly PolicyProblem[] {
  return [
    ...problemsOf("request", request),
    ...problemsOf("response", response),
  ];
}

function problemsOf(
  side: Side,
  changes: MessageChanges | undefined,
): readonly PolicyProblem[] {
  if (changes === undefined) return [];
  const { set = [], add = [], body } = changes;
  const problems = [
    ...nameProblems(side, changes),
    ...set.flatMap(({ name, value }, index) =>
      valueProblems(side, value, ["set", index, "value"], name)
    ),
    ...add.flatMap(({ name, value }, index) =>
      valueProblems(side, value, ["add", index, "value"], name)
    ),
    ...(body === undefined ? [] : valueProblems(side, body, ["body"])),
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

/** @param name Of the header, when it is the value of one. */
function valueProblems(
  side: Side,
  text: string,
  path: PolicyProblem["path"],
  name?: string,
): readonly PolicyProblem[] {
  const compiled = compileExpression(text);
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
  { variables }: Expression,
): string | undefined {
  if (variables.has("backend")) {
    return 'Cannot use "backend" in a transformation: it may run before a backend is chosen';
  }
  return side === "request" && variables.has("response")
    ? 'Cannot use "response" in a change of the request: there is none yet'
    : undefined;
}
