/** A syntax error of an expression; `offset` is in UTF-16 units from its beginning. */
export interface SyntaxFault {
  readonly message: string;
  readonly offset: number;
}

/** Converts an error of the parser, whose class is not exported; it has `rawMessage` and `location.start.offset`. */
export function faultOf(error: unknown): SyntaxFault {
  const start = property(property(error, "location"), "start");
  const offset = property(start, "offset");
  const raw = property(error, "rawMessage");
  // The list of everything that was expected is too long to help.
  const unexpected = /^found (.*?) but expecting/s.exec(String(raw))?.[1];
  return {
    message: unexpected !== undefined
      ? `unexpected ${unexpected}`
      : typeof raw === "string"
      ? raw
      : "it is nested too deeply",
    offset: typeof offset === "number" ? offset : 0,
  };
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}
