/**
 * Two nodes with their real identities, in one process and on several links each, send valid frames that nothing asked for: every
 * kind that a node can send, for sessions that are unknown, finished, or other nodes'. The three others go on signing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { childProgram } from '../support/child-program.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough, runs } from '../support/thorough.ts';
import { type Key, makeKey, sign } from './support/ceremonies.ts';
import { type Flood, type FloodKind, floodKinds } from './support/flood.ts';
import { Ledger } from './support/ledger.ts';

const attackers = [4, 5];
const perSecond = 50_000;
const seconds = runs(3, 25);
/** By the base without shares 642 MB in 25 s; the attackers' socket buffers are the kernel's. */
const grownMbMax = 150;
const ledger = new Ledger();
let cluster: BorrowedCluster;
let key: Key;
/** Read before the lines of a flood push it out of the log. */
let target: Pick<Flood, 'url' | 'sessions'>;
let count = 0;

const client = () => ({ api: cluster.http(), ledger });

beforeAll(async () => {
  cluster = await borrowCluster();
  key = await makeKey(client(), { sessionId: 'flooded', curve: 'ed25519' });
  const ofTests = cluster.records('coordinator', 'dkg.completed').map(({ tenant }) => `${tenant}/flooded`);
  target = { url: cluster.coordinatorUrl(), sessions: [...ofTests, 'acme/flooded'] };
}, borrowWithinMs);
afterAll(() => cluster?.stop());

async function signed(): Promise<number> {
  count += 1;
  const sinceMs = performance.now();
  await sign(client(), { key, scheme: 'ed25519', intentId: `flooded-${count}`, message: Buffer.alloc(32, count) });
  return performance.now() - sinceMs;
}

function residentMb(): number {
  const status = readFileSync(`/proc/${cluster.pid('coordinator')}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

function flood(kinds: readonly FloodKind[]): ChildProcess {
  const order: Flood = {
    ...target,
    dataDir: cluster.dataDir,
    nodes: attackers,
    linksPerNode: 3,
    kinds,
    perSecond,
    seconds,
  };
  return spawn(process.execPath, [childProgram(new URL('./support/flood.ts', import.meta.url)), JSON.stringify(order)]);
}

/** New links end the frames of the old ones: a case of its own. */
const onOneLink = floodKinds.filter((kind) => kind !== 'hello');
const cases: readonly (readonly FloodKind[])[] = isThorough ? floodKinds.map((kind) => [kind]) : [onOneLink];

test.each(cases)('a flood of %s costs other nodes’ sessions neither their signatures nor memory', async (...kinds) => {
  // The real processes leave their ids to the attackers.
  const releases = await Promise.all(attackers.map((id) => cluster.hold(`node-${id}`)));
  const calm = await median(9);
  const beforeMb = residentMb();
  const attack = flood(kinds);
  let printed = '';
  attack.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const exited = new Promise((resolve) => attack.once('exit', resolve));
  let isOver = false;
  void exited.then(() => {
    isOver = true;
  });
  const during: number[] = [];
  let mostMb = 0;
  while (!isOver) {
    during.push(await signed());
    mostMb = Math.max(mostMb, residentMb());
  }
  await exited;
  for (const release of releases) release();
  const { sent, links } = JSON.parse(printed) as { readonly sent: number; readonly links: number };
  const sorted = during.toSorted((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((part) => Math.round(sorted[Math.floor(sorted.length * part)]!));
  const figures = JSON.stringify({ sent, links, calm, signatures: during.length, p50, p99, beforeMb, mostMb });
  expect(links).toBeGreaterThan(0);
  expect(mostMb - beforeMb, figures).toBeLessThan(grownMbMax);
  await cluster.untilHealth('ok');
});

async function median(times: number): Promise<number> {
  const all: number[] = [];
  for (let index = 0; index < times; index += 1) all.push(await signed());
  return all.toSorted((a, b) => a - b)[Math.floor(times / 2)]!;
}
