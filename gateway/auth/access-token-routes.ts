/**
 * /v1/access-tokens: tokens that a token issues. A new one has at most the scopes, connections and lifetime of its issuer, and is
 * the same person, so it adds no vote. A token rotates and revokes itself and what follows it in its line, nothing else.
 *
 * The store of tokens is another one than the tenant's, so a token and its event are two writes, in this order. A crash between
 * them leaves a token whose secret no caller has; a repeat issues another. A revocation has its event once: by a claim.
 */
import Type, { type Static } from 'typebox';
import { timestamp, timestampOrNull } from '../../proto/timestamps.ts';
import { connectionType } from '../../wallets/custody/connections/public.ts';
import { asking } from '../../wallets/store/asking-redis.ts';
import { StoreTampered, StoreUnavailable } from '../../wallets/store/contract.ts';
import { AccessToken, IssuedAccessToken } from '../api/access-token.ts';
import { invalidFields } from '../api/errors/invalid-fields.ts';
import { type FieldIssue, ServiceError } from '../api/errors/service-error.ts';
import { eventOf } from '../api/event.ts';
import { outcomeUnknown } from '../api/failures.ts';
import { listBody, readPage } from '../api/pages.ts';
import { actorOf, type Principal } from '../api/principal.ts';
import { type Answer, type RequestContext, type Route, route } from '../api/route.ts';
import { Closed, Id, ListOf, Name, OneOf, PathId, pageQuery, Timestamp } from '../api/schema-kit.ts';
import { type Scope, sandboxScopes, withinProviders } from '../api/scopes.ts';
import { noSuch, seesWholeTenant } from '../api/visibility.ts';
import { issuersMax, type TokenRecord, TokenTampered, tokensMax } from './token-record.ts';
import type { IssuedToken, TokenStore } from './token-store.ts';

export type IssuingStore = Pick<
  TokenStore,
  'issueToken' | 'read' | 'listPage' | 'rotateToken' | 'revokeToken' | 'hasRoom'
>;

const tag = 'Access tokens';
const params = Closed({ id: PathId('access token id') });

const NewTokenBody = Closed({
  name: Type.Optional(Name),
  scopes: Type.Array(OneOf(sandboxScopes), {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: 'some of the caller’s',
  }),
  provider_connection_ids: Type.Optional(
    Type.Array(Id('pcn'), {
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      description: 'the only connections that it sees; as the caller by default',
    }),
  ),
  expires_at: Type.Optional({
    ...Timestamp,
    description: 'by default, and at the latest, when the caller’s token ends',
  }),
});

export function accessTokenRoutes(tokens: IssuingStore): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/access-tokens',
      operationId: 'createAccessToken',
      clientName: 'accessTokens.create',
      example: { name: 'reports', scopes: ['wallets:read', 'intents:read'] },
      tag,
      summary: 'Issue a token with some of the caller’s rights',
      description: `The answer holds the token, which is never shown again. It is the same person as the caller: \`actor\` says which. It ends with the caller’s token, and is revoked with it. At most ${issuersMax} tokens come before one in its line, and a tenant has at most ${tokensMax} tokens.`,
      scope: 'access_tokens:write',
      body: NewTokenBody,
      responses: { 201: { description: 'The token', schema: IssuedAccessToken } },
      errors: [404, 409],
      handle: (context, { body }) => issue(context, body, tokens),
    }),
    route({
      method: 'GET',
      path: '/v1/access-tokens',
      operationId: 'listAccessTokens',
      clientName: 'accessTokens.list',
      tag,
      summary: 'List the tenant’s tokens, newest first',
      description:
        'Those that have ended too. A token that is limited to provider connections sees itself and what it issued.',
      scope: 'access_tokens:read',
      query: Closed(pageQuery),
      responses: { 200: { description: 'A page of tokens', schema: ListOf('access_tokens', AccessToken) } },
      handle: async (context, { query }) => {
        const { tenant, principal, nowMs } = context;
        const request = readPage(context, 'access_tokens', query);
        const isShown = (record: TokenRecord) => maySee(principal, record);
        const { items, hasMore } = await stored(tokens.listPage(tenant, request.query, isShown));
        const page = { items, hasMore, balances: new Map(), nextId: items.at(-1)?.id };
        return { status: 200, body: listBody('access_tokens', page, (record) => tokenView(record, nowMs), request) };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/access-tokens/:id',
      operationId: 'getAccessToken',
      clientName: 'accessTokens.get',
      tag,
      summary: 'Read a token, without its secret',
      scope: 'access_tokens:read',
      params,
      responses: { 200: { description: 'The token', schema: AccessToken } },
      errors: [404],
      handle: async (context, { params: { id } }) => {
        return { status: 200, body: tokenView(await find(context, id, tokens), context.nowMs) };
      },
    }),
    route({
      method: 'POST',
      path: '/v1/access-tokens/:id/rotate',
      operationId: 'rotateAccessToken',
      clientName: 'accessTokens.rotate',
      tag,
      summary: 'Replace a token by a new one with the same rights and the same end',
      description:
        'The answer holds the new token, which is never shown again. The old one is revoked, and with it what it issued. For the caller’s own token, or one that it issued.',
      scope: 'access_tokens:write',
      params,
      responses: { 200: { description: 'The new token', schema: IssuedAccessToken } },
      errors: [404, 409],
      handle: async (context, { params: { id } }) => {
        await findOwn(context, id, tokens);
        const issued = await changed(tokens.rotateToken(context.tenant, id, false));
        const old = await find(context, id, tokens);
        if (issued === undefined) throw notActive(tokenView(old, context.nowMs).status);
        return withRevocation(context, old, issuedAnswer(context, issued, 200));
      },
    }),
    route({
      method: 'POST',
      path: '/v1/access-tokens/:id/revoke',
      operationId: 'revokeAccessToken',
      clientName: 'accessTokens.revoke',
      tag,
      summary: 'Revoke a token, and all that it issued',
      description:
        'Gateways follow within 5 seconds. One that is revoked already stays as it is. For the caller’s own token, or one that it issued.',
      scope: 'access_tokens:write',
      params,
      responses: { 200: { description: 'The token', schema: AccessToken } },
      errors: [404],
      handle: async (context, { params: { id } }) => {
        await findOwn(context, id, tokens);
        await changed(tokens.revokeToken(context.tenant, id));
        const after = await find(context, id, tokens);
        return withRevocation(context, after, { status: 200, body: tokenView(after, context.nowMs) });
      },
    }),
  ];
}

