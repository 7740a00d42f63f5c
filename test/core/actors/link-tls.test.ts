/** Links over TLS, and what each attack on one meets: a named reason at the coordinator or at the peer, and a service that lives. */
import { createServer as createTlsServer } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { connect as connectTls, type PeerCertificate } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { issue } from '../../../cli/cluster-files/x509.ts';
import {
  clientTls,
  isLoopback,
  isPlainAcross,
  type LinkTls,
  serverTls,
  tlsRefusal,
} from '../../../core/actors/live/link-tls.ts';
import { TestAuthority, validity } from '../../support/certificates.ts';
import { until } from '../../support/until.ts';
import { mesh, serverConfig, wireEnvelope } from './support/harness.ts';

const world = mesh();
afterEach(() => world.stopAll());

const nameOf = (role: string, id = 0) => `signmesh://test-cluster/${role}/${id}`;
const coordinatorName = nameOf('coordinator');
const authority = new TestAuthority();
const stranger = new TestAuthority('another authority');
const coordinator = authority.issue({ uris: [coordinatorName], usage: ['server'] });
const certificateOf = (role: string, id = 0) => authority.issue({ uris: [nameOf(role, id)] });

const hubOverTls = (tls: LinkTls = coordinator) =>
  world.server({ tls, handshake: serverConfig({ certificateName: (role, id) => nameOf(role, id) }) });
const node = (url: string, id: number, tls: LinkTls = certificateOf('node', id)) =>
  world.client(url, 'node', id, { tls: { ...tls, coordinatorName }, backOff: { minMs: 5, maxMs: 5, refusedMs: 5 } });
const codes = (lines: readonly { readonly fields: Record<string, unknown> }[]) =>
  lines.flatMap(({ fields }) => (fields.code === undefined ? [] : [fields.code]));

type Hub = Awaited<ReturnType<typeof hubOverTls>>;

/** The refusal has the name, at the coordinator; and the next honest node is served. */
async function expectRefused(hub: Hub, code: string): Promise<void> {
  await until(() => codes(hub.lines).includes(code), `the coordinator names ${code}`);
  const refused = hub.lines.find(({ fields }) => fields.code === code);
  expect(refused).toMatchObject({
    level: 'warn',
    message: 'a link was refused',
    fields: { remote: expect.any(String) },
  });
  await expectServes(hub);
}

async function expectServes(hub: Hub): Promise<void> {
  const honest = node(hub.url, 5);
  await until(() => honest.client.isUp, 'an honest node has its link');
  honest.client.send(wireEnvelope('node/5', 'session/t/s', 'alive'));
  await until(() => hub.received.some(({ message }) => message.session === 'alive'), 'its frame arrived');
}

describe('links over TLS', () => {
  it('carry frames both ways between the named ends', async () => {
    const hub = await hubOverTls();
    expect(hub.url).toMatch(/^wss:/);
    const peer = node(hub.url, 3);
    const gateway = world.client(hub.url, 'gateway', 0, { tls: { ...certificateOf('gateway'), coordinatorName } });
    await until(() => peer.client.isUp && gateway.client.isUp, 'both links are up');
    peer.client.send(wireEnvelope('node/3', 'session/t/s', 'there'));
    await until(() => hub.received.length === 1, 'a frame arrived');
    hub.server.send(wireEnvelope('session/t/s', 'node/3', 'back'));
    await until(() => peer.received.length === 1, 'a frame came back');
    expect(codes(hub.lines)).toEqual([]);
  });

  it('end with the server, also while a handshake of TLS is under way', async () => {
    const hub = await hubOverTls();
    const silent = connectPlain(hub.port, '127.0.0.1');
    await new Promise((resolve) => silent.once('connect', resolve));
    const gone = new Promise((resolve) => silent.once('close', resolve));
    silent.on('error', () => undefined);
    await hub.server.stop();
    await gone;
  });

  it('need a certificate at both ends', async () => {
    expect(() => world.client('wss://127.0.0.1:1', 'node', 1)).toThrow(/needs a certificate/);
    // A server that was not told which names to expect takes none.
    const hub = await world.server({ tls: coordinator });
    const peer = node(hub.url, 1);
    await until(() => codes(peer.lines).length > 0, 'it was refused');
    expect(codes(peer.lines)).toEqual(['CERTIFICATE_MISMATCH']);
  });
});

