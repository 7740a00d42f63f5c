/** Calls a port that returns a promise; treats a synchronous throw like a rejection. */
export function attempt<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return ask();
  } catch (error) {
    return Promise.reject(error);
  }
}
