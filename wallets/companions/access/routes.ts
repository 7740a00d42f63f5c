/** GET /v1/modules, and the route by which a tenant of a sandbox requests a PLANNED module. */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { type Module, modules, plannedModules, previewOfTag } from '../../../gateway/api/modules.ts';
import { type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, PathId } from '../../../gateway/api/schema-kit.ts';
import { noSuch } from '../../../gateway/api/visibility.ts';
import { ask } from './decide.ts';
import { isGranted, type ModuleAccess } from './gate.ts';
import { type AccessRecord, readAccess, requestFor } from './record.ts';
import { AccessRequestBody, ModuleAccessRequest, ModuleList } from './schemas.ts';
import { accessRequestView } from './view.ts';

export interface AccessDeps extends ModuleAccess {
  /** The tags that the gateway serves. */
  readonly servedTags: () => ReadonlySet<string>;
}

const shared = { tag: 'Modules' } as const;

export function accessRoutes(deps: AccessDeps): readonly Route[] {
  return [listModules(deps), requestAccess(deps)];
}

const listModules = (deps: AccessDeps) =>
  route({
    ...shared,
    method: 'GET',
    path: '/v1/modules',
    operationId: 'listModules',
    clientName: 'modules.list',
    summary: 'List the modules, their maturity, and this tenant’s access',
    scope: 'modules:read',
    responses: { 200: { schema: ModuleList, description: 'all of them, in the order of this document' } },
    handle: async (context) => {
      const record = await readAccess(context.store, context.tenant);
      const used = deps.servedTags();
      const shown = modules.filter(({ tag, maturity }) => maturity !== 'LIVE' || used.has(tag));
      return { status: 200, body: { modules: shown.map((each) => moduleView(each, deps, context, record, used)) } };
    },
  });

const requestAccess = (deps: AccessDeps) =>
  route({
    ...shared,
    method: 'POST',
    path: '/v1/modules/:module/access-requests',
    operationId: 'requestModuleAccess',
    clientName: 'modules.requestAccess',
    example: { reason: 'keys for the settlement service' },
    summary: 'Ask for access to a module that is PLANNED, in a sandbox',
    description:
      'The gateway grants it at once, unless the operator decides. A pending request is returned again; a decided one is replaced.',
    scope: 'modules:write',
    params: Closed({ module: PathId('name of the module, e.g. `vaults`') }),
    body: AccessRequestBody,
    bodyOptional: true,
    responses: {
      200: { schema: ModuleAccessRequest, description: 'the request that is pending already' },
      201: { schema: ModuleAccessRequest, description: 'the request, decided or pending' },
    },
    errors: [404, 409],
    handle: async (context, { params, body }) => {
      const { tenant, principal, store } = context;
      if (!modules.some(({ name }) => name === params.module)) throw noSuch('module');
      const module = plannedModules.find((name) => name === params.module);
      if (module === undefined) throw notByRequest(`the module ${params.module} is open to every tenant`);
      if (principal.environment === 'production') {
        throw notByRequest(`in production the scope preview:${module} of a token gives access`);
      }
      const isAutomatic = deps.isAutomatic || tenant === deps.openTenant;
      const record = await readAccess(store, tenant);
      const { request, change } = ask(record, module, body.reason ?? null, isAutomatic, context);
      const answer = { status: change === undefined ? 200 : 201, body: accessRequestView(request) };
      return change === undefined ? answer : { ...answer, change };
    },
  });

function notByRequest(message: string): ServiceError {
  return new ServiceError('conflict', message, { details: [{ field: 'module', issue: 'not_by_request' }] });
}

function moduleView(
  { name, tag, description, maturity }: Module,
  deps: AccessDeps,
  { tenant, principal }: RequestContext,
  record: AccessRecord,
  used: ReadonlySet<string>,
): object {
  const preview = previewOfTag(tag);
  const planned = plannedModules.find((each) => each === name);
  const isProduction = principal.environment === 'production';
  const lacksScope = isProduction && preview !== undefined && !principal.scopes.has(`preview:${preview}`);
  const lacksGrant = !isProduction && planned !== undefined && !isGranted(deps, tenant, planned, record);
  const request = planned === undefined ? undefined : requestFor(record, planned);
  return {
    module: name,
    name: tag,
    description,
    maturity,
    served: used.has(tag),
    access: lacksScope ? 'scope_needed' : lacksGrant ? 'by_request' : 'open',
    preview_scope: preview === undefined ? null : `preview:${preview}`,
    access_request: request === undefined ? null : accessRequestView(request),
  };
}
