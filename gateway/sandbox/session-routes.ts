/** /v1/sandbox/sessions: what is known of a session of the caller's tenant, and what a node would submit to it. */
import Type from 'typebox';
import { firstCluster } from '../../core/redis/clusters.ts';
import { enumName, enumNames } from '../../proto/enum-names.ts';
import type { InspectSessionResponse } from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import { ReceiptStateSchema } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { keySchemes } from '../../proto/key-schemes.ts';
import { reasonCodes } from '../../proto/reason-codes.ts';
import { timestamp } from '../../proto/timestamps.ts';
import { nodeNumberOf } from '../../scenarios/faults/cluster-names.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import { runEventJson } from '../../scenarios/faults/recording-json.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, Nullable, OneOf, PathId, secret, Timestamp, WholeNumberText } from '../api/schema-kit.ts';
import { noSuch } from '../api/visibility.ts';
import { ask, whoDid } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { FrameView } from './event-schemas.ts';
import { common } from './shared.ts';

const framesMax = 1_000;
const framesDefault = 200;

const Ids = (description: string) => Type.Array(Type.Integer({ minimum: 1 }), { description });

const SessionView = Closed(
  {
    id: Type.String(),
    kind: OneOf(['dkg', 'signing']),
    requested_by: OneOf(['client', 'wallet_service'], {
      description: '`wallet_service`: for a wallet or a vault. No client steps it',
    }),
    cluster: Type.Integer({ minimum: 1, description: 'the cluster that holds it, whose nodes its fields number' }),
    state: OneOf(enumNames(ReceiptStateSchema), { description: 'as in receipts' }),
    reason_code: Type.String({ description: 'the reason for its state: docs/reason-codes.md' }),
    message: Type.String(),
    epoch: Type.Integer({ minimum: 1 }),
    attempt: Type.Integer({ minimum: 0, description: 'for a signature: 0 before nonces were drawn' }),
    culprits: Ids('nodes that this session blames; of a signature all that were excluded'),
    submitted: Ids('of a signature: nodes whose partial is in'),
    signers: Ids(
      'of a signature: the nodes that FROST’s present attempt binds; once it is complete, those that signed',
    ),
    given: Ids('those of them whose partial a client supplied'),
    verified_pairs: Type.Array(Type.String(), { description: 'of a key: `dealer>recipient`, as far as they verified' }),
    client_supplied_dealers: Ids('of a key: dealers whose shares a client supplies'),
    played_dealers: Ids('the old name of `client_supplied_dealers`, until 0.2'),
    public_key: Nullable(Type.String({ description: 'of a key that was made: compressed, lowercase hex' })),
    chain_code: Nullable(
      Type.String({
        description: 'of a key that was made: lowercase hex; with the public key it gives all derived ones',
      }),
    ),
    key_session: Nullable(Type.String({ description: 'of a signature: the session of its key' })),
    threshold: Type.Integer({ minimum: 0, description: '0: its key was not looked up' }),
    total_nodes: Type.Integer({ minimum: 0 }),
    participants: Ids('nodes that hold a share of the key; until it is made, those that take part'),
    curve: Nullable(Type.String()),
    key_scheme: Nullable(
      OneOf(keySchemes, {
        description: 'the only scheme that the key signs with; null: not bound yet, or its key was not looked up',
      }),
    ),
    key_exposed: Type.Boolean({
      description: 'the key was used with mock ECDSA, which discloses the nonce: it has no threshold security left',
    }),
    key_version: Type.Integer({
      minimum: 0,
      description: 'of a key that was made: of its present shares, from 1 on; else 0',
    }),
    resume_token: Nullable(
      Type.String({
        ...secret,
        description: 'of its present checkpoint, for ResumeSession; null: it cannot be resumed now',
      }),
    ),
    created_at: Timestamp,
    expires_at: Timestamp,
    transcript: Nullable(
      Type.Array(FrameView, {
        description: 'its frames as the fault injector saw them, newest last; null: there is none',
      }),
    ),
    transcript_truncated: Type.Boolean({ description: 'older frames of it were left off, or are gone' }),
  },
  { title: 'SandboxSession' },
);

const PartialView = Closed(
  {
    partial: Type.String({ ...secret, description: 'base64: as `partial_signature` of SubmitSignatureShare takes it' }),
    nonce_point: Type.String({
      description: 'base64, the point R: as `ephemeral_public_key` takes it; empty where signers share none',
    }),
    attempt: Type.Integer({ minimum: 1, description: 'it belongs to this attempt alone' }),
  },
  { title: 'SandboxPartial' },
);

const id = PathId('session id: of a key, a wallet, or a signature');

