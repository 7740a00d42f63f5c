/** Frames and faults for tests of the engine alone. */

import { Scheme } from '../../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBodyInit } from '../../../../proto/wire.ts';
import type { FaultEngineOptions } from '../../../../scenarios/faults/engine.ts';
import type { FrameInTransit } from '../../../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault, FaultKind, FaultOf } from '../../../../scenarios/faults/vocabulary/fault.ts';
import type { Point } from '../../../../scenarios/faults/vocabulary/trigger-points.ts';
import { throughCodec } from '../../../../simulation/cluster/frame-codec.ts';
import { randomStream } from '../../../../simulation/cluster/random.ts';

const nodesTotal = 5;

/** A cluster of five. */
export function optionsFor(more: Partial<FaultEngineOptions> & { readonly seed?: string } = {}): FaultEngineOptions {
  const { seed = 'engine', ...rest } = more;
  const publicKey = new Uint8Array(32);
  const nodes = Array.from({ length: nodesTotal }, (_, index) => ({ id: index + 1, publicKey }));
  return {
    nodesTotal,
    random: randomStream(seed, 'faults'),
    roster: { clusterId: 'test', coordinator: publicKey, gateway: publicKey, nodes },
    identitySeed: (id) => new Uint8Array(32).fill(id),
    world: 'simulated',
    ...rest,
  };
}

const none = new Uint8Array();
const secret = (text: string) => Uint8Array.from(Buffer.from(`SECRET ${text}`.padEnd(32, '.')));

/** A frame of each kind, as full of secrets as it can be. */
function bodyAt(point: Point, nodeId: number, session: string): WireBodyInit {
  const opening = {
    dealer: nodeId,
    commitments: [],
    possession: none,
    sealingKey: none,
    signature: none,
    clientSupplied: false,
  };
  switch (point) {
    case 'call':
      return {
        case: 'call',
        value: {
          callId: 1n,
          request: {
            case: 'submitSignatureShare',
            value: { signingSessionId: session, nodeId, partialSignature: secret('given partial') },
          },
        },
      };
    case 'call_reply':
      return {
        case: 'callReply',
        value: {
          callId: 1n,
          outcome: {
            case: 'submitSignatureShare',
            value: { signingSessionId: session, fullSignature: secret('signature') },
          },
        },
      };
    case 'cluster_status':
      return { case: 'clusterStatus', value: { nodesTotal, nodesReady: [1, 2, 3], storeReady: true } };
    case 'deal_nonces':
      return { case: 'dealNonces', value: { scheme: Scheme.MOCK_ECDSA, count: 32, coordinatorBoot: 'c#1' } };
    case 'nonces_dealt': {
      const nonces = [{ number: 1n, hiding: none, binding: none, mockNonce: secret('nonce') }];
      return {
        case: 'noncesDealt',
        value: { scheme: Scheme.MOCK_ECDSA, nodeBoot: 'n#1', coordinatorBoot: 'c#1', nonces },
      };
    }
    case 'partial_request': {
      const value = {
        scheme: Scheme.MOCK_ECDSA,
        keySession: 'k',
        message: secret('message'),
        nonceNumber: 12n,
        attemptTag: 7n,
      };
      return { case: 'partialRequest', value: { ...value, mockNonceInverse: secret('inverse') } };
    }
    case 'partial_reply':
      return {
        case: 'partialReply',
        value: { nodeId, attemptTag: 7n, outcome: { case: 'partial', value: secret('partial') } },
      };
    case 'vendor_settled':
      return { case: 'vendorSettled', value: { nodeId, outcome: { case: 'partial', value: secret('partial') } } };
    case 'vendor_noted':
      return { case: 'vendorNoted', value: {} };
    case 'dkg_open':
      return { case: 'dkgOpen', value: { curve: 'secp256k1', threshold: 2, totalNodes: 3, participants: [1, 2, 3] } };
    case 'dkg_opened':
      return { case: 'dkgOpened', value: { opening } };
    case 'dkg_seal':
      return { case: 'dkgSeal', value: { recipients: [opening] } };
    case 'dkg_sealed':
      return {
        case: 'dkgSealed',
        value: { shares: [{ dealer: nodeId, recipient: 1, box: secret('box'), signature: none }] },
      };
    case 'dkg_verify':
      return {
        case: 'dkgVerify',
        value: { dealers: [opening], sealed: [], clientSupplied: [{ dealer: nodeId, share: secret('share') }] },
      };
    case 'dkg_verified': {
      const verdict = {
        dealer: 1,
        verified: false,
        code: 'SHARE_INVALID',
        message: 'SECRET',
        revealedSealingKey: secret('key'),
      };
      return { case: 'dkgVerified', value: { recipient: nodeId, verdicts: [verdict] } };
    }
    case 'dkg_confirm':
      return { case: 'dkgConfirm', value: { results: [] } };
    case 'dkg_confirmed':
      return { case: 'dkgConfirmed', value: { nodeId } };
    case 'dkg_discard':
      return { case: 'dkgDiscard', value: {} };
    case 'dkg_refused':
      return { case: 'dkgRefused', value: { nodeId, code: 'NOT_OPEN', message: 'SECRET', culprits: [] } };
  }
}

const outPoints: readonly Point[] = [
  'call',
  'nonces_dealt',
  'partial_reply',
  'dkg_opened',
  'dkg_sealed',
  'dkg_verified',
  'dkg_confirmed',
  'dkg_refused',
];

/**
 * A frame of this kind on a peer's link, in the direction that it has. A call names its session in its bytes. Complete, as both
 * worlds give it to the engine: a field that the body leaves out has its zero value.
 */