describe('the coordinator refuses by name', () => {
  it('a plain client', async () => {
    const hub = await hubOverTls();
    const plain = world.client(hub.url.replace('wss', 'ws'), 'node', 1);
    await until(() => plain.lines.length > 0, 'the plain client has heard');
    await expectRefused(hub, 'NOT_TLS');
    expect(plain.client.isUp).toBe(false);
  });

  it('bytes that are no handshake of TLS at all', async () => {
    const hub = await hubOverTls();
    for (const bytes of [Buffer.from('\x00\x01garbage\xff', 'latin1'), Buffer.alloc(2_000, 0x16)]) {
      const socket = connectPlain(hub.port, '127.0.0.1', () => socket.write(bytes));
      await new Promise((resolve) =>
        socket
          .on('error', () => undefined)
          .on('close', resolve)
          .resume(),
      );
    }
    await until(() => codes(hub.lines).length === 2, 'both were refused');
    await expectServes(hub);
  });

  it('a probe that says nothing is not logged', async () => {
    const hub = await hubOverTls();
    const probe = connectPlain(hub.port, '127.0.0.1', () => probe.destroy());
    await new Promise((resolve) => probe.once('close', resolve));
    await expectServes(hub);
    expect(codes(hub.lines)).toEqual([]);
  });

  it('a client without a certificate', async () => {
    const hub = await hubOverTls();
    const socket = connectTls({
      port: hub.port,
      host: '127.0.0.1',
      ca: authority.ca,
      checkServerIdentity: () => undefined,
    });
    socket.on('error', () => undefined).resume();
    await expectRefused(hub, 'NO_CERTIFICATE');
  });

  it('TLS 1.2', async () => {
    const hub = await hubOverTls();
    const tls = certificateOf('node', 1);
    const socket = connectTls({
      port: hub.port,
      host: '127.0.0.1',
      ...tls,
      maxVersion: 'TLSv1.2',
      rejectUnauthorized: false,
    });
    socket.on('error', () => undefined).resume();
    await expectRefused(hub, 'TLS_VERSION');
  });

  const impostors: readonly (readonly [string, string, () => LinkTls])[] = [
    [
      'a certificate of another authority',
      'UNKNOWN_AUTHORITY',
      () => ({ ...stranger.issue({ uris: [nameOf('node', 1)] }), ca: authority.ca }),
    ],
    [
      'an expired certificate',
      'CERTIFICATE_EXPIRED',
      () => authority.issue({ uris: [nameOf('node', 1)] }, validity(-3, -1)),
    ],
    [
      'one that is not valid yet',
      'CERTIFICATE_NOT_YET_VALID',
      () => authority.issue({ uris: [nameOf('node', 1)] }, validity(1, 3)),
    ],
    [
      'a server’s certificate as a client’s',
      'CERTIFICATE_PURPOSE',
      () => authority.issue({ uris: [nameOf('node', 1)], usage: ['server'] }),
    ],
    ['another node’s certificate', 'CERTIFICATE_MISMATCH', () => certificateOf('node', 2)],
    ['the gateway’s certificate for a node', 'CERTIFICATE_MISMATCH', () => certificateOf('gateway')],
    [
      'a door’s certificate of the same authority',
      'CERTIFICATE_MISMATCH',
      () => authority.issue({ hosts: ['node-1', '127.0.0.1'], usage: ['server', 'client'] }),
    ],
    [
      'a name hidden in a DNS entry',
      'CERTIFICATE_MISMATCH',
      () => authority.issue({ hosts: [`x, URI:${nameOf('node', 1)}`] }),
    ],
  ];
  it.each(impostors)('%s: %s', async (_, code, tls) => {
    const hub = await hubOverTls();
    const peer = node(hub.url, 1, tls());
    await expectRefused(hub, code);
    expect(peer.client.isUp).toBe(false);
    // A holder of a bad certificate hears its name, or that the connection was ended and where to look.
    await until(() => codes(peer.lines).length > 0, 'the peer has heard');
    if (code === 'CERTIFICATE_MISMATCH') expect(codes(peer.lines)).toEqual([code]);
  });

  it('a node’s certificate for the gateway', async () => {
    const hub = await hubOverTls();
    const gateway = world.client(hub.url, 'gateway', 0, { tls: { ...certificateOf('node', 1), coordinatorName } });
    await expectRefused(hub, 'CERTIFICATE_MISMATCH');
    expect(gateway.client.isUp).toBe(false);
  });

  it('a certificate that a node’s certificate has signed', async () => {
    const hub = await hubOverTls();
    const between = authority.issue({ uris: [nameOf('node', 2)] });
    const leaf = issue(between, { title: 'test', uris: [nameOf('node', 1)], usage: ['client'] }, validity());
    node(hub.url, 1, { ...leaf, cert: `${leaf.cert}${between.cert}`, ca: authority.ca });
    await expectRefused(hub, 'TLS_FAILED');
  });

  it('a resumed session of TLS: its certificate would not be verified again', async () => {
    const hub = await hubOverTls();
    const { ca, cert, key } = certificateOf('node', 1);
    const options = { port: hub.port, host: '127.0.0.1', ca, cert, key, checkServerIdentity: () => undefined };
    const first = connectTls(options).resume();
    const session = await new Promise<Buffer>((resolve) => first.once('session', resolve));
    const second = connectTls({ ...options, session });
    await new Promise((resolve) => second.once('secureConnect', resolve));
    expect(second.isSessionReused()).toBe(false);
    for (const socket of [first, second]) socket.destroy();
  });

  it('handshakes of TLS that do not end: they give way to those of honest nodes', async () => {
    const handshake = serverConfig({ certificateName: (role, id) => nameOf(role, id) });
    const hub = await world.server({ tls: coordinator, handshake, handshakesMax: 4 });
    const silent = Array.from({ length: 12 }, () => connectPlain(hub.port, '127.0.0.1').on('error', () => undefined));
    let closed = 0;
    for (const socket of silent) socket.resume().once('close', () => (closed += 1));
    await until(() => closed >= 8, 'the bound replaced the oldest');
    await expectServes(hub);
    await until(() => closed >= 9, 'the honest node replaced another');
    expect(closed).toBe(9);
    for (const socket of silent) socket.destroy();
  });
});

