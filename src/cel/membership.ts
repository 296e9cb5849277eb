import type { Ast } from "./library.ts";

/** A test such as `'admin' in jwt.roles`: claim `roles`, member `admin`. */
export interface Membership {
  readonly claim: string;
  readonly member: string;
}

/**
 * Returns the memberships that an expression requires: `'a' in jwt.roles && 'b' in jwt.roles`; `undefined` when it requires anything
 * else. A list in a string counts too: `'a' in jwt.scope.split(' ')`.
 */
export function membershipsOf(ast: Ast): readonly Membership[] | undefined {
  const { exprKind: kind } = ast;
  if (kind.case !== "callExpr") return undefined;
  const { function: name, args: [left, right] } = kind.value;
  if (left === undefined || right === undefined) return undefined;
  if (name === "_&&_") {
    const [first, second] = [membershipsOf(left), membershipsOf(right)];
    return first && second && [...first, ...second];
  }
  const member = textOf(left);
  const claim = claimOf(splitOf(right) ?? right);
  return name === "@in" && member !== undefined && claim !== undefined
    ? [{ claim, member }]
    : undefined;
}

/** Returns `x` of `x.split(' ')`. */
function splitOf({ exprKind: kind }: Ast): Ast | undefined {
  if (kind.case !== "callExpr" || kind.value.function !== "split") {
    return undefined;
  }
  const { target, args: [separator, ...more] } = kind.value;
  const isBlank = separator !== undefined && textOf(separator) === " ";
  return isBlank && more.length === 0 ? target : undefined;
}

/** Returns `a` of `jwt.a` and of `jwt['a']`. */
function claimOf({ exprKind: kind }: Ast): string | undefined {
  if (kind.case === "selectExpr") {
    const { operand, field, testOnly } = kind.value;
    return isJwt(operand) && !testOnly ? field : undefined;
  }
  if (kind.case !== "callExpr" || kind.value.function !== "_[_]") {
    return undefined;
  }
  const [operand, index] = kind.value.args;
  return isJwt(operand) && index !== undefined ? textOf(index) : undefined;
}

function isJwt(ast: Ast | undefined): boolean {
  return ast?.exprKind.case === "identExpr" &&
    ast.exprKind.value.name === "jwt";
}

/** Returns the value of a string literal such as `'a'`; `undefined` for anything else. */
export function textOf({ exprKind: kind }: Ast): string | undefined {
  if (kind.case !== "constExpr") return undefined;
  const { constantKind } = kind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}
