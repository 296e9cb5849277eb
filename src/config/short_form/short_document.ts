import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { hintFor } from "../../api/schema/hints.ts";
import { type Settings, settingsSchema } from "../../api/settings.ts";
import {
  type Path,
  type Problem,
  show,
  validate,
} from "../../api/schema/validate.ts";
import { splitHostPort } from "../../base/wire/host_port.ts";
import type { ShortItem } from "./placed.ts";
import {
  type ShortBackend,
  shortBackendSchema,
  type ShortFormSchemas,
  type ShortGateway,
  shortGatewaySchema,
  type ShortPolicy,
  type ShortRoute,
  type ShortUi,
} from "./short_form.ts";
import { hostOf, lacksTlsHostname } from "./expand_backend.ts";
import type { ConfigDocument } from "../yaml/config_document.ts";
import * as s from "../../api/schema/schema.ts";

/** The valid items of a document in the short form. */
export interface ShortDocument {
  readonly document: ConfigDocument;
  readonly value: JsonObject;
  /** The `config` section; `undefined` when it is absent or invalid. */
  readonly settings: Settings | undefined;
  readonly gateways: readonly ShortItem<ShortGateway>[];
  readonly backends: readonly ShortItem<ShortBackend>[];
  readonly routes: readonly ShortItem<ShortRoute>[];
  /** Invalid routes, reduced to their valid policies and references, so that these are checked nevertheless. */
  readonly invalidRoutes: readonly ShortItem<ShortRoute>[];
  readonly policies: readonly ShortItem<ShortPolicy>[];
  /** At most one. */
  readonly ui: readonly ShortItem<ShortUi>[];
}

/** Reports whether a document is a Kubernetes resource, not the short form. */
export function isKubernetes(value: JsonObject): boolean {
  return Object.hasOwn(value, "kind") || Object.hasOwn(value, "apiVersion");
}

/** Records a problem at a path in the document. */
export type Report = (path: Path, problem: Omit<Problem, "path">) => void;

const sections = s.object({
  config: s.optional(s.unknown()),
  gateways: s.optional(s.unknown()),
  backends: s.optional(s.unknown()),
  routes: s.optional(s.unknown()),
  policies: s.optional(s.unknown()),
  ui: s.optional(s.unknown()),
});

/** Validates items one by one, in steps, so that a mistake in one does not hide those in others. */
export function* readShortDocument(
  document: ConfigDocument,
  value: JsonObject,
  schemas: ShortFormSchemas,
  report: Report,
): Generator<void, ShortDocument> {
  const top = validate(sections, value);
  for (const problem of top.ok ? [] : top.problems) {
    report(problem.path, moveSetting(problem));
  }
  const reader = new ItemReader(document, report);
  const section = <S extends s.GenericSchema>(schema: S, name: string) =>
    Object.hasOwn(value, name) ? reader.read(schema, [name], value[name]) : [];
  const list = <S extends s.GenericSchema>(schema: S, name: string) =>
    reader.readAll(schema, name, listOf(value, name, report));

  const [settings] = section(settingsSchema, "config");
  const gateways = mappingOf(value, "gateways", report);
  const routes: ShortItem<ShortRoute>[] = [];
  const invalidRoutes: ShortItem<ShortRoute>[] = [];
  for (const [index, item] of listOf(value, "routes", report).entries()) {
    const path = ["routes", index];
    const result = validate(schemas.route, item);
    if (result.ok) routes.push({ value: result.value, path, document });
    else {
      reader.report(path, result.problems);
      const valid = validPartsOf(item, result.problems, schemas.route);
      if (valid) invalidRoutes.push({ value: valid, path, document });
    }
    yield;
  }
  const short: ShortDocument = {
    document,
    value,
    settings: settings?.value,
    gateways: Object.entries(gateways).flatMap(([name, gateway]) =>
      reader.read(shortGatewaySchema, ["gateways", name], gateway)
    ),
    backends: yield* list(shortBackendSchema, "backends"),
    routes,
    invalidRoutes,
    policies: yield* list(schemas.policy, "policies"),
    ui: section(schemas.ui, "ui"),
  };
  checkTlsHostnames(short, report);
  return short;
}

/** Suggests where a setting belongs that is written beside `config`. */
function moveSetting(problem: Problem): Omit<Problem, "path"> {
  const { at, path: [name = ""] } = problem;
  return at === "key" && Object.hasOwn(settingsSchema.entries, name)
    ? { at, message: "unknown field", remedy: 'move it into "config"' }
    : problem;
}

