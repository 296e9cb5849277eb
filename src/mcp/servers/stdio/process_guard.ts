/**
 * Reads lines from the gateway: `+ PID` and `- PID` begin and end the guard of a process group, `? PID` requests the memory of a
 * process with its descendants, in KiB. At the end of the input, which the kernel closes when the gateway dies, all groups are killed.
 */
const SCRIPT = `
trap '' HUP INT TERM
groups=' '
page=$(($(getconf PAGESIZE 2>/dev/null || echo 4096) / 1024))
memory() {
  kb=0 todo=$1
  if [ -r /proc/self/statm ]; then
    while set -- $todo && [ $# -gt 0 ]; do
      one=$1
      shift
      todo=$*
      if { read -r _ pages _ < "/proc/$one/statm"; } 2>/dev/null; then
        kb=$((kb + pages * page))
      fi
      for task in /proc/"$one"/task/*/children; do
        more=
        { read -r more < "$task"; } 2>/dev/null
        todo="$todo $more"
      done
    done
  else
    for size in $(ps -o rss= -g "$1" 2>/dev/null); do kb=$((kb + size)); done
  fi
}
while read -r op pid; do
  case $op in
    +) groups="$groups$pid "; echo "$pid" ;;
    -) case $groups in
         *" $pid "*) groups="\${groups%% $pid *} \${groups#* $pid }" ;;
       esac
       echo "$pid" ;;
    *) memory "$pid"; echo "$kb" ;;
  esac
done
for pid in $groups; do kill -s KILL -- "-$pid" 2>/dev/null; done
`;

/** A guard process, and who waits for its answers, in order. */
interface RunningGuard {
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly waiting: ((answer: string | undefined) => void)[];
  readonly done: Promise<unknown>;
}

/** Kills the process groups of this process when it ends in any way, SIGKILL included. It needs a POSIX shell. */
export class ProcessGuard {
  readonly #groups = new Set<number>();
  #running: RunningGuard | undefined;

  /** Guards the group of a process; resolves when it cannot outlive this one any more. @throws When there is no shell. */
  async add(pid: number): Promise<void> {
    this.#groups.add(pid);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (await this.#ask(`+ ${pid}`) !== undefined) return;
    }
    throw new Error("The guard of processes ends at once");
  }

  /** Ends the guard of a group that has ended. */
  async remove(pid: number): Promise<void> {
    this.#groups.delete(pid);
    if (this.#groups.size === 0) await this.#stop();
    else if (this.#running !== undefined) await this.#ask(`- ${pid}`);
  }

  /** Returns the memory of a process and its descendants, in bytes; `undefined` if it is not known. */
  async memoryOf(pid: number): Promise<number | undefined> {
    if (this.#running === undefined) return undefined;
    const answer = await this.#ask(`? ${pid}`);
    return answer === undefined ? undefined : Number(answer) * 1024;
  }

  /** Resolves to `undefined` if the guard has ended, which begins anew with the next question. */
  async #ask(question: string): Promise<string | undefined> {
    const guard = this.#running ??= this.#start();
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    guard.waiting.push(resolve);
    // The end of the guard answers.
    guard.writer.write(encoder.encode(`${question}\n`)).catch(() => {});
    return await promise;
  }

  #start(): RunningGuard {
    const child = new Deno.Command("/bin/sh", {
      args: ["-c", SCRIPT],
      clearEnv: true,
      env: { PATH: "/usr/bin:/bin" },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
      // A signal for the group of the gateway must not reach it.
      detached: true,
    }).spawn();
    const waiting: RunningGuard["waiting"] = [];
    const writer = child.stdin.getWriter();
    const answers = this.#readAnswers(child.stdout, waiting);
    const guard: RunningGuard = {
      writer,
      waiting,
      done: Promise.all([child.status, answers]),
    };
    for (const pid of this.#groups) {
      waiting.push(() => {});
      writer.write(encoder.encode(`+ ${pid}\n`)).catch(() => {});
    }
    void answers.then(() => {
      if (this.#running === guard) this.#running = undefined;
      for (const resolve of waiting.splice(0)) resolve(undefined);
    });
    return guard;
  }

  async #readAnswers(
    stdout: ReadableStream<Uint8Array>,
    waiting: RunningGuard["waiting"],
  ): Promise<void> {
    let rest = "";
    for await (const part of stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) waiting.shift()?.(line);
    }
  }

  async #stop(): Promise<void> {
    const guard = this.#running;
    if (guard === undefined) return;
    this.#running = undefined;
    await guard.writer.close().catch(() => {});
    await guard.done;
  }
}

const MAX_ATTEMPTS = 3;
const encoder = new TextEncoder();
