import type { SourceNode } from "../parts/source_node.ts";

/** A gateway of the file with its routes. */
export interface GatewayImport {
  readonly name: string;
  readonly gateway: Readonly<Record<string, unknown>>;
  readonly routes: readonly ListenerRoutes[];
  /** Has the policies of all its routes. */
  readonly source: SourceNode;
}

/** Routes of a listener. */
export interface ListenerRoutes {
  readonly routes: readonly SourceNode[];
  readonly hostname: string | undefined;
  readonly inherited: readonly SourceNode[];
}

/** Port of a bind without one. */
const DEFAULT_PORT = 3000;

/** Imports a port with its listeners, the older form of the file. */
export function importBind(source: SourceNode): GatewayImport {
  const port = source.get("port")?.number() ?? DEFAULT_PORT;
  const listeners = source.get("listeners")?.items() ?? [];
  const tunnel = source.get("tunnelProtocol");
  if (tunnel !== undefined && tunnel.text() !== "direct") {
    tunnel.reject("tunnelProtocol: only direct has a counterpart");
  }
  return gatewayOf(`port-${port}`, { source, port, listeners });
}

/** Imports a gateway of the newer form, whose routes are elsewhere. */
export function importGateway(name: string, source: SourceNode): GatewayImport {
  const port = source.get("port")?.number() ?? DEFAULT_PORT;
  const listeners = source.get("listeners")?.items() ?? [source];
  return gatewayOf(name, { source, port, listeners });
}

function gatewayOf(
  name: string,
  { source, port, listeners }: {
    readonly source: SourceNode;
    readonly port: number | string;
    readonly listeners: readonly SourceNode[];
  },
): GatewayImport {
  const usable = listeners.filter(isHttp);
  const imported = usable.map(importListener);
  const [only = {}] = imported;
  return {
    name,
    gateway: imported.length > 1
      ? { port, listeners: imported }
      : { port, ...only, name: undefined },
    routes: usable.map((listener) => {
      const policies = listener.get("policies");
      return {
        routes: listener.get("routes")?.items() ?? [],
        hostname: listeners.length > 1
          ? listener.get("hostname")?.text()
          : undefined,
        inherited: [
          ...(listener === source ? [] : [listener]),
          ...(policies === undefined ? [] : [policies]),
        ],
      };
    }),
    source,
  };
}

function isHttp(listener: SourceNode): boolean {
  const protocol = listener.get("protocol");
  const isServed = ["HTTP", "HTTPS"].includes(protocol?.text() ?? "HTTP");
  if (!isServed) {
    listener.reject(`protocol ${protocol?.text()}: only HTTP and HTTPS`);
  }
  return isServed;
}

function importListener(source: SourceNode) {
  const tls = source.get("tls");
  const clientCa = tls?.get("root")?.text();
  const hostname = source.get("hostname")?.text();
  const protocol = source.get("protocol")?.text();
  const name = source.get("name")?.text();
  return {
    name,
    hostname: hostname === "*" ? undefined : hostname,
    protocol: protocol === "HTTPS" || tls !== undefined ? "HTTPS" : undefined,
    tls: tls && {
      cert: tls.get("cert")?.text(),
      key: tls.get("key")?.text(),
      clientCa,
      clientCertificate: clientCa && "Require",
    },
  };
}