describe('a peer refuses by name', () => {
  const impostors: readonly (readonly [string, string, () => LinkTls])[] = [
    [
      'a coordinator of another authority',
      'UNKNOWN_AUTHORITY',
      () => ({ ...stranger.issue({ uris: [coordinatorName], usage: ['server'] }), ca: authority.ca }),
    ],
    ['a node that plays the coordinator', 'CERTIFICATE_PURPOSE', () => certificateOf('node', 2)],
    [
      'another cluster’s coordinator',
      'CERTIFICATE_MISMATCH',
      () => authority.issue({ uris: ['signmesh://other/coordinator/0'], usage: ['server'] }),
    ],
    [
      'an expired coordinator',
      'CERTIFICATE_EXPIRED',
      () => authority.issue({ uris: [coordinatorName], usage: ['server'] }, validity(-3, -1)),
    ],
  ];
  it.each(impostors)('%s: %s', async (_, code, tls) => {
    const hub = await hubOverTls(tls());
    const peer = node(hub.url, 1);
    await until(() => codes(peer.lines).length > 0, 'it was refused');
    expect(codes(peer.lines)).toEqual([code]);
    expect(hub.events).toEqual([]);
  });

  it('a plain server where TLS was configured, and does not fall back to a plain link', async () => {
    const hub = await world.server();
    const peer = node(hub.url.replace('ws:', 'wss:'), 1);
    await until(() => codes(peer.lines).length > 0, 'it was refused');
    expect(codes(peer.lines)[0]).toBe('NOT_TLS');
    expect([hub.events, hub.received]).toEqual([[], []]);
  });
});

