/** `signmesh scenario` as a person calls it: exit codes by verdict, reports, and what is said of wrong files. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { run } from '../../cli/scenario.ts';
import { root } from './support/up-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'signmesh-scenario-'));
afterAll(() => rmSync(folder, { recursive: true }));

let written = '';
beforeEach(() => {
  written = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
  return () => vi.restoreAllMocks();
});

function file(name: string, ...lines: string[]): string {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, [`scenario: ${name}`, 'about: A test.', ...lines].join('\n'));
  return path;
}

const key = (more = '') => `  - { step: key, call: make_key, session: k${more} }`;
const passes = file('passes', 'steps:', key());
const fails = file('fails', 'steps:', key(', expect: { state: DENIED }'));
const sticks = file('sticks', 'steps:', '  - { step: w, wait: { nodes_ready: 3, within_ms: 100 } }');
const liveOnly = file('live-only', 'worlds: [live]', 'steps:', key());

describe('signmesh scenario run', () => {
  test.each([
    [[passes], 0],
    [[fails], 10],
    [[sticks], 12],
    [[liveOnly], 13],
    [[passes, liveOnly, sticks, fails], 10],
    [[passes, liveOnly, sticks], 12],
  ])('ends with the exit code of the worst verdict: %#', async (files, code) => {
    expect(await run(['run', '--crypto', 'model', ...files])).toBe(code);
  });

  test('gives the outcome of one run, and of several one line each', async () => {
    await run(['run', '--crypto', 'model', fails]);
    expect(written).toContain('verdict   failed: step key: expect.state is DENIED, found BACKEND_COMPLETED');
    expect(written).toContain(`scenario run ${fails} --seed fails --crypto model`);
    written = '';
    await run(['run', '--crypto', 'model', passes, fails]);
    expect(written).toMatch(/^passes +simulated +passed +\d+ ms {2}\(\d+\.\d s\)\nfails +simulated +failed/);
    expect(written).toMatch(/1 of 2 passed\n$/);
  });

  test('writes a failing scenario as small as it fails in the same way, which fails again from its file', async () => {
    const steps = [
      '  - { step: idle, wait: { ms: 5 } }',
      key(),
      '  - { step: refused, call: sign, session: s, key: k, expect: { state: DENIED } }',
      '  - { step: more, call: sign, session: t, key: k }',
    ];
    const faults = ['faults:', '  - { fault: delay, target: node/1, by_ms: 20 }'];
    const whole = file('whole', ...faults, 'steps:', ...steps, 'expect:', '  - { signatures: 2 }');
    const small = join(folder, 'small.yaml');
    const said = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    expect(await run(['run', '--crypto', 'model', '--shrink', small, passes, whole])).toBe(10);
    expect(said.mock.calls.flat().join('')).toMatch(
      /small\.yaml: 0 faults and 2 steps of 1 fault and 4 steps, in \d+ runs/,
    );
    written = '';
    expect(await run(['run', '--crypto', 'model', small])).toBe(10);
    expect(written).toContain('verdict   failed: step refused: expect.state is DENIED, found BACKEND_COMPLETED');
    expect(await run(['run', '--crypto', 'model', '--shrink', join(folder, 'none.yaml'), passes])).toBe(0);
    expect(readdirSync(folder)).not.toContain('none.yaml');
  });

  test('writes a failing scenario of the wallet API small too', async () => {
    const whole = file(
      'transfers',
      'faults: [{ fault: delay, target: node/1, by_ms: 20 }]',
      'steps:',
      '  - { step: one, call: make_wallet }',
      '  - { step: two, call: make_wallet, connection: one }',
      '  - { step: all, api: wallets.list, expect: { http: any } }',
      '  - { step: pay, call: transfer, from: one, to: two, amount: "0.1", expect: { status: denied } }',
      '  - { step: more, call: transfer, from: two, to: one, amount: "0.1", expect: { http: any } }',
    );
    const small = join(folder, 'small-transfers.yaml');
    const said = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    expect(await run(['run', '--crypto', 'model', '--shrink', small, whole])).toBe(10);
    expect(said.mock.calls.flat().join('')).toMatch(/0 faults and 3 steps of 1 fault and 5 steps, in \d+ runs/);
    written = '';
    expect(await run(['run', '--crypto', 'model', small])).toBe(10);
    expect(written).toContain('verdict   failed: step pay: expect.status is denied, found completed');
  });

  test('runs the scenarios that come with signmesh by their names, with a seed', async () => {
    expect(await run(['run', '--seed', 'other', 'silent-node-replaced'])).toBe(0);
    expect(written).toContain('--seed other');
  });

  test('writes every report that it is asked for, and nothing else on standard output', async () => {
    const out = join(folder, 'out');
    const reports = [
      `junit=${join(out, 'j.xml')}`,
      `html=${join(out, 'h.html')}`,
      `text=${join(out, 't.txt')}`,
      'jsonl',
    ];
    const flags = reports.flatMap((report) => ['--report', report]);
    expect(await run(['run', '--crypto', 'model', ...flags, fails])).toBe(10);
    expect(readdirSync(out).sort()).toEqual(['h.html', 'j.xml', 't.txt']);
    expect(readFileSync(join(out, 'j.xml'), 'utf8')).toContain('<failure');
    expect(readFileSync(join(out, 'h.html'), 'utf8')).toContain('<!doctype html>');
    const lines = written
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect([lines[0]?.type, lines.at(-1)]).toEqual([
      'run',
      expect.objectContaining({ verdict: 'failed', exit_code: 10 }),
    ]);
  });

  test('writes a page a run into a folder', async () => {
    const out = join(folder, 'pages');
    await run(['run', '--crypto', 'model', '--report', `html=${out}`, passes, fails]);
    expect(readdirSync(out).sort()).toEqual(['fails.html', 'index.html', 'passes.html']);
    const index = readFileSync(join(out, 'index.html'), 'utf8');
    expect(index).toContain('1 of 2 scenarios passed');
    expect(index.indexOf('href="fails.html"')).toBeLessThan(index.indexOf('href="passes.html"'));
    await run(['run', '--crypto', 'model', '--report', `html=${out}`, passes, passes]);
    expect(readdirSync(out).sort()).toEqual(['fails.html', 'index.html', 'passes-2.html', 'passes.html']);
  });

  test('says in one line why no scenario can run at an address', async () => {
    const nowhere = ['run', '--live', 'http://127.0.0.1:1', '--token', 'svc_sk_test_x', passes];
    await expect(run(nowhere)).rejects.toMatchObject({
      name: 'Failure',
      message: expect.stringMatching(/^No scenario can run at http:\/\/127\.0\.0\.1:1: GET .*\.$/),
    });
  });

  test('takes the token of the sandbox in --data-dir', async () => {
    const dataDir = join(folder, 'sandbox');
    const args = ['run', '--live', 'http://127.0.0.1:1', '--data-dir', dataDir, passes];
    await expect(run(args)).rejects.toMatchObject({ message: expect.stringMatching(/^Give --token .*--data-dir/) });
    mkdirSync(join(dataDir, 'run'), { recursive: true });
    const [http, grpc] = ['http://127.0.0.1:2', '127.0.0.1:3'];
    const ready = { token: 'svc_sk_test_found1234567', http, grpc, gateways: [{ http, grpc }], pids: {} };
    writeFileSync(join(dataDir, 'run', 'ready.json'), JSON.stringify(ready));
    await expect(run(args)).rejects.toMatchObject({ message: expect.stringMatching(/^No scenario can run at/) });
  });

  test.each([
    [['run'], /Give a scenario/],
    [['run', 'no-such-scenario'], /no scenario of that name: see "signmesh scenario list"/],
    [['run', join(folder, 'gone.yaml')], /^There is no file .*gone\.yaml\.$/],
    [
      ['run', join(folder, 'bad-partial.yaml')],
      /The package has a scenario bad-partial: give its name alone, bad-partial\.$/,
    ],
    [['run', '--crypto', 'good', passes], /--crypto/],
    [['run', '--report', 'pdf', passes], /--report takes text, jsonl, junit, html, not "pdf"/],
    [['run', '--report', 'html=', passes], /needs a file name/],
    [['run', '--report', 'text', '--report', 'jsonl', passes], /At most one report/],
    [['run', '--token', 't', passes], /--token goes with --live/],
    [['run', '--data-dir', 'd', passes], /--data-dir goes with --live URL/],
    [['run', '--live', '--seed', 's', passes], /--seed applies only to the simulated world/],
    [['run', '--live', '--shrink', 'small.yaml', passes], /--shrink applies only to the simulated world/],
    [
      ['run', '--live', 'http://127.0.0.1:1', '--crypto', 'model', passes],
      /--crypto applies only to the simulated world/,
    ],
    [['run', '--what', passes], /unknown option '--what'/],
    [['what'], /what/],
    [[], /Give a subcommand: run, check or list/],
  ])('is a wrong call: %#', async (args, said) => {
    await expect(run(args)).rejects.toMatchObject({
      name: 'Failure',
      exitCode: 2,
      message: expect.stringMatching(said),
    });
  });
});

test('signmesh scenario check says every problem of every file, and runs nothing', async () => {
  const bad = file('bad', 'steps: []');
  const worse = file('worse', 'steps:', '  - { step: a, call: sing }');
  await expect(run(['check', passes, bad, worse])).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/bad\.yaml:3:8 steps: .*\n.*worse\.yaml:4:22 steps\[0\]\.call: /),
  });
  expect(await run(['check', join(root, 'scenarios')])).toBe(0);
  expect(written).toMatch(/^\d+ scenarios are valid\n$/);
  written = '';
  await run(['check', passes]);
  expect(written).toBe('1 scenario is valid\n');
});

test('signmesh scenario list names each with what it shows', async () => {
  expect(await run(['list'])).toBe(0);
  expect(written).toMatch(/^silent-node-replaced +A node takes the request for its partial and says nothing\.$/m);
  expect(written).toMatch(/^store-answer-lost +\(simulated only\) /m);
  expect(written.split('\n').length).toBeGreaterThan(30);
});
