/** The routes of vaults. */

import Type from 'typebox';
import { exampleIds } from '../../../gateway/api/examples.ts';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type Route, route } from '../../../gateway/api/route.ts';
import { type ArchiveDeps, archiveVault } from './archive.ts';
import { type CreateDeps, createKey, createVault } from './create.ts';
import { readVault } from './read.ts';
import { keysIndex, vaultKeyType, vaultStates, vaultType } from './record.ts';
import {
  ArchiveBody,
  CreateKeyBody,
  CreateVaultBody,
  KeyQuery,
  SignBody,
  SignQuery,
  Vault,
  VaultKey,
  VaultKeyList,
  VaultList,
  VaultParams,
  VaultQuery,
  VaultSignature,
  VaultSignatureDryRun,
} from './schemas.ts';
import { type SignDeps, showDecision, signMessage } from './sign.ts';
import { vaultKeyView, vaultView } from './view.ts';

export interface VaultDeps extends CreateDeps, SignDeps, ArchiveDeps {
  readonly cluster: CreateDeps['cluster'] & SignDeps['cluster'];
}

const tag = 'Key management';
const writes = { tag, method: 'POST', scope: 'vaults:write' } as const;
const reads = { tag, method: 'GET', scope: 'vaults:read' } as const;

export function vaultRoutes(deps: VaultDeps): readonly Route[] {
  return [...makingRoutes(deps), ...readingRoutes(), ...usingRoutes(deps)];
}

function makingRoutes(deps: VaultDeps): readonly Route[] {
  return [
    route({
      ...writes,
      path: '/v1/vaults',
      operationId: 'createVault',
      clientName: 'vaults.create',
      example: { name: 'settlement', keystore_type: 'mpc_frost', curve: 'secp256k1', threshold: 3, total_nodes: 5 },
      summary: 'Create a vault with its first key',
      description:
        'The cluster generates the key with the requested threshold and number of nodes. Every node binds it to the keystore type, curve and scheme of the vault, and refuses all others.',
      body: CreateVaultBody,
      responses: { 201: { schema: Vault, description: 'the vault' } },
      errors: [422],
      handle: (context, { body }) => createVault(deps, context, body),
    }),
    route({
      ...writes,
      path: '/v1/vaults/:id/keys',
      operationId: 'createVaultKey',
      clientName: 'vaults.createKey',
      example: { name: 'second' },
      summary: 'Create a further key in a vault',
      params: VaultParams,
      body: CreateKeyBody,
      bodyOptional: true,
      responses: { 201: { schema: VaultKey, description: 'the key' } },
      errors: [404, 409, 422],
      states: vaultStates.use,
      handle: (context, { params, body }) => createKey(deps, context, params.id, body),
    }),
  ];
}

function readingRoutes(): readonly Route[] {
  return [
    route({
      ...reads,
      path: '/v1/vaults',
      operationId: 'listVaults',
      clientName: 'vaults.list',
      summary: 'List vaults, newest first',
      query: VaultQuery,
      responses: { 200: { schema: VaultList, description: 'a page of vaults' } },
      handle: async (context, { query }) => {
        const request = readPage(context, 'vaults', query);
        const indices = [query.status === undefined ? 'vaults:live' : `vaults:status:${query.status}`];
        const page = await context.store.list(context.tenant, vaultType, {
          indices,
          order: 'newest',
          ...request.query,
        });
        return { status: 200, body: listBody('vaults', page, vaultView, request) };
      },
    }),
    route({
      ...reads,
      path: '/v1/vaults/:id',
      operationId: 'getVault',
      clientName: 'vaults.get',
      summary: 'Read a vault',
      params: VaultParams,
      responses: { 200: { schema: Vault, description: 'the vault' } },
      errors: [404],
      handle: async (context, { params }) => ({ status: 200, body: vaultView(await readVault(context, params.id)) }),
    }),
    route({
      ...reads,
      path: '/v1/vaults/:id/keys',
      operationId: 'listVaultKeys',
      clientName: 'vaults.keys',
      summary: 'List the keys of a vault, newest first',
      description: 'Public material only: compressed point, JWK, extended public key, addresses.',
      params: VaultParams,
      query: KeyQuery,
      responses: { 200: { schema: VaultKeyList, description: 'a page of keys' } },
      errors: [404],
      handle: async (context, { params, query }) => {
        const vault = await readVault(context, params.id);
        const request = readPage(context, `vaults/${vault.id}/keys`, query);
        const indices = [keysIndex(vault.id)];
        const page = await context.store.list(context.tenant, vaultKeyType, {
          indices,
          order: 'newest',
          ...request.query,
        });
        return { status: 200, body: listBody('keys', page, vaultKeyView, request) };
      },
    }),
  ];
}

function usingRoutes(deps: VaultDeps): readonly Route[] {
  return [
    route({
      ...writes,
      path: '/v1/vaults/:id/sign',
      operationId: 'signVaultMessage',
      clientName: 'vaults.sign',
      example: { key_id: exampleIds.vaultKey, message: 'aGVsbG8=', message_type: 'raw' },
      summary: 'Sign a message with a key of a vault',
      description:
        'Decided by the vault’s policy and the tenant’s `default`. A repeat under the same idempotency key never signs twice. `pending_human_approval`: resume the session with its `checkpoint.resume_token` and a witness (`POST /v1/sessions/resume`), then take the signature (`POST /v1/signing/share`).',
      params: VaultParams,
      query: SignQuery,
      body: SignBody,
      responses: {
        200: {
          schema: Type.Union([VaultSignature, VaultSignatureDryRun]),
          description: 'the signature, or the reason why there is none yet; of a dry run the decision',
        },
      },
      errors: [404, 409, 422],
      states: vaultStates.use,
      isReadOnly: ({ query }) => query.dry_run === 'true',
      handle: (context, { params, query, body }) =>
        query.dry_run === 'true'
          ? showDecision(deps, context, params.id, body)
          : signMessage(deps, context, params.id, body),
    }),
    route({
      ...writes,
      path: '/v1/vaults/:id/archive',
      operationId: 'archiveVault',
      clientName: 'vaults.archive',
      example: { reason: 'no longer used' },
      summary: 'Archive a vault, for good: its shares are deleted',
      description:
        'Idempotent. Its keys no longer sign, and open signing sessions are revoked. Every node deletes its shares: a key is `deleted` once all nodes have confirmed it.',
      params: VaultParams,
      body: ArchiveBody,
      bodyOptional: true,
      responses: { 200: { schema: Vault, description: 'the vault' } },
      errors: [404, 409],
      states: vaultStates.archive,
      handle: (context, { params, body }) => archiveVault(deps, context, params.id, body.reason),
    }),
  ];
}
