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
import { salvage } from "./salvage.ts";
import type { ConfigDocument } from "../yaml/config_document.ts";
import * as s from "../../api/schema/schema.ts";

/** The items of a document in the short form; of invalid ones, the valid parts, so that these are checked nevertheless. */
export interface ShortDocument {
  readonly document: ConfigDocument;
  readonly value: JsonObject;
  /** The `config` section; `undefined` when it is absent or nothing in it is valid. */
  readonly settings: ShortItem<Settings> | undefined;
  readonly gateways: readonly ShortItem<ShortGateway>[];
  readonly backends: readonly ShortItem<ShortBackend>[];
  readonly routes: readonly ShortItem<ShortRoute>[];
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
    Object.hasOwn(value, name)
      ? reader.readParts(schema, [name], value[name])
      : [];
  const list = <S extends s.GenericSchema>(schema: S, name: string) =>
    reader.readAll(schema, name, listOf(value, name, report));

  const [settings] = section(settingsSchema, "config");
  const gateways = mappingOf(value, "gateways", report);
  const short: ShortDocument = {
    document,
    value,
    settings,
    gateways: Object.entries(gateways).flatMap(([name, gateway]) =>
      reader.read(shortGatewaySchema, ["gateways", name], gateway)
    ),
    routes: yield* list(schemas.route, "routes"),
    backends: yield* list(shortBackendSchema, "backends"),
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

  #reportAll(path: Path, problems: readonly Problem[]): void {
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
    this.#reportAll(path, result.problems);
    return [];
  }

  /** Returns the item, or its valid parts; reports the invalid ones. */
  readParts<S extends s.GenericSchema>(
    schema: S,
    path: Path,
    item: unknown,
  ): ShortItem<s.Infer<S>>[] {
    const result = validate(schema, item);
    const document = this.#document;
    if (result.ok) return [{ value: result.value, path, document }];
    this.#reportAll(path, result.problems);
    const parts = salvage(schema, item, result.problems);
    return parts === undefined ? [] : [{ ...parts, path, document }];
  }

  *readAll<S extends s.GenericSchema>(
    schema: S,
    section: string,
    items: readonly unknown[],
  ): Generator<void, ShortItem<s.Infer<S>>[]> {
    const read: ShortItem<s.Infer<S>>[] = [];
    for (const [index, item] of items.entries()) {
      read.push(...this.readParts(schema, [section, index], item));
      yield;
    }
    return read;
  }
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
  for (const { value, path } of backends.filter(isWhole)) check(path, value);
  for (const { value, path } of routes.filter(isWhole)) {
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

function isWhole({ removed }: Pick<ShortItem<unknown>, "removed">): boolean {
  return removed === undefined;
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
