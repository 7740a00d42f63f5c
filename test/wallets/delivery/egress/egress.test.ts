/** Egress reaches no forbidden address: in any notation, by names that change their answer, by redirects. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { evaluateAddress } from '../../../../wallets/delivery/egress/addresses.ts';
import { Connections } from '../../../../wallets/delivery/egress/connections.ts';
import type { KeptAnswer } from '../../../../wallets/delivery/egress/public.ts';
import { sendTo } from '../../../../wallets/delivery/egress/send.ts';
import { checkTarget } from '../../../../wallets/delivery/egress/target.ts';
import { until } from '../../../support/until.ts';

const issueOf = (url: string, environment: 'sandbox' | 'production') => {
  const target = checkTarget(url, environment);
  return target instanceof URL ? 'allowed' : target.issue;
};

describe('addresses', () => {
  test.each([
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'carrierGradeNat'],
    ['169.254.169.254', 'linkLocal'],
    ['224.0.0.1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['192.0.2.1', 'reserved'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['fe80::1', 'linkLocal'],
    ['fd00::1', 'uniqueLocal'],
    ['ff02::1', 'multicast'],
    ['fd00:ec2::254', 'metadata'],
    ['fd00:ec2::23', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['::2', 'unassigned'],
    ['4000::1', 'unassigned'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:a9fe:a9fe', 'linkLocal'],
    ['::ffff:0:0', 'unspecified'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['2002:7f00:1::', 'loopback'],
    ['2002:a9fe:a9fe::', 'linkLocal'],
    ['::7f00:1', 'loopback'],
    ['not an address', 'unreadable'],
    ['', 'unreadable'],
  ])('production refuses %s (%s)', (address, range) => {
    expect(evaluateAddress(address, 'production')).toEqual({ allowed: false, range });
  });

  test.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808'])(
    'production allows %s',
    (address) => expect(evaluateAddress(address, 'production')).toEqual({ allowed: true }),
  );

  test.each(['127.0.0.1', '::1', '10.0.0.5', 'fd12::1', '8.8.8.8'])('a sandbox allows %s', (address) =>
    expect(evaluateAddress(address, 'sandbox')).toEqual({ allowed: true }),
  );

  test.each(['169.254.169.254', 'fe80::1', 'fd00:ec2::254', '0.0.0.0', '224.0.0.1', '::ffff:169.254.169.254'])(
    'a sandbox refuses %s',
    (address) => expect(evaluateAddress(address, 'sandbox').allowed).toBe(false),
  );

  test('whatever IPv4 says of an address, its disguises in IPv6 say too', () => {
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.tuple(byte, byte, byte, byte), fc.constantFrom('sandbox', 'production'), (bytes, environment) => {
        const [a, b, c, d] = bytes.map((each) => each.toString(16).padStart(2, '0'));
        const plain = evaluateAddress(bytes.join('.'), environment as 'sandbox');
        for (const disguised of [
          `::ffff:${a}${b}:${c}${d}`,
          `64:ff9b::${a}${b}:${c}${d}`,
          `2002:${a}${b}:${c}${d}::1`,
        ]) {
          expect(evaluateAddress(disguised, environment as 'sandbox')).toEqual(plain);
        }
      }),
    );
  });
});

describe('URLs', () => {
  test.each([
    ['http://example.com/', 'scheme_not_allowed'],
    ['ftp://example.com/', 'scheme_not_allowed'],
    ['file:///etc/passwd', 'scheme_not_allowed'],
    ['gopher://example.com/', 'scheme_not_allowed'],
    ['javascript:alert(1)', 'scheme_not_allowed'],
    ['https://user:secret@example.com/', 'credentials_not_allowed'],
    ['https://user@example.com/', 'credentials_not_allowed'],
    ['https://example.com/#x', 'fragment_not_allowed'],
    ['https://example.com:22/', 'port_not_allowed'],
    ['https://example.com:25/', 'port_not_allowed'],
    ['https://127.0.0.1/', 'address_not_allowed'],
    ['https://2130706433/', 'address_not_allowed'],
    ['https://0x7f.1/', 'address_not_allowed'],
    ['https://017700000001/', 'address_not_allowed'],
    ['https://127.1/', 'address_not_allowed'],
    ['https://[::1]/', 'address_not_allowed'],
    ['https://[::ffff:127.0.0.1]/', 'address_not_allowed'],
    ['https://[fe80::1]/', 'address_not_allowed'],
    ['https://169.254.169.254/latest/meta-data/', 'address_not_allowed'],
    ['https://localhost/', 'address_not_allowed'],
    ['https://LOCALHOST./', 'address_not_allowed'],
    ['https://api.localhost/', 'address_not_allowed'],
    ['https://redis/', 'address_not_allowed'],
    ['https://metadata.google.internal/', 'address_not_allowed'],
    ['not a url', 'invalid_format'],
    ['/hooks', 'invalid_format'],
    ['', 'invalid_format'],
    [`https://example.com/${'a'.repeat(2048)}`, 'too_long'],
  ])('production refuses %.60s (%s)', (url, issue) => expect(issueOf(url, 'production')).toBe(issue));

  test.each([
    'https://example.com/hooks?x=1',
    'https://example.com:8443/',
    'https://example.com:4430/',
    'https://8.8.8.8/',
  ])('production takes %s', (url) => expect(issueOf(url, 'production')).toBe('allowed'));

  test.each(['http://127.0.0.1:4242/hooks', 'http://localhost:3000/', 'https://example.com/', 'http://[::1]:80/'])(
    'a sandbox takes %s',
    (url) => expect(issueOf(url, 'sandbox')).toBe('allowed'),
  );

  test.each([
    ['http://169.254.169.254/', 'address_not_allowed'],
    ['http://[::ffff:169.254.169.254]/', 'address_not_allowed'],
    ['http://2852039166/', 'address_not_allowed'],
    ['http://0.0.0.0/', 'address_not_allowed'],
    ['http://user:x@127.0.0.1/', 'credentials_not_allowed'],
    ['ftp://127.0.0.1/', 'scheme_not_allowed'],
  ])('a sandbox refuses %s (%s)', (url, issue) => expect(issueOf(url, 'sandbox')).toBe(issue));

  test('the ports of production are 443, 8443, and 1024 and above; a sandbox takes each from 1', () => {
    const ports = [1, 80, 442, 443, 444, 1_023, 1_024, 8_443, 65_535];
    const allowed = (environment: 'sandbox' | 'production') =>
      ports.filter((port) => issueOf(`https://example.com:${port}/`, environment) === 'allowed');
    expect(allowed('production')).toEqual([443, 1_024, 8_443, 65_535]);
    expect(allowed('sandbox')).toEqual(ports);
  });

  test('a URL has 2,048 characters at most', () => {
    const sized = (length: number) => 'https://example.com/'.padEnd(length, 'a');
    expect([2_048, 2_049].map((length) => issueOf(sized(length), 'production'))).toEqual(['allowed', 'too_long']);
  });

  test.each([
    ['sandbox', 'its port must be from 1 to 65535'],
    ['production', 'its port must be 443, 8443, or 1024 and above'],
  ] as const)('a refusal of port 0 in %s names the ports it takes', (environment, message) => {
    expect(checkTarget('https://example.com:0/', environment)).toEqual({ issue: 'port_not_allowed', message });
  });
});

describe('sending', () => {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  });

  interface Seen {
    readonly path: string;
    readonly body: string;
    readonly host: string | undefined;
  }

  async function receiver(status: number, headers: Record<string, string> = {}, body = 'thank you') {
    const seen: Seen[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen.push({ path: request.url!, body: Buffer.concat(chunks).toString(), host: request.headers.host });
        response.writeHead(status, headers).end(body);
      });
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { seen, port: (server.address() as AddressInfo).port };
  }

  const request = (url: string, timeoutMs = 60_000) => ({
    url,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{"a":1}'),
    timeoutMs,
  });

  test('checks the URL once more, by the rules of its environment', async () => {
    const { seen, port } = await receiver(200);
    const sent = (url: string, environment: 'sandbox' | 'production') => sendTo(request(url), { environment });
    expect(await sent(`http://127.0.0.1:${port}/`, 'production')).toMatchObject({ code: 'scheme_not_allowed' });
    expect(await sent(`http://:secret@127.0.0.1:${port}/`, 'sandbox')).toMatchObject({
      code: 'credentials_not_allowed',
    });
    expect(seen).toEqual([]);
  });

  test('posts the very bytes, and tells status and Retry-After', async () => {
    const { seen, port } = await receiver(429, { 'retry-after': '7' });
    const outcome = await sendTo(request(`http://127.0.0.1:${port}/hooks?x=1`), { environment: 'sandbox' });
    expect(outcome).toMatchObject({ kind: 'answered', status: 429, retryAfter: '7' });
    expect(seen).toEqual([{ path: '/hooks?x=1', body: '{"a":1}', host: `127.0.0.1:${port}` }]);
  });

  test.each([
    ['short', {}, 'thank you', 'thank you', false],
    ['none', {}, '', '', false],
    ['of 2 KB exactly', {}, 'x'.repeat(2_048), 'x'.repeat(2_048), false],
    ['longer, cut within a character', {}, `${'x'.repeat(2_046)}€ and more`, 'x'.repeat(2_046), true],
    ['longer than is read', {}, 'x'.repeat(200_000), 'x'.repeat(2_048), true],
    ['cut before its end', { 'content-length': '100' }, 'thank you', 'thank you', true],
  ])('a sandbox gets the head of a body: %s', async (_, headers, body, kept, truncated) => {
    const { port } = await receiver(500, { ...headers, 'x-case': 'a' }, body);
    const outcome = await sendTo(request(`http://127.0.0.1:${port}/`, 500), { environment: 'sandbox' });
    expect(outcome).toMatchObject({ kind: 'answered', status: 500, answer: { body: kept, truncated } });
    expect(outcome).toMatchObject({ answer: { headers: { 'x-case': 'a' } } });
  });

  test('of an answer’s headers a sandbox gets 4 KB; production keeps nothing of an answer', async () => {
    const { port } = await receiver(200, { 'x-a': 'a'.repeat(3_000), 'x-b': 'b'.repeat(3_000) });
    const outcome = await sendTo(request(`http://127.0.0.1:${port}/`), { environment: 'sandbox' });
    const { answer } = outcome as { readonly answer: KeptAnswer };
    expect([answer.headers['x-a']?.length, answer.headers['x-b'], answer.truncated]).toEqual([3_000, undefined, true]);
    const body = (async function* () {
      yield Buffer.from('of a customer');
    })();
    const client = { request: async () => ({ statusCode: 200, headers: { 'set-cookie': 'a=b' }, body }) };
    const connections = { to: () => client } as unknown as Connections;
    const resolver = async () => ['8.8.8.8'];
    const options = { environment: 'production', resolver, connections } as const;
    const kept = await sendTo(request('https://receiver.example/'), options);
    expect(kept).toMatchObject({ kind: 'answered', status: 200, answer: undefined });
  });

  test.each([
    ['floods', 64 * 1024, 0, 60_000],
    ['drips', 1, 20, 300],
  ])('an answer whose body %s without end has its status, and its connection is cut', async (_, bytes, everyMs, ms) => {
    let isCut = false;
    const server = createServer((_, response) => {
      const timer = setInterval(() => response.write('x'.repeat(bytes)), everyMs);
      response.writeHead(200).once('close', () => {
        clearInterval(timer);
        isCut = true;
      });
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const connections = new Connections();
    for (const kept of [{}, { connections }]) {
      isCut = false;
      const outcome = await sendTo(request(url, ms), { environment: 'sandbox', ...kept });
      expect(outcome).toMatchObject({ kind: 'answered', status: 200, answer: { truncated: true } });
      expect(outcome.tookMs).toBeLessThan(60_000);
      await until(() => isCut, 'the end of the connection');
    }
    await connections.stop();
  });

  test('a redirect is an answer like any other: no second request is sent', async () => {
    const other = await receiver(200);
    const { port } = await receiver(307, { location: `http://127.0.0.1:${other.port}/` });
    const outcome = await sendTo(request(`http://127.0.0.1:${port}/`), { environment: 'sandbox' });
    expect(outcome).toMatchObject({ kind: 'answered', status: 307 });
    expect(other.seen).toEqual([]);
  });

  test('a name goes to the address that was checked, whatever the resolver says next', async () => {
    const { seen, port } = await receiver(204);
    let asked = 0;
    const resolver = async () => {
      asked += 1;
      return asked === 1 ? ['127.0.0.1'] : ['169.254.169.254'];
    };
    const url = `http://receiver.example:${port}/`;
    expect(await sendTo(request(url), { environment: 'sandbox', resolver })).toMatchObject({ status: 204 });
    expect(asked).toBe(1);
    expect(seen[0]!.host).toBe(`receiver.example:${port}`);
    expect(await sendTo(request(url), { environment: 'sandbox', resolver })).toMatchObject({
      code: 'address_not_allowed',
    });
    expect(seen).toHaveLength(1);
  });

  test('one bad address among good ones is enough to refuse a name', async () => {
    const resolver = async () => ['8.8.8.8', '10.0.0.1'];
    const outcome = await sendTo(request('https://receiver.example/'), { environment: 'production', resolver });
    expect(outcome).toMatchObject({ kind: 'failed', code: 'address_not_allowed' });
  });

  test('a receiver that never answers, a resolver that never answers: a timeout', async () => {
    const server = createServer(() => undefined);
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const silent = request(`http://127.0.0.1:${port}/`, 200);
    expect(await sendTo(silent, { environment: 'sandbox' })).toMatchObject({ code: 'timeout' });
    const resolver = () => new Promise<string[]>(() => undefined);
    const unresolved = request('http://receiver.example/', 200);
    expect(await sendTo(unresolved, { environment: 'sandbox', resolver })).toMatchObject({ code: 'timeout' });
  });

  test.each([
    ['ECONNREFUSED', 'connection_refused'],
    ['ECONNRESET', 'connection_reset'],
    ['UND_ERR_SOCKET', 'connection_reset'],
    ['ENOTFOUND', 'name_not_resolved'],
    ['EAI_AGAIN', 'name_not_resolved'],
    ['EHOSTUNREACH', 'unreachable'],
    ['ENETUNREACH', 'unreachable'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
    ['UND_ERR_BODY_TIMEOUT', 'timeout'],
    ['UND_ERR_HEADERS_OVERFLOW', 'bad_answer'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'bad_answer'],
    ['CERT_HAS_EXPIRED', 'tls_failed'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_failed'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_failed'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_failed'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_failed'],
    ['EPIPE', 'failed'],
    [undefined, 'failed'],
  ])('the error %s is named %s', async (error, code) => {
    const broken = { to: () => ({ request: () => Promise.reject(Object.assign(new Error('no'), { code: error })) }) };
    const connections = broken as unknown as Connections;
    const outcome = await sendTo(request('http://127.0.0.1:9/'), { environment: 'sandbox', connections });
    expect(outcome).toMatchObject({ kind: 'failed', code });
  });

  test('no listener, a cut connection, no HTTP: each by its name', async () => {
    const closed = await receiver(200);
    const [server] = servers.splice(0);
    server!.close();
    await once(server!, 'close');
    const to = (port: number) => sendTo(request(`http://127.0.0.1:${port}/`), { environment: 'sandbox' });
    expect(await to(closed.port)).toMatchObject({ code: 'connection_refused' });
    const cutting = createServer();
    servers.push(cutting);
    cutting.on('connection', (socket) => socket.destroy());
    cutting.listen(0, '127.0.0.1');
    await once(cutting, 'listening');
    expect(await to((cutting.address() as AddressInfo).port)).toMatchObject({ code: 'connection_reset' });
    for (const text of [
      '220 mail.example ESMTP\r\n',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello',
    ]) {
      const talking = createServer();
      servers.push(talking);
      talking.on('connection', (socket) => socket.once('data', () => socket.end(text)));
      talking.listen(0, '127.0.0.1');
      await once(talking, 'listening');
      const outcome = await to((talking.address() as AddressInfo).port);
      expect([text, outcome]).toMatchObject([text, { kind: 'failed', code: 'bad_answer' }]);
    }
  });
});
