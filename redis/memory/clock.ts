/** The time of an in-memory Redis, Unix ms. Keys leave by it, and scripts see it as Redis's own. */
export interface Clock {
  nowMs(): number;
}
