// deno-lint-ignore-file house/no-default-export -- the package has no other
declare const wasm: Uint8Array;
export default wasm;
