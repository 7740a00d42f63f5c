/**
 * The assets of a tenant: those of the registry, and its own tokens. A token becomes an asset when its contract is
 * deployed, and may then be transferred, listed and matched by rules like any other. Its symbol is unique in its tenant,
 * and none of the registry's; to other tenants it does not exist.
 */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { type Asset, assetOf, assetsOn, type TokenTerms } from '../../networks/assets.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { Guard, RecordType, TenantStore, Versioned } from '../../store/contract.ts';

export interface TokenAssetRecord extends Versioned, TokenTerms {
  /** While its contract is not deployed it is no asset yet, but has its symbol. Units of a frozen token do not move. */
  readonly status: 'deploying' | 'active' | 'frozen';
}

export const tokenAssetType: RecordType<TokenAssetRecord> = {
  name: 'token_asset',
  status: ({ status }) => status,
  indices: ({ contract }) => (contract === null ? [] : [ofContractIndex(contract)]),
};

function ofContractIndex(contract: string): string {
  return `assets:contract:${contract.toLowerCase()}`;
}

/** One record a symbol: that is what makes symbols unique. */
export function tokenAssetId(symbol: string): string {
  return `ast_${symbol}`;
}

export interface KnownAsset extends Asset {
  /** Of a tenant's own token. */
  readonly token?: TokenAssetRecord;
}

/** undefined: the tenant knows no asset of this symbol. */
export async function findAsset(
  { store, tenant }: { readonly store: TenantStore; readonly tenant: string },
  symbol: string,
): Promise<KnownAsset | undefined> {
  const listed = assetOf(symbol);
  if (listed !== undefined) return listed;
  return ofToken(await store.read(tenant, tokenAssetType, tokenAssetId(symbol)));
}

/** undefined: the tenant knows no asset with this contract. */
export async function findAssetAt(
  { store, tenant }: { readonly store: TenantStore; readonly tenant: string },
  network: NetworkId,
  contract: string,
): Promise<KnownAsset | undefined> {
  const listed = assetsOn(network).find((asset) => asset.contract?.toLowerCase() === contract.toLowerCase());
  if (listed !== undefined) return listed;
  const indices = [ofContractIndex(contract)];
  const { items } = await store.list(tenant, tokenAssetType, { indices, order: 'oldest', limit: 1 });
  return ofToken(items.find((token) => token.network === network));
}

function ofToken(token: TokenAssetRecord | undefined): KnownAsset | undefined {
  if (token === undefined || token.status === 'deploying') return undefined;
  const { symbol, network, decimals, contract } = token;
  return { symbol, network, decimals, contract, token };
}

/** The filter of a list. Throws ServiceError 400 for a symbol that the tenant does not know. */
export async function assertAsset(
  context: { readonly store: TenantStore; readonly tenant: string },
  symbol: string | undefined,
): Promise<void> {
  if (symbol === undefined || (await findAsset(context, symbol)) !== undefined) return;
  throw new ServiceError('invalidRequest', 'there is no asset of this symbol', {
    details: [
      { field: 'asset', issue: 'not_allowed_value', message: 'must be the symbol of an asset or of your own token' },
    ],
  });
}

/** What was read of the token must still hold: it is neither frozen nor released since. */
export function unchangedToken({ id, version }: TokenAssetRecord): Guard {
  return { kind: 'version', id, version };
}

/** The terms alone, as intents and wallets hold them. */
export function termsOf({ symbol, name, network, decimals, contract, supplyCap }: TokenAssetRecord): TokenTerms {
  return { symbol, name, network, decimals, contract, supplyCap };
}