export function sessionRoutes({ control, sessions }: SandboxDeps): readonly Route[] {
  return [
    route({
      ...common,
      // It reads the caller's tenant alone, and the cluster stays as it is.
      scope: 'signing:read',
      method: 'GET',
      path: '/v1/sandbox/sessions/:id',
      operationId: 'getSandboxSession',
      clientName: 'sandbox.session',
      summary: 'Read a session: its state, its culprits, its transcript',
      description:
        'Of the caller’s tenant; also the key generation of a wallet, by the wallet’s id. It changes nothing. Without ' +
        'the fault injector of `signmesh up` there is no transcript.',
      params: Closed({ id }),
      query: Closed({
        limit: Type.Optional(
          WholeNumberText(
            '^([1-9][0-9]{0,2}|1000)$',
            1,
            framesMax,
            `frames of the transcript, 1 to ${framesMax}; ${framesDefault} by default`,
          ),
        ),
      }),
      responses: { 200: { description: 'The session', schema: SessionView } },
      handle: async (context, { params, query }) => {
        const found = await sessions.inspect(context, params.id);
        if (!found.found) throw noSuch('session');
        const limit = Number(query.limit ?? framesDefault);
        const takes = { tenant: context.tenant, session: params.id, limit };
        const seen = await ask(control, 'transcript.get', takes).catch(orNone);
        return { status: 200, body: sessionView(params.id, found, seen) };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/sessions/:id/nodes/:node/partial',
      operationId: 'previewSandboxPartial',
      clientName: 'sandbox.previewPartial',
      summary: 'What a node would submit to a signing session now; nothing is submitted',
      description:
        'For tests that act as a node: change a byte, submit it, replay it. It draws nonces if there are none, which is ' +
        'why it is a POST; asked again in the same attempt it answers alike. Not there: 409, with the reason code as ' +
        '`issue` in lower case.',
      params: Closed({
        id,
        node: Type.String({
          pattern: '^(node[/-])?([1-9][0-9]?|100)$',
          description: 'a node’s number, or `node-2`, or `node/2` with its `/` as `%2F`',
          examples: ['2'],
        }),
      }),
      responses: { 200: { description: 'Its partial signature', schema: PartialView } },
      handle: async (context, { params }) => {
        const nodeId = nodeNumberOf(params.node)!;
        const made = await sessions.preview(context, params.id, nodeId);
        const { partial, noncePoint, attempt, reasonCode, message } = made;
        const takes = { session: params.id, node: nodeId, reason_code: reasonCode };
        context.log.info(whoDid(context, 'sessions.preview_partial', takes), 'a partial was previewed');
        if (partial.length === 0) throw notThere(reasonCode, message);
        return { status: 200, body: { partial: base64(partial), nonce_point: base64(noncePoint), attempt } };
      },
    }),
  ];
}

function notThere(reasonCode: string, message: string): ServiceError {
  if (reasonCode === 'SESSION_NOT_FOUND') return noSuch('session');
  const known = Object.hasOwn(reasonCodes, reasonCode) ? reasonCode : 'BACKEND_FAILED';
  return new ServiceError('conflict', `there is no partial: ${message}`, {
    details: [{ field: '', issue: known.toLowerCase(), message }],
  });
}

/** What is known of the session does not depend on the fault injector. */
function orNone(error: unknown): undefined {
  if (error instanceof ServiceError && error.kind === 'unavailable') return undefined;
  throw error;
}

interface Seen {
  readonly frames: readonly Extract<RunEvent, { kind: 'frame' }>[];
  readonly truncated: boolean;
}

function sessionView(sessionId: string, found: InspectSessionResponse, seen: Seen | undefined) {
  return {
    id: sessionId,
    kind: found.kind,
    requested_by: found.walletService ? 'wallet_service' : 'client',
    // A coordinator of an earlier version does not say it.
    cluster: found.cluster || firstCluster,
    state: enumName(ReceiptStateSchema, found.state),
    reason_code: found.reasonCode,
    message: found.message,
    epoch: Number(found.epoch),
    attempt: found.attempt,
    culprits: found.culprits,
    submitted: found.submitted,
    signers: found.signers,
    given: found.given,
    verified_pairs: found.verifiedPairs,
    client_supplied_dealers: found.clientSuppliedDealers,
    played_dealers: found.clientSuppliedDealers,
    public_key: found.publicKey.length === 0 ? null : Buffer.from(found.publicKey).toString('hex'),
    chain_code: found.chainCode.length === 0 ? null : Buffer.from(found.chainCode).toString('hex'),
    key_session: found.keySession === '' ? null : found.keySession,
    threshold: found.threshold,
    total_nodes: found.totalNodes,
    participants: found.participants,
    curve: found.curve === '' ? null : found.curve,
    key_scheme: found.keyScheme === '' ? null : found.keyScheme,
    key_exposed: found.keyExposed,
    key_version: found.keyVersion,
    resume_token: found.resumeToken === '' ? null : found.resumeToken,
    created_at: timestamp(Number(found.createdAtEpochMs)),
    expires_at: timestamp(Number(found.expiresAtEpochMs)),
    transcript: seen === undefined ? null : seen.frames.map(runEventJson),
    transcript_truncated: seen?.truncated ?? false,
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
