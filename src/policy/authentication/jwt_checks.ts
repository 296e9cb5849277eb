import type { JwtAuthentication } from "../../api/policies/jwt_schema.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeReadError } from "../../base/regular_file.ts";
import { checkKeySet } from "../../identity/keys/key_set.ts";
import { adapterOf } from "../../identity/providers/adapters.ts";
import type { PolicyProblem, ReadFile } from "../policy_kind.ts";

type Provider = JwtAuthentication["providers"][number];
type Mcp = NonNullable<JwtAuthentication["mcp"]>;

/** What the schema cannot see: key sets that are no key sets, and what an MCP server cannot or should not have. */
export function checkJwtAuthentication(
  { providers, mcp, location }: JwtAuthentication,
  readFile: ReadFile,
): readonly PolicyProblem[] {
  const problems: PolicyProblem[] = providers.flatMap(({ jwks }, index) => {
    const path = ["providers", index, "jwks"];
    const { inline, file } = jwks;
    if (inline !== undefined) {
      return checkKeys([...path, "inline"], () => inline);
    }
    if (file !== undefined) {
      return checkKeys([...path, "file"], () => readFile(file));
    }
    return [];
  });
  if (mcp === undefined) return problems;
  const [first] = providers;
  if (providers.length > 1) {
    const message = "Cannot protect an MCP server: expected one provider";
    problems.push({ path: ["providers"], message });
  }
  if (first !== undefined) problems.push(...checkProvider(first, mcp));
  if (location?.queryParameter !== undefined) {
    const message = "Cannot accept the token in the query: MCP forbids it";
    problems.push({ path: ["location", "queryParameter"], message });
  }
  return [...problems, ...checkMcp(mcp)];
}

/** What the provider of an MCP server has to have besides, and what it should. */
function checkProvider(
  { issuer, audiences }: Provider,
  { provider }: Mcp,
): readonly PolicyProblem[] {
  const path = ["providers", 0, "issuer"];
  if (!/^https?:\/\//i.test(issuer) || !URL.canParse(issuer)) {
    const message = "Cannot get the metadata of the issuer: expected a URL";
    return [{ path, message }];
  }
  const problems: PolicyProblem[] = [];
  const adapter = provider === undefined ? undefined : adapterOf(provider);
  const doubt = adapter?.issuerProblem(issuer);
  if (doubt !== undefined) {
    const message = `Cannot be an issuer of ${provider}: ${doubt}`;
    problems.push({ path, message, isWarning: true });
  }
  if (audiences === undefined) {
    const message =
      "Cannot tell tokens for this MCP server from those for others: expected audiences";
    problems.push({ path: ["providers", 0], message, isWarning: true });
  }
  return problems;
}

function checkMcp(
  { provider, clientId, registration, resourceMetadata }: Mcp,
): readonly PolicyProblem[] {
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
  if (!isAlwaysHere && registration === "Gateway" && clientId === undefined) {
    const message = "Cannot register clients: expected clientId beside it";
    problems.push({ path: ["mcp", "registration"], message });
  }
  return problems;
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
