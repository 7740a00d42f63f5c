/**
 * /v1/sandbox/provider-connections/:id/drift: makes a sandbox's provider report something other than it did, so that
 * reconciliation has something to find. Only a sandbox mounts it; it changes only the reports to the caller's own tenant.
 */

import Type, { type Static } from 'typebox';
import type { Timers } from '../../../core/actors/contract.ts';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { exampleIds } from '../../../gateway/api/examples.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, Id, ListOf, Nullable, OneOf, PathId, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { mayUseConnection, noSuch } from '../../../gateway/api/visibility.ts';
import { timestamp, timestampOrNull } from '../../../proto/timestamps.ts';
import { connectionType } from '../../custody/connections/public.ts';
import { intentType } from '../../custody/intents/public.ts';
import { readWallet, type WalletRecord } from '../../custody/wallets/public.ts';
import { amountTakes, formatAmount, parseAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import { networkOf } from '../../networks/networks.ts';
import type { Movement, ProviderStatements, StatementsByKind } from '../../providers/port/statement.ts';
import { type Drift, type Drifts, driftKinds } from '../../providers/simulated/drift.ts';
import { inTime } from './in-time.ts';
import { windowMaxMs } from './schemas.ts';

const DriftBody = Closed({
  kind: OneOf(driftKinds, {
    description:
      '`missing`: a movement is omitted; `late`: omitted for `delay_s`; `duplicate`: shown twice; `amount`: `amount` is added to it; `status`: it is shown as reversed; `extra`: a movement of `amount` without a transfer; `silent`: the provider gives no statement of the wallet',
  }),
  wallet_id: Id('wal'),
  transaction_intent_id: Type.Optional(Id('txi')),
  asset: Type.Optional(Type.String({ minLength: 1, maxLength: 20, description: 'of an `extra` movement' })),
  amount: Type.Optional(Type.String({ minLength: 1, maxLength: 80, description: 'decimal above zero; 1 by default' })),
  delay_s: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_592_000, description: '3,600 by default' })),
});

const DriftView = Closed(
  {
    id: Type.String(),
    kind: OneOf(driftKinds),
    wallet_id: Type.String(),
    direction: OneOf(['in', 'out']),
    movement: Type.String({
      description:
        'the key of the movement: our id for it, or the id of its transaction; of `extra` and `silent` its own',
    }),
    asset: Type.String(),
    amount: Nullable(Type.String()),
    until: Nullable(Timestamp),
    created_at: Timestamp,
  },
  { title: 'ReconDrift' },
);

const params = Closed({ id: PathId('id of the connection') });
const driftsMax = 1_000;
const statementPage = 500;

export interface DriftDeps {
  readonly drifts: Drifts;
  /** The providers' statements without drift. */
  readonly statements: StatementsByKind;
  readonly timers: Timers;
  /** Other environments have no such routes, since their providers report correctly. */
  readonly isSandbox: boolean;
}

export function driftRoutes({ drifts, statements, timers, isSandbox }: DriftDeps): readonly Route[] {
  if (!isSandbox) return [];
  const path = '/v1/sandbox/provider-connections/:id/drift';
  const shared = { tag: 'Reconciliation', path, params, errors: [404] } as const;
  return [
    route({
      ...shared,
      method: 'POST',
      operationId: 'addReconDrift',
      clientName: 'sandbox.addDrift',
      example: { kind: 'extra', wallet_id: exampleIds.wallet, amount: '0.5' },
      summary: 'Make a sandbox provider’s statements differ from its transfers',
      description:
        'Applies to the named transfer, or to the newest movement of the wallet. Statements and balances of the wallet show the drift until it is removed; the custodian’s book and the chain do not change.',
      scope: 'recon:write',
      idempotent: false,
      body: DriftBody,
      responses: { 201: { schema: DriftView, description: 'the drift' } },
      errors: [404, 409],
      handle: async (context, input) => {
        const drift = await newDrift({ drifts, statements, timers }, context, input.params.id, input.body);
        await drifts.put(context.tenant, drift);
        return { status: 201, body: driftView(drift) };
      },
    }),
    route({
      ...shared,
      method: 'GET',
      operationId: 'listReconDrifts',
      clientName: 'sandbox.drifts',
      summary: 'List the drifts of a connection',
      description: 'Lists all of them in one page.',
      scope: 'recon:read',
      responses: { 200: { schema: ListOf('drifts', DriftView), description: 'oldest first' } },
      handle: async (context, { params: { id } }): Promise<Answer> => {
        const list = (await driftsOf(drifts, context, id)).map(driftView);
        return { status: 200, body: { drifts: list, has_more: false, next_cursor: null } };
      },
    }),
    route({
      ...shared,
      method: 'DELETE',
      operationId: 'removeReconDrifts',
      clientName: 'sandbox.removeDrifts',
      summary: 'Remove the drifts of a connection',
      scope: 'recon:write',
      responses: { 204: { description: 'the provider’s statements match its transfers again' } },
      handle: async (context, { params: { id } }): Promise<Answer> => {
        const list = await driftsOf(drifts, context, id);
        await drifts.remove(
          context.tenant,
          list.map((drift) => drift.id),
        );
        return { status: 204 };
      },
    }),
  ];
}

