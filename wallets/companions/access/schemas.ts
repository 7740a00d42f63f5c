/** The requests and answers of the routes of modules. */
import Type from 'typebox';
import { modules, plannedModules } from '../../../gateway/api/modules.ts';
import { Closed, Id, Lines, Nullable, OneOf, Timestamp } from '../../../gateway/api/schema-kit.ts';

export const AccessRequestBody = Closed({
  reason: Type.Optional(Lines(500, 'purpose, for the operator')),
});

export const ModuleAccessRequest = Closed(
  {
    id: Id('acr'),
    module: OneOf(plannedModules),
    status: OneOf(['pending', 'granted', 'denied']),
    reason: Nullable(Type.String()),
    note: Nullable(Type.String({ description: 'the operator’s words' })),
    created_at: Timestamp,
    decided_at: Nullable(Timestamp),
  },
  { title: 'ModuleAccessRequest' },
);

export const Module = Closed(
  {
    module: OneOf(modules.map(({ name }) => name)),
    name: Type.String({ description: 'the tag of its operations' }),
    description: Type.String(),
    maturity: OneOf(['LIVE', 'PREVIEW', 'PLANNED']),
    served: Type.Boolean({ description: 'false: announced, and without operations yet' }),
    access: OneOf(['open', 'by_request', 'scope_needed'], {
      description:
        '`open` to this tenant and token; `by_request`: not granted yet; `scope_needed`: production, and the token lacks `preview_scope`',
    }),
    preview_scope: Nullable(Type.String({ description: 'what production asks for' })),
    access_request: Nullable(ModuleAccessRequest),
  },
  { title: 'Module' },
);

export const ModuleList = Closed({ modules: Type.Array(Module) }, { title: 'ModuleList' });
