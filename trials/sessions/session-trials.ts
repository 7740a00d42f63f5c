/**
 * Trials of the coordinator at random moments of a run: one process with a store of its own, in which sessions of one key go
 * through rare cases. Identities are the run's; nothing else is.
 */
import type { KeyBinding } from '../../proto/key-schemes.ts';
import { CoordinatorCopy } from '../../simulation/cluster/coordinator-copy.ts';
import { Draw } from '../../simulation/cluster/draw.ts';
import type { Identities } from '../../simulation/cluster/identities.ts';
import type { Checker } from '../../simulation/cluster/observation.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import { worldBeganMs } from '../../simulation/cluster/virtual-time.ts';
import { Contradiction } from '../support/trial.ts';
import { forgottenNonces, otherSigner, stepBesideLostLink, withdrawnDraw } from './attempt-trials.ts';
import { callOfNode, fullMailbox, noSandbox, unordered, walletCalls } from './caller-trials.ts';
import {
  CoordinatorInTrial,
  callsWaitingMax,
  lifetimesMs,
  nodesWaitMs,
  partialTimeoutMs,
} from './coordinator-in-trial.ts';
import { directives, refusedOpening, takenIntent, wrongInitiation, wrongName } from './initiation-trials.ts';
import { noPreviews, previews, previewsOfAll } from './preview-trials.ts';
import { refusedAgain, refusedGathering, refusedStep, refusedSteps } from './refusal-trials.ts';
import { pausedForLong, revoked, unknownSession, witnessOrders, wrongResume } from './resume-trials.ts';
import { bareQuorum, silence, silentStep, strayAnswers, suspects, unlinked, wrongPartial } from './round-trials.ts';
import {
  boundMeanwhile,
  changedElsewhere,
  closedKey,
  lostChange,
  tamperedSession,
  unreadable,
} from './store-trials.ts';
import {
  inspections,
  lateCalls,
  lateQuorum,
  lostKey,
  offers,
  offersTogether,
  otherMessage,
  otherNoncePoint,
  steps,
  tooManyCalls,
  wrongShare,
} from './submission-trials.ts';
import { cancelledOrder, refusedOrder, vendorOrders } from './vendor-session-trials.ts';

export interface SessionTrialsOptions {
  /** Of the run. */
  readonly seed: string;
  readonly nodesTotal: number;
  readonly identities: () => Identities;
  /** The chance that a call's answer begins a trial. */
  readonly chanceAnAnswer?: number;
}

export type SessionTrial = (t: CoordinatorInTrial) => void;

const bindings: readonly KeyBinding[] = [
  '',
  'mock_ecdsa',
  'frost_bip340',
  'frost_ed25519',
  'owner_ecdsa',
  'hsm_ecdsa',
  'hsm_ed25519',
  'vendor_ecdsa',
  'vendor_ed25519',
];

/** For keys of any kind. */
const ofAny: readonly SessionTrial[] = [
  wrongInitiation,
  wrongInitiation,
  wrongName,
  refusedOpening,
  takenIntent,
  directives,
  wrongShare,
  lostKey,
  tooManyCalls,
  lateCalls,
  lateQuorum,
  inspections,
  previews,
  refusedStep,
  refusedGathering,
  silentStep,
  pausedForLong,
  revoked,
  unknownSession,
  witnessOrders,
  wrongResume,
  wrongResume,
  tamperedSession,
  unreadable,
  vendorOrders,
  callOfNode,
  walletCalls,
  unordered,
  fullMailbox,
];
/** For keys of which a client or a node gives partials that it can compute at once. */
const ofPartials: readonly SessionTrial[] = [
  steps,
  offers,
  otherMessage,
  silence,
  unlinked,
  strayAnswers,
  wrongPartial,
  lostChange,
  changedElsewhere,
  closedKey,
  noPreviews,
];
/** For keys of several nodes. */
const ofSeveral: readonly SessionTrial[] = [suspects, bareQuorum, refusedSteps, refusedAgain, previewsOfAll];
/** For keys of several nodes that each sign alone. */
const ofOwners: readonly SessionTrial[] = [offersTogether, offersTogether];
/** For keys whose nodes deal nonces. */
const ofNonces: readonly SessionTrial[] = [otherNoncePoint, forgottenNonces, withdrawnDraw];
const ofFrost: readonly SessionTrial[] = [otherSigner, stepBesideLostLink];
const atVendors: readonly SessionTrial[] = [vendorOrders, vendorOrders, cancelledOrder, refusedOrder];

function fitting({ binding }: CoordinatorInTrial): SessionTrial[] {
  const isVendor = binding.startsWith('vendor');
  const isSeveral = !isVendor && !binding.startsWith('hsm');
  const isFrost = binding.startsWith('frost');
  return [
    ...ofAny,
    ...(isVendor ? atVendors : ofPartials),
    ...(isSeveral ? ofSeveral : []),
    ...(isFrost || binding === 'mock_ecdsa' ? ofNonces : []),
    // Two keys in nine sign FROST, whose attempts bind their signers: more can go wrong.
    ...(isFrost ? [...ofFrost, ...ofFrost, ...ofFrost] : []),
    ...(binding === 'owner_ecdsa' ? ofOwners : []),
    ...(binding === '' ? [boundMeanwhile, boundMeanwhile, boundMeanwhile] : []),
  ];
}

export function sessionTrials(options: SessionTrialsOptions): Checker {
  const { seed, nodesTotal, identities, chanceAnAnswer = 0.02 } = options;
  const draw = new Draw(seed, 'coordinator trials');
  const random = randomStream(seed, 'coordinator trial bytes');
  let count = 0;

  function trial(): string | undefined {
    count += 1;
    const { roster } = identities();
    const sandbox = draw.chance(0.95);
    const copy = new CoordinatorCopy({
      config: {
        ...{ resumeKey: random(32), roster, lifetimes: lifetimesMs, nodesWaitMs, partialTimeoutMs, callsWaitingMax },
        ...{ sandbox, nonceBatchFirst: 2 },
      },
      nowMs: worldBeganMs,
      random,
    });
    const one = {
      draw,
      random,
      nodesTotal,
      identities: identities(),
      allowsDealers: true,
      name: `trial-${count}`,
      copyOf: noNode,
    };
    const names: string[] = [];
    try {
      const t = new CoordinatorInTrial(one, draw.pick(bindings), copy, random);
      for (let left = draw.int(1, 4); left > 0; left -= 1) {
        const each = sandbox ? draw.pick(fitting(t)) : noSandbox;
        names.push(each.name);
        each(t);
        t.calm();
      }
    } catch (error) {
      if (error instanceof Contradiction) return `the coordinator, ${names.at(-1)}: ${error.message}`;
      throw error;
    }
    return undefined;
  }

  return {
    invariant: 'trial-as-modelled',
    observe(observation) {
      if (observation.kind !== 'promised') return undefined;
      return draw.chance(chanceAnAnswer) ? trial() : undefined;
    },
  };
}

function noNode(): never {
  throw new Error('a trial of the coordinator has no copies of nodes');
}
