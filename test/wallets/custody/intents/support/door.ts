/** The intent routes behind a real HTTP door, with tokens of one tenant and of another. */
import type { FastifyInstance } from 'fastify';
import { systemClock, systemRandom } from '../../../../../core/actors/live/ports.ts';
import { accessTokenRoutes } from '../../../../../gateway/auth/access-token-routes.ts';
import { TokenStore } from '../../../../../gateway/auth/token-store.ts';
import type { IntentQueue } from '../../../../../wallets/custody/intents/dependencies.ts';
import { intentRoutes } from '../../../../../wallets/custody/intents/routes.ts';
import { callJson, type JsonAnswer, tokenKey } from '../../../../support/gateway.ts';
import type { LogLine } from '../../../../support/log.ts';
import { restApp } from '../../../../support/rest-app.ts';
import { judgeRoutes } from '../../../policy/policies/support/door.ts';
import type { World } from './world.ts';

export const tenant = 'tn_acme';

export const tokens = {
  maker: 'svc_sk_test_maker0000000000',
  makerRotated: 'svc_sk_test_makerrotated00',
  annRotated: 'svc_sk_test_annrotated0000',
  ann: 'svc_sk_test_ann000000000000',
  bob: 'svc_sk_test_bob000000000000',
  reader: 'svc_sk_test_reader000000000',
  stranger: 'svc_sk_test_stranger0000000',
} as const;

export interface Door {
  readonly app: FastifyInstance;
  readonly enqueued: string[];
  readonly lines: readonly LogLine[];
  post(path: string, body?: object, who?: keyof typeof tokens, headers?: Record<string, string>): Promise<JsonAnswer>;
  get(path: string, who?: keyof typeof tokens): Promise<JsonAnswer>;
  /** By a whole path. */
  getUrl(url: string, token?: string): Promise<JsonAnswer>;
  /** For tokens of a test's own. */
  putToken(token: string, id: string, connectionIds: readonly string[]): void;
  getAs(token: string, path: string): Promise<JsonAnswer>;
  /** By a whole path. */
  postAs(token: string, url: string, body?: object): Promise<JsonAnswer>;
  /** For tokens with records in the world's Redis. */
  readonly issuing: TokenStore;
  /** A POST to a route of the judges, by its whole path. */
  evaluateTransfer(url: string, body: object): Promise<JsonAnswer>;
}

const wallets = (path: string): string => `/v1/wallets/${path}`;

/** `driver`: by default one that only notes what it is told. */
export async function openDoor(world: World, driver?: IntentQueue): Promise<Door> {
  const enqueued: string[] = [];
  const noted: IntentQueue = {
    enqueue: (tenantId, intent, wallet) => {
      enqueued.push(intent.id);
      driver?.enqueue(tenantId, intent, wallet);
    },
  };
  const issuing = new TokenStore(world.redis.redis, tokenKey, { clock: systemClock, random: systemRandom });
  const {
    app,
    tokens: known,
    lines,
  } = await restApp({
    routes: [...intentRoutes(world.dependencies(), noted), ...judgeRoutes, ...accessTokenRoutes(issuing)],
    store: world.store,
  });
  known.others = issuing;
  for (const [name, token] of Object.entries(tokens)) {
    if (name === 'stranger') known.put(token, { id: 'tok_stranger', tenant: 'tn_other' });
    else if (name === 'reader') known.put(token, { id: 'tok_reader', tenant, scopes: ['intents:read'] });
    else known.put(token, { id: `tok_${name}`, actorId: `tok_${name.replace('Rotated', '')}`, tenant });
  }
  const call = (method: 'GET' | 'POST', url: string, token: string, body?: object, headers = {}) =>
    callJson(app, { method, url, token, body, headers });
  return {
    app,
    enqueued,
    lines,
    post: (path, body, who = 'maker', headers = {}) => call('POST', wallets(path), tokens[who], body, headers),
    get: (path, who = 'maker') => call('GET', wallets(path), tokens[who]),
    getUrl: (url, token: string = tokens.maker) => call('GET', url, token),
    putToken: (token, id, providerConnectionIds) => known.put(token, { id, tenant, providerConnectionIds }),
    getAs: (token, path) => call('GET', wallets(path), token),
    postAs: (token, url, body) => call('POST', url, token, body),
    issuing,
    evaluateTransfer: (url, body) => call('POST', url, tokens.maker, body),
  };
}