async function issue(
  context: RequestContext,
  body: Static<typeof NewTokenBody>,
  tokens: IssuingStore,
): Promise<Answer> {
  const { tenant, principal, nowMs } = context;
  const line = [...(principal.token?.issuers ?? []), nameInLine(principal)];
  if (line.length > issuersMax) {
    const message = `a line has at most ${issuersMax} tokens before the last one: let an earlier one issue it`;
    throw new ServiceError('conflict', message, { details: [{ field: '', issue: 'too_many', message }] });
  }
  const connectionIds = body.provider_connection_ids ?? principal.providerConnectionIds;
  const scopes = body.scopes as readonly Scope[];
  const expiresAtMs = body.expires_at === undefined ? principal.token?.expiresAtMs : Date.parse(body.expires_at);
  checkRights(principal, { scopes, connectionIds, expiresAtMs }, nowMs);
  for (const id of body.provider_connection_ids ?? []) {
    if ((await context.store.read(tenant, connectionType, id)) !== undefined) continue;
    throw new ServiceError('notFound', 'no such provider connection', {
      details: [{ field: 'provider_connection_ids', issue: 'not_found', message: id }],
    });
  }
  if (!(await stored(tokens.hasRoom(tenant)))) {
    const message = `a tenant has at most ${tokensMax} tokens, those that ended within 30 days included`;
    throw new ServiceError('conflict', message, { details: [{ field: '', issue: 'too_many', message }] });
  }
  const issued = await changed(
    tokens.issueToken({
      ...{ tenant, environment: principal.environment, scopes, expiresAtMs, providerConnectionIds: connectionIds },
      ...(body.name !== undefined && { name: body.name }),
      issuer: { actorId: actorOf(principal), issuers: line },
    }),
  );
  return issuedAnswer(context, issued, 201);
}

interface Rights {
  readonly scopes: readonly Scope[];
  readonly connectionIds: readonly string[] | undefined;
  readonly expiresAtMs: number | undefined;
}

