import { secretEntries } from "../../api/resources/credentials/secret_value.ts";
import {
  type JwtAuthentication,
  STATE_SECRET_ENTRY,
} from "./schema/jwt_schema.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeReadError } from "../../base/regular_file.ts";
import { checkKeySet } from "../../identity/keys/key_set.ts";
import {
  checkIntrospection,
  checkIntrospectionRefs,
} from "./introspection_settings.ts";
import { checkTokenClientRefs } from "./machine_access.ts";
import { keySetsOf } from "./jwt_keys.ts";
import {
  checkAudiences,
  checkLoginProvider,
  issuerModeOf,
} from "./login_provider.ts";
import { adapterOf } from "../../identity/providers/adapters.ts";
import {
  type PolicyProblem,
  type ReadFile,
  type SecretAccess,
  UnusableReferenceError,
} from "../contract/policy_kind.ts";

type Mcp = NonNullable<JwtAuthentication["mcp"]>;

/** Finds invalid key sets, and settings that do not suit an MCP server. */
export function checkJwtAuthentication(
  config: JwtAuthentication,
  readFile: ReadFile,
): readonly PolicyProblem[] {
  const { providers, mcp, location } = config;
  const problems: PolicyProblem[] = keySetsOf(config).flatMap(([at, jwks]) => {
    const path = [...at, "jwks"];
    const { inline, file } = jwks ?? {};
    if (inline !== undefined) {
      return checkKeys([...path, "inline"], () => inline);
    }
    if (file !== undefined) {
      return checkKeys([...path, "file"], () => readFile(file));
    }
    return [];
  });
  problems.push(
    ...checkIntrospection(providers, readFile),
    ...checkAudiences(providers),
  );
  if (mcp === undefined) return problems;
  problems.push(...checkLoginProvider(config));
  if (location?.queryParameter !== undefined) {
    const message = "Cannot accept the token in the query: MCP forbids it";
    problems.push({ path: ["location", "queryParameter"], message });
  }
  return [...problems, ...checkMcp(mcp), ...checkLogin(mcp, readFile)];
}

function checkMcp(mcp: Mcp): readonly PolicyProblem[] {
  const { provider, clientId, registration, resourceMetadata } = mcp;
  const problems: PolicyProblem[] = [];
  if (resourceMetadata?.resource?.includes("#")) {
    const message =
      'Cannot identify the MCP server: expected a URL without "#"';
    problems.push({ path: ["mcp", "resourceMetadata", "resource"], message });
  }
  const isAlwaysHere = provider !== undefined &&
    adapterOf(provider)?.registersAtGateway === true;
  if (isAlwaysHere && registration === "Upstream") {
    const message =
      `Cannot leave registration to the provider: clients of ${provider} register at the gateway`;
    problems.push({ path: ["mcp", "registration"], message });
  }
  const adapter = provider === undefined ? undefined : adapterOf(provider);
  if (adapter?.login !== undefined && mcp.issuerMode !== "Proxied") {
    const message =
      `Cannot validate access tokens of ${provider}, which are opaque: set issuerMode: Proxied, and clients get its ID tokens; their audience is clientId`;
    problems.push({ path: ["mcp", "provider"], message });
  }
  problems.push(...checkEffect(mcp, isAlwaysHere));
  if (!isAlwaysHere && registration === "Gateway" && clientId === undefined) {
    const message = 'Cannot register clients: "clientId" is not set';
    problems.push({ path: ["mcp", "registration"], message });
  }
  return problems;
}

/** Warns of settings that the issuer mode ignores, with the fix. */
function checkEffect(
  mcp: Mcp,
  registersAtGateway: boolean,
): readonly PolicyProblem[] {
  const { clientId, registration } = mcp;
  const mode = issuerModeOf(mcp);
  if (mode === "Upstream") {
    return [
      ...(clientId === undefined ? [] : ["clientId"]),
      ...(registration === "Gateway" ? ["registration"] : []),
    ].map((field) => ({
      path: ["mcp", field],
      message:
        `"${field}" has no effect: with issuerMode "Upstream", clients get their ID from the provider; use issuerMode "Proxied" to have the gateway log in with clientId`,
      isWarning: true as const,
    }));
  }
  const isUnused = mode === "Gateway" && clientId !== undefined &&
    !registersAtGateway && registration !== "Gateway";
  return isUnused
    ? [{
      path: ["mcp", "clientId"],
      message:
        '"clientId" has no effect: set "registration: Gateway" too, and clients get this ID when they register',
      isWarning: true,
    }]
    : [];
}

