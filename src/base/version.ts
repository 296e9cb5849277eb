/** Version of the gateway, as in `deno.json`. */
export const version = "0.1.0";
