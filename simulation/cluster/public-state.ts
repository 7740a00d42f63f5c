/**
 * The part of an actor's state that reports may show: phases, numbers, node ids. It contains no share, nonce, token or key, and
 * this file reads nothing that could be secret.
 *
 * The states belong to their actors. This file repeats the types of the fields that it reads, so that only it must follow when
 * one changes.
 */

import { boxCount, type DkgCeremonyState as DkgSessionState } from '../../coordinator/dkg/state.ts';
import { askedOf, type SigningState, attemptOf as signingAttemptOf } from '../../coordinator/signing/public.ts';
import type { Address } from '../../core/actors/contract.ts';
import { attemptOf, type DkgState } from '../../nodes/dkg/state.ts';
import type { SignerState } from '../../nodes/signer/signer-state.ts';
import type { VendorOrderActorState } from '../../nodes/vendor/order-actor.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';

export type PublicState = Pick<Extract<RunEvent, { kind: 'state' }>, 'state' | 'fields'>;

/** undefined: this actor has nothing to show. */
export function publicState(address: Address, state: unknown): PublicState | undefined {
  const [first = '', second, third] = address.split('/');
  if (first === 'signing') return signingState(state as SigningState);
  if (first === 'dkg') return dkgSessionState(state as DkgSessionState);
  if (first === 'cluster') return clusterState(state as ClusterState);
  if (first !== 'node' || second === undefined) return undefined;
  if (third === 'vendor') return vendorOrderState(state as VendorOrderActorState);
  return third === 'dkg' ? nodeDkgState(state as DkgState) : signerState(state as SignerState);
}

function signingState(state: SigningState): PublicState {
  if (state.phase !== 'open') return { state: state.phase, fields: {} };
  const { record, work } = state;
  const { round, nodes, queue } = work;
  const attempt = signingAttemptOf(round);
  return {
    state: ReceiptState[record.state],
    fields: {
      reason: record.reasonCode,
      epoch: record.epoch,
      attempt: attempt?.number ?? round.history.attempts,
      signers: sorted(attempt?.nonces.map(({ nodeId }) => nodeId) ?? []),
      asked: sorted(askedOf(round)),
      partials: sorted(attempt?.partials.keys() ?? []),
      silent: sorted(nodes.silent),
      unable: sorted(nodes.unable.keys()),
      excluded: sorted(record.ceremony.excluded),
      calls: queue.inbox.length + queue.gathers.length + queue.steps.size + queue.offers.length,
    },
  };
}

function dkgSessionState(state: DkgSessionState): PublicState {
  if (state.phase !== 'open') return { state: state.phase, fields: {} };
  const { record, work } = state;
  const { ceremony } = record;
  return {
    state: ReceiptState[record.state],
    fields: {
      reason: record.reasonCode,
      epoch: record.epoch,
      attempt: ceremony.attempt,
      opened: sorted(work.openings.keys()),
      boxes: boxCount(work),
      verified: work.verified.size,
      pairs: ceremony.totalNodes * ceremony.totalNodes,
      finished: sorted(work.finished.keys()),
      confirmed: sorted(work.confirmed),
      asked: [...work.flights].sort(),
      played: sorted(Object.keys(ceremony.played).map(Number)),
      calls: work.inbox.length + work.jobs.length,
    },
  };
}

/** The fields read of the actor "cluster". */
interface ClusterState {
  readonly ready: ReadonlyMap<number, unknown>;
  readonly pools: { readonly pools: ReadonlyMap<string, { readonly nonces: readonly unknown[] }> };
  readonly draws: ReadonlyMap<Address, unknown>;
  readonly storeReady: boolean;
}

function clusterState({ ready, pools, draws, storeReady }: ClusterState): PublicState {
  const depths = [...pools.pools].map(([key, { nonces }]) => `${key}: ${nonces.length}`).sort();
  return {
    state: `${ready.size} ready`,
    fields: { ready: sorted(ready.keys()), pools: depths, waiting: [...draws.keys()].sort(), store_ready: storeReady },
  };
}

function nodeDkgState(state: DkgState): PublicState {
  return { state: state.phase, fields: { attempt: attemptOf(state) } };
}

function vendorOrderState({ record, waiting }: VendorOrderActorState): PublicState {
  const { phase = 'none', ordinal = 0, end = '', noted = false } = record ?? {};
  return { state: phase, fields: { ordinal, end, noted, requests_waiting: waiting.length } };
}

function signerState({ pools, waiting }: SignerState): PublicState {
  return {
    state: 'ready',
    fields: {
      mock_nonces: pools.waiting(Scheme.MOCK_ECDSA),
      ed25519_nonces: pools.waiting(Scheme.FROST_ED25519),
      bip340_nonces: pools.waiting(Scheme.FROST_BIP340),
      requests_waiting: waiting.count,
    },
  };
}

function sorted(ids: Iterable<number>): number[] {
  return [...ids].sort((a, b) => a - b);
}
