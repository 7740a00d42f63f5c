/** The service that a command calls, and the token that it sends there: the sandbox's own stays on this host. */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type TargetFlags, targetOf } from '../../cli/events/target.ts';
import { keptSecret } from '../../cli/listen.ts';
import { runLive } from '../../cli/scenario/live.ts';
import { temporaryFolder } from './support/temporary.ts';

const token = 'svc_sk_test_ofThisSandbox';
const http = 'http://192.0.2.1:8080';
const grpc = '192.0.2.1:50051';
const second = { http: 'http://192.0.2.1:8081', grpc: '192.0.2.1:50052' };

/** A data directory as a running sandbox leaves it. */
function dataDirectory(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-target-'));
  mkdirSync(join(folder, 'run'));
  const ready = { http, grpc, gateways: [{ http, grpc }, second], token, approver_token: 'svc_sk_test_ofTheSecond' };
  writeFileSync(join(folder, 'run', 'ready.json'), JSON.stringify(ready));
  return folder;
}

const dataDir = dataDirectory();
afterAll(() => rmSync(dataDir, { recursive: true }));
const target = (flags: TargetFlags) => targetOf({ dataDir, ...flags }, {});

describe('the token of the sandbox', () => {
  test.each<[TargetFlags, string, string | undefined]>([
    [{}, http, grpc],
    [{ url: http }, http, undefined],
    [{ url: `${second.http}/` }, second.http, undefined],
    [{ url: 'http://127.0.0.1:9000' }, 'http://127.0.0.1:9000', undefined],
    [{ url: 'http://localhost:9000' }, 'http://localhost:9000', undefined],
    [{ url: 'http://[::1]:9000' }, 'http://[::1]:9000', undefined],
    [{ grpc: second.grpc }, http, second.grpc],
    [{ grpc: '127.0.0.1:50060' }, http, '127.0.0.1:50060'],
  ])('goes to its own addresses and to loopback: %j', (flags, url, grpcAddress) => {
    expect(target(flags)).toEqual({ url, token, grpc: grpcAddress, approverToken: 'svc_sk_test_ofTheSecond' });
  });

  test.each<TargetFlags>([
    { url: 'https://custody.example.com' },
    { url: 'http://192.0.2.1' },
    { url: 'http://192.0.2.1:8082' },
    { url: 'https://127.0.0.1.example.com' },
    { url: 'http://127.0.0.1@example.com' },
    { grpc: 'custody.example.com:50051' },
    { grpc: 'not an address' },
  ])('does not go to another host: %j', (flags) => {
    const message = `Give --token: the token of the sandbox in ${dataDir} is not sent to ${flags.url ?? flags.grpc}, which is another host.`;
    expect(() => target(flags)).toThrow(expect.objectContaining({ name: 'Failure', exitCode: 2, message }));
  });

  test('does not go to another host with scenarios either', async () => {
    const run = runLive([], { url: 'https://custody.example.com', token: undefined, dataDir }, () => undefined);
    await expect(run).rejects.toThrow(`Give --token: the token of the sandbox in ${dataDir} is not sent to https`);
  });
});

test('a token of the command line goes where the command line says, without that of the second person', () => {
  const other = 'svc_sk_test_ofAnother';
  const elsewhere = { url: 'https://custody.example.com', grpc: 'custody.example.com:50051' };
  expect(target({ ...elsewhere, token: other })).toEqual({ ...elsewhere, token: other, approverToken: undefined });
  expect(target({ token: other })).toEqual({ url: http, token: other, grpc, approverToken: undefined });
});

test.each(['localhost', 'http://', 'http://a b'])('%j is no address', (url) => {
  expect(() => target({ url })).toThrow('--url must begin with http:// or https://, and name a host.');
});

test('the secret that signs forwarded events stays that of its data directory', () => {
  const place = temporaryFolder();
  const first = keptSecret({ dataDir: place });
  expect(keptSecret({ dataDir: place })).toBe(first);
  expect(keptSecret({ dataDir: temporaryFolder() })).not.toBe(first);
  expect(keptSecret({ dataDir: place, url: http, token })).not.toBe(first);
  expect(statSync(join(place, 'listen.secret')).mode & 0o777).toBe(0o600);
  writeFileSync(join(place, 'listen.secret'), 'whsec_');
  expect(keptSecret({ dataDir: place })).toMatch(/^whsec_.{44}$/);
});
