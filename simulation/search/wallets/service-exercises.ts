/** Webhooks, connections, modules, receipts and tokens of access at rest. docs/webhooks.md, docs/wallet-api.md. */
import { createPublicKey, verify } from 'node:crypto';
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { done, type Exercise, idsOf, refused, sameIds, shows } from './exercise.ts';

/** Served without a request; the others by request in a sandbox. */
const open = [
  ...['providers', 'wallets', 'intents', 'events', 'webhooks', 'signing', 'modules', 'compliance', 'risk', 'policies'],
  'recon',
];
const byRequest = ['vaults', 'treasury', 'tokens'];

const wrongUrls: readonly (readonly [url: string, issue: string])[] = [
  ['ftp://hooks.example.com/x', 'scheme_not_allowed'],
  ['https://user:word@hooks.example.com/x', 'credentials_not_allowed'],
  ['https://hooks.example.com/x#part', 'fragment_not_allowed'],
];

/** A webhook from its registration to its removal. */
export async function wholeWebhook(exercise: Exercise): Promise<void> {
  const { tenancy, draw, operator } = exercise;
  const url = `https://hooks.example.com/${tenancy.name}/${tenancy.key('exercised')}`;
  for (const [wrong, issue] of wrongUrls)
    await refused(exercise, ['POST', '/v1/webhooks', { url: wrong, events: ['*'] }], 400, issue);
  for (const events of [[], ['nothing.*'], ['wallet.nothing'], ['wallet']])
    await refused(exercise, ['POST', '/v1/webhooks', { url, events }], 400);
  const description = draw.chance(0.5) ? 'everything' : undefined;
  const asked = { url, events: ['wallet.*', 'policy.created'], ...(description !== undefined && { description }) };
  const askedMs = operator.nowMs;
  const hook = await done(exercise, 'POST', '/v1/webhooks', asked);
  const { id, secret } = hook;
  tenancy.secrets.push(secret);
  const facts = {
    ...{ id, url, deletedMs: undefined as number | undefined, wasDisturbed: true },
    secrets: [{ secret, version: 1, askedMs, madeMs: operator.nowMs, revokes: false }],
  };
  tenancy.hooks.push(facts);
  const fresh = { description: description ?? null, status: 'enabled', version: 1, suspended_at: null };
  shows(`the webhook ${id}`, hook, { ...asked, ...fresh });
  const target = `/v1/webhooks/${id}`;
  const shown = await done(exercise, 'GET', target);
  if ('secret' in shown) found('no-secret-in-clear', `GET ${target} shows its secret`);
  shows(target, shown, { ...asked, ...fresh, failing_since: null });
  const same = await done(exercise, 'PATCH', target, { events: asked.events, status: 'enabled' });
  shows(`${target} without a change`, same, { version: 1 });
  const change = { description: null, events: ['vault.*'], status: 'disabled' };
  const after = await done(exercise, 'PATCH', target, change);
  shows(`${target} after its change`, after, { ...change, url, version: 2, created_at: hook.created_at });
  await refused(exercise, ['POST', `${target}/ping`, {}], 409, 'state_conflict');
  for (const wrong of [{}, { status: 'suspended' }, { url: 'nowhere' }])
    await refused(exercise, ['PATCH', target, wrong], 400);
  sameIds(
    '/v1/webhooks',
    (await idsOf(exercise, '/v1/webhooks', 'webhooks')).filter((one) => one === id),
    [id],
  );
  await done(exercise, 'DELETE', target);
  facts.deletedMs = operator.nowMs;
  const gone = [
    ['GET', target],
    ['DELETE', target],
    ['PATCH', target, { events: ['*'] }],
  ] as const;
  for (const call of gone) await refused(exercise, call, 404);
  for (const what of ['ping', 'rotate-secret', 'redeliver'])
    await refused(exercise, ['POST', `${target}/${what}`, {}], 404);
  if ((await idsOf(exercise, '/v1/webhooks', 'webhooks')).includes(id))
    found('pages-complete', `${id} is deleted, and listed`);
}

/** One delivery reads as its list shows it. */
export async function oneDelivery(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const live = tenancy.hooks.filter(({ deletedMs }) => deletedMs === undefined);
  const target = `/v1/webhooks/${draw.pick(live).id}/deliveries`;
  const { status, body } = await exercise.operator.call('GET', `${target}?status=delivered&limit=20`);
  if (status !== 200 || body.deliveries.length === 0) return;
  const one = draw.pick(body.deliveries as readonly { readonly id: string; readonly event_id: string }[]);
  shows(`${target}/${one.id}`, await done(exercise, 'GET', `${target}/${one.id}`), { ...one });
  const other = tenancy.hooks.find(({ id }) => !target.includes(id));
  if (other === undefined) return;
  await refused(exercise, ['GET', `/v1/webhooks/${other.id}/deliveries/${one.id}`], 404);
}

