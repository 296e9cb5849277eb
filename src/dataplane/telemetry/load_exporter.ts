import type { Settings } from "../../api/settings.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log/log.ts";
import { redactUrl } from "../../base/redaction.ts";
import { readFileText } from "../../base/regular_file.ts";
import { VERSION } from "../../base/version.ts";
import type { MetricsExporter } from "../../telemetry/otlp/metrics_exporter.ts";
import type { OtlpExporter } from "../../telemetry/otlp/otlp_exporter.ts";
import type {
  MetricReading,
  MetricRegistry,
} from "../../telemetry/metrics/metrics.ts";
import type { Attributes } from "../../telemetry/spans/span.ts";

/** Dependencies of an exporter that the settings do not have. */
interface ExporterOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Loads the code of the exporter, and returns a function that creates one; `undefined` without a collector. */
export async function loadExporter(
  otlp: Settings["otlp"],
): Promise<
  | ((
    options: ExporterOptions & {
      readonly registry: MetricRegistry;
      /** Uniform in [0, 1). */
      readonly random: () => number;
    },
  ) => OtlpExporter)
  | undefined
> {
  if (otlp === undefined) return undefined;
  const [{ OtlpExporter }, connect] = await Promise.all([
    import("../../telemetry/otlp/otlp_exporter.ts"),
    loadCollector(otlp),
  ]);
  return ({ registry, random, ...options }) =>
    new OtlpExporter({ ...connect(options), registry, random });
}

/** Does the same for metrics; `undefined` without a collector or an interval. */
export async function loadMetricsExporter(
  { otlp, metrics }: Settings,
): Promise<
  | ((
    options: ExporterOptions & {
      readonly read: () => Promise<readonly MetricReading[]>;
    },
  ) => MetricsExporter)
  | undefined
> {
  const intervalMs = parseDuration(metrics.otlpInterval);
  if (otlp === undefined || intervalMs === 0) return undefined;
  const [{ MetricsExporter }, connect] = await Promise.all([
    import("../../telemetry/otlp/metrics_exporter.ts"),
    loadCollector(otlp),
  ]);
  return ({ read, ...options }) =>
    new MetricsExporter({ ...connect(options), read, intervalMs });
}

async function loadCollector(otlp: NonNullable<Settings["otlp"]>) {
  const [{ CollectorClient }, { CollectorLog }] = await Promise.all([
    import("../../telemetry/otlp/delivery/collector_client.ts"),
    import("../../telemetry/otlp/delivery/collector_log.ts"),
  ]);
  const caCertificates = await readCertificates(otlp.caFile);
  const { endpoint, protocol, headers } = otlp;
  const timeoutMs = parseDuration(otlp.timeout);
  return ({ clock, logger }: ExporterOptions) => ({
    collector: new CollectorClient(
      { endpoint, protocol, headers, timeoutMs, caCertificates },
      clock,
    ),
    origin: {
      resource: resourceOf(otlp.resourceAttributes),
      scope: { name: "gateway", version: VERSION },
    },
    clock,
    log: new CollectorLog(logger.module("otlp"), clock, redactUrl(endpoint)),
  });
}

/** Reads trusted certificates. One that cannot be read any more, after the start, trusts nothing: exports fail, and say so. */
async function readCertificates(
  file: string | undefined,
): Promise<readonly string[] | undefined> {
  if (file === undefined) return undefined;
  return [await readFileText(file).catch(() => "")];
}

/** Returns the attributes of this process. */
function resourceOf(configured: Readonly<Record<string, string>>): Attributes {
  const pod = Deno.env.get("POD_NAME");
  const host = Deno.hostname();
  return {
    "service.name": "gateway",
    "service.version": VERSION,
    "service.instance.id": `${pod ?? host}-${Deno.pid}`,
    "host.name": host,
    "process.pid": Deno.pid,
    "k8s.pod.name": pod,
    "k8s.namespace.name": Deno.env.get("POD_NAMESPACE"),
    ...configured,
  };
}
