/**
 * The profiles of chaos: what each does to a cluster, and how its faults are drawn. Every fault begins at a count of requests or
 * frames, never at a time, so that one plan serves every world. Nodes that fail or lie are always the same ones, `weak`: at most
 * n − t of n, so that the others can sign. No store is lost.
 */
import type { Fault } from '../../scenarios/faults/vocabulary/generated-types.ts';
import { liePoints } from '../../scenarios/faults/vocabulary/kinds.ts';
import type { Point } from '../../scenarios/faults/vocabulary/trigger-points.ts';
import type { Draw } from '../cluster/draw.ts';

export interface ChaosDraw {
  readonly draw: Draw;
  /** `node/3`: the nodes that may fail, none where n = t. */
  readonly weak: readonly string[];
}

type Maker = (context: ChaosDraw) => Fault;

export interface ChaosProfileOf {
  /** One sentence for docs, help and the console. */
  readonly about: string;
  /** At least and at most. */
  readonly faults: readonly [number, number];
  readonly makers: readonly Maker[];
}

/** The nth of a run: early ones are likely, since many tests make few calls. */
const nth = ({ draw }: ChaosDraw) => draw.int(1, draw.pick([3, 8, 25]));
const few = ({ draw }: ChaosDraw) => draw.int(1, 3);

const ofNode: readonly Point[] = ['partial_request', 'partial_reply', 'dkg_opened', 'dkg_sealed', 'dkg_verified'];
const ofGateway: readonly Point[] = ['call', 'call_reply'];

/** Some frames of a link, from the nth on. */
const frames =
  (kind: 'delay' | 'drop' | 'duplicate' | 'reorder' | 'hold'): Maker =>
  (context) => {
    const { draw, weak } = context;
    const isNode = weak.length > 0 && draw.chance(0.7);
    const about = {
      target: isNode ? draw.pick(weak) : 'gateway',
      at: { point: draw.pick(isNode ? ofNode : ofGateway), nth: nth(context) },
    };
    switch (kind) {
      case 'delay':
        return { fault: kind, ...about, count: few(context), by_ms: draw.pick([20, 200, 2_000]) };
      case 'reorder':
        return { fault: kind, ...about, count: few(context), within_ms: draw.pick([30, 300]) };
      case 'hold':
        return { fault: kind, ...about, for_ms: draw.pick([100, 1_000]) };
      default:
        return { fault: kind, ...about, count: few(context) };
    }
  };

/** Some requests, from the nth on. */
const answers =
  (kind: 'answer_lost' | 'answer_cut' | 'answer_slow' | 'answer_status'): Maker =>
  (context) => {
    const { draw } = context;
    const about = { at: { nth: nth(context) }, count: few(context) };
    if (kind === 'answer_slow') return { fault: kind, ...about, by_ms: draw.pick([100, 1_000, 5_000]) };
    if (kind !== 'answer_status') return { fault: kind, ...about };
    const status = draw.pick([429, 500, 503] as const);
    return { fault: kind, ...about, status, ...(status !== 500 && { retry_after_s: 1 }) };
  };

/** A process, and its frame or the call at which the fault begins. */
const processOf = (context: ChaosDraw) => {
  const { draw, weak } = context;
  const target = draw.pick([...weak, ...weak, 'coordinator', 'gateway', 'worker']);
  const point = draw.pick(target.startsWith('node/') ? ofNode : ofGateway);
  return { target, at: { point, nth: nth(context) } };
};
const crash: Maker = (context) => ({
  fault: 'crash',
  ...processOf(context),
  restart_after_ms: context.draw.pick([0, 100, 1_000]),
});
const pause: Maker = (context) => ({ fault: 'pause', ...processOf(context), for_ms: context.draw.pick([100, 1_000]) });
const cutOff =
  (kind: 'partition' | 'half_open'): Maker =>
  (context) => {
    const { target, at } = processOf(context);
    const linked = target === 'worker' ? 'gateway' : target;
    return { fault: kind, target: linked, at, for_ms: context.draw.pick([200, 2_000]) };
  };

