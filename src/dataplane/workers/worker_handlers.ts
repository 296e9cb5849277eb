import type { PortRecord } from "../../proxy/ports/port_log.ts";
import { describeOpenError, type LocalDataPlane } from "../local_data_plane.ts";
import type { StagedConfiguration } from "../staged_configuration.ts";
import type { CallHandlers } from "../state/channel.ts";
import { emptyResourceSet } from "../../api/resources/resource_set.ts";
import { diffFields, patchFields } from "./fields_change.ts";
import { emptyReport, type WorkerCalls } from "./protocol.ts";
import type { WorkerLogs } from "./worker_logs.ts";
import type { WorkerTraces } from "./worker_traces.ts";

/** Parts of a worker. */
export interface WorkerParts {
  readonly dataPlane: LocalDataPlane;
  readonly logs: WorkerLogs;
  /** Observes the ports of the data plane. */
  readonly ports: PortRecord;
  readonly traces: WorkerTraces;
}

/** Handles the calls of the control thread. */
export function createWorkerHandlers(
  { dataPlane, logs, ports, traces }: WorkerParts,
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
    run: (name, args) => dataPlane.run(name, args),
    settle: () => dataPlane.settle(),
    watch: (watch) => traces.watch(watch),
    unwatch: (id) => traces.unwatch(id),
    watchOnly: (watches) => traces.watchOnly(watches),
    async drain(timeoutMs) {
      const result = await dataPlane.drain(timeoutMs);
      await logs.flush();
      return result;
    },
  };
}
