/** Repeats a task until a view is left; never two at once, and not while nobody looks. */
export async function poll(intervalMs, signal, task) {
  while (!signal.aborted) {
    if (!document.hidden) {
      try {
        await task();
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}

/** As `poll`; shows in `problem` why the task failed, for as long as it does. */
export function pollVisibly(intervalMs, signal, problem, task) {
  return poll(intervalMs, signal, async () => {
    try {
      await task();
      if (problem.textContent !== "") problem.textContent = "";
    } catch (error) {
      if (!signal.aborted && problem.textContent !== error.message) {
        problem.textContent = error.message;
      }
    }
  });
}
