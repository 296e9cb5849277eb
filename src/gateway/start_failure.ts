import { dirname } from "node:path";
import { parseAddress } from "../api/schema/address.ts";
import type { Settings } from "../api/settings.ts";
import {
  type Diagnostic,
  isError,
  sortDiagnostics,
} from "../config/diagnostics/located_diagnostic.ts";
import { describeOpenError } from "../dataplane/local_data_plane.ts";
import { claimAddress } from "../http/server/accept/claim_address.ts";
import { claimPort } from "../proxy/ports/open_port.ts";
import {
  type Candidate,
  compileCandidate,
  ConfigurationError,
} from "./candidate/candidate.ts";
import { locatePort } from "./candidate/locate_diagnostics.ts";

/** A start that failed. */
export interface FailedStart {
  readonly candidate: Candidate;
  /** The problems that are known. */
  readonly diagnostics: readonly Diagnostic[];
  /** The error of what runs before a port is opened; `undefined` if it succeeded. */
  readonly cause: unknown;
  /** True if the admin and stats servers listen, or have been closed by themselves. */
  readonly hasServers: boolean;
  /** See `DataPlaneOptions.opensPorts`. */
  readonly opensPorts: boolean;
}

/** Warns of a store whose folder does not exist: it is opened when a request needs it, and may be there until then. */
export async function checkStore(candidate: Candidate): Promise<Candidate> {
  const { loaded, sources } = candidate;
  const file = loaded.settings.kv?.path;
  if (file === undefined || file === ":memory:") return candidate;
  const folder = dirname(file);
  if (await isFolder(folder)) return candidate;
  const message =
    `The store cannot be opened: folder "${folder}" does not exist; create it`;
  const path = ["kv", "path"];
  const found = {
    ...loaded.diagnoseSetting({ path, at: "value", message }),
    severity: "warning" as const,
  };
  const diagnostics = sortDiagnostics([...loaded.diagnostics, found], sources);
  return { ...candidate, loaded: { ...loaded, diagnostics } };
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch (error) {
    // Whatever else is wrong with it, opening the store tells.
    return !(error instanceof Deno.errors.NotFound);
  }
}

/** Returns the error of a start: all problems of the configuration, with every port that another program uses, or the cause. */
export async function startFailure(failed: FailedStart): Promise<unknown> {
  const { candidate: { loaded, sources }, cause } = failed;
  const busy = await findBusyPorts(failed);
  const known = new Set(failed.diagnostics.map(({ message }) => message));
  const diagnostics = [
    ...failed.diagnostics,
    ...busy.filter(({ message }) => !known.has(message)),
  ];
  if (cause !== undefined) {
    if (!diagnostics.some(isError)) return cause;
    if (cause instanceof Error && !busy.some(isOfSettings)) {
      const message = cause.message;
      diagnostics.push(
        loaded.diagnoseSetting({ path: [], at: "key", message }),
      );
    }
  }
  return new ConfigurationError(sortDiagnostics(diagnostics, sources), sources);
}

async function findBusyPorts(
  { candidate, hasServers, opensPorts }: FailedStart,
): Promise<readonly Diagnostic[]> {
  const { loaded } = candidate;
  // A process that shares its ports takes over from another one that listens there.
  if (loaded.settings.reusePort) return [];
  const hasSettings = !loaded.diagnostics.some((each) =>
    isError(each) && isOfSettings(each)
  );
  return [
    ...!hasServers && hasSettings ? await findBusyAddresses(candidate) : [],
    ...opensPorts ? await findBusyListeners(candidate) : [],
  ];
}

function isOfSettings({ path }: Diagnostic): boolean {
  return /^config\b/.test(path);
}

async function findBusyAddresses(
  { loaded }: Candidate,
): Promise<readonly Diagnostic[]> {
  const fields = ["adminAddr", "statsAddr"] as const;
  const busy: Diagnostic[] = [];
  for (const field of fields) {
    if (!await isBusy(loaded.settings, field)) continue;
    const value = loaded.settings[field];
    const message =
      `Cannot listen on config.${field} "${value}": the port is in use by another process. Set another address, or "off"`;
    busy.push(loaded.diagnoseSetting({ path: [field], at: "value", message }));
  }
  return busy;
}

async function isBusy(
  settings: Settings,
  field: "adminAddr" | "statsAddr",
): Promise<boolean> {
  const address = parseAddress(settings[field]);
  if (address?.kind !== "tcp" || address.port === 0) return false;
  for (const hostname of address.hosts) {
    try {
      await claimAddress({ hostname, port: address.port });
    } catch (error) {
      if (error instanceof Deno.errors.AddrInUse) return true;
    }
  }
  return false;
}

async function findBusyListeners(
  candidate: Candidate,
): Promise<readonly Diagnostic[]> {
  const { snapshot } = await compileCandidate(candidate);
  const busy: Diagnostic[] = [];
  for (const port of snapshot.ports) {
    try {
      await claimPort(port);
    } catch (error) {
      const { reason = "" } = describeOpenError(error);
      const located = locatePort(candidate.loaded, port.port, reason);
      if (located !== undefined) busy.push(located);
    }
  }
  return busy;
}