/** Throws ServiceError: 403 for what the issuer has not itself, 400 for what no such token can have. */
function checkRights(issuer: Principal, { scopes, connectionIds, expiresAtMs }: Rights, nowMs: number): void {
  const beyond = (field: string, message: string): FieldIssue => ({ field, issue: 'beyond_issuer', message });
  const details: FieldIssue[] = [];
  const foreign = scopes.filter((scope) => !issuer.scopes.has(scope));
  if (foreign.length > 0) details.push(beyond('scopes', `your token lacks ${foreign.join(', ')}`));
  const own = issuer.providerConnectionIds;
  if (own !== undefined && connectionIds?.every((id) => own.includes(id)) !== true) {
    details.push(beyond('provider_connection_ids', 'your token does not see all of these connections'));
  }
  const ends = issuer.token?.expiresAtMs;
  if (ends !== undefined && expiresAtMs !== undefined && expiresAtMs > ends) {
    details.push(beyond('expires_at', `your token ends at ${timestamp(ends)}`));
  }
  if (details.length > 0) {
    throw new ServiceError('insufficientScope', 'a token has at most the rights of its issuer', { details });
  }
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
    throw invalidFields([{ field: 'expires_at', issue: 'too_small', message: 'must lie in the future' }]);
  }
  const never = connectionIds === undefined ? [] : scopes.filter((scope) => !withinProviders([scope]).includes(scope));
  if (never.length > 0) {
    const message = `a token that is limited to provider connections never has ${never.join(', ')}`;
    throw invalidFields([{ field: 'scopes', issue: 'not_applicable', message }]);
  }
}

/** How the line of a token that this one issues names it. */
function nameInLine(principal: Principal): string {
  return principal.tokenId === '' ? actorOf(principal) : principal.tokenId;
}

function isOwn(principal: Principal, { id, issuers }: TokenRecord): boolean {
  const name = nameInLine(principal);
  return id === name || issuers.includes(name);
}

function maySee(principal: Principal, record: TokenRecord): boolean {
  return seesWholeTenant(principal) || isOwn(principal, record);
}

/** Throws ServiceError 404. */
async function find({ tenant, principal }: RequestContext, id: string, tokens: IssuingStore): Promise<TokenRecord> {
  const record = await stored(tokens.read(tenant, id));
  if (record === undefined || !maySee(principal, record)) throw noSuch('access token');
  return record;
}

/** Throws ServiceError: 404, or 403 for a token that the caller did not issue. */
async function findOwn(context: RequestContext, id: string, tokens: IssuingStore): Promise<TokenRecord> {
  const record = await find(context, id, tokens);
  if (isOwn(context.principal, record)) return record;
  const message = 'a token changes itself and those that it issued; the operator changes any: signmesh tokens';
  throw new ServiceError('insufficientScope', message, { details: [{ field: 'id', issue: 'beyond_issuer', message }] });
}

function notActive(status: string): ServiceError {
  return new ServiceError('conflict', `the token is ${status}`, {
    details: [{ field: 'status', issue: 'state_conflict', message: 'it must be active: issue another' }],
  });
}

function issuedAnswer(context: RequestContext, { token, record }: IssuedToken, status: number): Answer {
  const body = { ...tokenView(record, context.nowMs), token };
  return { status, body, change: { events: [eventAbout(context, 'issued', record)] } };
}

/** The answer, with the event of the revocation unless it was told before. */
function withRevocation(context: RequestContext, revoked: TokenRecord, answer: Answer): Answer {
  const events = [...(answer.change?.events ?? []), eventAbout(context, 'revoked', revoked)];
  const guards = [{ kind: 'claim', name: `access_token.revoked:${revoked.id}` } as const];
  return { ...answer, change: { guards, events }, onRefusal: () => answer };
}

function eventAbout(context: RequestContext, happening: 'issued' | 'revoked', record: TokenRecord) {
  return eventOf(context, {
    type: `access_token.${happening}`,
    resource: 'access_token',
    record: { id: record.id, version: happening === 'issued' ? 1 : 2 },
    object: tokenView(record, context.nowMs),
  });
}

function tokenView(record: TokenRecord, nowMs: number): Static<typeof AccessToken> {
  const { id, name, actorId, issuers, scopes, providerConnectionIds, createdAtMs, expiresAtMs, revokedAtMs } = record;
  const hasExpired = expiresAtMs !== undefined && expiresAtMs <= nowMs;
  return {
    id,
    name: name === '' ? null : name,
    actor: actorId,
    issuers: [...issuers],
    status: revokedAtMs !== undefined ? 'revoked' : hasExpired ? 'expired' : 'active',
    scopes: [...scopes],
    provider_connection_ids: providerConnectionIds === undefined ? null : [...providerConnectionIds],
    created_at: timestamp(createdAtMs),
    expires_at: timestampOrNull(expiresAtMs),
    revoked_at: timestampOrNull(revokedAtMs),
  };
}

/** Throws StoreTampered and StoreUnavailable in place of the errors of the store of tokens. */
async function stored<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof TokenTampered) throw new StoreTampered(error.found?.id, error);
    return asking<T>(Promise.reject(error));
  }
}

/** Of several writes: some may be done. */
async function changed<T>(reply: Promise<T>): Promise<T> {
  try {
    return await stored(reply);
  } catch (error) {
    throw error instanceof StoreUnavailable ? outcomeUnknown(error) : error;
  }
}
