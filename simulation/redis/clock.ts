/** The time of an in-memory Redis, Unix ms. Keys expire by it, and scripts read it as Redis's time. */
export interface RedisClock {
  nowMs(): number;
}
