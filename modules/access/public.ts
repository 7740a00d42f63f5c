/** What the doors and the command use of the access to planned modules. */
export { type ModuleAccess, moduleRefusal } from './gate.ts';
export { decideAccess } from './operator.ts';
export { type AccessRequest, accessIndex, readAccess } from './record.ts';
export { accessRoutes } from './routes.ts';
export { ModuleAccessRequest } from './schemas.ts';
export { accessRequestView } from './view.ts';
