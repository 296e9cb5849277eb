/**
 * The program of a worker; see `config.workers`. The executable has it beside its main program, which is three times as long and
 * would cost each worker twice the memory.
 * @module
 */
import { runWorker } from "./src/dataplane/workers/worker_main.ts";

await runWorker();
