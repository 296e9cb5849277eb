import { gatewayBackendSchema } from "../../api/resources/gateway_backend.ts";
import type { PolicySchemas } from "../../api/resources/gateway_policy_schema.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import {
  contentsFromEnvironment,
  isHideable,
  type Redact,
  type RedactionFor,
} from "../../api/redact_configuration.ts";
import type { GenericSchema } from "../../api/schema/schema.ts";
import { systemClock } from "../../base/clock.ts";
import { createSensitiveHeaders, headersReadBy } from "../../base/redaction.ts";
import { runInSlices } from "../../base/slices.ts";
import type { CredentialLocation } from "../../policy/contract/credential_location.ts";
import type { CredentialNames } from "../../snapshot/snapshot.ts";
import type {
  CompiledModel,
  EffectivePolicy,
} from "../policies/compiled_rules.ts";
import { describe, type Description } from "./describe.ts";
import {
  type DescribedPart,
  describePart,
  type Outline,
  outline,
  type PartSelection,
} from "./outline.ts";

/** Describes a compiled configuration when it is asked for, without secrets. */
export class ConfigurationDescriptions {
  readonly #model: CompiledModel;
  readonly #redactionFor: RedactionFor;

  constructor(model: CompiledModel, redactionFor: RedactionFor) {
    this.#model = model;
    this.#redactionFor = redactionFor;
  }

  /**
   * Describes all of it for `/config_dump`.
   * @param sensitiveHeaders Names of headers to redact besides the usual ones.
   */
  full(sensitiveHeaders: Iterable<string> = []): Promise<Description> {
    const steps = describe(this.#model, this.#redaction(sensitiveHeaders));
    return runInSlices(steps, systemClock);
  }

  /** Describes it for lists of the web UI. */
  outline(sensitiveHeaders: Iterable<string>): Promise<Outline> {
    const steps = outline(this.#model, this.#redaction(sensitiveHeaders));
    return runInSlices(steps, systemClock);
  }

  /** Describes a part that the outline only names. */
  part(
    selection: PartSelection,
    sensitiveHeaders: Iterable<string>,
  ): DescribedPart | undefined {
    const redact = this.#redaction(sensitiveHeaders);
    return describePart(this.#model, redact, selection);
  }

  #redaction(sensitiveHeaders: Iterable<string>): Redact {
    return this.#redactionFor(createSensitiveHeaders(sensitiveHeaders));
  }
}

/** Finds the headers, query parameters and contents that carry credentials, so that nobody shows their values. */
export function* findCredentials(
  { resources, policies, listeners }: Pick<
    CompiledModel,
    "resources" | "policies" | "listeners"
  >,
): Generator<void, CredentialNames> {
  const fromEnvironment = environmentNames(resources, policies.schemas);
  yield;
  const fromPolicies = credentialNames(
    listeners.flatMap(({ effective, rules }) => [
      ...effective,
      ...rules.flatMap((rule) => rule.effective),
    ]),
  );
  const credentials = unite(fromEnvironment, fromPolicies);
  yield;
  return credentials;
}

/** Returns the headers and parameters in which policies look for credentials. */
function credentialNames(
  effective: Iterable<EffectivePolicy>,
): CredentialNames {
  const headers = new Set<string>();
  const parameters = new Set<string>();
  const add = ({ header, queryParameter }: CredentialLocation) => {
    if (header !== undefined) headers.add(header.name.toLowerCase());
    if (queryParameter !== undefined) {
      parameters.add(queryParameter.name.toLowerCase());
    }
  };
  for (const { kind, layers } of effective) {
    for (const { traffic } of layers) kind.credentials(traffic).forEach(add);
  }
  return { headers, parameters };
}

/** The names of both. */
function unite(a: CredentialNames, b: CredentialNames): CredentialNames {
  return {
    headers: a.headers.union(b.headers),
    parameters: a.parameters.union(b.parameters),
    contents: (a.contents ?? new Set<string>()).union(b.contents ?? new Set()),
  };
}

/**
 * The headers and query parameters whose values the environment gave, in routes and policies: a key for a backend, one that a route is
 * matched by, or one that an expression compares. Also what the environment gave for bodies.
 */
function environmentNames(
  { environment = [], httpRoutes, gatewayPolicies, gatewayBackends }:
    ResourceSet,
  policies: PolicySchemas,
): CredentialNames {
  const headers = new Set<string>();
  const parameters = new Set<string>();
  const given = environment.filter(isHideable);
  const visit = (value: unknown, names: Set<string>): void => {
    if (
      typeof value === "string" && given.some((each) => value.includes(each))
    ) {
      for (const name of headersReadBy(value)) headers.add(name);
    }
    if (typeof value !== "object" || value === null) return;
    const field = nameAndValue(value);
    if (field !== undefined && given.some((text) => field[1].includes(text))) {
      names.add(field[0].toLowerCase());
    }
    for (const [key, item] of Object.entries(value)) {
      visit(item, key === "queryParams" ? parameters : names);
    }
  };
  if (given.length > 0) {
    visit(httpRoutes.map(({ spec }) => spec), headers);
    visit(gatewayPolicies.map(({ spec }) => spec), headers);
  }
  const contentsOf = (schema: GenericSchema) => (value: unknown) => [
    ...contentsFromEnvironment(schema, value, given),
  ];
  const contents = new Set([
    ...gatewayPolicies.flatMap(contentsOf(policies.resource)),
    ...gatewayBackends.flatMap(contentsOf(gatewayBackendSchema)),
  ]);
  return { headers, parameters, contents };
}

/** `["x-key", "s3cret"]` of a header or query parameter. */
function nameAndValue(value: object): readonly [string, string] | undefined {
  return "name" in value && typeof value.name === "string" &&
      "value" in value && typeof value.value === "string"
    ? [value.name, value.value]
    : undefined;
}