export function frameAt(point: Point, peer: string, session = 's'): FrameInTransit {
  const direction = outPoints.includes(point) ? 'out' : 'in';
  const isCall = point === 'call' || point === 'call_reply';
  const own = isCall ? '' : session;
  const [from, to] = direction === 'out' ? [peer, 'coordinator'] : ['coordinator', peer];
  const message = { tenant: 'tn', session: own, attempt: 1, body: bodyAt(point, Number(peer.slice(5)) || 1, session) };
  return {
    peer,
    direction,
    point,
    envelope: throughCodec({ from, to, message, trace: { correlationId: '', traceparent: '' } }, 'none').envelope,
  };
}

/** One fault of every kind. */
export const samples: { readonly [K in FaultKind]: FaultOf<K> & Fault } = {
  crash: { fault: 'crash', target: 'node/2', at: { point: 'partial_reply', nth: 3 } },
  pause: { fault: 'pause', target: 'node/1', for_ms: 100 },
  slow: { fault: 'slow', target: 'node/1', by_ms: 10 },
  delay: { fault: 'delay', target: 'node/1', max_ms: 10 },
  drop: { fault: 'drop', target: ['node/1', 'gateway'], direction: 'in' },
  duplicate: { fault: 'duplicate', target: 'node/1', copies: 2 },
  reorder: { fault: 'reorder', target: 'coordinator', within_ms: 10 },
  partition: { fault: 'partition', target: 'node/*', for_ms: 10 },
  hold: { fault: 'hold', target: 'node/1' },
  half_open: { fault: 'half_open', target: 'node/1' },
  corrupt: { fault: 'corrupt', target: 'node/1' },
  truncate: { fault: 'truncate', target: 'node/1' },
  bad_share: { fault: 'bad_share', target: 'node/1', for: [2, 3] },
  bad_commitment: { fault: 'bad_commitment', target: 'node/1' },
  bad_proof: { fault: 'bad_proof', target: 'node/1' },
  bad_partial: { fault: 'bad_partial', target: 'node/1' },
  equivocate: { fault: 'equivocate', target: 'node/1' },
  withhold: { fault: 'withhold', target: 'node/1', at: { point: 'partial_reply' } },
  stale_replay: { fault: 'stale_replay', target: 'node/1' },
  false_report: { fault: 'false_report', target: 'node/1', about: 2 },
  false_refusal: { fault: 'false_refusal', target: 'node/1', code: 'ALREADY_FINAL' },
  altered_answer: { fault: 'altered_answer', target: 'node/1', field: 'node_id', change: 'above' },
  altered_request: { fault: 'altered_request', target: 'coordinator', field: 'attempt', change: 'above' },
  early_confirm: { fault: 'early_confirm', target: 'node/1' },
  bad_nonces: { fault: 'bad_nonces', target: 'node/1', how: 'identity' },
  other_message: { fault: 'other_message', target: 'coordinator', for: [1, 2] },
  false_order: { fault: 'false_order', target: 'coordinator', how: 'none' },
  other_scheme: { fault: 'other_scheme', target: 'coordinator' },
  other_signers: { fault: 'other_signers', target: 'coordinator' },
  reuse_nonce: { fault: 'reuse_nonce', target: 'coordinator' },
  substitute_opening: { fault: 'substitute_opening', target: 'coordinator' },
  supply_dealers: { fault: 'supply_dealers', target: 'coordinator' },
  split_confirm: { fault: 'split_confirm', target: 'coordinator', for: [3] },
  second_process: { fault: 'second_process', target: 'node/1' },
  second_coordinator: { fault: 'second_coordinator', target: 'coordinator', for_ms: 100 },
  clock_skew: { fault: 'clock_skew', target: 'node/1', by_ms: 10 },
  clock_jump: { fault: 'clock_jump', target: 'node/1', by_ms: 10, at: { after_ms: 10 } },
  store_lost: { fault: 'store_lost', target: 'node/1', count: 1 },
  store_unanswered: { fault: 'store_unanswered', target: 'node/1' },
  store_slow: { fault: 'store_slow', target: 'node/1', by_ms: 10 },
  store_tampered: { fault: 'store_tampered', target: 'coordinator', for_ms: 10 },
  store_full: { fault: 'store_full', target: 'coordinator', for_ms: 10 },
  store_failing: { fault: 'store_failing', target: 'coordinator' },
  provider_fails: { fault: 'provider_fails', by: 'twice', for_ms: 100 },
  vendor_fails: { fault: 'vendor_fails', by: 'lies', for_ms: 100 },
  hsm_fails: { fault: 'hsm_fails', target: 'node/1', by: 'pin_refused', for_ms: 100 },
  rollback: { fault: 'rollback', target: 'node/1', at: { after_ms: 10 } },
  redis_gone: { fault: 'redis_gone', for_ms: 10 },
  worker_stalled: { fault: 'worker_stalled', for_ms: 10 },
  double_delivery: { fault: 'double_delivery' },
  poison_job: { fault: 'poison_job' },
  receiver_status: { fault: 'receiver_status', status: 500 },
  receiver_slow: { fault: 'receiver_slow', by_ms: 10 },
  receiver_reset: { fault: 'receiver_reset' },
  answer_lost: { fault: 'answer_lost', route: 'POST /v1/wallets' },
  answer_slow: { fault: 'answer_slow', by_ms: 100 },
  answer_status: { fault: 'answer_status', status: 503 },
  answer_cut: { fault: 'answer_cut', rpc: 'InitiateSigning' },
  force_receipt: { fault: 'force_receipt', state: 'DENIED' },
};
