/** What other modules use of connections. */

export { connectionCreated } from './change.ts';
export type { MakeTestWallets, TestWallet } from './connect.ts';
export { asServedBy, type ConnectionRecord, connectionType, openIntentsOfConnectionIndex } from './record.ts';
export { revokeConnectionPrefix } from './revoking.ts';
export { connectionRoutes } from './routes.ts';
export { Connection } from './schemas.ts';
export { unchangedConnection, usableConnection } from './usable.ts';
