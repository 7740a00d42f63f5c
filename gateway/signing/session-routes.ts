/** /v1/sessions: what a client may read of the sessions of its tenant, its own and those of the wallet control plane. */
import Type, { type Static } from 'typebox';
import { enumName, enumNames } from '../../proto/enum-names.ts';
import type { SessionView } from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import {
  ApprovalModeSchema,
  KeystoreTypeSchema,
  ReceiptState,
  ReceiptStateSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { SessionPlace } from '../../proto/session-list.ts';
import { timestamp } from '../../proto/timestamps.ts';
import { internalError } from '../api/errors/service-error.ts';
import { readPage } from '../api/pages.ts';
import { type RequestContext, type Route, route } from '../api/route.ts';
import { Closed, ContractEnum, ListOf, Nullable, OneOf, PathId, pageQuery, Timestamp } from '../api/schema-kit.ts';
import { noSuch } from '../api/visibility.ts';
import type { SessionReads } from './session-reads.ts';

const common = { tag: 'Signing', scope: 'signing:read' } as const;

const kinds = ['dkg', 'signing'] as const;
const allStates = Object.values(ReceiptState).filter((state) => typeof state === 'number');
const states = enumNames(ReceiptStateSchema);
const Nodes = (description: string) => Type.Array(Type.Integer({ minimum: 1 }), { description });

export const Session = Closed(
  {
    id: Type.String({ description: 'of a signature `sig_…`, of a wallet’s key the wallet’s id' }),
    kind: OneOf(kinds),
    requested_by: OneOf(['client', 'wallet_service'], {
      description: '`wallet_service`: for a wallet’s transaction intent, or a vault',
    }),
    state: OneOf(states, { description: 'as in receipts' }),
    reason_code: Type.String({ description: 'the reason for its state: docs/reason-codes.md' }),
    message: Type.String(),
    resumable: Type.Boolean(),
    epoch: Type.Integer({ minimum: 1 }),
    checkpoint_id: Type.String(),
    approval_mode: OneOf(enumNames(ApprovalModeSchema)),
    keystore_type: OneOf(enumNames(KeystoreTypeSchema)),
    backend_route: Type.String({ description: 'docs/keystores.md lists them' }),
    correlation_id: Type.String(),
    curve: Nullable(Type.String({ description: 'null: its key was not looked up' })),
    network_id: Nullable(Type.String()),
    culprits: Nodes('nodes that it blames; of a signature all that were excluded'),
    intent_id: Nullable(Type.String({ description: 'of a signature' })),
    key_id: Nullable(Type.String({ description: 'of a signature: the session, wallet or vault key whose key signs' })),
    derivation_path: Nullable(Type.String({ description: 'of a signature' })),
    message_sha256: Nullable(Type.String({ description: 'of a signature: SHA-256 of what is signed, lowercase hex' })),
    submitted: Nodes('of a signature: nodes whose partial is in'),
    signature: Nullable(Type.String({ description: 'of a signature that is complete: lowercase hex' })),
    recovery_id: Nullable(Type.Integer({ description: 'of a mock ECDSA signature: 0 to 3' })),
    threshold: Nullable(Type.Integer({ description: 'of a key' })),
    total_nodes: Nullable(Type.Integer({ description: 'of a key' })),
    public_key: Nullable(Type.String({ description: 'of a key that was made: compressed, lowercase hex' })),
    created_at: Timestamp,
    changed_at: Timestamp,
    expires_at: Timestamp,
  },
  { title: 'Session' },
);

const query = Closed({
  kind: Type.Optional(OneOf(kinds)),
  state: Type.Optional(
    ContractEnum(ReceiptStateSchema, states, {
      description: 'e.g. RECEIPT_STATE_PENDING_HUMAN_APPROVAL: what waits for a person',
    }),
  ),
  ...pageQuery,
});

export function sessionReadRoutes(reads: SessionReads): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/sessions',
      operationId: 'listSessions',
      clientName: 'sessions.list',
      summary: 'List sessions: keys and signatures, newest first',
      description:
        'Sessions are kept for 31 days after their last change. A page may hold fewer than `limit` while `has_more` is true. ' +
        'Sessions that began before an update to this version are not listed.',
      query,
      responses: { 200: { description: 'A page of sessions', schema: ListOf('sessions', Session) } },
      handle: async (context, input) => ({ status: 200, body: await listSessions(context, reads, input.query) }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/sessions/:id',
      operationId: 'getSession',
      clientName: 'sessions.get',
      summary: 'Read a session: its state, and its signature or public key',
      description:
        'As it was told last. The receipts of its changes are its events: `GET /v1/events?resource_id=<id>`. It carries no ' +
        'resume token: that is in the answers of the signing API alone.',
      params: Closed({ id: PathId('session id: of a key, a wallet, or a signature') }),
      responses: { 200: { description: 'The session', schema: Session } },
      errors: [404, 409],
      handle: async (context, { params }) => {
        const found = await reads.one(context, params.id);
        if (found === undefined) throw noSuch('session');
        return { status: 200, body: view(found) };
      },
    }),
  ];
}

