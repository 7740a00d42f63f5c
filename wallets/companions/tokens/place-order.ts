/**
 * Places an order: evaluates its transaction at once, under the id of its future intent. If allowed, the order waits in
 * `reserve_check` with its intent, created in the same change; the check itself happens when the intent's signing begins
 * (owner.ts).
 */

import type { Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { type FieldIssue, ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import {
  destinationIssues,
  draftOf,
  evaluateOperation,
  type FoundWallet,
  findWallet,
  openingOf,
  refuseIntent,
  usableDestination,
  verdictOf,
} from '../../custody/intents/public.ts';
import { amountTakes, formatAmount, parseAmount } from '../../networks/amounts.ts';
import { merge } from '../../store/changes.ts';
import { orderChange } from './effects.ts';
import { findToken } from './find.ts';
import type { TokenDeps } from './issue.ts';
import { lastOrder, openOrder } from './machine.ts';
import { intentIdOf, type OrderKind, type OwnTokenRecord, orderOrigin, tokenStates } from './record.ts';
import { readReserve } from './reserve.ts';
import type { MintBody, RedeemBody } from './schemas.ts';
import { orderView } from './view.ts';

const zeroAddress = `0x${'0'.repeat(40)}`;

type Ordered = Omit<Static<typeof MintBody>, 'destination'>;

export async function mintToken(
  deps: TokenDeps,
  context: RequestContext,
  id: string,
  { destination, ...ordered }: Static<typeof MintBody>,
): Promise<Answer> {
  const { token } = await findToken(context, id);
  assertActive(token);
  const found = await findWallet(context, token.issuerWalletId);
  const issues = destinationIssues(token.network, destination.address);
  const units = unitsOf(token, ordered.amount, issues);
  const toAddress = usableDestination(token.network, destination.address);
  if (toAddress === token.contract) throw lostAtContract();
  return place(deps, context, { kind: 'mint', token, found, units, toAddress, ordered });
}

export async function redeemToken(
  deps: TokenDeps,
  context: RequestContext,
  id: string,
  { source, ...ordered }: Static<typeof RedeemBody>,
): Promise<Answer> {
  const { token } = await findToken(context, id);
  assertActive(token);
  const units = unitsOf(token, ordered.amount, []);
  const found = await findWallet(context, source.wallet_id);
  if (found.wallet.network !== token.network) {
    const message = `takes a wallet on ${token.network}`;
    throw new ServiceError('invalidRequest', message, {
      details: [{ field: 'source.wallet_id', issue: 'wrong_network', message }],
    });
  }
  return place(deps, context, { kind: 'redeem', token, found, units, toAddress: zeroAddress, ordered });
}

interface Placed {
  readonly kind: OrderKind;
  readonly token: OwnTokenRecord;
  readonly found: FoundWallet;
  readonly units: bigint;
  readonly toAddress: string;
  readonly ordered: Ordered;
}

async function place(
  { intents, driver }: TokenDeps,
  context: RequestContext,
  { kind, token, found, units, toAddress, ordered }: Placed,
): Promise<Answer> {
  const { tenant, nowMs, requestId } = context;
  const reserve = await readReserve(context, token.symbol, ordered.reserve_reference);
  const id = context.newId('ord');
  const { symbol, name, network, decimals, contract, supplyCap } = token;
  const evaluation = await evaluateOperation(intents, context, found, {
    id: intentIdOf(id),
    kind: kind === 'mint' ? 'mint' : 'burn',
    asset: { symbol, network, decimals, contract },
    units,
    toAddress,
    token: { symbol, name, network, decimals, contract, supplyCap },
    policy: ordered.policy,
    metadata: ordered.metadata,
  });
  const verdict = verdictOf(evaluation);
  const draft = { ...draftOf(intents, context, found, evaluation), origin: { kind: orderOrigin, id } };
  const move = openOrder(
    {
      id,
      kind,
      tokenId: token.id,
      connectionId: token.connectionId,
      provider: token.provider,
      asset: symbol,
      decimals,
      amount: formatAmount(units, decimals),
      units: units.toString(),
      reserve,
      draft,
      initiator: draft.initiator,
      metadata: draft.metadata,
      correlationId: requestId,
    },
    verdict,
    nowMs,
  );
  const order = lastOrder(move);
  const { wallet } = found;
  const { connection } = evaluation;
  const opening =
    order.status === 'reserve_check' ? openingOf(context, { draft, verdict, wallet, connection }) : undefined;
  return {
    status: 201,
    body: orderView(order),
    headers: { location: `/v1/tokens/${token.id}/orders/${id}` },
    change: merge(evaluation.change, opening?.change ?? {}, orderChange(context, move), {
      // A token that was frozen meanwhile accepts no orders.
      guards: [{ kind: 'version', id: token.id, version: token.version }],
    }),
    onRefusal: refuseIntent,
    ...(opening !== undefined && { afterCommit: () => driver.enqueue(tenant, opening.intent, wallet) }),
  };
}

/** Throws ServiceError 400 with all issues. */
function unitsOf({ decimals }: OwnTokenRecord, amount: string, issues: FieldIssue[]): bigint {
  const units = parseAmount(amount, decimals);
  if (typeof units === 'string') {
    issues.push({ field: 'amount', issue: units, message: amountTakes(units, decimals) });
  }
  if (issues.length > 0 || typeof units === 'string') throw invalidFields(issues, 'the order');
  return units;
}

function assertActive({ status }: OwnTokenRecord): void {
  if (isAllowedIn(tokenStates.order, status)) return;
  throw new ServiceError('conflict', `the token is ${status}: it takes no orders`, {
    details: [{ field: 'status', issue: 'state_conflict', message: 'the token must be active' }],
  });
}

function lostAtContract(): ServiceError {
  const message = 'units sent to a token’s own contract are lost';
  return new ServiceError('providerRejected', `the destination is not supported: ${message}`, {
    details: [{ field: 'destination.address', issue: 'unsupported_destination', message }],
  });
}
