import type { ResourceSet } from "../api/resources/resource_set.ts";
import type { Settings } from "../api/settings.ts";
import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import {
  inertServices,
  type PolicyServices,
} from "../policy/policy_services.ts";
import type { PolicyRegistry } from "../policy/policy_registry.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { attachPolicies } from "./policies/attach_policies.ts";
import { reportUnreachableMatches } from "./routes/unreachable_matches.ts";
import { checkPatterns } from "./routes/check_patterns.ts";
import { compileBackends } from "./routes/compile_backends.ts";
import type { ReadFile } from "./listeners/certificates.ts";
import { checkPolicies } from "./policies/check_policies.ts";
import { checkReferences } from "./policies/check_references.ts";
import { compileListeners } from "./listeners/compile_listeners.ts";
import { credentialNames, unite } from "./describe/credential_names.ts";
import { describe, type Description } from "./describe/describe.ts";
import type { CompiledListener } from "./compiled_model.ts";
import type { EffectivePolicy } from "./policies/effective_policy.ts";
import { environmentNames } from "./describe/environment_names.ts";
import { PolicyChecks } from "./policies/policy_checks.ts";
import { PolicyFactory } from "./policies/policy_factory.ts";
import { compilePorts } from "./listeners/compile_ports.ts";
import { createHiding } from "./describe/redact_configuration.ts";
import { Report } from "./report.ts";
import { checkWebUi } from "./routes/compile_web_ui.ts";

export { emptyDescription } from "./describe/describe.ts";

/** What compiling needs from outside. */
export interface CompileOptions {
  /** The kinds of policies that there are; loaded where the resources have them (`loadPolicies`). */
  readonly policies: PolicyRegistry;
  /** Reads the PEM files that resources name; throws when it cannot. */
  readonly readFile: ReadFile;
  /** For policies that will run; left out when the result is only looked at. */
  readonly services?: PolicyServices;
  /** The store that the process has for policies; none when left out. */
  readonly kv?: Settings["kv"];
  /** Wall-clock time in milliseconds, to tell certificates that have expired; left out, none has. */
  readonly now?: number;
}

/** A configuration made ready for requests, and what is wrong with it. */
export interface Compiled {
  /** To be put into force when no diagnostic is an error; invalid policies in it refuse all the same. */
  readonly snapshot: Snapshot;
  readonly diagnostics: readonly ResourceDiagnostic[];
  /** Those that hold whatever other resources say: problems of policies, filters and patterns. */
  readonly independentDiagnostics: readonly ResourceDiagnostic[];
  /**
   * The configuration as `/config_dump` shows it, without secrets.
   * @param sensitiveHeaders Names of headers to redact besides those that always are.
   */
  describe(sensitiveHeaders?: Iterable<string>): Promise<Description>;
}

/**
 * Compiles resources whole: attaches routes and policies, resolves references, decides every precedence.
 *
 * Pure but for `options.readFile`; never throws. Everything that is wrong is reported at once.
 */
export function compile(
  resources: ResourceSet,
  options: CompileOptions,
): Compiled {
  const { policies } = options;
  const report = new Report();
  const readFile = readOnce(options.readFile);
  const hide = createHiding(resources.environment);
  const checks = new PolicyChecks({ readFile, hide });
  checkPolicies(resources, { policies, checks, report });
  checkPatterns(resources, report);
  const independentDiagnostics = report.diagnostics;
  const backends = compileBackends(resources, readFile, report);
  checkReferences(resources, { policies, backends, kv: options.kv, report });
  const listeners = compileListeners(resources, {
    policies,
    backends,
    attachments: attachPolicies(resources, report),
    factory: new PolicyFactory({
      checks,
      services: options.services ?? inertServices(),
      backends,
    }),
    report,
    environment: resources.environment,
  });
  checkWebUi(listeners, report);
  reportUnreachableMatches(listeners, report);
  const ports = compilePorts(listeners, { ...options, readFile, report });
  const credentials = unite(
    environmentNames(resources),
    credentialNames(listeners.flatMap(policiesOf)),
  );
  return {
    snapshot: {
      ports,
      backends,
      credentials,
      identities: policies.identities,
    },
    diagnostics: report.diagnostics,
    independentDiagnostics,
    describe: (sensitiveHeaders = []) =>
      describe(
        { resources, policies, ports, listeners, backends },
        sensitiveHeaders,
      ),
  };
}

/** Reads each file once, so that a policy is created from the same content that was checked. */
function readOnce(readFile: ReadFile): ReadFile {
  const results = new Map<string, () => string>();
  const read = (path: string) => {
    try {
      const text = readFile(path);
      return () => text;
    } catch (error) {
      return () => {
        throw error;
      };
    }
  };
  return (path) => results.getOrInsertComputed(path, read)();
}

/** Of the listener itself and of all that it serves. */
function policiesOf(
  { effective, rules }: CompiledListener,
): readonly EffectivePolicy[] {
  return [...effective, ...rules.flatMap((rule) => rule.effective)];
}