/** Checks the settings of issuer mode `Proxied`. */
function checkLogin(mcp: Mcp, readFile: ReadFile): readonly PolicyProblem[] {
  const problems: PolicyProblem[] = [];
  const add = (field: keyof Mcp, message: string, isWarning?: true) =>
    problems.push({
      path: ["mcp", field],
      message,
      ...isWarning && { isWarning },
    });
  if (mcp.issuerMode !== "Proxied") {
    for (const field of loginFields) {
      if (mcp[field] !== undefined) {
        add(
          field,
          `"${field}" has no effect: it is for issuerMode "Proxied"`,
          true,
        );
      }
    }
    return problems;
  }
  if (mcp.clientId === undefined) {
    add(
      "issuerMode",
      'issuerMode "Proxied" needs clientId: the client of the gateway at the provider',
    );
  }
  if (mcp.registration !== undefined) {
    add(
      "registration",
      '"registration" has no effect: with issuerMode "Proxied", clients register at the gateway',
      true,
    );
  }
  for (const name of ["clientSecret", "stateSecret"] as const) {
    const places = [name, `${name}File`, `${name}Ref`] as const;
    const [first, second] = places.filter((place) => mcp[place] !== undefined);
    if (second !== undefined) {
      add(second, `"${first}" is set too: remove one of them`);
    }
  }
  if ((mcp.stateSecret?.length ?? MIN_STATE_SECRET) < MIN_STATE_SECRET) {
    add("stateSecret", `shorter than ${MIN_STATE_SECRET} characters`);
  }
  for (const field of ["clientSecretFile", "stateSecretFile"] as const) {
    const problem = secretFileProblem(mcp[field], field, readFile);
    if (problem !== undefined) add(field, problem);
  }
  return problems;
}

const MIN_STATE_SECRET = 32;

const loginFields = [
  "clientSecret",
  "clientSecretFile",
  "clientSecretRef",
  "scopes",
  "stateSecret",
  "stateSecretFile",
  "stateSecretRef",
  "clientMetadataHosts",
  "clients",
  "tokenClients",
  "assertionIssuers",
] as const;

function secretFileProblem(
  path: string | undefined,
  field: "clientSecretFile" | "stateSecretFile",
  readFile: ReadFile,
): string | undefined {
  if (path === undefined) return undefined;
  try {
    const problem = secretsProblem(
      readFile(path),
      field === "stateSecretFile" ? MIN_STATE_SECRET : 1,
    );
    return problem && `the file ${problem}`;
  } catch (error) {
    return `Cannot read the secret: ${describeReadError(error)}`;
  }
}

/** Returns what is wrong with secrets, one a line. */
function secretsProblem(text: string, minLength: number): string | undefined {
  const lines = linesOf(text);
  if (lines.length === 0) return "is empty";
  return lines.some(({ length }) => length < minLength)
    ? `has a secret that is shorter than ${minLength} characters`
    : undefined;
}

/** Reads the secrets of issuer mode `Proxied` from Secrets. @throws {UnusableReferenceError} When one cannot be used. */
export function readSecretRef(
  mcp: Mcp,
  field: "clientSecretRef" | "stateSecretRef",
  { readSecret }: SecretAccess,
): string | undefined {
  const ref = mcp[field];
  if (ref === undefined || mcp.issuerMode !== "Proxied") return undefined;
  const isState = field === "stateSecretRef";
  const entry = isState ? STATE_SECRET_ENTRY : secretEntries.clientSecret;
  const text = readSecret(ref, entry);
  const problem = secretsProblem(text, isState ? MIN_STATE_SECRET : 1);
  if (problem === undefined) return text;
  throw new UnusableReferenceError(
    `entry "${ref.key ?? entry}" of Secret "${ref.name}" ${problem}`,
  );
}

/** Finds references to Secrets that cannot be used; the policy denies every request then. */
export function checkSecretRefs(
  { mcp, providers }: JwtAuthentication,
  secrets: SecretAccess,
): readonly PolicyProblem[] {
  const ofProviders = checkIntrospectionRefs(providers, secrets);
  if (mcp === undefined) return ofProviders;
  const fields = ["clientSecretRef", "stateSecretRef"] as const;
  return [
    ...ofProviders,
    ...(mcp.issuerMode === "Proxied" ? checkTokenClientRefs(mcp, secrets) : []),
    ...fields.flatMap((field) => {
      try {
        readSecretRef(mcp, field, secrets);
        return [];
      } catch (error) {
        if (!(error instanceof UnusableReferenceError)) throw error;
        const message = `Cannot use the secret: ${error.message}`;
        return [{ path: ["mcp", field], message }];
      }
    }),
  ];
}

/** Returns the lines of a file of secrets, trimmed, without empty lines. */
export function linesOf(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter((line) =>
    line !== ""
  );
}

function checkKeys(
  path: DiagnosticPath,
  read: () => string,
): readonly PolicyProblem[] {
  try {
    checkKeySet(read());
    return [];
  } catch (error) {
    const message = `Cannot use the keys: ${describeReadError(error)}`;
    return [{ path, message }];
  }
}
