/** Whose completion we know how to write. */
export const shells: readonly string[] = ["bash", "zsh", "fish"];
