/** What other modules use of assets. */
export {
  assertAsset,
  findAsset,
  type KnownAsset,
  type TokenAssetRecord,
  termsOf,
  tokenAssetId,
  tokenAssetType,
  unchangedToken,
} from './token-assets.ts';
