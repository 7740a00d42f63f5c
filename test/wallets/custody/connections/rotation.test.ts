/** Rotation of the key that seals credentials and webhook secrets, over a real Redis. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rewrapAll } from '../../../../cli/credential-rotation.ts';
import { systemPorts } from '../../../../core/actors/live/ports.ts';
import { openCredentials } from '../../../../wallets/custody/connections/credentials.ts';
import { connectionType } from '../../../../wallets/custody/connections/record.ts';
import { aboutSecret, type WebhookRecord, webhookType } from '../../../../wallets/delivery/webhooks/record.ts';
import { storedUrl, urlOf } from '../../../../wallets/delivery/webhooks/urls.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { answerSeal } from '../../../../wallets/store/secrets/answer-seal.ts';
import { wrappingKeyId } from '../../../../wallets/store/secrets/envelope.ts';
import { fileKeyRing } from '../../../../wallets/store/secrets/file-key-ring.ts';
import { addKey, type Caller, goodCredentials, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.stop();
});

async function connectMany(caller: Caller, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const credentials = { ...goodCredentials.bitgo, api_key: `key-${index}` };
    const made = await caller.call('POST', '/v1/provider-connections', { provider: 'bitgo', name: 'x', credentials });
    ids.push(made.body.id);
  }
  return ids;
}

async function keyIdOf(caller: Caller, id: string): Promise<string> {
  const record = await world.store.read(caller.tenant, connectionType, id);
  return wrappingKeyId(record!.credentials);
}

async function putWebhook(tenant: string): Promise<string> {
  const id = 'whk_1';
  const { seal } = answerSeal(world.ring);
  const webhook: WebhookRecord = {
    id,
    version: 1,
    ...storedUrl({ seal: answerSeal(world.ring) }, tenant, id, 'https://example.com/?token=x'),
    events: ['*'],
    description: null,
    status: 'enabled',
    secrets: [
      { sealed: seal('whsec_new', aboutSecret(tenant, id)), endsAtMs: null },
      { sealed: seal('whsec_old', aboutSecret(tenant, id)), endsAtMs: 1 },
    ],
    createdAtMs: 0,
    updatedAtMs: 0,
  };
  await world.store.commit(tenant, { puts: [create(webhookType, webhook)] });
  return id;
}

describe('re-wrapping', () => {
  it('brings every sealed field of every tenant under the new key, and everything still opens', async () => {
    const callers = [world.caller(), world.caller({ tenant: 'with*[odd]_name' })];
    const ids = await Promise.all(callers.map((caller) => connectMany(caller, 3)));
    await callers[0]!.call('POST', `/v1/provider-connections/${ids[0]![2]}/disconnect`);
    const webhookId = await putWebhook('tn_hooks');
    const before = await world.dump();
    addKey(world.keyDirectory, 2);
    const ring = fileKeyRing(world.keyDirectory, systemPorts);
    const report = await rewrapAll(world.redis, world.store, ring);
    expect(report).toEqual({ tenants: 3, records: 6, rewrapped: 6, keysInUse: ['2'], broken: [] });
    expect(await world.dump()).not.toBe(before);

    const left = fileKeyRing(world.keyDirectory, systemPorts);
    rmSync(join(world.keyDirectory, '1.key'));
    for (const [index, caller] of callers.entries()) {
      for (const [number, id] of ids[index]!.entries()) {
        if (index === 0 && number === 2) continue;
        const record = await world.store.read(caller.tenant, connectionType, id);
        expect(openCredentials(left, caller.tenant, id, record!.credentials).api_key).toBe(`key-${number}`);
      }
    }
    const webhook = await world.store.read('tn_hooks', webhookType, webhookId);
    const texts = webhook!.secrets.map(({ sealed }) =>
      answerSeal(left).open(sealed, aboutSecret('tn_hooks', webhookId)),
    );
    expect(texts).toEqual(['whsec_new', 'whsec_old']);
    expect(urlOf({ seal: answerSeal(left) }, 'tn_hooks', webhook!)).toBe('https://example.com/?token=x');
    expect(webhook!.secrets.map(({ endsAtMs }) => endsAtMs)).toEqual([null, 1]);
  });

  it('changes nothing the second time', async () => {
    await connectMany(world.caller(), 2);
    addKey(world.keyDirectory, 2);
    const ring = fileKeyRing(world.keyDirectory, systemPorts);
    await rewrapAll(world.redis, world.store, ring);
    const before = await world.dump();
    expect(await rewrapAll(world.redis, world.store, ring)).toMatchObject({ records: 2, rewrapped: 0 });
    expect(await world.dump()).toBe(before);
  });

  it('continues where it was interrupted', async () => {
    const caller = world.caller();
    const ids = await connectMany(caller, 5);
    addKey(world.keyDirectory, 2);
    const ring = fileKeyRing(world.keyDirectory, systemPorts);
    await expect(rewrapAll(world.redis, failingAfter(2), ring)).rejects.toThrow('cut');
    const keys = await Promise.all(ids.map((id) => keyIdOf(caller, id)));
    expect(keys.filter((key) => key === '2')).toHaveLength(2);
    expect(await rewrapAll(world.redis, world.store, ring)).toMatchObject({ records: 5, rewrapped: 3 });
    for (const id of ids) expect(await keyIdOf(caller, id)).toBe('2');
  });

  it('does not undo a change that comes between reading and writing', async () => {
    const caller = world.caller();
    const [id] = await connectMany(caller, 1);
    addKey(world.keyDirectory, 2);
    const ring = fileKeyRing(world.keyDirectory, systemPorts);
    let interfered = false;
    const store = wrapStore(async () => {
      if (interfered) return;
      interfered = true;
      const read = await world.store.read(caller.tenant, connectionType, id!);
      const after = { ...read!, name: 'Renamed', version: read!.version + 1 };
      await world.store.commit(caller.tenant, { puts: [update(connectionType, read!, after)] });
    });
    expect(await rewrapAll(world.redis, store, ring)).toMatchObject({ rewrapped: 1 });
    const record = await world.store.read(caller.tenant, connectionType, id!);
    expect(record).toMatchObject({ name: 'Renamed', version: 3 });
    expect(wrappingKeyId(record!.credentials)).toBe('2');
  });

  it('names what no key opens, and does the rest', async () => {
    const caller = world.caller();
    const ids = await connectMany(caller, 3);
    const read = await world.store.read(caller.tenant, connectionType, ids[1]!);
    const broken = { ...read!, credentials: read!.credentials.replace('e1.1.', 'e1.7.'), version: 2 };
    await world.store.commit(caller.tenant, { puts: [update(connectionType, read!, broken)] });
    addKey(world.keyDirectory, 2);
    const report = await rewrapAll(world.redis, world.store, fileKeyRing(world.keyDirectory, systemPorts));
    expect(report).toMatchObject({ rewrapped: 2, broken: [`${caller.tenant} ${ids[1]}`] });
  });

  it('works through more connections than one page holds', async () => {
    const caller = world.caller();
    await connectMany(caller, 105);
    addKey(world.keyDirectory, 2);
    expect(await rewrapAll(world.redis, world.store, fileKeyRing(world.keyDirectory, systemPorts))).toMatchObject({
      rewrapped: 105,
    });
  });

  const wrapStore = (beforeCommit: () => Promise<void>): TenantStore =>
    new Proxy(world.store, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as unknown;
        if (typeof value !== 'function') return value;
        if (name !== 'commit') return value.bind(target) as unknown;
        return async (...words: unknown[]) => {
          await beforeCommit();
          return (value as (...args: unknown[]) => unknown).apply(target, words);
        };
      },
    });
  const failingAfter = (commits: number): TenantStore => {
    let done = 0;
    return wrapStore(async () => {
      done += 1;
      if (done > commits) throw new Error('cut');
    });
  };
});