async function driftsOf(drifts: Drifts, context: RequestContext, connectionId: string): Promise<readonly Drift[]> {
  await needConnection(context, connectionId);
  return (await drifts.list(context.tenant)).filter((drift) => drift.connectionId === connectionId);
}

async function needConnection({ store, tenant, principal }: RequestContext, id: string): Promise<void> {
  const found = id.startsWith('pcn_') ? await store.read(tenant, connectionType, id) : undefined;
  if (found === undefined || !mayUseConnection(principal, id)) throw noSuch('provider connection');
}

async function newDrift(
  { drifts, statements, timers }: Omit<DriftDeps, 'isSandbox'>,
  context: RequestContext,
  connectionId: string,
  body: Static<typeof DriftBody>,
): Promise<Drift> {
  await needConnection(context, connectionId);
  const { record: wallet } = await readWallet(context, body.wallet_id);
  const provider = statements.get(wallet.provider);
  if (wallet.connectionId !== connectionId || provider === undefined) throw noSuch('wallet');
  if ((await drifts.list(context.tenant)).length >= driftsMax) {
    throw new ServiceError('conflict', `a tenant has at most ${driftsMax} drifts`);
  }
  const { kind, delay_s: delayS = 3_600 } = body;
  const { nowMs } = context;
  const id = context.newId('rcd');
  const target =
    kind === 'extra' || kind === 'silent'
      ? ({ direction: 'out', key: `drift-${id}`, asset: assetFor(wallet, body.asset) } as const)
      : await targetOf(context, inTime(provider, timers), wallet, body.transaction_intent_id);
  const { direction, key, asset } = target;
  return {
    ...{ id, kind, connectionId, walletId: wallet.id, direction, key, asset, createdAtMs: nowMs },
    units: String(unitsOf(asset, body.amount)),
    untilMs: kind === 'late' ? nowMs + delayS * 1_000 : null,
  };
}

function assetFor(wallet: WalletRecord, symbol = networkOf(wallet.network).nativeAsset): string {
  if (assetOf(symbol)?.network !== wallet.network) throw invalid('asset', 'unknown_asset');
  return symbol;
}

function unitsOf(asset: string, amount = '1'): bigint {
  const units = parseAmount(amount, assetOf(asset)!.decimals);
  if (typeof units !== 'bigint') throw invalid('amount', units, amountTakes(units, assetOf(asset)!.decimals));
  return units;
}

function invalid(field: string, issue: string, message?: string): ServiceError {
  return invalidFields([{ field, issue, ...(message !== undefined && { message }) }]);
}

/** Throws ServiceError 404 if the wallet has no such transfer, 409 if the provider shows no movement to change. */
async function targetOf(
  context: RequestContext,
  provider: ProviderStatements,
  wallet: WalletRecord,
  intentId: string | undefined,
): Promise<Pick<Movement, 'direction' | 'key' | 'asset'>> {
  const { tenant, nowMs, store, requestId: correlationId, traceparent } = context;
  const meta = { tenant, nowMs, correlationId, traceparent };
  if (intentId !== undefined) {
    const intent = await store.read(tenant, intentType, intentId);
    if (intent?.walletId !== wallet.id) throw noSuch('transaction intent');
    const key = provider.joinsBy === 'reference' ? intent.id : intent.providerTxId;
    const [found = []] = key === null ? [] : await provider.find(meta, wallet, 'out', [key]);
    if (found[0] === undefined) throw new ServiceError('conflict', 'the provider does not have this transfer');
    if (!isCompared(found[0])) throw new ServiceError('conflict', 'reconciliation leaves out tokens of tenants');
    return found[0];
  }
  let newest: Movement | undefined;
  let after: string | undefined;
  do {
    const query = { fromMs: nowMs - windowMaxMs, toMs: Number.MAX_SAFE_INTEGER, limit: statementPage, after };
    const page = await provider.page(meta, wallet, query);
    newest = page.movements.findLast(isCompared) ?? newest;
    after = page.next;
  } while (after !== undefined);
  if (newest === undefined) throw new ServiceError('conflict', 'the wallet has no movement yet: make a transfer first');
  return newest;
}

/** Jobs leave out a tenant's own tokens. */
function isCompared({ asset }: Movement): boolean {
  return assetOf(asset) !== undefined;
}

function driftView({ id, kind, walletId, direction, key, asset, units, untilMs, createdAtMs }: Drift) {
  const hasAmount = kind === 'extra' || kind === 'amount';
  return {
    ...{ id, kind, wallet_id: walletId, direction, movement: key, asset },
    amount: hasAmount ? formatAmount(BigInt(units), assetOf(asset)!.decimals) : null,
    until: timestampOrNull(untilMs),
    created_at: timestamp(createdAtMs),
  };
}
