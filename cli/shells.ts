/** Shells with completion support. */
export const shells: readonly string[] = ["bash", "zsh", "fish"];
