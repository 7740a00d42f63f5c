/** The exports of module access for the gateway and the command. */
export { type ModuleAccess, moduleRefusal } from './gate.ts';
export { decideAccess } from './operator.ts';
export { type AccessRequest, accessIndex, readAccess } from './record.ts';
export { accessRoutes } from './routes.ts';
export { ModuleAccessRequest } from './schemas.ts';
export { accessRequestView } from './view.ts';
