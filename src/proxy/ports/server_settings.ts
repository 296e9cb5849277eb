import type { ListenAddress } from "../../http/server/accept/acceptor.ts";
import type { TlsConfig } from "../../http/server/accept/certificate_table.ts";
import type { ServerLimits } from "../../http/server/server_options.ts";
import type { Port, PortTls } from "../../snapshot/snapshot.ts";

/** Where a port listens. */
export function addressOf({ address, port }: Port): ListenAddress {
  return address === undefined ? { port } : { hostname: address, port };
}

/** What a port sets itself; the server has defaults for the rest. */
export function limitsOf(
  { maxConnections, timeouts }: Pick<Port, "maxConnections" | "timeouts">,
): Partial<ServerLimits> {
  const { requestHeadersMs, requestBodyMs, idleMs } = timeouts;
  return {
    ...(maxConnections !== undefined && { maxConnections }),
    ...(requestHeadersMs !== undefined &&
      { requestHeadersTimeoutMs: orUnlimited(requestHeadersMs) }),
    ...(requestBodyMs !== undefined &&
      { bodyIdleTimeoutMs: orUnlimited(requestBodyMs) }),
    ...(idleMs !== undefined && { keepAliveTimeoutMs: orUnlimited(idleMs) }),
  };
}

/** `0s` in a configuration is no limit. */
function orUnlimited(timeoutMs: number): number {
  return timeoutMs === 0 ? Infinity : timeoutMs;
}

/** How a port proves who it is; a certificate that is for every name is shown to those who ask for an unknown one. */
export function tlsOf(tls: PortTls): TlsConfig {
  const { certificates, clientCa, clientCertificate, minVersion } = tls;
  const isForAll = certificates.filter(({ hostnames }) =>
    hostnames.length === 0
  );
  const isForSome = certificates.filter(({ hostnames }) =>
    hostnames.length > 0
  );
  const [first, ...others] = [...isForAll, ...isForSome].map(
    ({ cert, key, hostnames }) => ({ cert, key, names: hostnames }),
  );
  if (first === undefined) {
    throw new TypeError("Cannot serve TLS: there is no certificate");
  }
  return {
    certificates: [first, ...others],
    minVersion,
    ...(clientCertificate !== "none" && {
      clientCertificates: {
        mode: clientCertificate === "require" ? "required" : "optional",
        ca: clientCa ?? "",
      },
    }),
  };
}
