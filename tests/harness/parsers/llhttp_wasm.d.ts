declare const wasm: Uint8Array;
export default wasm;
