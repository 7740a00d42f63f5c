/** What other modules use of tenants. */
export { frozenRetryMs, readTenant, tenantFrozenError, unchangedTenant, unfrozenTenant } from './record.ts';
export { Tenant, tenantRoutes } from './routes.ts';
