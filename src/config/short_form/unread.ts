import { settingsSchema } from "../../api/settings.ts";
import type { Placed } from "./placed.ts";
import { lacksPolicy } from "./expand.ts";
import { listOf, type ShortDocument } from "./short_document.ts";
import type { DeclaredNames } from "./short_references.ts";

/** Parts of a configuration that could not be read; problems that their absence causes are not reported. */
export interface Unread {
  /** Fields of `config` that are invalid. */
  readonly settings: ReadonlySet<string>;
  /** Reports whether there may be an invalid backend of that name. */
  hasBackend(name: string): boolean;
  /** True if a policy, or one of its targets, may be missing. */
  readonly policies: boolean;
}

/** A configuration that could be read entirely. */
export const nothingUnread: Unread = {
  settings: new Set(),
  hasBackend: () => false,
  policies: false,
};

/** A configuration with a document that cannot be read. */
export const anyUnread: Unread = {
  settings: new Set(Object.keys(settingsSchema.entries)),
  hasBackend: () => true,
  policies: true,
};

/** Finds what could not be read of documents that have an error. */
export function findUnread(
  shorts: readonly ShortDocument[],
  kubernetes: {
    readonly count: number;
    readonly placed: readonly Placed[];
  },
  { backends }: DeclaredNames,
): Unread {
  const isShort = shorts.some(({ value, policies }) =>
    listOf(value, "policies").length > policies.length
  );
  const partial = [
    ...kubernetes.placed.filter(({ resource }) =>
      resource.kind === "GatewayPolicy"
    ),
    ...shorts.flatMap(({ policies }) => policies),
  ];
  return {
    settings: new Set(shorts.flatMap(unreadSettings)),
    hasBackend: (name) => backends.has(name),
    policies: isShort || kubernetes.placed.length < kubernetes.count ||
      partial.some(({ removed }) => lacksPolicy(removed)),
  };
}

function unreadSettings({ value, settings }: ShortDocument): readonly string[] {
  if (!Object.hasOwn(value, "config")) return [];
  return settings === undefined
    ? [...anyUnread.settings]
    : (settings.removed ?? []).flatMap(([field = ""]) => String(field));
}
