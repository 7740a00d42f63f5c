/** Asks a port that should answer with a promise; one that throws instead of rejecting is treated alike. */
export function attempt<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return ask();
  } catch (error) {
    return Promise.reject(error);
  }
}