/** Between a peer and the coordinator: takes TLS on one side, opens it on the other, and passes every message on. */
async function relay(upstream: string, inside: LinkTls | undefined, outside: LinkTls | undefined): Promise<string> {
  const server = inside ? createTlsServer(serverTls(inside, 5_000)) : undefined;
  const sockets = new WebSocketServer(server ? { server } : { port: 0, host: '127.0.0.1' });
  const options = outside ? (clientTls(outside, coordinatorName) as object) : {};
  sockets.on('connection', (from) => {
    const to = new WebSocket(upstream, options);
    const early: Buffer[] = [];
    from.on('message', (data: Buffer) => (to.readyState === to.OPEN ? to.send(data) : early.push(data)));
    to.on('open', () => {
      for (const data of early) to.send(data);
    });
    to.on('message', (data: Buffer) => from.send(data));
    to.on('close', () => from.close());
    for (const ws of [from, to]) ws.on('error', () => undefined);
  });
  world.stops.push(async () => {
    for (const ws of sockets.clients) ws.terminate();
    sockets.close();
    server?.close();
  });
  if (server) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  else await until(() => sockets.address() !== null, 'it listens');
  const { port } = (server ?? sockets).address() as { port: number };
  return `${server ? 'wss' : 'ws'}://127.0.0.1:${port}`;
}

describe('a man in the middle', () => {
  it('who has certificates of every name from the authority itself is refused: the proof is bound to the connection', async () => {
    const hub = await hubOverTls();
    const url = await relay(
      hub.url,
      authority.issue({ uris: [coordinatorName], usage: ['server'] }),
      certificateOf('node', 1),
    );
    const peer = node(url, 1);
    await until(() => codes(peer.lines).length > 0, 'it was refused');
    expect(codes(peer.lines)).toEqual(['BAD_PROOF']);
    await expectRefused(hub, 'BAD_PROOF');
  });

  it('who takes TLS off on the coordinator’s side is refused', async () => {
    const hub = await world.server();
    const url = await relay(hub.url, authority.issue({ uris: [coordinatorName], usage: ['server'] }), undefined);
    const peer = node(url, 1);
    await until(() => codes(hub.lines).length > 0, 'it was refused');
    expect(codes(hub.lines)[0]).toBe('BAD_PROOF');
    expect(peer.client.isUp).toBe(false);
  });

  it('would not be noticed on a plain link, which therefore stays on one host', async () => {
    const hub = await world.server();
    const peer = world.client(await relay(hub.url, undefined, undefined), 'node', 1);
    await until(() => peer.client.isUp, 'the relayed plain link is up');
  });
});

describe('names', () => {
  it('loopback is what stays on this host, and no name that another host may answer to', () => {
    for (const host of [
      'localhost',
      'LOCALHOST',
      '127.0.0.1',
      '127.0.0.2',
      '127.255.1.1',
      '::1',
      '[::1]',
      '::ffff:127.0.0.1',
    ])
      expect(isLoopback(host), host).toBe(true);
    for (const host of [
      '0.0.0.0',
      '::',
      '10.0.0.1',
      'coordinator',
      'localhost.example',
      '127.example',
      '128.0.0.1',
      '',
    ])
      expect(isLoopback(host), host).toBe(false);
    expect(isPlainAcross('ws://coordinator:7300')).toBe(true);
    expect(isPlainAcross('ws://127.0.0.3:7300')).toBe(false);
    expect(isPlainAcross('wss://coordinator:7300')).toBe(false);
  });

  it('a certificate is the coordinator’s by its whole name alone', () => {
    const { checkServerIdentity } = clientTls(coordinator, coordinatorName);
    const refusalOf = (subjectaltname?: string) =>
      checkServerIdentity!('host', { subjectaltname } as PeerCertificate) as NodeJS.ErrnoException | undefined;
    for (const names of [`URI:${coordinatorName}`, `DNS:localhost, URI:x, URI:${coordinatorName}`]) {
      expect(refusalOf(names), names).toBeUndefined();
    }
    const others = [`${coordinatorName}1`, `x${coordinatorName}`, nameOf('node', 1)].map((name) => `URI:${name}`);
    for (const names of [undefined, '', `DNS:${coordinatorName}`, coordinatorName, ...others]) {
      expect(refusalOf(names)?.code, names).toBe('CERTIFICATE_MISMATCH');
    }
  });

  it('an error that is none of TLS has no such name', () => {
    expect(tlsRefusal(undefined)).toBeUndefined();
    expect(tlsRefusal('ECONNREFUSED')).toBeUndefined();
    expect(tlsRefusal('ERR_SSL_SOMETHING_NEW')).toBe('TLS_FAILED');
  });
});
