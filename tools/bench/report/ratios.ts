/**
 * The aims as ratios to the references of the same run: the bare floor, our own cryptography, @noble/curves, a bare Fastify
 * route, a bare BullMQ queue. Rates vary with other load on the machine; so each ratio of rates comes with the ratio of CPU per
 * ceremony, where both sides have one.
 */
import type { SigningCurve } from '../../../clients/load/calls/signing-caller.ts';
import type { DkgPhase, Phase, Results, Target } from './results.ts';

export interface RatioInput
  extends Pick<Results, 'signing' | 'floor' | 'dkg' | 'operations' | 'deliveries' | 'bare' | 'references'> {
  readonly cores: number;
}

/** The aims that this run has measured. */
export function ratiosOf(measured: RatioInput): Target[] {
  return [...signingRatios(measured), ...dkgRatios(measured), ...otherRatios(measured)];
}

function signingRatios({ signing, floor, cores }: RatioInput): Target[] {
  const find = (door: string, scheme: string, inFlight: number) =>
    signing.find((phase) => phase.door === door && phase.scheme === scheme && phase.inFlight === inFlight);
  const bare = (inFlight: number) => floor?.ecdsa.find((phase) => phase.inFlight === inFlight);
  const targets: Target[] = [];
  for (const [door, where, least] of [
    ['rest', 'through REST', 0.4],
    ['coordinator', 'at the coordinator alone', 0.6],
  ] as const) {
    const ours = find(door, 'ecdsa', 64);
    const beside = bare(64);
    if (ours === undefined || beside === undefined) continue;
    const cpu = beside.cpuMsPerCeremony / ours.cpuMsPerCeremony;
    targets.push(
      share(`mock ECDSA ${where}, 64 in flight`, 'the bare floor', ours.perSecond / beside.perSecond, least, cpu),
    );
  }
  const alone = find('rest', 'ecdsa', 1);
  const floorAlone = bare(1);
  if (alone !== undefined && floorAlone !== undefined) {
    const times = alone.latency.p50 / floorAlone.latency.p50;
    targets.push({
      name: 'p50 of mock ECDSA through REST, 1 in flight',
      aim: 'at most 3 times that of the bare floor',
      got: `${times.toFixed(2)} times`,
      met: times <= 3,
    });
  }
  const frost = find('rest', 'ed25519', 64);
  if (frost !== undefined && floor?.frost !== undefined) {
    const { perSecond, cpuMs } = floor.frost;
    const rate = frost.perSecond / (perSecond * cores);
    const name = 'FROST-ed25519 through REST, 64 in flight';
    targets.push(share(name, `our cryptography alone on ${cores} cores`, rate, 0.75, cpuMs / frost.cpuMsPerCeremony));
  }
  return targets;
}

/**
 * Keys per CPU second of the service, in keys per CPU second of @noble/curves: it does the same work, and does not change with
 * ours. At commit 9776c81 they were 4.6 on secp256k1 and 22 on ed25519; the aim is twice that.
 */
const keysAtFirst: Readonly<Record<SigningCurve, number>> = { secp256k1: 4.6, ed25519: 22 };

function dkgRatios({ dkg, references }: RatioInput): Target[] {
  return Object.entries(keysAtFirst).flatMap(([curve, first]): Target[] => {
    const best = dkg.filter((phase) => phase.curve === curve).reduce<DkgPhase | undefined>(cheaper, undefined);
    const noble = references?.noble.find(({ suite }) => suite.includes(curve));
    if (best === undefined || noble === undefined) return [];
    const ratio = noble.dkg.cpuMs / best.cpuMsPerCeremony;
    const least = 2 * first;
    const name = `DKG on ${curve} per CPU second`;
    const aim = `${least.toFixed(1)} times @noble/curves or more (twice the first figures)`;
    return [{ name, aim, got: `${ratio.toFixed(1)} times`, met: ratio >= least }];
  });
}

function cheaper<P extends Phase>(a: P | undefined, b: P): P {
  return a === undefined || b.cpuMsPerCeremony < a.cpuMsPerCeremony ? b : a;
}

function otherRatios({ signing, operations, deliveries, bare }: RatioInput): Target[] {
  const targets: Target[] = [];
  if (deliveries !== undefined) {
    const rate = deliveries.drain.perSecond / deliveries.bullmq.perSecond;
    targets.push(share('deliveries to one webhook', 'a bare BullMQ queue', rate, 0.35));
  }
  const busiest = (beginning: string) => operations.filter(({ name }) => name.startsWith(beginning)).at(-1);
  const read = busiest('GET one wallet');
  const route = bare?.fastify.find(({ inFlight }) => inFlight === read?.inFlight);
  if (read !== undefined && route !== undefined) {
    const name = `reading a wallet, ${read.inFlight} in flight`;
    targets.push(share(name, 'a bare Fastify route', read.perSecond / route.perSecond, 0.4));
  }
  const transfer = busiest('an intent to its provider_tx_id');
  const signature = signing.find(
    ({ door, scheme, inFlight }) => door === 'rest' && scheme === 'ecdsa' && inFlight === transfer?.inFlight,
  );
  if (transfer !== undefined && signature !== undefined) {
    const name = `self_hosted transfers, ${transfer.inFlight} in flight`;
    const cpu = signature.cpuMsPerCeremony / transfer.cpuMsPerCeremony;
    targets.push(share(name, 'signatures through REST', transfer.perSecond / signature.perSecond, 0.35, cpu));
  }
  return targets;
}

/** `cpu`: of the reference below to ours, per ceremony; the ratio that other programs on the machine do not change. */
function share(name: string, below: string, rate: number, least: number, cpu?: number): Target {
  const got = `${rate.toFixed(2)}${cpu === undefined ? '' : ` (by CPU ${cpu.toFixed(2)})`}`;
  return { name, aim: `${least.toFixed(2)} of ${below}`, got, met: rate >= least };
}
