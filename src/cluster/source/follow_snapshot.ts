import { type Clock, pause } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import type { ClusterCache } from "./cluster_cache.ts";
import type { SnapshotFile } from "./snapshot_file.ts";

/** Dependencies of following a snapshot. */
export interface SnapshotOptions {
  readonly cache: ClusterCache;
  readonly file: SnapshotFile;
  readonly clock: Clock;
  readonly log: Log;
}

/** Time that a start waits for the API server before it uses the snapshot. */
const AWAY_MS = 5_000;
/** Pause between two looks at whether the API server is away, and between two writes. */
const LOOK_MS = 1_000;
const WRITE_MS = 10_000;

/**
 * Restores the snapshot when the cluster cannot be read at start; once it has been read, writes the file after changes, until
 * `signal` aborts.
 */
export async function followSnapshot(
  options: SnapshotOptions,
  signal: AbortSignal,
): Promise<void> {
  await restoreIfAway(options, signal);
  if (!signal.aborted) await writeChanges(options, signal);
}

/** Resolves when the cluster has been read. */
async function restoreIfAway(
  options: SnapshotOptions,
  signal: AbortSignal,
): Promise<void> {
  const { cache, clock } = options;
  const read = new AbortController();
  void cache.live.then(() => read.abort());
  const waiting = AbortSignal.any([signal, read.signal]);
  await pause(clock, AWAY_MS, waiting);
  let hasAttempted = false;
  while (!waiting.aborted) {
    if (!hasAttempted && cache.failures.size > 0) {
      hasAttempted = true;
      await restore(options);
    }
    await pause(clock, LOOK_MS, waiting);
  }
}

async function restore({ cache, file, log }: SnapshotOptions): Promise<void> {
  try {
    const snapshot = await file.read(cache.keys);
    if (!cache.restore(snapshot)) return;
    log.warn("Cannot read the cluster: serving the snapshot", {
      writtenAt: new Date(snapshot.writtenAt).toISOString(),
    });
  } catch (error) {
    log.error("Cannot use the snapshot: waiting for the API server", {
      reason: describeError(error),
    });
  }
}

async function writeChanges(
  { cache, file, clock, log }: SnapshotOptions,
  signal: AbortSignal,
): Promise<void> {
  let written = -1;
  while (!signal.aborted) {
    if (cache.version !== written) {
      written = cache.version;
      try {
        await file.write(cache.contents());
      } catch (error) {
        log.error("Cannot write the snapshot", { error });
      }
    }
    await pause(clock, WRITE_MS, signal);
  }
}
