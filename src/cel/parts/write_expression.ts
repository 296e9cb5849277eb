import type { Ast } from "../library.ts";

/** Returns the call of a macro as its author wrote it; `undefined` for parts that are none. */
export type MacroCallOf = (part: Ast) => Ast | undefined;

/** Binding strength of operators; a part with a weaker one than its parent needs parentheses. */
const binary: Readonly<Record<string, readonly [sign: string, rank: number]>> =
  {
    "_||_": ["||", 1],
    "_&&_": ["&&", 2],
    "_==_": ["==", 3],
    "_!=_": ["!=", 3],
    "_<_": ["<", 3],
    "_<=_": ["<=", 3],
    "_>_": [">", 3],
    "_>=_": [">=", 3],
    "@in": ["in", 3],
    "_+_": ["+", 4],
    "_-_": ["-", 4],
    "_*_": ["*", 5],
    "_/_": ["/", 5],
    "_%_": ["%", 5],
  };
const RANK_OF_CONDITION = 0;
const RANK_OF_PREFIX = 6;
const RANK_OF_VALUE = 7;

/** Formats a parsed expression, with the parentheses that it needs. */
export function writeExpression(ast: Ast, macroCallOf: MacroCallOf): string {
  const write = (part: Ast | undefined, least = RANK_OF_CONDITION): string => {
    if (part === undefined) return "";
    const source = macroCallOf(part) ?? part;
    const { text, rank } = form(source);
    return rank < least ? `(${text})` : text;
  };
  const list = (parts: readonly Ast[]) =>
    parts.map((part) => write(part)).join(", ");
  const value = (text: string) => ({ text, rank: RANK_OF_VALUE });

  function form({ exprKind: kind }: Ast): { text: string; rank: number } {
    switch (kind.case) {
      case "constExpr":
        return value(writeConstant(kind.value.constantKind));
      case "identExpr":
        return value(kind.value.name);
      case "selectExpr":
        return value(
          `${write(kind.value.operand, RANK_OF_VALUE)}.${kind.value.field}`,
        );
      case "listExpr":
        return value(`[${list(kind.value.elements)}]`);
      case "structExpr":
        return value(
          `{${
            kind.value.entries.map(({ keyKind, value: each }) =>
              `${
                keyKind.case === "mapKey" ? write(keyKind.value) : keyKind.value
              }: ${write(each)}`
            ).join(", ")
          }}`,
        );
      case "callExpr":
        return call(kind.value);
      default:
        return value("…");
    }
  }

  function call(
    { function: name, target, args }: {
      readonly function: string;
      readonly target?: Ast | undefined;
      readonly args: readonly Ast[];
    },
  ): { text: string; rank: number } {
    const [first, second, third] = args;
    const operator = Object.hasOwn(binary, name) ? binary[name] : undefined;
    if (operator !== undefined) {
      const [sign, rank] = operator;
      const text = `${write(first, rank)} ${sign} ${write(second, rank + 1)}`;
      return { text, rank };
    }
    if (name === "_?_:_") {
      const text = `${write(first, 1)} ? ${write(second, 1)} : ${write(third)}`;
      return { text, rank: RANK_OF_CONDITION };
    }
    if (name === "!_" || name === "-_") {
      const text = name.charAt(0) + write(first, RANK_OF_PREFIX);
      return { text, rank: RANK_OF_PREFIX };
    }
    if (name === "_[_]") {
      return value(`${write(first, RANK_OF_VALUE)}[${write(second)}]`);
    }
    const receiver = target === undefined
      ? ""
      : `${write(target, RANK_OF_VALUE)}.`;
    return value(`${receiver}${name}(${list(args)})`);
  }

  return write(ast);
}

function writeConstant(
  { case: kind, value }: {
    readonly case?: string | undefined;
    readonly value?: unknown;
  },
): string {
  if (kind === "nullValue") return "null";
  if (value instanceof Uint8Array) {
    return `b${JSON.stringify(value.toBase64())}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
