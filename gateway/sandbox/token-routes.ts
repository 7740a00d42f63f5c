/**
 * /v1/sandbox/tokens: further principals for a test. Approvals need a second person, and isolation a second tenant; the
 * banner has two tokens of one tenant. A test's tenant is made from its name and the caller's own tenant, so that the route
 * opens no tenant of others.
 */
import { createHash } from 'node:crypto';
import Type from 'typebox';
import { ServiceError } from '../api/errors/service-error.ts';
import { actorOf } from '../api/principal.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, Name, OneOf, secret } from '../api/schema-kit.ts';
import { allScopes, type Scope, sandboxScopes } from '../api/scopes.ts';
import { noSuch } from '../api/visibility.ts';
import { notSupported, whoDid } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { common } from './shared.ts';

const TokenBody = Closed({
  name: Type.Optional(Name),
  tenant: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      description:
        'the caller’s name for another tenant: the same name is the same tenant; the caller’s own by default',
    }),
  ),
  scopes: Type.Optional(
    Type.Array(OneOf(sandboxScopes), {
      minItems: 1,
      maxItems: 100,
      description: 'every scope but `sandbox:admin` by default',
    }),
  ),
});

const IssuedToken = Closed(
  {
    id: Type.String({ description: 'as approvals and `approvers` of policies name it' }),
    token: Type.String({ ...secret, description: 'shown once' }),
    tenant: Type.String(),
    scopes: Type.Array(OneOf(sandboxScopes)),
  },
  { title: 'SandboxToken' },
);

const OwnerBody = Closed({
  token: Type.String({
    ...secret,
    minLength: 1,
    maxLength: 512,
    description: 'an access token; it is written to no log',
  }),
});

const TokenOwner = Closed(
  {
    tenant: Type.String(),
    actor: Type.String({ description: 'as approvals and `approvers` of policies name it' }),
    scopes: Type.Array(OneOf(allScopes)),
  },
  { title: 'SandboxTokenOwner' },
);

export function tokenRoutes({ tokens, ownerOf }: Pick<SandboxDeps, 'tokens' | 'ownerOf'>): readonly Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/tokens',
      operationId: 'issueSandboxToken',
      clientName: 'sandbox.issueToken',
      example: { name: 'alice', tenant: 'suppliers' },
      summary: 'Issue a token: another person of the caller’s tenant, or of a tenant of its own',
      description:
        'For tests that need approvers, or several tenants. It does not expire; `signmesh tokens` lists and revokes those of the caller’s tenant.',
      body: TokenBody,
      bodyOptional: true,
      responses: { 201: { description: 'The token', schema: IssuedToken } },
      handle: async (context, { body }) => {
        if (tokens === undefined) throw notSupported('this sandbox has no store of tokens');
        const { name, scopes = sandboxScopes } = body;
        const tenant = body.tenant === undefined ? context.tenant : tenantOf(context.tenant, body.tenant);
        context.log.info(whoDid(context, 'tokens.issue', { tenant, ...(name && { name }) }), 'a token was issued');
        const request = { tenant, environment: 'sandbox', scopes: scopes as readonly Scope[] } as const;
        const { token, record } = await tokens.issueToken({ ...request, ...(name !== undefined && { name }) });
        return { status: 201, body: { id: record.id, token, tenant, scopes: [...record.scopes] } };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/tokens/owner',
      operationId: 'readSandboxTokenOwner',
      clientName: 'sandbox.tokenOwner',
      example: { token: 'svc_sk_test_madeUpTokenOfAnotherTenant' },
      summary: 'Read whose an access token is: its tenant, and its scopes',
      description: 'Of a token that you hold, also of a made-up one. 404: no such token works here.',
      body: OwnerBody,
      responses: { 200: { description: 'Its owner', schema: TokenOwner } },
      errors: [404],
      handle: async (_, { body }) => {
        const owner = await ownerOf(body.token);
        if (owner instanceof ServiceError) throw owner.kind === 'unavailable' ? owner : noSuch('token');
        return { status: 200, body: { tenant: owner.tenant, actor: actorOf(owner), scopes: [...owner.scopes] } };
      },
    }),
  ];
}

/** A tenant that only this caller's tenant can name. */
function tenantOf(own: string, name: string): string {
  return `tn_${createHash('sha256').update(`signmesh test tenant\n${own}\n${name}`).digest('hex').slice(0, 32)}`;
}
