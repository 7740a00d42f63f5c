/**
 * The commands for a running service, against an embedded one: each action once, as a person reads it and as JSON. A new action
 * without a case here is named.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { identify } from '../../cli/common/process-records.ts';
import { run as printCompletion } from '../../cli/completion.ts';
import { serviceActions } from '../../cli/service/actions.ts';
import { faultOfWords } from '../../cli/service/fault-words.ts';
import { run } from '../../cli/service.ts';
import { announceEmbedded, runningCluster } from '../../cli/start/running.ts';
import { status } from '../../cli/up/status.ts';
import { type Running, signature, startService } from '../simulation/embedded/support/service.ts';
import { temporaryFolder } from './support/temporary.ts';

let running: Running;
const dataDir = mkdtempSync(join(tmpdir(), 'signmesh-service-'));
const performed = new Set<string>();

beforeAll(async () => {
  running = await startService();
  const { service, token, approverToken } = running;
  const http = `http://${service.httpAddress}`;
  const ready = { http, grpc: service.grpcAddress, gateways: [], token, approver_token: approverToken, pids: {} };
  mkdirSync(join(dataDir, 'run'));
  writeFileSync(join(dataDir, 'run', 'ready.json'), JSON.stringify(ready));
});
afterAll(async () => {
  await running?.service.stop();
  rmSync(dataDir, { recursive: true });
});

async function printed(work: () => Promise<number>): Promise<string> {
  let text = '';
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((part) => {
    text += String(part);
    return true;
  });
  try {
    expect(await work()).toBe(0);
  } finally {
    spy.mockRestore();
  }
  return text.trimEnd();
}

function signmesh(line: string, ...more: readonly string[]): Promise<string> {
  const [command, action = '', ...args] = [...line.split(' '), ...more];
  performed.add(`${command} ${action}`);
  return printed(() => run([command!, action, ...args, '--data-dir', dataDir]));
}

async function json<T>(line: string): Promise<T> {
  return JSON.parse(await signmesh(line, '--json')) as T;
}

test('faults are armed by words, listed, and ended', async () => {
  const armed = await signmesh('faults add bad_partial target=node/2 at.point=partial_reply at.nth=3');
  const [id] = armed.split(':');
  expect(await signmesh('faults list')).toMatch(new RegExp(`^ID +FAULT.*\\n${id} .*node/2`));
  const { faults } = await json<{ faults: { fault: object }[] }>('faults list');
  expect(faults[0]!.fault).toMatchObject({ fault: 'bad_partial', at: { point: 'partial_reply', nth: 3 } });
  expect(await signmesh(`faults remove ${id}`)).toBe(`${id} is removed`);
  await signmesh('faults add slow target=node/1 by_ms=5');
  expect(await signmesh('faults reset')).toMatch(/ removed$/);
  expect(await signmesh('faults kinds')).toContain('half_open');
});

test.each([
  [['bad_partail'], 'did you mean bad_partial?'],
  [['crash', 'target'], 'no field=value'],
  [['crash', 'target=node/1', 'target=node/2'], 'a value already'],
  [['crash', 'at=3', 'at.nth=3'], 'a value already'],
] as const)('a fault of the words %j is refused by name', ([kind, ...words], told) => {
  expect(() => faultOfWords(kind, words)).toThrow(told);
});

test('a fault that the service refuses is told in its words', async () => {
  await expect(signmesh('faults add crash target=node/99')).rejects.toThrow(/refuses .*node\/99|refuses .*target/s);
});

test('the recording is written as a page, which names no token', async () => {
  await signature(running, 'sandbox-secp256k1', Buffer.alloc(32, 3), 'is on the page');
  const file = join(dataDir, 'page.html');
  expect(await signmesh(`report write --output ${file}`)).toMatch(/page\.html has \d+ events$/);
  const page = readFileSync(file, 'utf8');
  expect(page).toContain('<h1>signmesh at http://127.0.0.1:');
  expect(page).toContain('partial_reply');
  expect(page).not.toContain('id="verdict"');
  expect(page).not.toContain(running.token);
  await expect(signmesh(`report write --output ${dataDir}/none/page.html`)).rejects.toThrow('Cannot write');
});

test('processes are listed, crashed, paused and started', async () => {
  expect(await signmesh('nodes crash node/2 --restart-after never')).toBe('node/2 is down');
  expect(await signmesh('nodes list')).toMatch(/node\/2 +down/);
  expect(await signmesh('nodes restart 2')).toMatch(/^node\/2 is (starting|running)$/);
  await expect.poll(() => signmesh('nodes list')).toMatch(/node\/2 +running/);
  expect(await signmesh('nodes pause 3')).toBe('node/3 is paused');
  expect(await signmesh('nodes resume 3')).toBe('node/3 is running');
});

test('the clock advances', async () => {
  expect(await signmesh('clock show')).toMatch(/^20\S+Z$/);
  expect(await signmesh('clock advance 15m')).toMatch(/900 s ahead$/);
  await expect(signmesh('clock advance soon')).rejects.toThrow('"soon" is no time');
});

test('an intent is found by its id, decided by the approver', async () => {
  const { must } = running;
  const connection = await must(201, 'POST', '/v1/providers/connect', { type: 'sandbox', name: 'c', credentials: {} });
  const wallet = await must(201, 'POST', '/v1/wallets', {
    ...{ name: 'w', provider_connection_id: connection.id, network: 'eip155:11155111' },
    approval_mode: 'human_required',
  });
  const order = {
    asset: 'ETH',
    amount: '0.01',
    destination: { address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
  };
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) {
    const intent = await must(201, 'POST', `/v1/wallets/${wallet.id}/transaction-intents`, order);
    ids.push(String(intent.id));
  }
  expect(await signmesh('wallets list')).toContain(String(wallet.id));
  expect(await signmesh(`wallets show ${wallet.id}`)).toMatch(/^id +wal_/);
  expect(await signmesh('intents list --limit 2')).toMatch(/^ID.*\n.*pending_approval.*\n.*pending_approval[^\n]*$/);
  expect(await signmesh(`intents approve ${ids[0]}`)).toMatch(
    / is (approved|signing|broadcasting|confirming|completed)$/,
  );
  await expect(signmesh(`intents reject ${ids[1]}`)).rejects.toThrow('--reason');
  expect(await signmesh(`intents reject ${ids[1]}`, '--reason', 'too late')).toMatch(/ is rejected$/);
  expect(await signmesh(`intents cancel ${ids[2]}`)).toMatch(/ is cancelled$/);
  expect(await signmesh(`intents show ${ids[1]}`)).toMatch(/status +rejected/);
  await expect(signmesh('intents show txi_none')).rejects.toThrow('None of the newest 3 intents is "txi_none".');
});

test('sessions are listed and shown', async () => {
  expect(await signmesh('sessions list')).toMatch(/sandbox-secp256k1 +dkg +BACKEND_COMPLETED/);
  expect(await signmesh('sessions show sandbox-ed25519')).toMatch(/public_key +[0-9a-f]{64}/);
});

test('snapshots are taken, listed, restored and removed', async () => {
  const { id } = await json<{ id: string }>('snapshots take before');
  expect(await signmesh('snapshots list')).toContain('before');
  expect(await signmesh(`snapshots restore ${id}`)).toMatch(/ is restored /);
  expect(await signmesh(`snapshots remove ${id}`)).toBe(`${id} is removed`);
});

test('an action that a command lacks is refused by name', async () => {
  await expect(run(['clock', 'stop'])).rejects.toThrow('"signmesh clock" has no "stop": give show, advance.');
});

test('every action was performed', () => {
  const all = Object.entries(serviceActions).flatMap(([command, actions]) =>
    actions.map(({ usage }) => `${command} ${usage.split(' ')[0]}`),
  );
  expect(all.filter((action) => !performed.has(action))).toEqual([]);
});

describe('an embedded service in the foreground', () => {
  test('is found while its process lives; a second one leaves its file alone', async () => {
    const place = join(temporaryFolder(), 'its-own');
    const { service, token } = running;
    const ready = { http: `http://${service.httpAddress}`, grpc: service.grpcAddress, token, gateways: [] } as never;
    const withdraw = announceEmbedded(place, ready);
    expect(announceEmbedded(place, ready)).toBeUndefined();
    await signmesh('nodes pause 4');
    await signmesh('faults add slow target=node/1 by_ms=5');
    const shown = await printed(() => status({ dataDir: place, json: false, colour: false }));
    expect(shown).toMatch(/node\/4 is paused\n {2}fault \S+: .*node\/1/);
    await signmesh('nodes resume 4');
    withdraw!();
    expect(runningCluster(place)).toBeUndefined();
  });

  test('leaves the file of another process, which has taken its place since', () => {
    const place = temporaryFolder();
    const withdraw = announceEmbedded(place, {} as never);
    writeFileSync(join(place, 'embedded.json'), JSON.stringify({ ...identify(process.ppid), ready: {} }));
    withdraw!();
    expect(runningCluster(place)?.up.pid).toBe(process.ppid);
  });

  test('is not found when its process has ended', () => {
    const place = temporaryFolder();
    writeFileSync(join(place, 'embedded.json'), JSON.stringify({ pid: process.pid, began: 'long ago', ready: {} }));
    expect(runningCluster(place)).toBeUndefined();
    writeFileSync(join(place, 'embedded.json'), '{"pid":');
    expect(runningCluster(place)).toBeUndefined();
  });
});

test.each(['bash', 'zsh', 'fish'])('%s completes commands and their actions', async (shell) => {
  const script = await printed(() => printCompletion([shell]));
  expect(script).toMatch(/\bup status stop\b/);
  expect(script).toMatch(/list crash pause resume restart/);
});
