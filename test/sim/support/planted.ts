/**
 * Known flaws, planted into the compiled program: each replaces one piece of text in one file, and names the invariants of
 * which at least one must be found violated, within so many seeds of all profiles. docs/simulation.md has the same table.
 */
export interface PlantedFlaw {
  readonly name: string;
  /** What is wrong with the program, for whoever reads the failure. */
  readonly flaw: string;
  /** In dist/. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** One of these is violated. */
  readonly invariants: readonly string[];
  readonly profile: 'calm' | 'stormy' | 'hostile';
  /** It is found within so many seeds, counted from 1. */
  readonly seeds: number;
}

export const plantedFlaws: readonly PlantedFlaw[] = [
  {
    name: 'nonce-kept',
    flaw: 'a node keeps a nonce after it has signed with it',
    file: 'nodes/signer/nonce-pools.js',
    from: 'pool?.delete(number);',
    to: '',
    invariants: ['nonce-signs-once'],
    profile: 'stormy',
    seeds: 60,
  },
  {
    name: 'share-unverified',
    flaw: 'a recipient takes a share without checking it against its dealer’s commitments',
    file: 'crypto/dkg-transcripts.js',
    from: 'TODO',
    to: '',
    invariants: ['group-key-agreed'],
    profile: 'hostile',
    seeds: 60,
  },
];
