/** The bench as a person runs it, with tiny phases: that it measures something and its verdict holds. No speed is asked. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Results } from '../../../tools/bench/report/results.ts';
import { isThorough } from '../../support/thorough.ts';

const command = fileURLToPath(new URL('../../../cli/signmesh.mjs', import.meta.url));

const tiny = ['--quick', '--seconds', '0.2', '--in-flight', '2', '--wallets', '30'];

async function bench(...more: readonly string[]): Promise<{ results: Results; stderr: string }> {
  const args = [command, 'bench', ...tiny, ...more, '--json', '-'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { maxBuffer: 16 * 1024 * 1024 });
  return { results: JSON.parse(stdout) as Results, stderr };
}

test.runIf(isThorough)('a tiny run without a cluster is correct', async () => {
  const { results, stderr } = await bench('--only', 'simulation');
  expect(results.correctness.holds).toBe(true);
  expect(results.simulation.length).toBeGreaterThan(0);
  for (const { signatures, verified } of results.simulation) expect(verified).toBe(signatures);
  expect(stderr).toContain('Correctness: holds.');
});

test.runIf(isThorough)('a tiny run at one door is correct', async () => {
  const { results, stderr } = await bench('--only', 'sign', '--doors', 'rest', '--schemes', 'ecdsa');
  expect(results.correctness).toMatchObject({ holds: true, errors: 0, healthAfter: 'ok', lost: [] });
  expect(results.signing.map(({ door, scheme }) => `${door} ${scheme}`)).toEqual(['rest ecdsa']);
  expect(results.signing[0]!.completed).toBeGreaterThan(0);
  expect(stderr).toContain('Correctness: holds.');
});

const everyDoor = 'a tiny run through every door is correct, and leaves nothing behind';
test.runIf(isThorough)(everyDoor, async () => {
  const leftBehind = () => readdirSync(tmpdir()).filter((name) => name.startsWith('signmesh-bench-'));
  const before = leftBehind();
  const { results, stderr } = await bench();
  expect(results.schema).toBe('signmesh-bench/1');
  expect(results.correctness).toMatchObject({ holds: true, errors: 0, healthAfter: 'ok', lost: [] });
  expect(results.correctness.checks.filter(({ holds }) => !holds)).toEqual([]);
  expect(results.correctness.checks.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'signatures',
      'floor: signatures',
      'DKG ed25519: keys',
      'transfers: money',
      'webhooks: webhooks',
    ]),
  );
  expect(results.signing.map(({ door, scheme }) => `${door} ${scheme}`)).toEqual(
    ['rest', 'grpc', 'coordinator'].flatMap((door) => [`${door} ecdsa`, `${door} ed25519`]),
  );
  expect(results.floor?.ecdsa[0]?.completed).toBeGreaterThan(0);
  expect(Object.keys(results.floor!.ecdsa[0]!.cpuSeconds)).toEqual(
    expect.arrayContaining(['coordinator', 'node-1', 'node-5', 'load']),
  );
  expect(results.floor?.frost?.times).toBeGreaterThan(0);
  expect(results.dkg.map(({ curve, inFlight }) => `${curve} ${inFlight}`)).toEqual([
    'secp256k1 1',
    'secp256k1 8',
    'ed25519 1',
    'ed25519 8',
  ]);
  expect(results.operations.map(({ name }) => name)).toEqual([
    'GET one wallet',
    'GET 10 of 10 wallets',
    'GET 10 of 30 wallets',
    'create an intent (sandbox provider)',
    'an intent to its provider_tx_id (self_hosted)',
    'sign a message of a vault (FROST Ed25519)',
    'from a change to its receipt',
    'the same, beside a webhook that hangs',
    'change a wallet (one event)',
  ]);
  expect(results.deliveries?.bullmq.jobs).toBeGreaterThan(0);
  for (const { completed, latency, cpuSeconds } of [...results.signing, ...results.dkg, ...results.operations]) {
    expect(completed).toBeGreaterThan(0);
    expect(latency.p50).toBeGreaterThan(0);
    expect(Object.keys(cpuSeconds)).toEqual(
      expect.arrayContaining(['gateway', 'coordinator', 'node-1', 'redis', 'load']),
    );
  }
  expect(results.generator.map(({ api }) => api)).toEqual(['rest', 'grpc']);
  for (const { ratio } of results.generator) expect(ratio).toBeGreaterThan(0);
  expect(results.start?.readyMs).toHaveLength(1);
  expect(results.start?.memory['node-1']?.own).toBeGreaterThan(results.start!.bareNode!.own);
  expect(results.references?.noble).toHaveLength(2);
  expect(results.references?.webSocket[0]?.completed).toBeGreaterThan(0);
  expect(results.bare?.fastify[0]?.completed).toBeGreaterThan(0);
  expect(results.bare?.redis[0]?.completed).toBeGreaterThan(0);
  expect(results.simulation.map(({ cryptography, pauseMs }) => `${cryptography} ${pauseMs}`)).toEqual([
    'real 0',
    'model 0',
    'model 60000',
  ]);
  for (const { eventsPerScenario, scenarios, signatures, verified } of results.simulation) {
    expect(scenarios).toBeGreaterThan(0);
    expect(eventsPerScenario).toBeGreaterThan(100);
    expect(verified).toBe(signatures);
    expect(signatures).toBe(15);
  }
  expect(results.goes).toHaveLength(1);
  for (const { got } of results.aims) expect(got).toBeGreaterThan(0);
  expect(results.aims).toHaveLength(10);
  expect(stderr).toContain('Correctness: holds.');
  expect(leftBehind()).toEqual(before);
});