class ItemReader {
  readonly #document: ConfigDocument;
  readonly #report: Report;

  constructor(document: ConfigDocument, report: Report) {
    this.#document = document;
    this.#report = report;
  }

  report(path: Path, problems: readonly Problem[]): void {
    for (const problem of problems) {
      this.#report([...path, ...problem.path], problem);
    }
  }

  /** Returns the item; reports an invalid one and returns nothing. */
  read<S extends s.GenericSchema>(
    schema: S,
    path: Path,
    item: unknown,
  ): ShortItem<s.Infer<S>>[] {
    const result = validate(schema, item);
    if (result.ok) {
      return [{ value: result.value, path, document: this.#document }];
    }
    this.report(path, result.problems);
    return [];
  }

  *readAll<S extends s.GenericSchema>(
    schema: S,
    section: string,
    items: readonly unknown[],
  ): Generator<void, ShortItem<s.Infer<S>>[]> {
    const read: ShortItem<s.Infer<S>>[] = [];
    for (const [index, item] of items.entries()) {
      read.push(...this.read(schema, [section, index], item));
      yield;
    }
    return read;
  }
}

/** Reduces an invalid route to its valid policies and references. */
function validPartsOf(
  item: unknown,
  problems: readonly Problem[],
  schema: ShortFormSchemas["route"],
): ShortRoute | undefined {
  if (!isJsonObject(item)) return undefined;
  const invalid = new Set(problems.map(({ path: [first] }) => first));
  const invalidPolicies = new Set(
    problems.map(({ path: [first, kind] }) =>
      first === "policies" ? kind : undefined
    ),
  );
  const policies = Object.entries(mappingOf(item, "policies"))
    .filter(([kind]) => !invalidPolicies.has(kind));
  const references = Object.entries(item).filter(([field]) =>
    (field === "gateways" || field === "backends") && !invalid.has(field)
  );
  const result = validate(schema, {
    ...Object.fromEntries(references),
    policies: Object.fromEntries(policies),
  });
  return result.ok ? result.value : undefined;
}

/** Returns the items of a list section; empty when it is absent or not a list. */
export function listOf(
  value: JsonObject,
  section: string,
  report?: Report,
): readonly unknown[] {
  const items = value[section];
  if (Array.isArray(items)) return items;
  if (Object.hasOwn(value, section)) {
    report?.([section], {
      at: "value",
      message: "expected a list",
      got: show(items),
      ...hintFor("a list", items, [section]),
    });
  }
  return [];
}

/** Returns the entries of a mapping section; empty when it is absent or not a mapping. */
export function mappingOf(
  value: JsonObject,
  section: string,
  report?: Report,
): JsonObject {
  const entries = value[section];
  if (isJsonObject(entries)) return entries;
  if (Object.hasOwn(value, section)) {
    report?.([section], {
      at: "value",
      message: "expected a mapping",
      got: show(entries),
      ...hintFor("a mapping", entries, [section]),
    });
  }
  return {};
}

function checkTlsHostnames(
  { backends, routes }: ShortDocument,
  report: Report,
): void {
  const check = (path: Path, backend: TlsBackend) => {
    const message = tlsProblem(backend);
    if (message !== undefined) report([...path, "tls"], { at: "key", message });
  };
  for (const { value, path } of backends) check(path, value);
  for (const { value, path } of routes) {
    for (
      const [index, { host, llm, mcp, tls }] of (value.backends ?? []).entries()
    ) {
      const address = host === undefined ? undefined : splitHostPort(host);
      check([...path, "backends", index], {
        ...(address && { static: address }),
        ...(llm && { llm }),
        ...(mcp && { mcp }),
        ...(tls && { tls }),
      });
    }
  }
}

type TlsBackend = Pick<
  ShortBackend,
  "static" | "endpoints" | "llm" | "mcp" | "tls"
>;

/** Returns why `tls` of a backend cannot be used. */
function tlsProblem(backend: TlsBackend): string | undefined {
  const { llm, tls } = backend;
  if (tls === undefined) return undefined;
  if (llm?.plainText === true) {
    return '"tls" and "plainText" cannot be used together';
  }
  if (backend.mcp !== undefined) return 'set "tls" of each MCP server';
  const host = hostOf(backend);
  if (host === undefined) {
    return llm !== undefined && tls.hostname === undefined
      ? 'remove "tls": the gateway connects to LLM providers with TLS'
      : undefined;
  }
  return lacksTlsHostname(host, tls)
    ? '"hostname" is required when the host is an IP address, or when there are several hosts'
    : undefined;
}
