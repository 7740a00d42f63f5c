/** The plan of a chaos run: faults drawn from a profile and a seed, equal byte for byte in every world. */
import type { Fault } from '../../scenarios/faults/vocabulary/generated-types.ts';
import { simulatedOnly } from '../../scenarios/faults/vocabulary/kinds.ts';
import type { CheckedScenario } from '../../scenarios/runner/format.ts';
import { Draw } from '../cluster/draw.ts';
import { randomStream } from '../cluster/random.ts';
import { type ChaosProfile, type ChaosProfileOf, chaosProfiles } from './profiles.ts';

export interface ChaosSize {
  /** Of a cluster. */
  readonly nodes: number;
  /** Of its keys: at most nodes − threshold nodes fail. */
  readonly threshold: number;
}

/** At least one fault, with ids `chaos-1`, …; none in `byzantine` where no node may lie. */
export function chaosPlan(profile: ChaosProfile, seed: string, { nodes, threshold }: ChaosSize): readonly Fault[] {
  const draw = new Draw(randomStream(seed, `chaos/${profile}`));
  const ids = Array.from({ length: nodes }, (_, index) => index + 1);
  const weak = draw.some(ids, Math.max(0, nodes - threshold)).map((id) => `node/${id}`);
  const { faults, makers }: ChaosProfileOf = chaosProfiles[profile];
  if (profile === 'byzantine' && weak.length === 0) return [];
  const count = draw.int(...faults);
  return Array.from({ length: count }, (_, index) => ({
    id: `chaos-${index + 1}`,
    ...draw.pick(makers)({ draw, weak }),
  }));
}

/** The plan as a scenario file with a short story, for a person who puts their own steps there. */
export function chaosScenario(
  name: string,
  profile: ChaosProfile,
  faults: readonly Fault[],
  { nodes }: ChaosSize,
): CheckedScenario {
  return {
    scenario: name,
    about: `Chaos of the profile ${profile}: ${chaosProfiles[profile].about}. Put your own steps in the place of these.`,
    worlds: faults.some(({ fault }) => fault in simulatedOnly) ? ['simulated'] : ['simulated', 'live'],
    cluster: { nodes, seed: name, partial_timeout_ms: 300, nodes_wait_ms: 2000, client_dealers: true },
    faults,
    clients: {
      client: [
        { step: 'key', call: 'make_key', session: 'treasury', insist: true },
        { step: 'sign', call: 'sign', session: 'tx', key: 'treasury', insist: true },
        { step: 'from', call: 'make_wallet', insist: true },
        { step: 'to', call: 'make_wallet', connection: 'from', insist: true },
        { step: 'pay', call: 'transfer', from: 'from', to: 'to', amount: '0.1', insist: true },
      ] as never,
    },
    expect: [],
  };
}
