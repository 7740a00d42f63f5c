/** Certificates of a data directory, what a role checks of its own, and which links may be plain. */
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { run } from '../../cli/certificates.ts';
import { ensureCertificates, issueFor, renewCertificates } from '../../cli/cluster-files/certificates.ts';
import { ensureClusters } from '../../cli/cluster-files/clusters.ts';
import { startWarnings } from '../../cli/cluster-files/start-warnings.ts';
import { apiServerTlsOf, coordinatorConfig, gatewayConfig, nodeConfig } from '../../cli/role-configs.ts';
import { loadSettings } from '../../cli/settings/config.ts';
import { TestAuthority, validity } from '../support/certificates.ts';
import { temporaryFolder } from './support/temporary.ts';

const dayMs = 24 * 3_600_000;
const wanted = { nodes: 2, nodesDefault: 2, threshold: undefined, environment: 'sandbox' } as const;

/** A deployment of two clusters of two nodes, as `signmesh init` makes it. */
function deployment(now = new Date()) {
  const folder = temporaryFolder();
  const rosters = ensureClusters(folder, { ...wanted, clusters: 2 });
  const made = ensureCertificates(folder, rosters, now);
  return { folder, rosters, made };
}

const paths = [
  'coordinator',
  'node-1',
  'node-2',
  'gateway',
  'cluster-2/coordinator',
  'cluster-2/node-1',
  'cluster-2/node-2',
];
const settingsOf = (folder: string, more: Record<string, string> = {}) =>
  loadSettings({ SIGNMESH_DATA_DIR: folder, REDIS_URL: 'redis://127.0.0.1:1', ...more }).settings;
const wss = { SIGNMESH_COORDINATOR_URL: 'wss://mesh.example:7300' };

describe('the certificates of a deployment', () => {
  test('are one a coordinator, node and for the gateways, of one authority, each with the name of its pinned identity', () => {
    const { folder, rosters, made } = deployment();
    expect(made).toBe(7);
    const ca = new X509Certificate(readFileSync(join(folder, 'ca.crt')));
    expect(ca.ca).toBe(true);
    const names = paths.map((path) => {
      const cert = new X509Certificate(readFileSync(join(folder, path, 'tls.crt')));
      expect([cert.checkIssued(ca), cert.verify(ca.publicKey), cert.ca], path).toEqual([true, true, false]);
      expect(statSync(join(folder, path, 'tls.key')).mode & 0o777).toBe(0o600);
      return cert.subjectAltName;
    });
    expect(new Set(names).size).toBe(7);
    const [first, second] = rosters as [(typeof rosters)[0], (typeof rosters)[0]];
    const hex = (key: Uint8Array) => Buffer.from(key).toString('hex');
    expect(names[1]).toBe(`URI:signmesh://${first.clusterId}/node/1/${hex(first.nodes[0]!.publicKey)}`);
    expect(names[3]).toBe(`URI:signmesh://${first.clusterId}/gateway/${hex(first.gateway)}`);
    expect(names[4]).toBe(`URI:signmesh://${second.clusterId}/coordinator/${hex(second.coordinator)}`);
  });

  test('stay as they are when init runs again, and one that is missing is made', () => {
    const { folder, rosters } = deployment();
    const read = () => paths.map((path) => readFileSync(join(folder, path, 'tls.crt'), 'utf8'));
    const before = read();
    expect(ensureCertificates(folder, rosters, new Date())).toBe(0);
    rmSync(join(folder, 'node-2', 'tls.crt'));
    expect(ensureCertificates(folder, rosters, new Date())).toBe(1);
    expect(read().map((text, index) => text === before[index])).toEqual([true, true, false, true, true, true, true]);
  });

  test('are renewed under the same authority, with new keys, where its key is and nowhere else', () => {
    const { folder, rosters } = deployment();
    const before = readFileSync(join(folder, 'node-1', 'tls.key'), 'utf8');
    expect(renewCertificates(folder, rosters, new Date())).toHaveLength(7);
    expect(readFileSync(join(folder, 'node-1', 'tls.key'), 'utf8')).not.toBe(before);
    expect(nodeConfig(settingsOf(folder, wss), 1).linkTls?.ca).toBe(readFileSync(join(folder, 'ca.crt'), 'utf8'));
    rmSync(join(folder, 'authority'), { recursive: true });
    expect(() => renewCertificates(folder, rosters, new Date())).toThrow(
      /run this command on the machine of "signmesh init"/,
    );
    rmSync(join(folder, 'node-1', 'tls.crt'));
    expect(() => ensureCertificates(folder, rosters, new Date())).toThrow(/run this command on the machine/);
  });

  test('are issued for hosts of doors and of Redis, and never over another', () => {
    const { folder } = deployment();
    const path = join(folder, 'redis-tls');
    const leaf = { title: 'redis', hosts: ['redis.internal', '10.0.0.5'], usage: ['server', 'client'] } as const;
    issueFor(folder, path, leaf, new Date());
    expect(new X509Certificate(readFileSync(`${path}.crt`)).subjectAltName).toBe(
      'DNS:redis.internal, IP Address:10.0.0.5',
    );
    expect(() => issueFor(folder, path, leaf, new Date())).toThrow(/exists already/);
  });
});

