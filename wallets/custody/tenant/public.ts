/** What other modules use of tenants. */
export { readTenant, tenantFrozen, unchangedTenant, unfrozenTenant } from './record.ts';
export { Tenant, tenantRoutes } from './routes.ts';
