import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { protectedHeaders } from "../../../base/wire/protected_headers.ts";
import { isFieldName } from "../../../http/field_syntax.ts";
import type { CredentialPlace } from "./rest_tool.ts";
import { type OpenApiDocument, placeOf } from "./openapi_document.ts";

const PLACE = "#/components/securitySchemes";

/** The security schemes of a document that the gateway can use. */
export class SecuritySchemes {
  readonly #places = new Map<string, CredentialPlace>();
  readonly #always: unknown;

  constructor(document: OpenApiDocument) {
    const { components, security } = document.root;
    this.#always = security;
    const schemes = isJsonObject(components)
      ? components["securitySchemes"]
      : undefined;
    if (!isJsonObject(schemes)) return;
    for (const [name, scheme] of Object.entries(schemes)) {
      const { value } = document.resolve(scheme, placeOf(PLACE, name));
      const place = credentialPlace(value);
      if (place !== undefined) this.#places.set(name, place);
      else {document.report(
          placeOf(PLACE, name),
          "this scheme is not supported",
        );}
    }
  }

  /** All places that can have a credential. */
  get all(): readonly CredentialPlace[] {
    return [...this.#places.values()];
  }

  /** Returns where an operation wants the credential; the gateway has one, so schemes that are needed together are not usable. */
  placesOf(
    { security = this.#always }: JsonObject,
  ): readonly CredentialPlace[] {
    if (security === undefined && this.#places.size === 0) {
      return [{ in: "bearer" }];
    }
    if (!Array.isArray(security)) return this.all.slice(0, 1);
    return security.flatMap((requirement) => {
      const names = isJsonObject(requirement) ? Object.keys(requirement) : [];
      const [place, ...others] = names.map((name) => this.#places.get(name));
      return place === undefined || others.length > 0 ? [] : [place];
    });
  }
}

function credentialPlace(
  { type, in: location, name, scheme }: JsonObject,
): CredentialPlace | undefined {
  switch (type) {
    case "apiKey":
      if (typeof name !== "string") return undefined;
      if (location === "header") {
        return isFieldName(name) && !protectedHeaders.has(name.toLowerCase())
          ? { in: location, name }
          : undefined;
      }
      return location === "query" || location === "cookie"
        ? { in: location, name }
        : undefined;
    case "http": {
      const kind = String(scheme).toLowerCase();
      return kind === "bearer" || kind === "basic" ? { in: kind } : undefined;
    }
    case "oauth2":
    case "openIdConnect":
      return { in: "bearer" };
    default:
      return undefined;
  }
}
