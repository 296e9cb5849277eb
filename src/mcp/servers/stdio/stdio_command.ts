/** Variables of the gateway that every process gets: what programs need to find others and their own files. */
export const inheritedVariables: readonly string[] = [
  "PATH",
  "HOME",
  "LANG",
  "TMPDIR",
  "TZ",
];

/** Program of a server that speaks over stdio, and limits of its processes. */
export interface StdioCommand {
  /** Path of the program, or its name in `PATH`. */
  readonly command: string;
  readonly args: readonly string[];
  /** Variables that the process gets beside those of `inheritedVariables`. */
  readonly env: Readonly<Record<string, string>>;
  /** `undefined` for that of the gateway. */
  readonly cwd: string | undefined;
  /** Values that must not appear in the log. */
  readonly secrets: readonly string[];
  /** True for one process for all users. */
  readonly isShared: boolean;
  readonly maxProcesses: number;
  /** Of a process and those that it has started. */
  readonly maxMemoryBytes: number;
  /** Time without a request after which a process is stopped. */
  readonly idleMs: number;
}