async function listSessions(context: RequestContext, reads: SessionReads, asked: Static<typeof query>) {
  const request = readPage(context, 'sessions', asked, (place) => placeIn(place) !== undefined);
  const { limit, afterId } = request.query;
  const { sessions, next } = await reads.page(context, {
    kind: asked.kind ?? '',
    states: allStates.filter((state) => asked.state === enumName(ReceiptStateSchema, state)),
    limit,
    after: afterId === undefined ? undefined : placeIn(afterId),
  });
  return {
    sessions: sessions.map(view),
    has_more: next !== undefined,
    next_cursor: next === undefined ? null : request.cursorOf(`${next.atMs}/${next.id}`),
  };
}

function placeIn(text: string): SessionPlace | undefined {
  const [, atMs, id] = /^(\d{1,15})\/(.+)$/.exec(text) ?? [];
  return id === undefined ? undefined : { atMs: Number(atMs), id };
}

function view(session: SessionView): Static<typeof Session> {
  const isSignature = session.kind === 'signing';
  return {
    id: session.sessionId,
    kind: kindOf(session),
    requested_by: session.walletService ? 'wallet_service' : 'client',
    state: enumName(ReceiptStateSchema, session.state),
    reason_code: session.reasonCode,
    message: session.message,
    resumable: session.resumable,
    epoch: Number(session.epoch),
    checkpoint_id: session.checkpointId,
    approval_mode: enumName(ApprovalModeSchema, session.approvalMode),
    keystore_type: enumName(KeystoreTypeSchema, session.keystoreType),
    backend_route: session.backendRoute,
    correlation_id: session.correlationId,
    curve: session.curve || null,
    network_id: session.networkId || null,
    culprits: session.culprits,
    intent_id: session.intentId || null,
    key_id: session.keyId || null,
    derivation_path: isSignature ? session.derivationPath : null,
    message_sha256: hex(session.messageSha256),
    submitted: session.submitted,
    signature: hex(session.signature),
    recovery_id: session.recoveryId[0] ?? null,
    threshold: isSignature ? null : session.threshold,
    total_nodes: isSignature ? null : session.totalNodes,
    public_key: hex(session.publicKey),
    created_at: time(session.createdAtEpochMs),
    changed_at: time(session.changedAtEpochMs),
    expires_at: time(session.expiresAtEpochMs),
  };
}

function kindOf({ kind }: SessionView): (typeof kinds)[number] {
  if (kind === 'dkg' || kind === 'signing') return kind;
  throw internalError(new Error(`a session of kind ${kind}`));
}

function hex(bytes: Uint8Array): string | null {
  return bytes.length === 0 ? null : Buffer.from(bytes).toString('hex');
}

function time(epochMs: bigint): string {
  return timestamp(Number(epochMs));
}
