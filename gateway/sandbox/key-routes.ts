/**
 * /v1/sandbox/keys: keys of keystore types that a client's InitiateDkg cannot name, for the client's own signing sessions. Elsewhere
 * vaults alone have such keys; here a scenario of one file signs with them in both worlds. And new shares for the nodes of a client's
 * own key.
 */
import { create } from '@bufbuild/protobuf';
import Type from 'typebox';
import { enumName, enumNames } from '../../proto/enum-names.ts';
import type { InspectSessionResponse } from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import {
  InitiateDkgRequestSchema,
  KeystoreType,
  KeystoreTypeSchema,
  ReceiptStateSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { refreshSessionId } from '../../proto/ids.ts';
import { isSharedKey, type KeyScheme, keySchemes, schemeMeant } from '../../proto/key-schemes.ts';
import { isRefreshSession, isWalletKey, nodesMax } from '../../proto/limits.ts';
import { timestamp } from '../../proto/timestamps.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, ContractEnum, ListOf, Nullable, OneOf, PathId, Timestamp } from '../api/schema-kit.ts';
import { noSuch } from '../api/visibility.ts';
import { notSupported, whoDid } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import type { Caller, SandboxSessions } from './sessions.ts';
import { common, wholeList } from './shared.ts';

const types = ['MULTISIG_EVM_WALLET', 'HSM_PKCS11', 'MPC_VENDOR'] as const;

const KeyBody = Closed({
  session_id: Type.String({ minLength: 1, maxLength: 128, description: 'the key’s session, as for InitiateDkg' }),
  keystore_type: ContractEnum(KeystoreTypeSchema, types),
  curve: Type.Optional(OneOf(['secp256k1', 'ed25519'], { description: 'secp256k1 by default' })),
  threshold: Type.Optional(Type.Integer({ minimum: 1, maximum: nodesMax })),
  total_nodes: Type.Optional(Type.Integer({ minimum: 1, maximum: nodesMax })),
});

const KeyBegun = Closed(
  {
    session_id: Type.String(),
    state: OneOf(enumNames(ReceiptStateSchema), { description: 'of the receipt' }),
    reason_code: Type.String({ description: 'of the receipt: docs/reason-codes.md' }),
    message: Type.String(),
    epoch: Type.Integer({ minimum: 0 }),
  },
  { title: 'SandboxKey' },
);

/** As the wire has it. */
const keyVersionMax = 2 ** 32 - 1;

const RefreshBody = Closed({
  version: Type.Integer({
    minimum: 2,
    maximum: keyVersionMax,
    description: 'of the new shares: one above `key_version` of the key’s session. The call may be repeated',
  }),
});

const KeyRefreshed = Closed(
  {
    key_id: Type.String(),
    version: Type.Integer({ minimum: 2 }),
    state: OneOf(enumNames(ReceiptStateSchema), {
      description: 'of the receipt; `BACKEND_COMPLETED`: the new shares sign',
    }),
    reason_code: Type.String({ description: 'of the receipt: docs/reason-codes.md' }),
    message: Type.String(),
    public_key: Nullable(Type.String({ description: 'of the key, as before: compressed, lowercase hex' })),
    culprits: Type.Array(Type.Integer({ minimum: 1 }), { description: 'nodes whose fault the last failure proves' }),
  },
  { title: 'SandboxKeyRefresh' },
);

const KeyVersion = Closed(
  {
    version: Type.Integer({ minimum: 1 }),
    status: OneOf(['preparing', 'committed', 'retired'], {
      description:
        '`preparing`: not every node holds its share, and the version before signs; `committed`: these shares sign; `retired`: later ones do',
    }),
    session_id: Type.String({ description: 'the session that makes, or made, the shares' }),
    state: OneOf(enumNames(ReceiptStateSchema), { description: 'of that session' }),
    message: Type.String({ description: 'of that session: it names nodes that have not confirmed' }),
    threshold: Type.Integer({ minimum: 1 }),
    participants: Type.Array(Type.Integer({ minimum: 1 }), { description: 'the nodes of the shares, ascending' }),
    created_at: Timestamp,
  },
  { title: 'SandboxKeyVersion' },
);

/** The most versions of one answer. */
const versionsMax = 20;

export function keyRoutes({ sessions }: Pick<SandboxDeps, 'sessions'>): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/keys',
      operationId: 'beginSandboxKey',
      clientName: 'sandbox.beginKey',
      example: { session_id: 'my-safe', keystore_type: 'MULTISIG_EVM_WALLET', threshold: 2, total_nodes: 3 },
      summary: 'Begin the generation of a key that nodes do not share; complete it with `POST /v1/dkg/shares`',
      description:
        'Makes a key of the caller’s tenant for its own signing sessions: an owner key a node, a key in the PKCS#11 token of a node, or a key of the vendor. A refusal is a receipt, as for InitiateDkg.',
      body: KeyBody,
      responses: { 200: { description: 'The receipt of its session', schema: KeyBegun } },
      handle: async (context, { body }) => {
        const {
          session_id: sessionId,
          keystore_type: type,
          curve = 'secp256k1',
          threshold,
          total_nodes: totalNodes,
        } = body;
        const scheme = schemeMeant(KeystoreType[type], curve)!;
        const request = create(InitiateDkgRequestSchema, {
          ...{ sessionId, derivation: { curve } },
          ...(threshold !== undefined && { threshold }),
          ...(totalNodes !== undefined && { totalNodes }),
        });
        context.log.info(whoDid(context, 'keys.begin', { session: sessionId, keystore_type: type }), 'a key was begun');
        const { receipt, epoch, state } = await sessions.beginKey(context, request, scheme);
        return {
          status: 200,
          body: {
            session_id: receipt?.sessionId || sessionId,
            state: enumName(ReceiptStateSchema, state),
            reason_code: receipt?.reasonCode ?? '',
            message: receipt?.message ?? '',
            epoch: Number(epoch),
          },
        };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/keys/:id/refresh',
      operationId: 'refreshSandboxKey',
      clientName: 'sandbox.refreshKey',
      example: { version: 2 },
      summary: 'Give the nodes of a key new shares of it',
      description:
        'Of the caller’s own key, of keystore type MOCK_THRESHOLD or MPC_FROST. Public key, chain code and addresses stay; shares of ' +
        'two versions give nothing together. It takes every node of the key: until all hold a new share the present ones sign, and ' +
        'the same call continues a refresh that failed. A key that mock ECDSA has exposed stays exposed. Keys of other types, of wallets ' +
        'and of vaults, and keys that have not signed yet, are 422 `not_supported`.',
      params: Closed({ id: PathId('the key’s session') }),
      body: RefreshBody,
      responses: { 200: { description: 'The receipt of its session', schema: KeyRefreshed } },
      handle: async (context, { params, body }) => {
        const found = await sessions.inspect(context, params.id);
        if (!found.found || found.kind !== 'dkg') throw noSuch('key');
        const { version } = body;
        const scheme = refreshable(params.id, found);
        context.log.info(whoDid(context, 'keys.refresh', { session: params.id, version }), 'a key is refreshed');
        const { receipt, publicKey, culprits } = await sessions.refreshKey(context, params.id, version, scheme);
        return {
          status: 200,
          body: {
            key_id: params.id,
            version,
            state: enumName(ReceiptStateSchema, receipt?.state ?? 0),
            reason_code: receipt?.reasonCode ?? '',
            message: receipt?.message ?? '',
            public_key: publicKey.length === 0 ? null : Buffer.from(publicKey).toString('hex'),
            culprits,
          },
        };
      },
    }),
    route({
      ...common,
      // It reads the caller's tenant alone, and the cluster stays as it is.
      scope: 'signing:read',
      method: 'GET',
      path: '/v1/sandbox/keys/:id/versions',
      operationId: 'listSandboxKeyVersions',
      clientName: 'sandbox.keyVersions',
      summary: 'List the versions of a key’s shares, newest first',
      description: `The newest ${versionsMax}, as far as their sessions are still stored; one that is being made too. Public key and chain code are the same in all.`,
      params: Closed({ id: PathId('the key’s session') }),
      responses: { 200: { description: 'The versions', schema: ListOf('versions', KeyVersion) } },
      handle: async (context, { params: { id } }) => {
        const { keyVersion: present } = await sessions.inspect(context, id);
        if (present === 0 || isRefreshSession(id)) throw noSuch('key');
        const newest = present + 1;
        const versions = Array.from({ length: Math.min(newest, versionsMax) }, (_, index) => newest - index);
        const found = await Promise.all(versions.map((version) => versionOf(sessions, context, id, version, present)));
        return {
          status: 200,
          body: wholeList(
            'versions',
            found.flatMap((one) => one ?? []),
          ),
        };
      },
    }),
  ];
}