/** Metadata of a connection, and the connections by their providers. */
export async function connection(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const id = draw.pick([...tenancy.credentials.keys()]);
  const target = `/v1/provider-connections/${id}`;
  const before = await done(exercise, 'GET', target);
  const metadata = { note: tenancy.key('metadata'), list: [1, 2] };
  const after = await done(exercise, 'PATCH', target, { metadata });
  const { updated_at: updatedAt } = after;
  shows(target, after, { ...before, metadata, version: before.version + 1, updated_at: updatedAt });
  shows(target, await done(exercise, 'GET', target), after);
  const credentials = tenancy.credentials.get(id) as object;
  const again = await done(exercise, 'PATCH', target, { credentials });
  shows(`${target} after a PATCH of its credentials`, again, { status: 'connected', metadata });
  const sinceMs = Math.abs(exercise.operator.nowMs - Date.parse(again.last_synced_at));
  if (tenancy.isCalm && !(sinceMs <= syncedWithinMs))
    found('answers-as-modelled', `${target} was synchronised at ${again.last_synced_at}`);
  if (again.credential_fingerprint !== before.credential_fingerprint)
    found('answers-as-modelled', `${target} has another fingerprint with the same credentials`);
  const { providers } = await done(exercise, 'GET', '/v1/providers');
  const kinds = providers.map(
    (one: { readonly kind?: string; readonly provider?: string }) => one.kind ?? one.provider,
  );
  sameIds('/v1/providers', kinds, ['fireblocks', 'bitgo', 'copper', 'self_hosted', 'sandbox']);
}

const syncedWithinMs = 15_000;

/** "The modules with their maturity and whether they are open to the caller." */
export async function modules(exercise: Exercise): Promise<void> {
  const { tenancy } = exercise;
  const { modules: listed } = await done(exercise, 'GET', '/v1/modules');
  const names = (listed as readonly { readonly module: string }[]).map(({ module }) => module);
  const missing = [...open, ...byRequest].find((name) => !names.includes(name));
  if (missing !== undefined) found('pages-complete', `/v1/modules lists ${names}, without ${missing}`);
  const hasThem = tenancy.modules !== undefined;
  for (const one of listed) {
    const isOpen = hasThem || !byRequest.includes(one.module);
    shows(`/v1/modules, ${one.module}`, one, { access: isOpen ? 'open' : 'by_request' });
    const request = byRequest.includes(one.module) && hasThem ? 'granted' : undefined;
    if (one.access_request?.status !== request)
      found('answers-as-modelled', `/v1/modules shows the request for ${one.module} as ${one.access_request?.status}`);
  }
  await refused(exercise, ['POST', '/v1/modules/wallets/access-requests', {}], 409, 'not_by_request');
  await refused(exercise, ['POST', '/v1/modules/nothing/access-requests', {}], 404);
  if (hasThem) return;
  const calls = [
    ['GET', '/v1/vaults'],
    ['GET', '/v1/treasury/plans'],
    ['GET', '/v1/tokens'],
  ] as const;
  for (const call of calls) await refused(exercise, call, 403, 'module_access_needed');
}

interface Key {
  readonly kid: string;
  readonly [name: string]: unknown;
}

/** "Verified offline": the receipts of the tenant's intents, by the published keys. */
export async function receipts({ tenancy, operator, draw }: Exercise): Promise<void> {
  const target = draw.pick(['/.well-known/jwks.json', '/v1/.well-known/jwks.json']);
  const { status, body } = await operator.call('GET', target);
  if (status !== 200) found('answers-as-modelled', `GET ${target}: ${status}`);
  const events = await operator.list<ToldEvent>('/v1/events?type=transaction_intent.created', 'events');
  const made = events.slice(-3);
  for (const { resource, data } of made) {
    const [header = '', claims = '', signature = ''] = String(data.object.policy_receipt).split('.');
    const { kid, alg } = JSON.parse(Buffer.from(header, 'base64url').toString());
    const jwk = (body.keys as readonly Key[]).find((one) => one.kid === kid);
    if (jwk === undefined || alg !== 'EdDSA') found('decided-as-written', `the receipt of ${resource.id} is by ${kid}`);
    const key = createPublicKey({ key: jwk as never, format: 'jwk' });
    const isSigned = verify(null, Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'));
    if (!isSigned)
      found('decided-as-written', `${tenancy.name}: the receipt of ${resource.id} is not signed by its key`);
  }
}

/** A token that was rotated sees what it saw before: all, or its connections alone. */
export async function rotated(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const limited = tenancy.limited.map(({ operator }) => operator);
  const operator = draw.pick(limited.length > 0 ? limited : tenancy.operators);
  const lists = [
    ['/v1/wallets', 'wallets'],
    ['/v1/transaction-intents', 'transaction_intents'],
    ['/v1/provider-connections', 'provider_connections'],
    ['/v1/policies', 'policies'],
    ['/v1/webhooks', 'webhooks'],
  ] as const;
  const one = { ...exercise, operator };
  const [target, name] = draw.pick(lists);
  const before = await idsOf(one, target, name);
  if (!(await tenancy.rotate(operator))) return;
  sameIds(`${target} by a rotated token`, await idsOf(one, target, name), before);
}

/** Sessions read as they are listed. */
export async function oneSession(exercise: Exercise): Promise<void> {
  const { draw } = exercise;
  const { sessions } = await done(exercise, 'GET', '/v1/sessions?limit=20');
  if (sessions.length === 0) return;
  const one = draw.pick(sessions as readonly { readonly id: string; readonly kind: string; readonly state: string }[]);
  const shown = await done(exercise, 'GET', `/v1/sessions/${encodeURIComponent(one.id)}`);
  const { id, kind, state } = one;
  shows(`/v1/sessions/${id}`, shown.session ?? shown, { id, kind, state });
}