describe('a role across hosts', () => {
  test('needs its own files and the public ones, and no other role’s', () => {
    const { folder } = deployment();
    for (const path of ['authority', 'coordinator', 'gateway', 'node-2', 'cluster-2'])
      rmSync(join(folder, path), { recursive: true });
    expect(nodeConfig(settingsOf(folder, wss), 1).linkTls?.key).toContain('PRIVATE KEY');
  });

  test('names the file that is missing, foreign, expired, or does not fit', () => {
    const { folder } = deployment();
    const read = (node = 1) => nodeConfig(settingsOf(folder, wss), node);
    const file = (name: string, node = 1) => join(folder, `node-${node}`, name);
    const put = (from: string, to: string) => writeFileSync(to, readFileSync(from));
    expect(() => read()).not.toThrow();
    put(file('tls.crt', 2), file('tls.crt'));
    expect(() => read()).toThrow(/node-1\/tls\.key is not the key of .*node-1\/tls\.crt/);
    put(file('tls.key', 2), file('tls.key'));
    expect(() => read()).toThrow(/node-1\/tls\.crt is not the certificate of node 1 in cluster\.json/);
    const stranger = new TestAuthority().issue({});
    writeFileSync(file('tls.crt'), stranger.cert);
    writeFileSync(file('tls.key'), stranger.key);
    expect(() => read()).toThrow(/was not issued by .*ca\.crt/);
    writeFileSync(file('tls.key'), 'garbage');
    expect(() => read()).toThrow(/holds no private key in PEM/);
    rmSync(file('tls.key'));
    expect(() => read()).toThrow(/node-1\/tls\.key is missing/);
    rmSync(file('tls.crt'));
    expect(() => read()).toThrow(/node-1\/tls\.crt is missing\. "signmesh init" makes it/);
    const old = deployment(new Date(Date.now() - 366 * dayMs));
    expect(() => nodeConfig(settingsOf(old.folder, wss), 1)).toThrow(/has expired on .*certificates renew/);
    const early = deployment(new Date(Date.now() + 2 * dayMs));
    expect(() => coordinatorConfig(settingsOf(early.folder, { SIGNMESH_COORDINATOR_HOST: '0.0.0.0' }))).toThrow(
      /Is the clock/,
    );
  });

  test('says some days before that its certificate expires', () => {
    const { folder } = deployment(new Date(Date.now() - 340 * dayMs));
    const settings = settingsOf(folder, wss);
    const certs = { links: [nodeConfig(settings, 1).linkTls!.cert], door: undefined };
    const [warning] = startWarnings('node', settings, certs, Date.now());
    expect(warning).toMatchObject({
      event: 'certificate.expires',
      text: expect.stringMatching(/expires in 2[45] days/),
    });
    expect(startWarnings('node', settings, certs, Date.now() - 10 * dayMs)).toEqual([]);
    const patient = settingsOf(folder, { ...wss, SIGNMESH_CERTIFICATE_WARN_DAYS: '7' });
    expect(startWarnings('node', patient, certs, Date.now())).toEqual([]);
  });

  test('says what crosses between hosts in clear, and which coordinator cannot be found', () => {
    const events = (role: 'gateway' | 'coordinator', more: Record<string, string>) =>
      startWarnings(role, settingsOf('/none', more), { links: ['x'].slice(1), door: undefined }, 0).map(
        ({ event }) => event,
      );
    expect(events('gateway', {})).toEqual([]);
    expect(events('gateway', { SIGNMESH_HTTP_HOST: '0.0.0.0' })).toEqual(['transport.plain']);
    expect(events('gateway', { REDIS_URL: 'redis://redis:6379' })).toEqual(['transport.plain']);
    expect(events('gateway', { REDIS_URL: 'redis://127.0.0.1:7000,redis:7001' })).toEqual(['transport.plain']);
    for (const url of ['rediss://redis:6379', 'rediss://a:7000,b:7001', 'redis://127.0.0.1:7000,localhost']) {
      expect(events('gateway', { REDIS_URL: url })).toEqual([]);
    }
    expect(events('coordinator', { SIGNMESH_COORDINATOR_HOST: '0.0.0.0', SIGNMESH_CLUSTER: '2' })).toEqual([
      'transport.plain',
      'coordinator.unreachable',
    ]);
  });
});