/** Conditions of the service, from the nth call on. */
const at = (context: ChaosDraw) => ({ at: { point: 'call' as const, nth: nth(context) } });
const redisGone: Maker = (context) => ({
  fault: 'redis_gone',
  ...at(context),
  for_ms: context.draw.pick([100, 1_000]),
});
const workerStalled: Maker = (context) => ({
  fault: 'worker_stalled',
  ...at(context),
  for_ms: context.draw.pick([1_000, 5_000]),
});
const receiver =
  (kind: 'receiver_status' | 'receiver_slow' | 'receiver_reset'): Maker =>
  (context) => {
    const { draw } = context;
    const during = { ...at(context), for_ms: draw.pick([1_000, 5_000]) };
    if (kind === 'receiver_status') return { fault: kind, ...during, status: draw.pick([429, 500, 503]) };
    if (kind === 'receiver_slow') return { fault: kind, ...during, by_ms: draw.pick([500, 3_000]) };
    return { fault: kind, ...during };
  };
const vendor: Maker = (context) => {
  const by = context.draw.pick(['delay', 'answers_twice', 'callback_lost', 'unavailable'] as const);
  return { fault: 'vendor_fails', by, ...at(context), for_ms: 5_000, ...(by === 'delay' && { by_ms: 5_000 }) };
};
const provider: Maker = (context) => {
  const by = context.draw.pick(['late', 'twice', 'never', 'lost', 'refuses'] as const);
  return { fault: 'provider_fails', by, count: few(context), ...(by === 'late' && { by_ms: 5_000 }) };
};

const lies = ['bad_partial', 'bad_share', 'bad_commitment', 'bad_proof', 'withhold', 'equivocate'] as const;
const lie: Maker = (context) => {
  const { draw, weak } = context;
  const kind = draw.pick(lies);
  const point = draw.pick(liePoints[kind].filter((each) => each !== 'nonces_dealt'));
  return { fault: kind, target: draw.pick(weak), at: { point, nth: draw.int(1, 3) }, count: few(context) };
};

export const chaosProfiles = {
  calm: {
    about: 'some frames and answers are late; nothing is lost',
    faults: [1, 4],
    makers: [frames('delay'), frames('reorder'), answers('answer_slow')],
  },
  'flaky-network': {
    about:
      'frames are lost, late, doubled, held or out of order, links break, and answers of the API are lost, cut or late',
    faults: [3, 8],
    makers: [
      ...(['delay', 'drop', 'duplicate', 'reorder', 'hold'] as const).map(frames),
      ...(['answer_lost', 'answer_cut', 'answer_slow'] as const).map(answers),
      cutOff('partition'),
      cutOff('half_open'),
    ],
  },
  stormy: {
    about:
      'processes crash and pause, Redis is away, the API refuses requests, and receivers of webhooks fail; every node is honest',
    faults: [3, 8],
    makers: [
      crash,
      crash,
      pause,
      redisGone,
      workerStalled,
      answers('answer_status'),
      answers('answer_lost'),
      ...(['receiver_status', 'receiver_reset'] as const).map(receiver),
    ],
  },
  byzantine: {
    about: 'up to n − t nodes lie or are silent: wrong shares, proofs and partial signatures',
    faults: [2, 6],
    makers: [lie],
  },
  'slow-custodian': {
    about: 'custodians and the signing vendor answer late, twice or not at all, and webhooks arrive late',
    faults: [2, 6],
    makers: [
      provider,
      provider,
      vendor,
      workerStalled,
      answers('answer_slow'),
      ...(['receiver_slow', 'receiver_status'] as const).map(receiver),
    ],
  },
} as const satisfies Readonly<Record<string, ChaosProfileOf>>;

export type ChaosProfile = keyof typeof chaosProfiles;
export const chaosProfileNames = Object.keys(chaosProfiles) as readonly ChaosProfile[];
