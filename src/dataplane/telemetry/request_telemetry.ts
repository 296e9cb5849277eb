import type { Settings } from "../../api/settings.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log/log.ts";
import type { EndedRequest } from "../../policy/expressions/telemetry_expressions.ts";
import {
  RequestSpans,
  type Sampler,
} from "../../proxy/exchange/request_spans.ts";
import type { AccessLog } from "../../telemetry/log/access_log.ts";
import {
  createAccessLog,
  createRecordLog,
} from "../../telemetry/log/access_log.ts";
import type { MetricRegistry } from "../../telemetry/metrics/metrics.ts";
import type { Attributes } from "../../telemetry/spans/span.ts";
import { loadExporter } from "./load_exporter.ts";

/** Spans and access log of the requests of one data plane. */
export interface RequestTelemetry {
  /** `undefined` where requests have no spans. */
  readonly spans: RequestSpans | undefined;
  /** Logs a request that is over. @param ended Left out for a request that was rejected before it could be read. */
  readonly accessLog: (
    request: Parameters<AccessLog>[0],
    ended?: EndedRequest,
  ) => void;
  /** Exports what is queued, and drops what is not sent within `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

/** Dependencies of the telemetry of requests. */
export interface RequestTelemetryOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: MetricRegistry;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Writes a line of the access log; `undefined` where nobody reads it. */
  readonly writeAccessLog: ((line: string) => void) | undefined;
}

/** Loads the code that the settings need, and returns a function that creates the telemetry. */
export async function loadRequestTelemetry(
  settings: Settings,
): Promise<(options: RequestTelemetryOptions) => RequestTelemetry> {
  const { tracing, accessLog } = settings;
  const needsExporter = tracing !== undefined ||
    (accessLog.enabled && accessLog.format === "otlp");
  const createExporter = needsExporter
    ? await loadExporter(settings.otlp)
    : undefined;
  const rules = await loadRules(settings);
  return (options) => {
    const exporter = createExporter?.(options);
    const { clock, random } = options;
    const spans = tracing === undefined || exporter === undefined
      ? undefined
      : new RequestSpans({
        clock,
        sampler: rules.createSampler(random),
        sink: exporter.exportSpan,
        attributesOf: rules.spanAttributes,
      });
    const log = chooseAccessLog(settings, options, exporter?.exportLog);
    return {
      spans,
      accessLog(request, ended) {
        if (ended === undefined || !rules.hasLogRules) return log(request);
        if (rules.isLogged(ended)) log(request, rules.logFields(ended));
      },
      close: async (timeoutMs) => await exporter?.close(timeoutMs),
    };
  };
}

function chooseAccessLog(
  { accessLog, logging }: Settings,
  { logger, writeAccessLog }: RequestTelemetryOptions,
  exportLog: Parameters<typeof createRecordLog>[0]["write"] | undefined,
): AccessLog {
  const { enabled, format = logging.format } = accessLog;
  const log = logger.module("request");
  const remove = new Set(accessLog.remove);
  if (!enabled) return () => {};
  if (format === "otlp") {
    return exportLog === undefined
      ? () => {}
      : createRecordLog({ write: exportLog, log, remove });
  }
  return writeAccessLog === undefined
    ? () => {}
    : createAccessLog({ write: writeAccessLog, format, log, remove });
}

/** Expressions of the settings, compiled. */
interface Rules {
  readonly createSampler: (random: () => number) => Sampler;
  readonly spanAttributes: (ended: EndedRequest) => Attributes;
  readonly hasLogRules: boolean;
  readonly isLogged: (ended: EndedRequest) => boolean;
  readonly logFields: (ended: EndedRequest) => Attributes;
}

/** Compiles the expressions; loads their library only if there are any. */
async function loadRules({ tracing, accessLog }: Settings): Promise<Rules> {
  const { randomSampling = 1, clientSampling = 1, attributes = {} } = tracing ??
    {};
  const { filter, add } = accessLog;
  const hasLogRules = filter !== undefined || Object.keys(add).length > 0;
  const needsExpressions = hasLogRules || Object.keys(attributes).length > 0 ||
    typeof randomSampling === "string" || typeof clientSampling === "string";
  const none = () => ({});
  if (!needsExpressions) {
    return {
      createSampler: (random) => ({
        startsTrace: () => random() < Number(randomSampling),
        continuesTrace: () => random() < Number(clientSampling),
      }),
      spanAttributes: none,
      hasLogRules,
      isLogged: () => true,
      logFields: none,
    };
  }
  const { compileAttributes, compileChance, compileEndCondition } =
    await import("../../policy/expressions/telemetry_expressions.ts");
  return {
    createSampler(random) {
      const starts = compileChance(String(randomSampling), random);
      const continues = compileChance(String(clientSampling), random);
      return {
        startsTrace: (context) => starts(context()),
        continuesTrace: (context) => continues(context()),
      };
    },
    spanAttributes: compileAttributes(attributes),
    hasLogRules,
    isLogged: filter === undefined ? () => true : compileEndCondition(filter),
    logFields: compileAttributes(add),
  };
}
