/** Addresses of `gateway dev` that its options replace. */
export const devAddresses = {
  port: 3000,
  admin: "localhost:15000",
  stats: "localhost:15020",
} as const;
