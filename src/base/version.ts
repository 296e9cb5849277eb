/** Version of the gateway, as in `deno.json`. */
export const VERSION = "0.2.0";
