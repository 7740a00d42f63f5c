/** GET /v1/me: what the caller's own token is and may do. Never the secret. */
import Type from 'typebox';
import { timestampOrNull } from '../../proto/timestamps.ts';
import { actorOf } from '../api/principal.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, Nullable, OneOf, Timestamp } from '../api/schema-kit.ts';
import { allScopes } from '../api/scopes.ts';
import type { LimitClass, RateLimitConfig } from '../limits/rate-limits.ts';

const limitClasses = ['reads', 'writes', 'signing'] as const satisfies readonly LimitClass[];

const Me = Closed(
  {
    tenant: Type.String(),
    environment: OneOf(['sandbox', 'production']),
    actor: Type.String({
      description: 'what `initiator` and votes show: one person; it stays when the token is rotated',
    }),
    may_vote: Type.Boolean({ description: 'whether this person may vote on what others initiate: `intents:approve`' }),
    token: Nullable(
      Closed(
        {
          id: Type.String(),
          name: Nullable(Type.String()),
          created_at: Timestamp,
          expires_at: Nullable(Timestamp),
        },
        { description: 'null: a test token that was never issued, which has a tenant of its own' },
      ),
    ),
    scopes: Type.Array(OneOf(allScopes)),
    provider_connection_ids: Nullable(
      Type.Array(Type.String(), { description: 'the only connections that it sees; null: all of the tenant' }),
    ),
    rate_limits: Type.Array(
      Closed({
        class: OneOf(limitClasses),
        calls: Type.Integer({ minimum: 1 }),
        window_s: Type.Integer({ minimum: 1 }),
      }),
      { description: 'of the tenant, over all its tokens; empty: calls are not counted' },
    ),
  },
  { title: 'Me' },
);

/** `limits` undefined: calls are not counted. */
export function meRoutes(limits: RateLimitConfig | undefined): readonly Route[] {
  return [
    route({
      tag: 'Service',
      method: 'GET',
      path: '/v1/me',
      operationId: 'getMe',
      clientName: 'service.me',
      summary: 'Show what the caller’s token is and may do',
      scope: 'any',
      responses: { 200: { schema: Me, description: 'the token, without its secret' } },
      handle: async ({ principal }) => {
        const { tenant, environment, tokenId, token, scopes, providerConnectionIds } = principal;
        return {
          status: 200,
          body: {
            tenant,
            environment,
            actor: actorOf(principal),
            may_vote: scopes.has('intents:approve'),
            token:
              token === undefined
                ? null
                : {
                    id: tokenId,
                    name: token.name === '' ? null : token.name,
                    created_at: timestampOrNull(token.createdAtMs),
                    expires_at: timestampOrNull(token.expiresAtMs),
                  },
            scopes: [...scopes],
            provider_connection_ids: providerConnectionIds ?? null,
            rate_limits:
              limits === undefined
                ? []
                : limitClasses.map((name) => ({ class: name, calls: limits[name], window_s: limits.windowS })),
          },
        };
      },
    }),
  ];
}
