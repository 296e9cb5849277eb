import type { IntegerRange } from "./query_parameters.ts";

/** A query parameter. */
export interface ParameterText {
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Description of a method of a path. */
export interface OperationText {
  readonly summary: string;
  /** Describes the response with 200, unless there is none. */
  readonly ok?: string;
  /** Content type of that; default JSON. */
  readonly type?: string;
  /** A value that none of them allows returns 400. */
  readonly parameters?: readonly ParameterText[];
  /** Other responses by status, without those that all endpoints share. */
  readonly others?: Readonly<Record<number, string>>;
}

/** Content type of plain text. */
export const TEXT_TYPE = "text/plain";

/** Converts `/debug/requests/*` to an OpenAPI path. */
export function toTemplate(path: string): string {
  return path.replace("*", "{id}");
}

/** Describes a parameter that is text. */
export function text(name: string, description: string): ParameterText {
  return { name, description, schema: { type: "string" } };
}

/** Describes a parameter with one of several values; `or` is the default. */
export function choice(
  name: string,
  description: string,
  values: readonly string[],
  or?: string,
): ParameterText {
  const schema = {
    type: "string",
    enum: values,
    ...(or !== undefined && { default: or }),
  };
  return { name, description, schema };
}

/** Describes a parameter that is a number. */
export function integer(
  name: string,
  description: string,
  { from, to, or }: IntegerRange<number | undefined>,
): ParameterText {
  const schema = {
    type: "integer",
    minimum: from,
    maximum: to,
    ...(or !== undefined && { default: or }),
  };
  return { name, description, schema };
}
