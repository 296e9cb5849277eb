import { namespace, referenceName } from "../../schema/scalars.ts";
import * as s from "../../schema/schema.ts";

/** Creates the schema of a reference to an entry of a Secret. @param owner Whose namespace is the default. @param entry Default of `key`. */
export function secretRefSchema(owner: string, entry: string) {
  return s.object({
    name: s.field("Name of the Secret.", referenceName),
    namespace: s.field(
      `Namespace of the Secret; another than the ${owner}'s needs a \`ReferenceGrant\`. Default: that of the ${owner}.`,
      s.optional(namespace),
    ),
    key: s.field("Entry of the Secret.", s.optional(s.text(253)), entry),
  });
}

/** A reference to an entry of a Secret. */
export type SecretRef = s.Infer<ReturnType<typeof secretRefSchema>>;

const environmentName = s.named(
  "environment variable",
  s.pattern(
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    "the name of an environment variable",
    256,
  ),
);

const sources = ["fromEnv", "key", "file", "secretRef"] as const;

/** Entries of the Secret unless the reference names another. */
export const secretEntries = {
  key: "apiKey",
  clientSecret: "clientSecret",
  privateKey: "privateKey",
} as const;

/** Fields of the secret of the gateway as a client in a policy: as it is, in a file, or in a Secret. */
export function clientSecretFields(description: string) {
  return {
    clientSecret: s.field(description, s.optional(s.secret())),
    clientSecretFile: s.field(
      "File with the secret, in place of `clientSecret`, in configuration files.",
      s.optional(s.text(4096)),
    ),
    clientSecretRef: s.field(
      "Secret with the secret, in place of `clientSecret`.",
      s.optional(secretRefSchema("policy", secretEntries.clientSecret)),
    ),
  };
}

/** File with secrets that seal values. */
export const sealingSecretFile = s.field(
  "File with such secrets, one a line, in configuration files: the first seals, all of them open.",
  s.optional(s.text(4096)),
);

/** Creates the field of a Secret with secrets that seal values. @param entry Default entry of the Secret. */
export function sealingSecretRef(entry: string) {
  return s.field(
    "Secret with such secrets, one a line.",
    s.optional(secretRefSchema("policy", entry)),
  );
}

/** Fields of a secret value, by reference or as it is. @param what Names the value. @param entry Default entry of the Secret. */
export function secretFields(what: string, entry: string) {
  return {
    fromEnv: s.field(
      `Name of the environment variable with the ${what}, in configuration files.`,
      s.optional(environmentName),
    ),
    key: s.field(
      `The ${what} itself, usually as \`\${NAME}\`.`,
      s.optional(s.secret()),
    ),
    file: s.field(
      `File with the ${what}, in configuration files; a changed file applies at once.`,
      s.optional(s.text(4096)),
    ),
    secretRef: s.field(
      `Secret with the ${what}.`,
      s.optional(secretRefSchema("backend", entry)),
    ),
  };
}

/** A secret value, by reference or as it is. */
export function secretValue(what: string, entry: string) {
  return s.refine(
    s.object(secretFields(what, entry)),
    s.rule((value) => given(value).length > 0, REQUIRED),
    s.rule(hasOneSource, TOGETHER),
  );
}

/** The loader adds the key of `fromEnv` to it. */
export function hasOneSource(value: object): boolean {
  const names = given(value);
  return names.length < 2 || names.join() === "fromEnv,key";
}

/** Problem of a value without a source. */
export const REQUIRED = '"fromEnv", "key", "file" or "secretRef" is required';
/** Problem of a value with several sources. */
export const TOGETHER =
  '"fromEnv", "key", "file" and "secretRef" cannot be used together';

/** Returns the sources that a value has. */
export function given(value: object): readonly string[] {
  return sources.filter((name) => Object.hasOwn(value, name));
}

/** A key, by reference or as it is. */
export type KeyCredentials = {
  readonly [Name in typeof sources[number]]?: s.Infer<
    ReturnType<typeof secretValue>
  >[Name];
};
