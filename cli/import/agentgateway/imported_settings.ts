import type { SourceNode } from "../parts/source_node.ts";

/** Settings of the whole gateway, by our names. */
export type ImportedSettings = Readonly<Record<string, unknown>>;

/** Imports the settings of a file, which it has in `config` and `frontendPolicies`; `undefined` without one. */
export function importSettings(root: SourceNode): ImportedSettings | undefined {
  const config = root.get("config");
  const frontend = root.get("frontendPolicies");
  const format = config?.get("logging")?.get("format")?.text();
  const settings = {
    adminAddr: config?.get("adminAddr")?.text(),
    statsAddr: config?.get("statsAddr")?.text(),
    sensitiveHeaders: config?.get("sensitiveHeaders")?.texts(),
    logging: format && { format },
    accessLog: importAccessLog(frontend?.get("accessLog")),
    ...importTracing(frontend?.get("tracing") ?? config?.get("tracing")),
  };
  return Object.values(settings).some((value) => value !== undefined)
    ? settings
    : undefined;
}

/** The expressions stay as they are. */
function importAccessLog(source: SourceNode | undefined) {
  if (source === undefined) return undefined;
  return {
    filter: source.get("filter")?.text(),
    add: importExpressions(source.get("add")),
    remove: source.get("remove")?.texts(),
  };
}

function importTracing(source: SourceNode | undefined) {
  const address = source?.get("otlpEndpoint")?.text() ??
    source?.get("host")?.text();
  if (source === undefined || address === undefined) {
    source?.reject("tracing: only collectors with a host have counterparts");
    return {};
  }
  const protocol = source.get("otlpProtocol")?.text() ??
    source.get("protocol")?.text() ?? "grpc";
  return {
    otlp: {
      endpoint: /^https?:/.test(address) ? address : `http://${address}`,
      protocol: protocol.toLowerCase() === "grpc" ? "grpc" : "http",
    },
    tracing: {
      randomSampling: importSampling(source.get("randomSampling")),
      clientSampling: importSampling(source.get("clientSampling")),
      attributes: importExpressions(source.get("attributes")),
    },
  };
}

/** Returns a part from 0 to 1 or an expression. */
function importSampling(source: SourceNode | undefined) {
  const text = source?.text();
  if (text === "true") return 1;
  return text === "false" ? 0 : source?.number();
}

function importExpressions(source: SourceNode | undefined) {
  return source && Object.fromEntries(
    source.members().map(([name, value]) => [name, value.text()]),
  );
}
