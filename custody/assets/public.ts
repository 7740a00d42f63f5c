/** What other modules use of assets. */
export {
  assertAsset,
  findAsset,
  type KnownAsset,
  type TokenAssetRecord,
  termsOf,
  tokenAssetId,
  unchangedToken,
} from './token-assets.ts';
