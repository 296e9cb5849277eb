import type { PortRecord } from "../../proxy/ports/port_log.ts";
import { describeOpenError, type LocalDataPlane } from "../local_data_plane.ts";
import type { StagedConfiguration } from "../staged_configuration.ts";
import type { CallHandlers } from "./channel.ts";
import { emptyResourceSet } from "../../api/resources/resource_set.ts";
import { diffFields, patchFields } from "../changes/fields_change.ts";
import { emptyReport, type WorkerCalls } from "./protocol.ts";
import type { WorkerLogs } from "./worker_logs.ts";
import type { WorkerProfiles } from "./worker_profiles.ts";
import type { WorkerTraces } from "./worker_traces.ts";

/** Parts of a worker. */
export interface WorkerParts {
  readonly dataPlane: LocalDataPlane;
  readonly logs: WorkerLogs;
  /** Observes the ports of the data plane. */
  readonly ports: PortRecord;
  readonly traces: WorkerTraces;
  readonly profiles: WorkerProfiles;
}

/** Handles the calls of the control thread. */
export function createWorkerHandlers(
  { dataPlane, logs, ports, traces, profiles }: WorkerParts,
): CallHandlers<WorkerCalls> {
  let staged: StagedConfiguration | undefined;
  let resources = emptyResourceSet;
  let report = emptyReport;
  const takeStaged = () => {
    const taken = staged;
    staged = undefined;
    return taken;
  };
  return {
    async stage(change) {
      resources = patchFields(resources, change);
      staged = await dataPlane.stage(resources);
      const { diagnostics, isValid, outcomes } = staged;
      const before = report;
      report = { diagnostics, ...outcomes };
      const ports = staged.plan();
      return { isValid, ports, report: diffFields(before, report) };
    },
    async forget() {
      resources = emptyResourceSet;
      report = emptyReport;
      await takeStaged()?.abandon();
    },
    async open(claimed) {
      try {
        await staged?.open(claimed);
        return {};
      } catch (error) {
        return describeOpenError(error);
      }
    },
    commit() {
      takeStaged()?.commit();
      return ports.take();
    },
    abandon: () => takeStaged()?.abandon(),
    setEndpoints: (changed) => dataPlane.setEndpoints(changed),
    describe: () => dataPlane.describe(),
    describeState: () => dataPlane.describeState(),
    addresses: () => dataPlane.addresses(),
    settle: () => dataPlane.settle(),
    readMetrics: (names) => dataPlane.readMetrics(names),
    setLogLevel: (filter) => dataPlane.setLogLevel(filter),
    refreshKeys: () => dataPlane.refreshKeys(),
    watch: (watch) => traces.watch(watch),
    unwatch: (id) => traces.unwatch(id),
    watchOnly: (watches) => traces.watchOnly(watches),
    requests: (query) => dataPlane.requests(query),
    request: (id) => dataPlane.request(id),
    tasks: (limit) => dataPlane.tasks(limit),
    stores: () => dataPlane.stores(),
    startCpuProfile: (frequency) => profiles.startCpu(frequency),
    stopCpuProfile: () => profiles.stopCpu(),
    startAllocationProfile: () => profiles.startAllocations(),
    heapProfile: () => profiles.takeHeap(),
    heap: () => profiles.heapSize(),
    leave: () => dataPlane.leave(),
    async drain(timeoutMs) {
      const result = await dataPlane.drain(timeoutMs);
      await logs.flush();
      return result;
    },
  };
}
