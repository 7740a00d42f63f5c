/**
 * Fields that random runs alter, and how: of clients' calls, of a malicious coordinator's requests to nodes, and of byzantine
 * nodes' answers. For each field the other side must check a rule.
 */
import type { Alteration, AlterationKind } from '../../../scenarios/faults/vocabulary/fault-parts.ts';
import type { Point } from '../../../scenarios/faults/vocabulary/trigger-points.ts';
import type { StepKind } from '../../../scenarios/runner/format.ts';
import type { Draw } from '../../cluster/draw.ts';

type Fields = Readonly<Record<string, readonly AlterationKind[]>>;

const text = ['empty', 'huge', 'other'] as const;
const bytes = ['empty', 'shorter', 'longer', 'other', 'zero'] as const;
const list = ['empty', 'shorter', 'twice', 'reversed'] as const;
const id = ['zero', 'above', 'below', 'huge'] as const;

const context: Fields = {
  'context.correlation_id': ['huge'],
  'context.traceparent': ['huge'],
  'context.payload': ['huge'],
  'context.client.client_name': ['huge'],
  'context.client.client_version': ['huge'],
};

const ofCalls: Readonly<Partial<Record<StepKind, Fields>>> = {
  initiate_dkg: {
    ...context,
    session_id: ['huge', 'other'],
    threshold: ['zero', 'above', 'below', 'huge'],
    total_nodes: ['zero', 'above', 'below', 'huge'],
    'derivation.curve': ['other', 'empty'],
    'derivation.network_id': ['huge'],
    'derivation.derivation_path': ['other', 'huge'],
  },
  exchange_dkg_shares: {
    ...context,
    session_id: ['empty', 'huge', 'other'],
    sender_node_id: ['zero', 'above', 'huge'],
    recipient_node_id: ['zero', 'above', 'huge'],
    encrypted_share: bytes,
    commitments: ['empty', 'shorter', 'twice', 'reversed'],
    'commitments.0': ['shorter', 'other', 'zero'],
  },
  initiate_signing: {
    ...context,
    transaction_intent_id: text,
    wallet_id: text,
    message_hash: ['empty', 'shorter', 'longer', 'huge', 'other'],
    policy_approval_token: ['huge', 'longer'],
    human_approval_witness: ['huge', 'longer'],
    approval_mode: ['huge', 'above'],
    keystore_type: ['huge', 'above', 'zero'],
    mock_directive: ['huge', 'above'],
    'derivation.curve': ['other'],
    'derivation.network_id': ['huge'],
    'derivation.derivation_path': ['other', 'huge'],
  },
  submit_signature_share: {
    ...context,
    signing_session_id: text,
    node_id: id,
    partial_signature: [...bytes, 'huge'],
    ephemeral_public_key: ['longer', 'huge'],
  },
  resume_session: { ...context, session_id: text, resume_token: text, human_approval_witness: ['huge', 'empty'] },
  inspect_session: { session_id: text },
  read_sessions: { session_id: text, kind: ['huge', 'other'], limit: ['zero', 'above', 'huge'], after_id: ['huge'] },
  preview_partial: { session_id: text, node_id: id },
};

const attempt: Fields = { attempt: ['zero', 'above', 'below'] };
const frame: Fields = { ...attempt, session: ['other'], tenant: ['other'] };
const opening = (at: string): Fields => ({
  [`${at}.dealer`]: id,
  [`${at}.commitments`]: list,
  [`${at}.commitments.0`]: ['shorter', 'other'],
  [`${at}.possession`]: bytes,
  [`${at}.sealing_key`]: bytes,
  [`${at}.signature`]: bytes,
  [`${at}.client_supplied`]: ['other'],
});
const result = (at: string): Fields => ({
  [`${at}.node_id`]: id,
  [`${at}.public_key`]: ['other', 'shorter'],
  [`${at}.verification_shares`]: list,
  [`${at}.chain_code`]: ['other'],
  [`${at}.transcript_digest`]: ['other'],
  [`${at}.signature`]: ['other', 'shorter'],
});

