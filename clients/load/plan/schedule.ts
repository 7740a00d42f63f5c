/**
 * The arrival times of operations in an open stage, in milliseconds from its beginning. They depend only on the stage, never on
 * an answer: latency that is counted from them omits no wait (coordinated omission).
 *
 * The rate is linear in pieces, so the expected arrivals until t are a quadratic N(t) in each; the k-th arrival is at the inverse
 * of N. Even arrivals invert whole numbers; Poisson arrivals invert sums of exponential steps, which gives an inhomogeneous
 * Poisson process of that rate.
 */
import { type ArrivalKind, type LoadStage, planLimits, type RunStage } from './plan.ts';

export type OpenStage = Exclude<RunStage, { readonly shape: 'closed' }>;

/** From rate `a` to rate `b`, in arrivals a millisecond. */
interface Piece {
  readonly beginMs: number;
  readonly forMs: number;
  readonly a: number;
  readonly b: number;
}

/** `closedRate`: operations a second that the last closed stage reached. The rate keeps within the limits of a plan. */
export function withRate(stage: LoadStage, closedRate: number): RunStage {
  if (stage.shape !== 'times') return stage;
  const { name, forMs, times } = stage;
  const { rateMax, arrivalsMax } = planLimits;
  const rate = Math.min(times * closedRate, rateMax, (arrivalsMax * 1000) / forMs);
  return { name, forMs, shape: 'constant', rate: Math.round(rate * 10) / 10 };
}

/** Arrival times of a stage, ascending, each below its length. `random`: from 0 to below 1; only Poisson draws it. */
export function* arrivalTimes(stage: OpenStage, kind: ArrivalKind, random: () => number): Generator<number, void> {
  let before = 0;
  let next = kind === 'even' ? 0 : step(random);
  for (const piece of piecesOf(stage)) {
    const within = ((piece.a + piece.b) / 2) * piece.forMs;
    while (next - before < within) {
      yield piece.beginMs + inverse(piece, next - before);
      next += kind === 'even' ? 1 : step(random);
    }
    before += within;
  }
}

/** The arrivals of a stage: expected ones, not rounded. */
export function expectedArrivals(stage: OpenStage): number {
  return piecesOf(stage).reduce((sum, { a, b, forMs }) => sum + ((a + b) / 2) * forMs, 0);
}

export function piecesOf(stage: OpenStage): readonly Piece[] {
  const { forMs } = stage;
  const rate = stage.rate / 1000;
  if (stage.shape === 'ramp') return [{ beginMs: 0, forMs, a: rate, b: stage.rampTo / 1000 }];
  if (stage.shape === 'spike') {
    const third = forMs / 3;
    const peak = stage.spikeTo / 1000;
    return [rate, peak, rate].map((each, index) => ({ beginMs: index * third, forMs: third, a: each, b: each }));
  }
  return [{ beginMs: 0, forMs, a: rate, b: rate }];
}

/** Arrivals a second that are expected at a time of the stage, in milliseconds from its beginning. */
export function rateAt(stage: OpenStage, atMs: number): number {
  const pieces = piecesOf(stage);
  const piece = pieces.findLast(({ beginMs }) => beginMs <= atMs) ?? pieces[0]!;
  const { beginMs, forMs, a, b } = piece;
  const part = Math.min(1, Math.max(0, (atMs - beginMs) / forMs));
  return 1_000 * a + 1_000 * (b - a) * part;
}

/** The time at which `count` arrivals of the piece are expected: 2n / (a + √(a² + 2sn)), stable where the slope s is 0. */
function inverse({ a, b, forMs }: Piece, count: number): number {
  if (count === 0) return 0;
  const slope = (b - a) / forMs;
  return (2 * count) / (a + Math.sqrt(Math.max(0, a * a + 2 * slope * count)));
}

function step(random: () => number): number {
  return -Math.log(1 - random());
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