/** undefined: it is not being made, or its session is no longer stored. */
async function versionOf(sessions: SandboxSessions, caller: Caller, id: string, version: number, present: number) {
  const sessionId = version === 1 ? id : refreshSessionId(id, version);
  const found = await sessions.inspect(caller, sessionId);
  if (!found.found) return undefined;
  const status = version > present ? 'preparing' : version < present ? 'retired' : 'committed';
  return {
    ...{ version, status, session_id: sessionId, message: found.message, threshold: found.threshold },
    state: enumName(ReceiptStateSchema, found.state),
    participants: found.participants,
    created_at: timestamp(Number(found.createdAtEpochMs)),
  } as const;
}

/** The scheme of a key whose nodes can get new shares. Throws 422. */
function refreshable(id: string, { keyScheme }: InspectSessionResponse): KeyScheme {
  const scheme = keySchemes.find((name) => name === keyScheme);
  if (isWalletKey(id) || isRefreshSession(id)) throw notSupported('only a client’s own key is refreshed here', 'id');
  if (scheme === undefined)
    throw notSupported('the key has not signed yet, so that its scheme is open: sign with it once', 'id');
  if (isSharedKey(scheme)) return scheme;
  throw notSupported(`the nodes of a key of ${scheme} hold no shares of it`, 'id');
}
