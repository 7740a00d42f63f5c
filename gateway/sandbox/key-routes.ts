/**
 * /v1/sandbox/keys: keys of keystore types that a client's InitiateDkg cannot name, for the client's own signing sessions. Elsewhere
 * vaults alone have such keys; here a scenario of one file signs with them in both worlds.
 */
import { create } from '@bufbuild/protobuf';
import Type from 'typebox';
import { enumName, enumNames } from '../../proto/enum-names.ts';
import {
  InitiateDkgRequestSchema,
  KeystoreType,
  KeystoreTypeSchema,
  ReceiptStateSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { schemeMeant } from '../../proto/key-schemes.ts';
import { nodesMax } from '../../proto/limits.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, ContractEnum, OneOf } from '../api/schema-kit.ts';
import { whoDid } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { common } from './shared.ts';

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
  ];
}