const ofRequests: Readonly<Partial<Record<Point, Fields>>> = {
  deal_nonces: { scheme: ['zero', 'huge'], coordinator_boot: ['empty', 'other'], request: ['zero', 'below'] },
  // The tag names the attempt.
  partial_request: {
    session: ['other'],
    tenant: ['other'],
    scheme: ['zero', 'above', 'below', 'huge'],
    key_session: text,
    derivation_path: ['other', 'huge', 'longer'],
    message: ['empty', 'shorter', 'longer', 'other', 'huge'],
    nonce_number: ['zero', 'above', 'below', 'huge'],
    node_boot: ['other', 'empty'],
    coordinator_boot: ['other', 'empty'],
    signers: list,
    'signers.0.node_id': id,
    'signers.0.hiding': bytes,
    'signers.1.binding': bytes,
    nonce_point: bytes,
    mock_nonce_inverse: bytes,
    order: ['missing'],
    'order.transaction_intent_id': ['other'],
    'order.wallet_service': ['other'],
    'order.keystore_type': ['above'],
    'order.curve': ['other', 'longer'],
    'order.expires_epoch_ms': ['above', 'zero'],
    'order.needs_witness': ['other'],
    'order.mac': bytes,
    'order.witness_mac': bytes,
  },
  dkg_open: {
    ...frame,
    curve: text,
    threshold: id,
    total_nodes: id,
    scheme: ['above', 'huge', 'below'],
    participants: list,
    'participants.0': id,
  },
  dkg_seal: { ...frame, recipients: list, ...opening('recipients.0'), ...opening('recipients.1') },
  dkg_verify: {
    ...frame,
    dealers: list,
    ...opening('dealers.0'),
    ...opening('dealers.1'),
    sealed: list,
    'sealed.0.dealer': id,
    'sealed.0.recipient': id,
    'sealed.0.box': bytes,
    'sealed.0.signature': bytes,
    client_supplied: list,
    'client_supplied.0.dealer': id,
    'client_supplied.0.share': bytes,
  },
  dkg_confirm: { ...frame, results: list, ...result('results.0'), ...result('results.1') },
  dkg_discard: { attempt: ['zero', 'above', 'below'], session: ['other'] },
};

const ofAnswers: Readonly<Partial<Record<Point, Fields>>> = {
  nonces_dealt: {
    scheme: ['zero', 'above', 'huge'],
    node_boot: ['other'],
    coordinator_boot: ['other'],
    nonces: list,
    'nonces.0.number': ['zero', 'above', 'huge'],
    'nonces.0.hiding': bytes,
    'nonces.0.binding': bytes,
    'nonces.0.mock_nonce': bytes,
  },
  partial_reply: {
    node_id: id,
    attempt_tag: ['above', 'zero'],
    'outcome.partial': bytes,
    nonce_point: bytes,
  },
  vendor_settled: { ...attempt, node_id: id, 'outcome.partial': bytes },
  dkg_opened: { ...attempt, request: id, opening: ['missing'], ...opening('opening') },
  dkg_sealed: {
    ...attempt,
    request: id,
    shares: list,
    'shares.0.dealer': id,
    'shares.0.recipient': id,
    'shares.0.box': bytes,
    'shares.0.signature': bytes,
  },
  dkg_verified: {
    ...attempt,
    request: id,
    recipient: id,
    verdicts: list,
    'verdicts.0.dealer': id,
    'verdicts.0.verified': ['other'],
    'verdicts.1.verified': ['other'],
    'verdicts.1.revealed_sealing_key': ['longer'],
    finished: ['missing'],
    ...result('finished'),
  },
  dkg_confirmed: { ...attempt, request: id, node_id: id },
  dkg_refused: { ...attempt, request: id, results: list, ...result('results.0') },
};

/** An alteration of a call of this kind; undefined: there is none. */
export function alterationOfCall(kind: StepKind, draw: Draw): Alteration | undefined {
  const fields = ofCalls[kind];
  return fields && alterationIn(fields, draw);
}

/** An alteration of frames of one point: all have the same probability. */
export type FrameAlteration = Alteration & { readonly point: Point };

export const alteredRequests = listed(ofRequests);
export const alteredAnswers = listed(ofAnswers);

function listed(ofFrames: Readonly<Partial<Record<Point, Fields>>>): readonly FrameAlteration[] {
  return Object.entries(ofFrames).flatMap(([point, fields]) =>
    Object.entries(fields).flatMap(([field, changes]) =>
      changes.map((change) => ({ point: point as Point, field, change })),
    ),
  );
}

function alterationIn(fields: Fields, draw: Draw): Alteration {
  const [field, changes] = draw.pick(Object.entries(fields));
  return { field, change: draw.pick(changes) };
}
