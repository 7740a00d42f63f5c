/**
 * Ends this process when its parent disappears: npm killed with SIGKILL, a crashed test runner, a closed terminal whose signal
 * did not arrive. The kernel then gives us another parent.
 */
const everyMs = 200;

/** The parent at the very start, before set-up takes time. cli/signmesh.mjs records it. */
function parentAtStart(): number {
  const { signmeshParentPid } = globalThis as { signmeshParentPid?: number };
  return signmeshParentPid ?? process.ppid;
}

/** Returns a function that ends the watch. A process that init itself started (a container's) has no parent to lose. */
export function watchParent(onGone: () => void): () => void {
  const parent = parentAtStart();
  if (parent <= 1) return () => undefined;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
