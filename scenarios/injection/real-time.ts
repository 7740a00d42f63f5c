/** The injector's own time: milliseconds since the Unix epoch on a clock that never jumps. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
