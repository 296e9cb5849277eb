import type { JsonObject } from "../../../base/json.ts";

/** A tool that is one operation of a REST API, as plain data. */
export interface RestTool {
  /** Item of `tools/list`. */
  readonly definition: JsonObject & { readonly name: string };
  readonly call: RestCall;
}

/** The HTTP request that a tool stands for. */
export interface RestCall {
  /** In upper case. */
  readonly method: string;
  /** Template of the path below the base URL, such as `/pets/{id}`. */
  readonly path: string;
  /** Query that all requests have, such as `beta=true`; empty for none. */
  readonly query: string;
  readonly parameters: readonly RestParameter[];
  readonly body: RestBody | undefined;
  /** Places of the credential, by preference; empty for an operation that takes none. */
  readonly security: readonly CredentialPlace[];
  /** Value of the header field `Accept`. */
  readonly accept: string;
  /** Type of structured results that the tool promises; `undefined` if it promises none. */
  readonly promised: "object" | "array" | "other" | undefined;
}

/** Rules by which a value becomes a string (OpenAPI 3.1 section 4.8.12.3, "Style Values"). */
export interface ValueStyle {
  readonly style: ParameterStyle;
  readonly explode: boolean;
  /** Keeps the reserved characters of RFC 3986 as they are. */
  readonly allowReserved: boolean;
}

/** Styles of OpenAPI. `json`: the value as JSON. `content`, in forms: objects as JSON, items of lists one by one. */
export type ParameterStyle =
  | "matrix"
  | "label"
  | "form"
  | "simple"
  | "spaceDelimited"
  | "pipeDelimited"
  | "deepObject"
  | "json"
  | "content";

/** A parameter and the argument that has its value. */
export interface RestParameter extends ValueStyle {
  readonly argument: string;
  /** Name in the API. */
  readonly name: string;
  readonly in: "path" | "query" | "header" | "cookie";
  readonly isRequired: boolean;
}

/** The body of a request and the argument that has its value. */
export interface RestBody {
  readonly argument: string;
  readonly mediaType: string;
  readonly form: "json" | "urlencoded" | "multipart" | "text" | "base64";
  readonly isRequired: boolean;
  /** Properties of a form that are not encoded as usual. */
  readonly parts: Readonly<Record<string, RestPart>>;
}

/** A property of a form. */
export interface RestPart extends ValueStyle {
  /** Media type of the part; `undefined` for that which follows from the value. */
  readonly mediaType: string | undefined;
  /** The value is base64 of the content. */
  readonly isFile: boolean;
}

/** Place of a credential in requests. */
export type CredentialPlace =
  | { readonly in: "header" | "query" | "cookie"; readonly name: string }
  | { readonly in: "bearer" | "basic" };

/** A part of a document that cannot become a tool. */
export interface DocumentProblem {
  /** JSON pointer, such as `#/paths/~1pets/get`. */
  readonly place: string;
  readonly message: string;
}

/** Selects operations of a document. */
export interface OperationSelection {
  /** Patterns; see `isSelected`. */
  readonly include: readonly string[] | undefined;
  readonly exclude: readonly string[] | undefined;
}

/** A document to convert. */
export interface ConversionTask extends OperationSelection {
  readonly text: string;
}

/** The result of a conversion. */
export type ConversionOutcome =
  | { readonly converted: ConvertedDocument }
  | { readonly problem: string };

/** Address and credential of a REST API. */
export interface RestApi {
  /** Host of the base URL, with its port unless that is implied. */
  readonly authority: string;
  /** Path of the base URL, without a slash at the end. */
  readonly basePath: string;
  /** Header fields of every request. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Sent where the document says; `undefined` without one. */
  readonly credential: string | undefined;
}

/** The tools of a document. */
export interface ConvertedDocument {
  readonly title: string;
  readonly description: string;
  readonly tools: readonly RestTool[];
  /** Operations that were left out, and other shortcomings. */
  readonly problems: readonly DocumentProblem[];
}
