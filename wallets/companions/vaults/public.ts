/** The exports of vaults for the gateway: routes, the port to the cluster, the deletion of keys. */
export { deleteKey, deleteKeyPrefix } from './archive.ts';
export type { KeyOrder, MadeKey, MessageOrder, MessageSignature, VaultCluster } from './cluster.ts';
export type { KeystoreName } from './record.ts';
export { vaultRoutes } from './routes.ts';
export { Vault, VaultKey, VaultSignatureSummary } from './schemas.ts';
