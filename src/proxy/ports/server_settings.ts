import type { ListenAddress } from "../../http/server/accept/acceptor.ts";
import type { TlsConfig } from "../../http/server/accept/certificate_table.ts";
import type { ServerLimits } from "../../http/server/contract/server_options.ts";
import type { Port, PortTls } from "../../snapshot/snapshot.ts";

/** Returns the address of a port; with `reusePort`, other sockets may share it. */
export function addressOf(
  { address, port }: Pick<Port, "address" | "port">,
  reusePort = false,
): ListenAddress {
  return address === undefined
    ? { port, reusePort }
    : { hostname: address, port, reusePort };
}

/** Returns the limits that a port sets; the server has defaults for the others. */
export function limitsOf(
  port:
    & Pick<Port, "maxConnections" | "timeouts">
    & Partial<
      Pick<
        Port,
        | "maxConnectionsPerAddress"
        | "minRequestBodyRate"
        | "minResponseBodyRate"
      >
    >,
): Partial<ServerLimits> {
  const {
    maxConnections,
    maxConnectionsPerAddress,
    minRequestBodyRate,
    minResponseBodyRate,
    timeouts,
  } = port;
  const { requestHeadersMs, requestBodyMs, idleMs, webSocketMs } = timeouts;
  return {
    ...(maxConnections !== undefined && { maxConnections }),
    ...(maxConnectionsPerAddress !== undefined && { maxConnectionsPerAddress }),
    ...(minRequestBodyRate !== undefined &&
      { minBodyBytesPerSecond: minRequestBodyRate }),
    ...(minResponseBodyRate !== undefined &&
      { minResponseBytesPerSecond: minResponseBodyRate }),
    ...(webSocketMs !== undefined &&
      { tunnelIdleTimeoutMs: orUnlimited(webSocketMs) }),
    ...(requestHeadersMs !== undefined &&
      { requestHeadersTimeoutMs: orUnlimited(requestHeadersMs) }),
    ...(requestBodyMs !== undefined &&
      { bodyIdleTimeoutMs: orUnlimited(requestBodyMs) }),
    ...(idleMs !== undefined && { keepAliveTimeoutMs: orUnlimited(idleMs) }),
  };
}

/** `0s` in a configuration is unlimited. */
function orUnlimited(timeoutMs: number): number {
  return timeoutMs === 0 ? Infinity : timeoutMs;
}

const clientCertificateModes = {
  any: "unverified",
  request: "optional",
  require: "required",
} as const;

/** Returns the TLS settings of a port; a certificate without hostnames serves clients that send an unknown server name. */
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
        mode: clientCertificateModes[clientCertificate],
        ca: clientCa ?? "",
      },
    }),
  };
}
