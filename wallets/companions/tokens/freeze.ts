/**
 * Freezes a token: until it is unfrozen, nothing is minted, redeemed or transferred. Transactions already on a chain continue.
 * Orders about to be signed are rejected, approved transfers wait.
 */

import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { tokenAssetId, tokenAssetType } from '../../custody/assets/token-assets.ts';
import { merge, update } from '../../store/changes.ts';
import { tokenChange } from './effects.ts';
import { findToken } from './find.ts';
import { type OwnTokenRecord, tokenStates } from './record.ts';
import { tokenView } from './view.ts';

/** Freezing a frozen token changes nothing, and neither does unfreezing an active one. */
export async function setTokenFrozen(
  context: RequestContext,
  id: string,
  isFrozen: boolean,
  reason: string | undefined,
): Promise<Answer> {
  const { store, tenant, nowMs } = context;
  const { token, balances } = await findToken(context, id);
  const status = isFrozen ? 'frozen' : 'active';
  if (token.status === status) return { status: 200, body: tokenView(token, balances) };
  if (!isAllowedIn(isFrozen ? tokenStates.freeze : tokenStates.unfreeze, token.status)) {
    throw new ServiceError('conflict', `the token is ${token.status}`, {
      details: [{ field: 'status', issue: 'state_conflict', message: 'the token must be deployed' }],
    });
  }
  const asset = await store.read(tenant, tokenAssetType, tokenAssetId(token.symbol));
  if (asset === undefined) throw new Error(`the asset of ${token.id} is missing`);
  const after: OwnTokenRecord = {
    ...token,
    status,
    freezeReason: isFrozen ? (reason ?? null) : null,
    version: token.version + 1,
    updatedAtMs: nowMs,
  };
  return {
    status: 200,
    body: tokenView(after, balances),
    change: merge(tokenChange(context, isFrozen ? 'frozen' : 'unfrozen', token, after), {
      puts: [update(tokenAssetType, asset, { ...asset, status, version: asset.version + 1 })],
    }),
  };
}
