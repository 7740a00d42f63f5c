/** An access token as routes and events show it. Its secret is in the answer that issues it, and nowhere else. */
import Type from 'typebox';
import { Closed, Nullable, OneOf, secret, Timestamp } from './schema-kit.ts';
import { sandboxScopes } from './scopes.ts';

const properties = {
  id: Type.String(),
  name: Nullable(Type.String()),
  actor: Type.String({
    description: 'what `initiator`, votes and `approvers` name: one person for all tokens of a line',
  }),
  issuers: Type.Array(Type.String(), {
    description: 'the line of tokens that issued it, the first one first; empty: the operator did',
  }),
  status: OneOf(['active', 'expired', 'revoked']),
  scopes: Type.Array(OneOf([...sandboxScopes, 'sandbox:admin'])),
  provider_connection_ids: Nullable(
    Type.Array(Type.String(), { description: 'the only connections that it sees; null: all of the tenant' }),
  ),
  created_at: Timestamp,
  expires_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
};

export const AccessToken = Closed(properties, { title: 'AccessToken' });

export const IssuedAccessToken = Closed(
  { ...properties, token: Type.String({ ...secret, description: 'shown once' }) },
  { title: 'IssuedAccessToken' },
);
