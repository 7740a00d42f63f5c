/** The switch that mutants in a worker's modules read, and runner.ts sets. */

/** A loop that a mutant keeps from ending. */
const callsMax = 3_000_000;

export interface Switch {
  /** The active mutant; 0: none. */
  on: number;
  /** Reads since the switch was set. */
  calls: number;
  /** Mutants that were read. */
  readonly reached: Set<number>;
  /** A mutant ran in this process. */
  isUsed: boolean;
  /** It left a change in state that the tests of the current file share. */
  isSpoiled: boolean;
}

const shared = globalThis as { mutantSwitch?: Switch; mutantIsOn?: (id: number) => boolean };
// Vitest loads its runner apart from the tests: both find this.
shared.mutantSwitch ??= { on: 0, calls: 0, reached: new Set(), isUsed: false, isSpoiled: false };
export const mutantSwitch: Switch = shared.mutantSwitch;

shared.mutantIsOn = (id) => {
  mutantSwitch.reached.add(id);
  if (id !== mutantSwitch.on) return false;
  mutantSwitch.calls += 1;
  if (mutantSwitch.calls > callsMax) throw new Error('the mutant loops');
  return true;
};
