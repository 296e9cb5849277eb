/** Host and port as URLs and logs have them: `10.0.0.1:80`, `[::1]:80`. */
export function formatHostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