describe('plain links', () => {
  let folder = '';
  beforeEach(() => {
    folder = deployment().folder;
  });
  const node = (more: Record<string, string>) => () => nodeConfig(settingsOf(folder, more), 1).linkTls !== undefined;
  const gateway = (more: Record<string, string>) => () => gatewayConfig(settingsOf(folder, more)).linkTls !== undefined;
  const coordinator = (more: Record<string, string>) => () =>
    coordinatorConfig(settingsOf(folder, more)).linkTls !== undefined;
  const url = (text: string, tls?: string) => ({
    SIGNMESH_COORDINATOR_URL: text,
    ...(tls && { SIGNMESH_LINK_TLS: tls }),
  });

  test('stay on loopback; to another host they are refused by name', () => {
    for (const role of [node, gateway]) {
      expect(role(url('ws://127.0.0.2:7300'))()).toBe(role === gateway);
      expect(role(url('wss://127.0.0.2:7300'))()).toBe(true);
      expect(role(url('ws://mesh.example:7300'))).toThrow(
        /SIGNMESH_COORDINATOR_URL: ws:\/\/mesh\.example:7300 is plain\. Use wss/,
      );
      expect(role(url('ws://127.0.0.2:7300', 'on'))).toThrow(/is plain\. Use wss:\/\/, as SIGNMESH_LINK_TLS=on asks/);
    }
    expect(gateway(url('wss://a:1,ws://b:2'))).toThrow(/ws:\/\/b:2 is plain/);
  });

  test('of a coordinator follow where it listens and what it announces', () => {
    const at = (host: string, more: Record<string, string> = {}) =>
      coordinator({ SIGNMESH_COORDINATOR_HOST: host, ...more });
    expect(at('127.0.0.1')()).toBe(false);
    expect(at('127.0.0.3', url('ws://127.0.0.3:7300'))()).toBe(false);
    expect(at('127.0.0.3', url('wss://127.0.0.3:7300'))()).toBe(true);
    expect(at('0.0.0.0')()).toBe(true);
    expect(at('0.0.0.0', url('ws://mesh.example:7300'))).toThrow(/other hosts reach 0\.0\.0\.0\. Use wss/);
    expect(at('127.0.0.1', url('ws://127.0.0.1:1', 'on'))).toThrow(/contradicts SIGNMESH_LINK_TLS=on/);
    expect(at('127.0.0.1', url('wss://127.0.0.1:1', 'off'))).toThrow(/contradicts SIGNMESH_LINK_TLS=off/);
  });

  test('cross between hosts where that is said', () => {
    expect(node(url('ws://mesh.example:7300', 'off'))()).toBe(false);
    expect(coordinator({ SIGNMESH_COORDINATOR_HOST: '0.0.0.0', SIGNMESH_LINK_TLS: 'off' })()).toBe(false);
    expect(gatewayConfig(settingsOf(folder, url('ws://mesh.example:7300', 'off'))).plainLinks).toBe(true);
    expect(gatewayConfig(settingsOf(folder, url('wss://mesh.example:7300'))).plainLinks).toBe(false);
  });
});

test('the files of a door belong together, and their faults are named', () => {
  const folder = temporaryFolder();
  const authority = new TestAuthority();
  const put = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const pair = authority.issue({ hosts: ['a.example'], usage: ['server'] });
  const cert = put('door.crt', pair.cert + authority.ca);
  const key = put('door.key', pair.key);
  const door = (more: Record<string, string>) => apiServerTlsOf(settingsOf(folder, more));
  expect(door({})).toBeUndefined();
  expect(door({ SIGNMESH_TLS_CERT: cert, SIGNMESH_TLS_KEY: key })).toEqual({
    cert: pair.cert + authority.ca,
    key: pair.key,
  });
  expect(() => door({ SIGNMESH_TLS_CERT: cert })).toThrow(/belong together/);
  expect(() => door({ SIGNMESH_TLS_CLIENT_CA: cert })).toThrow(/belong together/);
  expect(() => door({ SIGNMESH_TLS_CERT: cert, SIGNMESH_TLS_KEY: put('other.key', authority.issue({}).key) })).toThrow(
    /is not the key of/,
  );
  const old = authority.issue({ hosts: ['a'] }, validity(-5, -1));
  const expired = { SIGNMESH_TLS_CERT: put('old.crt', old.cert), SIGNMESH_TLS_KEY: put('old.key', old.key) };
  expect(() => door(expired)).toThrow(/old\.crt has expired/);
  const noCa = { SIGNMESH_TLS_CERT: cert, SIGNMESH_TLS_KEY: key, SIGNMESH_TLS_CLIENT_CA: join(folder, 'none') };
  expect(() => door(noCa)).toThrow(/none is missing/);
  expect(existsSync(cert)).toBe(true);
});

describe('signmesh certificates', () => {
  /** Its exit code, and what it wrote to standard output. */
  async function command(...words: string[]): Promise<{ code: number; output: string }> {
    let output = '';
    const writing = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      output += String(text);
      return true;
    });
    const silent = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      return { code: await run(words), output };
    } finally {
      writing.mockRestore();
      silent.mockRestore();
    }
  }

  test('lists, renews and issues', async () => {
    const { folder } = deployment();
    const at = ['--data-dir', folder];
    const listed = await command('list', ...at);
    expect(listed.output.trim().split('\n')).toHaveLength(8);
    expect(listed.output).toMatch(/^cluster-2\/node-1\/tls\.crt\s+until .*\(36[45] days\)$/m);
    const { certificates } = JSON.parse((await command('list', '--json', ...at)).output);
    expect(certificates[0]).toMatchObject({ path: 'ca.crt', sha256: expect.stringMatching(/^([0-9A-F]{2}:){31}/) });
    expect((await command('renew', ...at)).output).toContain('renewed node-1/tls.crt\n');
    const path = join(folder, 'door');
    expect((await command('issue', 'api.example', '::1', '--out', path, ...at)).output).toBe(
      `${path}.crt\n${path}.key\n`,
    );
    expect(new X509Certificate(readFileSync(`${path}.crt`)).checkHost('api.example')).toBe('api.example');
  });

  test('names a wrong call, and a directory without an authority', async () => {
    const { folder } = deployment();
    await expect(command('issue', 'not a host', '--out', 'x')).rejects.toThrow(/DNS name or an IP address/);
    await expect(command('issue', 'a.example')).rejects.toThrow(/--out/);
    rmSync(join(folder, 'authority'), { recursive: true });
    await expect(command('renew', '--data-dir', folder)).rejects.toThrow(/ca\.key is missing/);
  });
});
